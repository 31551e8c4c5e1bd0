//! Benches, apart from the crates that they measure so that no crate's tests compile them.

use std::path::PathBuf;

/// The binary that is measured: `TRIPWIRE_BENCH_BINARY`, or the one that cargo built beside this bench.
///
/// # Panics
/// When there is none: build it first, with the profile of the bench (`just bench-hook` does).
#[must_use]
pub fn binary() -> PathBuf {
    let named = std::env::var_os("TRIPWIRE_BENCH_BINARY").map(PathBuf::from);
    let beside = || std::env::current_exe().ok()?.ancestors().nth(2).map(|folder| folder.join("tripwire"));
    let binary = named.or_else(beside).unwrap_or_default();
    assert!(binary.is_file(), "no binary at `{}`: build it with `just static` and name it", binary.display());
    binary
}
