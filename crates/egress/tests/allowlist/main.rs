//! The allow-list proxy from the outside: real sockets, real TLS, loopback only.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may fail the test that uses it")]

mod adversary;
mod clients;
mod hello;
mod lifetime;
mod parsers;
mod requests;
mod support;
mod tls;
