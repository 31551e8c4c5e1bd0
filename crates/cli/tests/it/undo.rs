//! `undo`, `redo`, `diff` and `set` through the binary, under hooks, `run` and our own loop.

mod agents;
mod hooks;
mod limits;
