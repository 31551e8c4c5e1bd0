//! Moves a stream of events from the server to the client: each message in it is shown to the gate, and a slow client slows the
//! server.

use super::event::{EventKind, EventReader, StreamEvent, event_of};
use super::messages::{AskedKey, Said, ToolConversation, ToolMessages};
use crate::body::Piece;
use crate::buffered::BufferShare;
use crate::pump::{NextPiece, frame};
use crate::upstream::{ReturnedConnection, Upstreams};
use bytes::Bytes;
use hyper::body::Incoming;
use serde::de::IgnoredAny;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::Sender;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long the head of a stream waits for its first event, which says whether it is of the older transport.
const FIRST_EVENT_WITHIN: Duration = Duration::from_millis(100);

/// Requests that wait for their answers. Dropped, they have none any more.
pub(super) struct OpenAsked {
    conversation: Arc<dyn ToolConversation>,
    keys: Vec<AskedKey>,
}

impl OpenAsked {
    pub(super) fn new(conversation: Arc<dyn ToolConversation>, keys: Vec<AskedKey>) -> Self {
        Self { conversation, keys }
    }

    pub(super) fn conversation(&self) -> &Arc<dyn ToolConversation> {
        &self.conversation
    }

    /// No answer comes any more to those that are open still; gives the errors for them.
    pub(super) async fn unanswered(&mut self, why: &str) -> Vec<String> {
        let keys = std::mem::take(&mut self.keys);
        if keys.is_empty() {
            return Vec::new();
        }
        let (conversation, why) = (Arc::clone(&self.conversation), why.to_owned());
        spawn_blocking(move || conversation.unanswered(&keys, &why)).await.unwrap_or_default()
    }

    /// Their answers may come on another stream.
    fn leave_open(&mut self) {
        self.keys.clear();
    }
}

impl Drop for OpenAsked {
    fn drop(&mut self) {
        let keys = std::mem::take(&mut self.keys);
        if let (false, Ok(runtime)) = (keys.is_empty(), Handle::try_current()) {
            let conversation = Arc::clone(&self.conversation);
            drop(
                runtime
                    .spawn_blocking(move || conversation.unanswered(&keys, "the client went away before the answer")),
            );
        }
    }
}

/// A stream that is under way.
pub(super) struct EventStream {
    pub(super) open: OpenAsked,
    /// Answers of the guard's own, which go first.
    pub(super) own: Vec<String>,
    pub(super) body: Incoming,
    pub(super) connection: ReturnedConnection,
    pub(super) share: BufferShare,
    pub(super) messages: Arc<dyn ToolMessages>,
    events: VecDeque<StreamEvent>,
    reader: EventReader,
    resumes: Resumes,
}

/// Whether a client can take the stream up again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Resumes {
    /// No event had an id.
    Nowhere,
    /// Behind the last event that had one.
    BehindAnEvent,
}

/// What ended a stream.
enum StreamEnd {
    Whole,
    Broken,
    ClientLeft,
    Refused(String),
}

/// A stream that is one of the older transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OldTransport;

impl EventStream {
    pub(super) fn new(
        open: OpenAsked,
        own: Vec<String>,
        reply: (Incoming, ReturnedConnection),
        share: BufferShare,
        messages: Arc<dyn ToolMessages>,
    ) -> Self {
        let (body, connection) = reply;
        let (events, reader) = (VecDeque::new(), EventReader::default());
        Self { open, own, body, connection, share, messages, events, reader, resumes: Resumes::Nowhere }
    }

    /// Looks at the first event, if it comes soon.
    pub(super) async fn begin(&mut self) -> Result<(), OldTransport> {
        if let Ok(NextPiece::Data(data)) = timeout(FIRST_EVENT_WITHIN, frame(&mut self.body)).await {
            // What is wrong with the stream is found again when it is moved.
            self.events.extend(self.reader.push(&data).unwrap_or_default());
        }
        let is_old = self.events.iter().any(|event| event.kind() == EventKind::Endpoint);
        if is_old { Err(OldTransport) } else { Ok(()) }
    }

