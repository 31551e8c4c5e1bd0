//! How large a test is: the short run keeps every kind of test, the long one takes more seeds, streams and processes.

/// `short` in an ordinary run, `long` with `TRIPWIRE_TESTS=long` (`just test-long`, CI).
#[must_use]
pub fn sized<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// Whether this is the long run.
#[must_use]
pub fn is_long() -> bool {
    std::env::var_os("TRIPWIRE_TESTS").is_some_and(|size| size == "long")
}
