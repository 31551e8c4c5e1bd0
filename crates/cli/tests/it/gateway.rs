//! `tripwire gateway` as a program, between a client and a provider on this machine.

mod control;
mod conversations;
mod fallback;
mod fleet_money;
mod hook_silent;
mod hostile;
mod money;
mod outbound;
mod pages;
mod paused;
pub(crate) mod support;
mod telemetry;
mod tls;
mod under_run;
mod verbs;
mod without_hooks;
mod workers;
