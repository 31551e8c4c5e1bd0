//! `tripwire hook` under the real clients, which talk to a scripted model on loopback. A client that is not installed is
//! skipped, loudly.

#[path = "../support/mod.rs"]
mod support;

mod cases;
mod claude;
mod codex;
mod gemini;
