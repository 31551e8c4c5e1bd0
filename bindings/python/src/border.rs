//! What crosses the border: values to JSON, errors and panics to exceptions.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tripwire_core::explain::{ExitClass, Explain};

pyo3::import_exception!(tripwire._errors, GuardFailed);
pyo3::import_exception!(tripwire._errors, ForkedAway);
pyo3::import_exception!(tripwire._errors, UsageError);

/// Deepest nesting of a value that is converted; the engine reads no deeper.
const DEPTH_MAX: usize = 64;

/// Runs something that must not panic into the interpreter: a defect becomes an exception, after which nothing may run.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| cause.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(GuardFailed::new_err(format!("a defect of tripwire, please report it: {text}")))
    })
}

/// An error of ours as an exception: wrong use, or a guard that cannot do its work.
pub(crate) fn raised(error: &dyn Explain) -> PyErr {
    let text = format!("{error}; {}", error.hint());
    match error.exit_class() {
        ExitClass::BadInput | ExitClass::Refused => UsageError::new_err(text),
        ExitClass::Held
        | ExitClass::Money
        | ExitClass::Stopped
        | ExitClass::DoesNotHold
        | ExitClass::Internal => GuardFailed::new_err(text),
    }
}

/// A value as JSON text: a text is taken as it is, anything else is converted.
pub(crate) fn json_text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned());
    }
    let mut text = String::new();
    write(value, &mut text, 0)?;
    Ok(text)
}

fn write(value: &Bound<'_, PyAny>, out: &mut String, depth: usize) -> PyResult<()> {
    if depth > DEPTH_MAX {
        return Err(UsageError::new_err(format!("the value is nested more than {DEPTH_MAX} levels deep")));
    }
    if value.is_none() {
        out.push_str("null");
    } else if let Ok(flag) = value.cast::<PyBool>() {
        out.push_str(if flag.is_true() { "true" } else { "false" });
    } else if let Ok(text) = value.cast::<PyString>() {
        quote(&text.to_cow()?, out);
    } else if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        out.push_str(&value.str()?.to_cow()?);
    } else if let Ok(map) = value.cast::<PyDict>() {
        out.push('{');
        for (index, (key, item)) in map.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            quote(&key.str()?.to_cow()?, out);
            out.push(':');
            write(&item, out, depth + 1)?;
        }
        out.push('}');
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        out.push('[');
        for (index, item) in value.try_iter()?.enumerate() {
            if index > 0 {
                out.push(',');
            }
            write(&item?, out, depth + 1)?;
        }
        out.push(']');
    } else {
        let kind = value.get_type();
        return Err(PyTypeError::new_err(format!("a value of {} has no form in JSON", kind.name()?)));
    }
    Ok(())
}

fn quote(text: &str, out: &mut String) {
    // INVARIANT: a text can always be written.
    out.push_str(&serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned()));
}
