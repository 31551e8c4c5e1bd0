//! Our engines against a server that speaks the real wire formats, well and badly.

mod answers;
mod ask;
mod cassettes;
mod failures;
mod hanging;
mod spent;
