//! `tripwire gateway` as a program, between a client and a provider on this machine.

mod control;
mod hostile;
mod money;
mod outbound;
mod support;
mod verbs;
