//! The pure engine and the observer: events in, decisions out, nothing kept outside of the object.

use crate::border::{UsageError, guarded, json_text, raised};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use tripwire_core::chain::Chain;
use tripwire_core::decision::{Decision as Decided, DecisionRecord};
use tripwire_core::policy::Policy;
use tripwire_core::record::canonical;
use tripwire_core::units::RunMillis;
use tripwire_observe::{Observer, RawCall};
use tripwire_session::formats::decode::{Content, decode};
use tripwire_workspace::policy_file;

/// The decision function over one stream of events: the same events give the same decisions as `tripwire decide`.
#[pyclass(module = "tripwire", frozen)]
pub(crate) struct Engine {
    inner: Mutex<Stream>,
}

struct Stream {
    chain: Chain,
    observer: Observer,
}

#[pymethods]
impl Engine {
    /// An engine under a policy: nothing for the defaults, a path to a file in the form of MANIFEST.yaml, or a dict of
    /// settings by their dotted path.
    #[new]
    #[pyo3(signature = (policy=None, *, profile=None))]
    fn new(policy: Option<&Bound<'_, PyAny>>, profile: Option<&str>) -> PyResult<Self> {
        let mut chosen = Policy::default();
        if let Some(settings) = policy.and_then(|policy| policy.cast::<PyDict>().ok()) {
            for (path, value) in settings.iter() {
                let text = json_text(&value)?;
                chosen.set(&path.str()?.to_cow()?, text.trim_matches('"')).map_err(|error| wrong(&error))?;
            }
        } else if let Some(policy) = policy.filter(|policy| !policy.is_none()) {
            let file: PathBuf = policy.extract()?;
            chosen = policy_file::load(&file).map_err(|error| raised(&error))?.policy;
        }
        if let Some(profile) = profile {
            chosen.set("profile", profile).map_err(|error| wrong(&error))?;
        }
        let chain = Chain::new(chosen).map_err(|error| wrong(&error))?;
        Ok(Self { inner: Mutex::new(Stream { chain, observer: Observer::default() }) })
    }

    /// Takes one event in and decides. An event is a dict or a line of JSON in one of the forms of
    /// docs/reference/events.md: an event, a raw call, or a full input.
    fn step(&self, py: Python<'_>, event: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let text = json_text(event)?;
        guarded(|| py.detach(|| self.decide(&text)))
    }
}

impl Engine {
    fn decide(&self, text: &str) -> PyResult<Decision> {
        // A stream that a panic left behind is not trusted: the lock stays poisoned for the next caller to see.
        let mut stream =
            self.inner.lock().map_err(|_| UsageError::new_err("the engine failed before; make another"))?;
        let Stream { chain, observer } = &mut *stream;
        let line = decode(text.as_bytes(), observer, None).map_err(|error| wrong(&error))?;
        match line.content {
            Content::Input(input) => Ok(Decision { inner: chain.step(&input).decision }),
            Content::Header(_) => Err(UsageError::new_err("the head of a scenario is no event")),
        }
    }
}

/// What the engine decided, and why.
#[pyclass(module = "tripwire", frozen)]
pub(crate) struct Decision {
    inner: Decided,
}

#[pymethods]
impl Decision {
    /// Whether the agent may act.
    #[getter]
    fn allowed(&self) -> bool {
        self.inner.safety.allowed
    }

    /// Why, in one sentence.
    #[getter]
    fn reason(&self) -> String {
        self.inner.safety.reason.to_string()
    }

    /// The rule that decided; `tripwire explain RULE` says more.
    #[getter]
    fn rule(&self) -> &'static str {
        self.inner.safety.rule.id()
    }

    /// The indices of the inputs that prove it.
    #[getter]
    fn evidence(&self) -> Vec<u64> {
        self.inner.safety.evidence.indices().iter().map(|index| index.get()).collect()
    }

    /// Milliseconds to wait before asking again, where waiting helps.
    #[getter]
    fn retry_after_ms(&self) -> Option<u64> {
        self.inner.safety.retry_after_ms.map(RunMillis::get)
    }

    /// What should happen now, as the values of docs/reference/events.md.
    #[getter]
    fn effects(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        loaded(py, &canonical::to_string(&self.inner.effects).map_err(|error| wrong(&error))?)
    }

    /// What was noticed.
    #[getter]
    fn findings(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        loaded(py, &canonical::to_string(&self.inner.findings).map_err(|error| wrong(&error))?)
    }

    /// The whole decision as the line that `tripwire decide` prints.
    #[pyo3(signature = (run_id="decide"))]
    fn json(&self, run_id: &str) -> PyResult<String> {
        canonical::to_string(&DecisionRecord::new(run_id, &self.inner)).map_err(|error| wrong(&error))
    }

    fn __repr__(&self) -> String {
        let allowed = if self.inner.safety.allowed { "True" } else { "False" };
        format!("Decision(allowed={allowed}, rule={:?}, reason={:?})", self.rule(), self.reason())
    }
}

/// The facts of a call with its result, as the event that the engine takes: signature, outcome, flags, digests.
#[pyfunction]
#[pyo3(signature = (tool, args=None, output=None, *, error=None, exit_code=None))]
pub(crate) fn observe(
    py: Python<'_>,
    tool: &str,
    args: Option<&Bound<'_, PyAny>>,
    output: Option<&str>,
    error: Option<bool>,
    exit_code: Option<i32>,
) -> PyResult<Py<PyAny>> {
    let args = args.map(json_text).transpose()?.unwrap_or_default();
    let text = guarded(|| {
        py.detach(|| {
            let raw = RawCall { tool, args: &args, output, error, exit_code, ..RawCall::default() };
            let event = tripwire_observe::observe(&raw).event(RunMillis::ZERO);
            canonical::to_string(&event).map_err(|error| wrong(&error))
        })
    })?;
    loaded(py, &text)
}

fn wrong(error: &dyn std::error::Error) -> PyErr {
    UsageError::new_err(error.to_string())
}

fn loaded(py: Python<'_>, text: &str) -> PyResult<Py<PyAny>> {
    Ok(py.import("json")?.call_method1("loads", (text,))?.unbind())
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let steps = self.inner.lock().unwrap_or_else(PoisonError::into_inner).chain.view().steps;
        f.debug_struct("Engine").field("steps", &steps).finish_non_exhaustive()
    }
}
