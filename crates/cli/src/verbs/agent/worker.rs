//! Workers of `tripwire agent`: the clients behind `--engine claude`, under the same supervisor as `tripwire run`.
//!
//! What the person's words leave open is set here: the client runs headless, tells its end as a stream, and may edit files
//! in the workspace by its own rules. To let it do more, write the client's own flags.

use crate::workspace;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tripwire_agent::engines::Engine;
use tripwire_agent::engines::WorkerStartError;
use tripwire_agent::engines::worker::{OBJECTIVE_BYTES_MAX, Worker, WorkerEngine, WorkerOrder, WorkerTurn};
use tripwire_clients::launch::Program;
use tripwire_core::chain::event::TestResult;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::explain::Explain;
use tripwire_core::label::Label;
use tripwire_core::run::record::{FailureKind, Work, WorkEnd};
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_session::driver::{Driver, Reporting, StepOutcome};
use tripwire_session::replica::Replica;
use tripwire_session::shared_money::SharedMoney;
use tripwire_supervisor::{
    self as supervisor, Ending, GatewaySwitch, Notifier, Output, Presence, RunError, RunOptions, RunReport, StderrUse,
    WatchLimits,
};
use tripwire_workspace::Workspace;

/// Why a worker cannot be used; said before anything is made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// Its program is not installed.
    #[error("`{}` is not found, which the engine `{name}` would start", program.display())]
    NotFound {
        /// The engine.
        name: String,
        /// The program.
        program: OsString,
    },
    /// Its changes could not be staged.
    #[error("the engine `{name}` works in the workspace itself: `--review` could not hold its changes back")]
    Review {
        /// The engine.
        name: String,
    },
    /// Its turn could not be played again.
    #[error("the engine `{name}` works with hands of its own: a cassette could not play that again")]
    Record {
        /// The engine.
        name: String,
    },
    /// It would be asked for words only.
    #[error("the engine `{name}` is a worker: it cannot be the {part}")]
    Aside {
        /// The engine.
        name: String,
        /// What it would be.
        part: &'static str,
    },
    /// The objective does not fit a command line.
    #[error(
        "the objective has {bytes} bytes, and the engine `{name}` takes at most {OBJECTIVE_BYTES_MAX} on its command line"
    )]
    Objective {
        /// The engine.
        name: String,
        /// Its length.
        bytes: usize,
    },
    /// Our own program or folder is not known.
    #[error("cannot {what}: {error}")]
    Setup {
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        error: std::io::Error,
    },
}

impl Explain for WorkerError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotFound { .. } => {
                "install it, or give its path as in `--engine /path/to/claude`; `tripwire doctor` shows what is there"
                    .into()
            }
            Self::Review { .. } => "leave `--review` out, or name a model, as in `--engine anthropic:MODEL`".into(),
            Self::Record { .. } => "leave `--record` out, or name a model, as in `--engine anthropic:MODEL`".into(),
            Self::Aside { .. } => "name a model, as in `--advisor anthropic:MODEL`".into(),
            Self::Objective { .. } => {
                "put it into a file of the workspace and say `--objective \"Do what TASK.md says\"`".into()
            }
            Self::Setup { .. } => "check that the current folder and this program are still there".into(),
        }
    }
}

/// The command line that an engine's name stands for, if it is a worker's.
pub(crate) fn command(name: &str) -> Option<(Program, Vec<OsString>)> {
    let words: Vec<OsString> = name.split_whitespace().map(OsString::from).collect();
    // A model's name has a colon behind its provider, and may end like a client's.
    let is_model = words.first()?.to_string_lossy().contains(':');
    let program = Program::find(&words).filter(|_| !is_model)?;
    Some((program, words))
}

/// What all workers of a session have in common.
#[derive(Debug, Clone)]
pub(crate) struct Team {
    /// The workspace.
    pub(crate) workspace: Workspace,
    /// What the command line sets in the policy of a worker's session.
    pub(crate) settings: Vec<(String, String)>,
    /// Who must have a worker's records as well as the loop's.
    pub(crate) replica: Option<Arc<dyn Replica>>,
    /// Budgets that other machines spend too.
    pub(crate) money: Option<Arc<dyn SharedMoney>>,
}

impl Team {
    /// Opens a worker. Nothing is started.
    pub(crate) fn open(
        &self,
        name: &str,
        program: Program,
        words: Vec<OsString>,
    ) -> Result<Box<dyn Engine>, WorkerError> {
        let setup = |what| move |error| WorkerError::Setup { what, error };
        let ours = std::env::current_exe().map_err(setup("find our own program"))?;
        let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let root = self.workspace.root();
        supervisor::is_there(&words, root, &env).map_err(|_| WorkerError::NotFound {
            name: name.to_owned(),
            program: words.first().cloned().unwrap_or_default(),
        })?;
        let worker = Supervised { team: self.clone(), program, words, env, ours };
        Ok(Box::new(WorkerEngine::new(name, Box::new(worker))))
    }
}

/// A client under the supervisor, turn after turn.
struct Supervised {
    team: Team,
    program: Program,
    words: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    ours: PathBuf,
}

impl Worker for Supervised {
    fn work(&mut self, order: &WorkerOrder<'_>) -> Result<WorkerTurn, WorkerStartError> {
        match supervisor::run(&self.options(order), Arc::new(QuietNotifier)) {
            Ok(report) => {
                crate::verbs::agent::report::aside(&format!(
                    "note: the session that guarded this turn is {}",
                    report.session
                ));
                Ok(done(&report))
            }
            // A person's order came first: the gate of the loop knows it as well, and says what follows.
            Err(RunError::Blocked(order)) => Ok(not_begun(order)),
            Err(error) => Err(WorkerStartError::of(&error)),
        }
    }
}

