//! The ways by which a message reaches a person who is elsewhere: a command, a signed webhook, ntfy, a Slack-compatible webhook,
//! the desktop. The same message is sent once, and a storm of them is thinned out.

mod recent;
mod send;

pub use send::{Order, SendError, Ways};
