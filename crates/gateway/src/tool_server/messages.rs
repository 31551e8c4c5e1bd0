//! What the carrier asks about each message: the gate of a tool server, which is `mcp`'s.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The conversations of all clients with one server.
pub trait ToolMessages: Send + Sync {
    /// The conversation of a session of the protocol; one of its own for a request that names none.
    fn conversation(&self, session: Option<&str>) -> Arc<dyn ToolConversation>;

    /// The server has ended a session.
    fn ended(&self, session: &str);

    /// Something that a person should know.
    fn note(&self, text: &str);

    /// No more messages are carried: whatever waits is given up.
    fn close(&self);
}

/// One client with one server. What it is asked may take as long as a person does: it is asked where waiting is allowed.
pub trait ToolConversation: Send + Sync {
    /// The body of a request of the client.
    fn posted(&self, body: &[u8], client: &ClientPresence) -> Posted;

    /// A message of the server: the body of a reply, or the data of an event.
    fn said(&self, message: &[u8]) -> Said;

    /// Requests that get no answer any more; gives the errors for those who wait.
    fn unanswered(&self, asked: &[AskedKey], why: &str) -> Vec<String>;
}

/// What names an open request in its conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedKey(pub String);

/// What becomes of what a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It goes on.
    Passes {
        /// In this form, where it does not go on as it came.
        changed: Option<String>,
        /// Answers to parts of it that do not.
        own: Vec<String>,
        /// The requests in it.
        asked: Vec<AskedKey>,
        /// In which form it came.
        form: PostedForm,
    },
    /// Nothing of it goes on.
    Answered {
        /// The answers, where it wants some.
        own: Vec<String>,
        /// In which form it came.
        form: PostedForm,
    },
    /// It cannot be read; this is the error.
    Unreadable(String),
}

/// In which form messages came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostedForm {
    /// One message.
    One,
    /// A batch.
    Batch,
}

/// What becomes of what a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It goes on as it came.
    AsItCame,
    /// It goes on in this form.
    Changed(String),
    /// It does not go on.
    Nothing,
}

/// Whether a client still waits for its answer.
#[derive(Debug, Clone, Default)]
pub struct ClientPresence(Arc<AtomicBool>);

impl ClientPresence {
    /// Whether it has gone away.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// The client goes away with this value.
    pub(super) fn until_drop(&self) -> Leaves {
        Leaves(self.clone())
    }
}

/// Marks a client as gone when it is dropped, which is what happens to the work for a connection that closed.
#[derive(Debug)]
pub(super) struct Leaves(ClientPresence);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::SeqCst);
    }
}