impl Supervised {
    fn options(&self, order: &WorkerOrder<'_>) -> RunOptions {
        let workspace = self.team.workspace.clone();
        let mut settings = self.team.settings.clone();
        let mut set = |path: &str, text: String| settings.push((path.to_owned(), text));
        set("limits.max_session_runtime_ms", order.time.as_millis().max(1).to_string());
        if let Some(money) = order.allowance.money {
            set("money.budget_micro_usd", money.get().max(1).to_string());
        }
        RunOptions {
            command: command_line(self.program, &self.words, order.prompt),
            client: Some(self.program.client),
            cwd: workspace.root().to_owned(),
            env: self.env.clone(),
            homes: workspace::homes(),
            hidden: workspace::hidden(),
            kept: workspace::read_only(),
            temporary: workspace::temporary(),
            program: self.ours.clone(),
            settings,
            verify: None,
            fallbacks: Vec::new(),
            // A worker that is held ends its turn: the loop asks the advisor or the next engine.
            presence: Presence::Headless,
            output: Output::Kept,
            reporting: Reporting::ByTheLoop,
            stderr: StderrUse::Shared,
            signing: workspace::signing(&workspace),
            replica: self.team.replica.clone(),
            money: self.team.money.clone(),
            payer: order.allowance.payer.clone(),
            limits: WatchLimits::default(),
            gateway: GatewaySwitch::On,
            sandbox: None,
            cpu: None,
            workspace,
        }
    }
}

/// The whole command line: the person's words, what they leave open, and the prompt.
fn command_line(program: Program, words: &[OsString], prompt: &str) -> Vec<OsString> {
    program.client.adapter().launch.command_line.worker(words, program.arguments, prompt)
}

/// What a run of the supervisor means for the loop.
fn done(report: &RunReport) -> WorkerTurn {
    let view = &report.view;
    let end = match &report.ending {
        Ending::Done(_) => WorkEnd::Finished,
        // Under someone else's agent a system error is always the same action again after the override: a loop. Its
        // session is over, but the next turn is another one.
        Ending::Stopped(StopReason::SystemError) => WorkEnd::Held(HoldReason::Loop),
        Ending::Stopped(reason) => WorkEnd::Stopped(*reason),
        Ending::Held(reason) => WorkEnd::Held(*reason),
        Ending::GuardBroken(_) => WorkEnd::Held(HoldReason::GuardFailure),
        Ending::Parked(_) => WorkEnd::Failed(FailureKind::RateLimited),
        Ending::StepCap
        | Ending::ClientCap(_)
        | Ending::ClientBudget(_)
        | Ending::ClientFailed(_)
        | Ending::NothingAsked => WorkEnd::Failed(FailureKind::Refused),
    };
    let tested = match view.verdict {
        Verification::Verified => Some(TestResult::Passed),
        Verification::Failed => Some(TestResult::Failed),
        Verification::Stale
        | Verification::Unverified
        | Verification::NothingToVerify
        | Verification::Waived
        | Verification::Undocumented => None,
    };
    let text = match end {
        WorkEnd::Finished => report.text.clone().unwrap_or_default(),
        WorkEnd::Held(_) | WorkEnd::Stopped(_) | WorkEnd::Failed(_) => match &view.cause {
            Some(cause) => format!("{}: {}", report.ending.words(), cause.what),
            None => report.ending.words(),
        },
    };
    let work = Work {
        changed: view.dirty_bits.code_modified == Some(true),
        cost_micro_usd: view.spent.micro_usd,
        end,
        session: Some(Label::cut(&report.session)),
        tested,
        tokens: view.spent.tokens,
    };
    WorkerTurn { text, work }
}

fn not_begun(order: &str) -> WorkerTurn {
    let work = Work {
        changed: false,
        cost_micro_usd: MicroUsd::ZERO,
        end: WorkEnd::Failed(FailureKind::Cut),
        session: None,
        tested: None,
        tokens: Tokens::ZERO,
    };
    WorkerTurn { text: format!("`.geometry/{order}` is set: nothing was started"), work }
}

/// What the supervisor has to say stands between the lines of the story.
struct QuietNotifier;

impl Notifier for QuietNotifier {
    fn say(&self, line: &str) {
        crate::verbs::agent::report::aside(line);
    }

    fn taken(&self, driver: &Driver, taken: &StepOutcome) {
        crate::notify::notify(driver, taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str) -> String {
        let (program, words) = command(name).unwrap();
        let line = command_line(program, &words, "PROMPT");
        line.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn run_4_a_clients_name_is_completed_and_a_persons_own_flags_stay() {
        for (name, expected) in [
            ("claude", "claude PROMPT -p --output-format stream-json --verbose --permission-mode acceptEdits"),
            (
                "/opt/claude --model m -p --permission-mode=plan --output-format json",
                "/opt/claude PROMPT --model m -p --permission-mode=plan --output-format json",
            ),
            ("codex", "codex exec --json --skip-git-repo-check -s workspace-write PROMPT"),
            ("codex -m x exec -s read-only", "codex -m x exec -s read-only --json --skip-git-repo-check PROMPT"),
            ("gemini", "gemini --output-format stream-json --approval-mode auto_edit -p PROMPT"),
            ("npx @google/gemini-cli -y", "npx @google/gemini-cli -y --output-format stream-json -p PROMPT"),
        ] {
            assert_eq!(line(name), expected, "{name}");
        }
    }

    #[test]
    fn run_4_a_model_is_no_worker_whatever_it_is_called() {
        for name in ["gemini:gemini-2.5-pro", "lmstudio:some/codex", "scripted:/x/claude", "scripted", "gpt", ""] {
            assert!(command(name).is_none(), "{name}");
        }
    }
}
