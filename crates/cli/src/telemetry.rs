//! OpenTelemetry for the verbs that run for a while: `gateway`, `run` and `agent`. It is a feature of the build; a build without
//! it says so where somebody asks for it.

use tripwire_session::driver::{Driver, StepOutcome};
use tripwire_supervisor::Notifier;
use tripwire_workspace::Workspace;
use tripwire_workspace::session::SessionId;

#[cfg(feature = "telemetry")]
pub(crate) use built_in::Telemetry;
#[cfg(not(feature = "telemetry"))]
pub(crate) use left_out::NoTelemetry as Telemetry;

use std::sync::Arc;

/// Who hears what a person should know of it.
pub(crate) type Talk = Box<dyn Fn(&str) + Send>;

#[cfg(feature = "telemetry")]
mod built_in {
    use super::{SessionId, Talk, Workspace};
    use crate::workspace;
    use tripwire_telemetry::{Exporter, Source, TelemetrySettings};

    /// An export, if the environment asks for one. It ends with this value.
    #[derive(Debug)]
    pub(crate) struct Telemetry(Option<Exporter>);

    impl Telemetry {
        /// Begins it. What is wrong with it is said and changes nothing else.
        pub(crate) fn begin(workspace: &Workspace, talk: Talk) -> Self {
            match TelemetrySettings::from_env(&|name| std::env::var(name).ok()) {
                Ok(None) => Self(None),
                Ok(Some(settings)) => Self::start(settings, workspace, talk),
                Err(error) => {
                    talk(&format!("telemetry: nothing is exported: {error}"));
                    Self(None)
                }
            }
        }

        fn start(settings: TelemetrySettings, workspace: &Workspace, talk: Talk) -> Self {
            let redactor = match workspace::redactor(workspace) {
                Ok(redactor) => redactor,
                Err(problem) => {
                    talk(&format!("telemetry: nothing is exported, because secrets are not known: {problem}"));
                    return Self(None);
                }
            };
            // A thread that cannot be had is no reason to let an agent run without its guard, or not at all.
            Self(Exporter::start(settings, workspace.layout().folder(), redactor, talk).ok())
        }

        /// Exports the model calls of the gateway's ledger.
        pub(crate) fn follow_calls(&self) {
            self.follow(Source::Calls);
        }

        /// Exports a session that this process drives.
        pub(crate) fn follow_session(&self, session: &SessionId, agent: &str) {
            self.follow(Source::Session { id: session.clone(), agent: agent.to_owned() });
        }

        /// Exports a session of our own loop.
        pub(crate) fn follow_own_loop(&self, session: &SessionId) {
            self.follow(Source::OwnLoop { id: session.clone() });
        }

        /// Sends what is left, within a bound.
        pub(crate) fn finish(&self) {
            if let Some(exporter) = &self.0 {
                exporter.finish();
            }
        }

        fn follow(&self, source: Source) {
            if let Some(exporter) = &self.0 {
                exporter.follow(source);
            }
        }
    }
}

#[cfg(not(feature = "telemetry"))]
mod left_out {
    use super::{SessionId, Talk, Workspace};

    /// The variables that ask for an export.
    const WANTED: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

    /// Only tells the user, who may expect an export, that this build has none.
    #[derive(Debug)]
    pub(crate) struct NoTelemetry;

    impl NoTelemetry {
        /// Says that there is none.
        #[expect(clippy::needless_pass_by_value, reason = "a build with telemetry keeps it")]
        pub(crate) fn begin(_workspace: &Workspace, talk: Talk) -> Self {
            let wanted = WANTED.iter().find(|name| std::env::var(name).is_ok_and(|value| !value.trim().is_empty()));
            if let Some(name) = wanted {
                talk(&format!(
                    "note: `{name}` is set, and this build has no telemetry; build one with \
                     `cargo build --release --features telemetry`"
                ));
            }
            Self
        }

        pub(crate) const fn follow_calls(&self) {}

        pub(crate) const fn follow_session(&self, _session: &SessionId, _agent: &str) {}

        pub(crate) const fn follow_own_loop(&self, _session: &SessionId) {}

        pub(crate) const fn finish(&self) {}
    }
}

/// Tells telemetry of the sessions of a run, and everyone else what they heard before.
pub(crate) struct TelemetryNotifier {
    pub(crate) inner: Arc<dyn Notifier>,
    pub(crate) telemetry: Arc<Telemetry>,
    /// Who works in them.
    pub(crate) agent: String,
}

impl Notifier for TelemetryNotifier {
    fn say(&self, line: &str) {
        self.inner.say(line);
    }

    fn begun(&self, session: &SessionId) {
        self.telemetry.follow_session(session, &self.agent);
        self.inner.begun(session);
    }

    fn taken(&self, driver: &Driver, taken: &StepOutcome) {
        self.inner.taken(driver, taken);
    }
}
