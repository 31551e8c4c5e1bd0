//! The local page: a small server for one person on this machine, and the assets that it hands out.

mod api;
mod assets;
mod error;
mod guard;
mod limits;
mod link;
mod pages;
mod reply;
mod server;
mod shared;
mod stream;
mod tls;

pub use error::WebError;
pub use server::{Listen, Ready, ServeOptions, serve};
pub use tls::TlsFiles;
