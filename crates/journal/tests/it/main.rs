//! The journal through its public interface.

mod accidents;
mod bundle;
mod files;
mod journal;
mod keys;
mod storage;
