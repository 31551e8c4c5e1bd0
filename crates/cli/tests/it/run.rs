//! `tripwire run`: what the supervisor carries out, whatever the client does. The client here is a script that calls its
//! hooks as Claude Code does and otherwise misbehaves as each test needs; the real clients are in `tests/real_clients`.

mod broken;
mod ci;
mod confined;
mod endings;
mod engines;
pub(crate) mod fixture;
mod forgery;
mod people;
mod reach;
mod refusals;
