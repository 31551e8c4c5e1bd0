//! The local page: a small server for one person on this machine, and the assets that it hands out.

mod api;
mod assets;
mod guard;
mod limits;
mod pages;
mod reply;
mod server;
mod shared;
mod stream;

pub use server::{Listen, Ready, ServeOptions, WebError, serve};
