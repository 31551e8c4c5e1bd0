//! The journal through its public interface.

mod journal;
mod storage;
