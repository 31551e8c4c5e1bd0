//! A journaled session, as the Python layer wraps it.

use crate::border::{ForkedAway, GuardFailed, guarded, raised};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_embed::{
    Admission, AgentId, CallId, CallQuestion, CallResult, EmbedError, GuardedSession, NoResult, ResultAnswer,
    SessionOptions, Stop, StopKind, UsageTold,
};

/// Why something may not go on.
#[pyclass(module = "tripwire", frozen, get_all)]
pub(crate) struct NativeStop {
    held: bool,
    reason: String,
    rule: String,
    evidence: Vec<u64>,
    retry_after_ms: Option<u64>,
    code: Option<String>,
    message: String,
    hint: String,
}

impl From<Stop> for NativeStop {
    fn from(stop: Stop) -> Self {
        let Stop { kind, reason, rule, evidence, retry_after_ms, code, message, hint } = stop;
        Self { held: kind == StopKind::Held, reason, rule, evidence, retry_after_ms, code, message, hint }
    }
}

/// What a result led to: a note for the agent, a stop, notices for people.
type After = (Option<String>, Option<NativeStop>, Vec<String>);

/// One session; it belongs to the process that began it.
#[pyclass(module = "tripwire", frozen)]
pub(crate) struct NativeSession {
    inner: Mutex<GuardedSession>,
    process: u32,
}

#[pymethods]
impl NativeSession {
    #[new]
    #[pyo3(signature = (workspace=None, session=None, budget=None, profile=None, role=None, settings=None))]
    fn new(
        py: Python<'_>,
        workspace: Option<PathBuf>,
        session: Option<String>,
        budget: Option<String>,
        profile: Option<String>,
        role: Option<String>,
        settings: Option<BTreeMap<String, String>>,
    ) -> PyResult<Self> {
        let settings = settings.unwrap_or_default();
        let options = SessionOptions { workspace, session, budget, profile, role, settings };
        let begun = guarded(|| py.detach(|| GuardedSession::begin(&options).map_err(|error| raised(&error))))?;
        Ok(Self { inner: Mutex::new(begun), process: std::process::id() })
    }

    /// Asks before a call: its id with a note, or why it may not run.
    #[pyo3(signature = (tool, args, agent=None, turn=None))]
    fn before(
        &self,
        py: Python<'_>,
        tool: &str,
        args: &str,
        agent: Option<String>,
        turn: Option<&str>,
    ) -> PyResult<(Option<String>, Option<String>, Option<NativeStop>, Vec<String>)> {
        self.with(py, |session| {
            let agent = agent.map(AgentId);
            let question = CallQuestion { tool, arguments: args, agent: agent.as_ref(), turn };
            let admission = session.before(&question)?;
            let notes = session.notes();
            Ok(match admission {
                Admission::Allowed { call, note } => (Some(call.0), note, None, notes),
                Admission::Stopped(stop) => (None, None, Some((*stop).into()), notes),
            })
        })
    }

    /// Reports what a call gave, and closes it.
    #[pyo3(signature = (call, output, error=None, exit_code=None, duration_ms=None))]
    fn after(
        &self,
        py: Python<'_>,
        call: String,
        output: String,
        error: Option<bool>,
        exit_code: Option<i32>,
        duration_ms: Option<u64>,
    ) -> PyResult<After> {
        self.with(py, |session| {
            let answer = session.after(&CallId(call), &CallResult { output, error, exit_code, duration_ms })?;
            Ok(after(answer, session))
        })
    }

    /// Closes a call that has no result.
    fn no_result(&self, py: Python<'_>, call: String) -> PyResult<After> {
        self.with(py, |session| {
            let answer = session.no_result(&CallId(call), NoResult::Abandoned)?;
            Ok(after(answer, session))
        })
    }

    /// Counts what one answer of a model used: input, output, cache read, cache write and reasoning tokens.
    #[pyo3(signature = (model, tokens, context=None, agent=None))]
    fn usage(
        &self,
        py: Python<'_>,
        model: String,
        tokens: (u64, u64, u64, u64, u64),
        context: Option<u64>,
        agent: Option<String>,
    ) -> PyResult<After> {
        let (input, output, cache_read, cache_write, reasoning) = tokens;
        let tokens = Usage {
            cache_read: Tokens::new(cache_read),
            cache_write: Tokens::new(cache_write),
            cache_write_long: Tokens::ZERO,
            fresh_input: Tokens::new(input),
            output: Tokens::new(output),
            reasoning: Tokens::new(reasoning),
        };
        let told = UsageTold { model, tokens, context: context.map(Tokens::new), agent: agent.map(AgentId) };
        self.with(py, |session| {
            let answer = session.usage(&told)?;
            Ok(after(answer, session))
        })
    }

    /// Announces a sub-agent: its id, or why it may not start.
    #[pyo3(signature = (name, parent=None))]
    fn child(
        &self,
        py: Python<'_>,
        name: &str,
        parent: Option<String>,
    ) -> PyResult<(Option<String>, Option<NativeStop>)> {
        self.with(py, |session| {
            Ok(match session.child(name, parent.map(AgentId).as_ref())? {
                Ok(agent) => (Some(agent.0), None),
                Err(stop) => (None, Some((*stop).into())),
            })
        })
    }

    /// The session at a glance, as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        let status = self.with(py, |session| session.status())?;
        serde_json::to_string(&status).map_err(|error| GuardFailed::new_err(error.to_string()))
    }

    /// Closes the session; calls that are open have no result.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |session| session.close(NoResult::SessionClosed))
    }

    /// The session's id.
    fn id(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |session| Ok(session.id().to_owned()))
    }
}

impl NativeSession {
    /// Does something with the session, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut GuardedSession) -> Result<T, EmbedError> + Send,
    ) -> PyResult<T> {
        // Before the lock: after a fork it may be held by a thread that does not exist here.
        if std::process::id() != self.process {
            return Err(ForkedAway::new_err(
                "this session belongs to the process that began it; call `guard()` in the forked process",
            ));
        }
        guarded(|| {
            py.detach(|| {
                let mut session =
                    self.inner.lock().map_err(|_| GuardFailed::new_err("the session failed before; begin another"))?;
                work(&mut session).map_err(|error| raised(&error))
            })
        })
    }
}

fn after(answer: ResultAnswer, session: &mut GuardedSession) -> After {
    (answer.note, answer.stop.map(|stop| (*stop).into()), session.notes())
}