    /// Moves everything to the client.
    pub(super) async fn run(mut self, upstreams: &Upstreams, client: Sender<Piece>) {
        let end = self.moved(&client).await;
        let why = match &end {
            StreamEnd::Whole => "the server ended the stream without an answer",
            StreamEnd::Broken => "the server's stream broke off before the answer",
            StreamEnd::ClientLeft => "the client went away before the answer",
            StreamEnd::Refused(why) => why.as_str(),
        };
        let resumes = self.resumes == Resumes::BehindAnEvent && !matches!(end, StreamEnd::Refused(_));
        let errors = if resumes {
            self.open.leave_open();
            Vec::new()
        } else {
            self.open.unanswered(why).await
        };
        if let StreamEnd::Refused(why) = &end {
            self.messages.note(&format!("a stream of the server is cut: {why}"));
        }
        let is_told = !errors.is_empty();
        for error in errors {
            drop(client.send(Piece::Data(Bytes::from(event_of(&error)))).await);
        }
        match end {
            StreamEnd::Whole => upstreams.give_back(self.connection),
            // A client that waits was told, or can take it up again; any other has to see that it is not whole.
            StreamEnd::Broken | StreamEnd::Refused(_) if !is_told => drop(client.send(Piece::Broken).await),
            StreamEnd::Broken | StreamEnd::Refused(_) | StreamEnd::ClientLeft => {}
        }
    }

    async fn moved(&mut self, client: &Sender<Piece>) -> StreamEnd {
        for own in std::mem::take(&mut self.own) {
            if client.send(Piece::Data(Bytes::from(event_of(&own)))).await.is_err() {
                return StreamEnd::ClientLeft;
            }
        }
        loop {
            while let Some(event) = self.events.pop_front() {
                let bytes = match self.judged(event).await {
                    Ok(bytes) => bytes,
                    Err(end) => return end,
                };
                if client.send(Piece::Data(Bytes::from(bytes))).await.is_err() {
                    return StreamEnd::ClientLeft;
                }
            }
            self.share.shrink_to(self.reader.waiting());
            let next = tokio::select! {
                biased;
                () = client.closed() => return StreamEnd::ClientLeft,
                next = frame(&mut self.body) => next,
            };
            let data = match next {
                NextPiece::Data(data) => data,
                // An event without its end is none.
                NextPiece::End => return StreamEnd::Whole,
                NextPiece::Broken => return StreamEnd::Broken,
            };
            if self.share.grow_to(self.reader.waiting() + data.len()).is_err() {
                return StreamEnd::Refused("the messages under way hold too many bytes".to_owned());
            }
            match self.reader.push(&data) {
                Ok(events) => self.events.extend(events),
                Err(fault) => return StreamEnd::Refused(fault.to_string()),
            }
        }
    }

    /// What of an event goes to the client.
    async fn judged(&mut self, event: StreamEvent) -> Result<Vec<u8>, StreamEnd> {
        if event.has_id() {
            self.resumes = Resumes::BehindAnEvent;
        }
        let is_message = match (event.kind(), event.data()) {
            (EventKind::Endpoint, _) => {
                return Err(StreamEnd::Refused(
                    "it is of the older HTTP+SSE transport, which is not guarded".to_owned(),
                ));
            }
            (EventKind::Message | EventKind::Other, None) => false,
            (EventKind::Message, Some(data)) => !data.trim_ascii().is_empty(),
            // Nobody should take it for a message; what could be taken for one is shown to the gate all the same.
            (EventKind::Other, Some(data)) => serde_json::from_slice::<IgnoredAny>(&data).is_ok(),
        };
        if !is_message {
            return Ok(event.into_raw());
        }
        let conversation = Arc::clone(self.open.conversation());
        let judged = spawn_blocking(move || {
            let said = event.data().map_or(Said::AsItCame, |data| conversation.said(&data));
            event.rendered(said)
        });
        judged.await.map_err(|_| StreamEnd::Broken)
    }
}
