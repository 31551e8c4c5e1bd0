//! Starting a client for one supervised run: which one a command line starts, its hooks for this run, its output.

pub(crate) mod command_line;
pub(crate) mod dialect;
pub(crate) mod exit_message;
pub(crate) mod model_route;
pub(crate) mod prepare;
mod program;
mod prompt;
pub(crate) mod relaxed;

pub use command_line::{CommandLineForm, KnownBy, PromptPlace, Purpose, WorkerDefault};
pub use dialect::{LaunchDialect, ProviderExit, TrialPlace};
pub use exit_message::{ExitMessage, OutputShows};
pub use model_route::{ApiVariables, GatewayPlace, KeyVariable, ModelRoute, Routing};
pub use prepare::{HOOK_TIMEOUT_SECONDS, LaunchError, LaunchPlace, OwnWords, PreparedClient, ServerTools};
pub use program::Program;
pub use prompt::{CONTINUE, fallback, replaced};
