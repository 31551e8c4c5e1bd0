//! The allow-list proxy from the outside: real sockets, real TLS, loopback only.
#![cfg(unix)]

mod adversary;
mod clients;
mod hello;
mod lifetime;
mod parsers;
mod requests;
mod support;
mod tls;
