//! Moves a reply from the provider to the client, reads the copy, and cuts where it must: a stop, a chant, silence.

use crate::body::Piece;
use crate::door::{DoorAnswer, DoorQuestion};
use crate::event_edge::EventEdge;
use crate::limits::{HELD_BYTES_MAX, IDLE_WAIT};
use crate::open_call::{Conversation, OpenCall, Stage};
use crate::orders::Standing;
use crate::refusal::{RefusalKind, RefusedRequest};
use crate::upstream::ReturnedConnection;
use crate::wire::decode::Encoding;
use crate::wire::tool_calls::CallCollector;
use crate::wire::usage_chunk::UsageChunkFilter;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, sleep, timeout};
use tripwire_core::ledger::CallEnd;

/// A reply that is under way.
pub(crate) struct Reply {
    pub(crate) open: OpenCall,
    /// What was read of it already.
    pub(crate) begun: VecDeque<Bytes>,
    pub(crate) body: Incoming,
    pub(crate) connection: ReturnedConnection,
    pub(crate) filter: Option<UsageChunkFilter>,
    pub(crate) encoding: Encoding,
}

/// What ended the moving.
enum Ended {
    Whole,
    Broken,
    Cancelled,
    Stopped,
    Chanted,
    /// The guard of the run does not let the client do what the reply asks for.
    Refused(String),
}

/// Moves everything, then settles and closes.
pub(crate) async fn run(mut reply: Reply, client: Sender<Piece>) {
    let mut held = HeldPieces::default();
    let mut ended = move_pieces(&mut reply, &client, &mut held).await;
    if let Stage::Replying(reader) = &mut reply.open.stage {
        reader.end();
    }
    if matches!(ended, Ended::Whole)
        && let DoorAnswer::Wait(_, reason) | DoorAnswer::Refuse(reason) = ask_door(&reply.open).await
    {
        ended = Ended::Refused(reason);
    }
    let Reply { mut open, connection, filter, encoding, .. } = reply;
    let HeldPieces { pieces, for_door, mut edge, .. } = held;
    let shared = std::sync::Arc::clone(&open.shared);
    shared.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    // A client that went away hears nothing any more.
    let mut tell = Vec::new();
    match ended {
        Ended::Whole => {
            open.settle(CallEnd::Complete);
            shared.upstreams.give_back(connection);
            let rest = filter.map(|mut filter| Bytes::from(filter.rest()));
            let rest = [edge.rest()].into_iter().chain(rest).filter(|rest| !rest.is_empty());
            tell.extend(pieces.into_iter().chain(rest).map(Piece::Data));
        }
        Ended::Broken => {
            open.settle(CallEnd::Broken);
            let rest = [edge.rest()].into_iter().filter(|rest| !rest.is_empty());
            tell.extend(pieces.into_iter().chain(rest).filter(|_| !for_door).map(Piece::Data));
            tell.push(Piece::Broken);
        }
        Ended::Refused(reason) => {
            open.settle(CallEnd::Complete);
            shared.books().note("REFUSED", &reason);
            let refusal =
                RefusedRequest::new(RefusalKind::Forbidden, reason, "see `tripwire status` and `tripwire log`");
            tell.push(cut(&refusal, &open, encoding, &edge));
        }
        Ended::Cancelled => open.settle(CallEnd::Cancelled),
        Ended::Stopped => {
            open.settle(CallEnd::Stopped);
            tell.push(cut(&RefusedRequest::stopped(&shared.orders), &open, encoding, &edge));
        }
        Ended::Chanted => {
            let saved = open.worst.amount;
            open.settle(CallEnd::Chanted);
            shared.books().note("LOOP-2.chant", "a reply repeated itself and was cut");
            let reason = format!(
                "LOOP-2.chant: the reply repeats itself and was cut; going on to its limit would have cost up to {}",
                saved.in_dollars()
            );
            let refusal = RefusedRequest::new(RefusalKind::Forbidden, reason, "ask again in other words");
            tell.push(cut(&refusal, &open, encoding, &edge));
        }
    }
    for piece in tell {
        if client.send(piece).await.is_err() {
            return;
        }
    }
}

/// Pieces that the client does not get yet.
#[derive(Debug, Default)]
struct HeldPieces {
    pieces: Vec<Bytes>,
    bytes: usize,
    /// Whether the guard of a run is asked before any of them goes on.
    for_door: bool,
    /// The beginning of an event that has not ended.
    edge: EventEdge,
}

impl HeldPieces {
    /// Keeps a piece and gives the one before it, unless all of them wait for the guard.
    fn keep(&mut self, data: Bytes) -> Option<Bytes> {
        self.bytes += data.len();
        self.pieces.push(data);
        if self.for_door || self.pieces.len() < 2 { None } else { Some(self.pieces.remove(0)) }
    }
}

/// Asks the guard about the calls of a reply. One that cannot be read may ask for anything.
pub(crate) async fn ask_door(open: &OpenCall) -> DoorAnswer {
    let (Some(request), Stage::Replying(reader)) = (open.conversation.request(), &open.stage) else {
        return DoorAnswer::Pass;
    };
    let is_asked = matches!(open.conversation, Conversation::Asked(_));
    let has_missed = reader.facts().calls.as_deref().is_some_and(CallCollector::has_missed);
    if (reader.is_unreadable() || has_missed) && is_asked {
        return DoorAnswer::Refuse("the reply cannot be read, and it may ask for anything".to_owned());
    }
    let calls = reader.facts().calls.as_ref().map(|calls| calls.calls(request)).unwrap_or_default();
    if calls.is_empty() {
        return DoorAnswer::Pass;
    }
    if let Some(run) = open.shared.run.as_ref().filter(|_| !is_asked) {
        run.follow(calls);
        return DoorAnswer::Pass;
    }
    open.shared.door.ask(&open.caller, DoorQuestion::Reply(request.clone(), calls)).await
}

