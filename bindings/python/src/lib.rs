//! tripwire for Python, in process: the engine, the observer, and a journaled session.
//!
//! Everything here converts and hands on. What blocks runs without the interpreter's lock, a panic becomes an exception, and a
//! session that was forked away says so instead of waiting for a lock that nobody holds.

mod border;
mod engine;
mod session;

use pyo3::prelude::*;

/// The native part of the package `tripwire`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<engine::Decision>()?;
    module.add_class::<session::NativeSession>()?;
    module.add_class::<session::NativeStop>()?;
    module.add_function(wrap_pyfunction!(engine::observe, module)?)?;
    Ok(())
}
