//! `tripwire run` over the real clients: as the user who runs the tests and, where that is root, as an ordinary user.

mod cases;
mod claude;
mod codex;
mod confined;
mod confined_work;
mod fixture;
mod gemini;
mod servers;
mod without_hooks;
