//! What several test programs share: a scripted HTTP server and the wire formats that it speaks.
pub(crate) mod dialects;
pub(crate) mod server;
