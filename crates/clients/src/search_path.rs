//! Where programs are looked for.

use std::ffi::OsString;

/// Where programs are, if the environment does not say.
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// This process's own search path.
pub(crate) fn current() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into())
}
