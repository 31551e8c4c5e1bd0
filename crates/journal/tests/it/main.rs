//! The journal through its public interface.

mod bundle;
mod files;
mod journal;
#[cfg(test)]
mod refused;
// The attribute tells clippy that helpers of tests may unwrap, too.
#[cfg(test)]
mod keys;
#[cfg(test)]
mod simulated_faults;
mod storage;
