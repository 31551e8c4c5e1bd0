//! The judge against real repositories: lines that must be held, look-alikes that must pass, and what nobody would write.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise must end the test")]

mod cards;
mod guard;
mod lines;
mod own_scripts;
mod properties;
mod reading;
mod services;
mod situations;
mod steps;
mod work;