/// How a reply is cut: a stream that is not packed with the API's own error event between two of its events, anything else by
/// closing the connection.
fn cut(refusal: &RefusedRequest, open: &OpenCall, encoding: Encoding, edge: &EventEdge) -> Piece {
    match &open.stage {
        Stage::Replying(reader) if reader.is_stream() && encoding == Encoding::Identity && edge.is_clean() => {
            Piece::Data(Bytes::from(refusal.event(open.facts.api)))
        }
        Stage::Replying(_) | Stage::Reserved | Stage::Sent => Piece::Broken,
    }
}

/// What comes next of a reply.
pub(crate) enum NextPiece {
    Data(Bytes),
    End,
    Broken,
}

/// The next bytes of a reply.
pub(crate) async fn next_piece(body: &mut Incoming) -> NextPiece {
    timeout(IDLE_WAIT, frame(body)).await.unwrap_or(NextPiece::Broken)
}

/// The same, for a caller that bounds the wait itself.
pub(crate) async fn frame(body: &mut Incoming) -> NextPiece {
    loop {
        return match body.frame().await {
            Some(Err(_)) => NextPiece::Broken,
            None => NextPiece::End,
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => NextPiece::Data(data),
                Err(_) => continue,
            },
        };
    }
}

async fn move_pieces(reply: &mut Reply, client: &Sender<Piece>, held: &mut HeldPieces) -> Ended {
    let shared = std::sync::Arc::clone(&reply.open.shared);
    // All three wait for the whole reply and not for each piece of it: a stream has many.
    let mut standing = shared.orders.follow();
    let mut stopped = pin!(standing.wait_for(|standing| *standing == Standing::Stopped));
    let mut closed = pin!(client.closed());
    let mut idle = pin!(sleep(IDLE_WAIT));
    loop {
        idle.as_mut().reset(Instant::now() + IDLE_WAIT);
        let begun = reply.begun.pop_front();
        let next = tokio::select! {
            biased;
            _ = &mut stopped => return Ended::Stopped,
            () = &mut closed => return Ended::Cancelled,
            next = async {
                match begun {
                    Some(data) => NextPiece::Data(data),
                    None => frame(&mut reply.body).await,
                }
            } => next,
            () = &mut idle => NextPiece::Broken,
        };
        let data = match next {
            NextPiece::Data(data) => data,
            NextPiece::End => return Ended::Whole,
            NextPiece::Broken => return Ended::Broken,
        };
        let next = match take_in(reply, held, data) {
            Ok(Some(next)) => next,
            Ok(None) => continue,
            Err(ended) => return ended,
        };
        let next = match client.try_send(Piece::Data(next)) {
            Ok(()) => continue,
            Err(TrySendError::Closed(_)) => return Ended::Cancelled,
            // A slow client slows the provider.
            Err(TrySendError::Full(next)) => next,
        };
        tokio::select! {
            biased;
            _ = &mut stopped => return Ended::Stopped,
            sent = client.send(next) => {
                if sent.is_err() {
                    return Ended::Cancelled;
                }
            }
        }
    }
}

/// Reads a copy of a piece and gives what may go on to the client.
fn take_in(reply: &mut Reply, held: &mut HeldPieces, data: Bytes) -> Result<Option<Bytes>, Ended> {
    let asks = matches!(reply.open.conversation, Conversation::Asked(_));
    let Stage::Replying(reader) = &mut reply.open.stage else { return Err(Ended::Broken) };
    reader.feed(&data);
    if reader.facts().chants() {
        return Err(Ended::Chanted);
    }
    // Who has seen the end of a stream may rely on its being booked.
    let is_over = reader.is_stream()
        && reader.facts().is_complete
        && reader.facts().told().is_some()
        && reply.open.facts.replies == 1;
    let is_stream = reader.is_stream();
    // A client acts on a call as soon as it has it: from the first one on, everything waits for the guard.
    let is_call = |calls: &CallCollector| calls.has_begun() || calls.has_missed() || !is_stream;
    held.for_door |=
        asks && reader.facts().calls.as_deref().is_some_and(|calls| is_call(calls) || reader.is_unreadable());
    if is_over {
        reply.open.settle(CallEnd::Complete);
    }
    let data = match &mut reply.filter {
        Some(filter) => Bytes::from(filter.pass(&data)),
        None => data,
    };
    let is_plain_stream = is_stream && reply.encoding == Encoding::Identity;
    let data = if is_plain_stream { held.edge.pass(data) } else { data };
    if data.is_empty() {
        return Ok(None);
    }
    // The last piece of a reply in one go is held back until it is booked.
    let next = if is_stream && !held.for_door { Some(data) } else { held.keep(data) };
    if held.for_door && held.bytes > HELD_BYTES_MAX {
        return Err(Ended::Broken);
    }
    Ok(next)
}
