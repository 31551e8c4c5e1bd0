//! Other people's agents: the dialect of each client's hooks, its settings, its transcripts, its start.
//!
//! [`Client`] names a client; [`Adapter`] is what is specific to it. A client with hooks has a folder (`claude/`, `codex/`,
//! `gemini/`) with its `hook`, `transcript`, `settings` and `launch`; a client without hooks (`opencode`, `qwen`, `aider`) is
//! guarded at the gateway and takes the rest from `hookless`. A new client is a file `NAME.rs` with such a folder, its `mod`
//! line here, and one line in the registry in `client.rs`; CONTRIBUTING.md lists the tables.

mod adapter;
mod aider;
mod anthropic_api;
pub mod asked_call;
pub mod canary;
mod check_result;
pub mod checkup;
pub mod claude;
mod client;
mod codex;
pub mod doors;
mod gemini;
mod gemini_api;
mod homes;
pub mod hook_command;
mod hookless;
pub mod hooks;
pub mod install;
pub mod launch;
mod legible;
mod mcp;
mod openai_api;
mod opencode;
pub mod past;
mod private_files;
pub mod private_home;
pub mod protected;
mod qwen;
mod search_path;
mod temp_folder;
mod token_count;
pub mod tool_servers;
pub mod transcript;
pub mod transcript_files;
pub mod usage;

pub use adapter::{Adapter, Door, SandboxUse};
pub use check_result::{CheckResult, CheckState};
pub use client::Client;
pub use homes::{ClientHome, Homes, ProtectedPart, VariableNames};
pub use private_files::{CredentialFile, PrivateFiles, PrivateRoot};
