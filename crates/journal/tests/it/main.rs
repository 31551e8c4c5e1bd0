//! The journal through its public interface.

// The attribute tells clippy that helpers of tests may unwrap, too.
#[cfg(test)]
mod accidents;
mod bundle;
mod files;
mod journal;
#[cfg(test)]
mod keys;
mod storage;
