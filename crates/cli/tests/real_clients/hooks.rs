//! `tripwire hook` under the real clients.

mod cases;
mod claude;
mod codex;
mod gemini;
