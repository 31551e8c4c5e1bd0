//! The journal through its public interface.

mod bundle;
mod journal;
mod storage;
