//! Moves a reply from the provider to the client, reads the copy, and cuts where it must: a stop, a chant, silence.

use crate::body::Piece;
use crate::limits::IDLE_WAIT;
use crate::open_call::{OpenCall, Stage};
use crate::refusal::{RefusalKind, RefusedRequest};
use crate::shared::Standing;
use crate::upstream::ReturnedConnection;
use crate::wire::decode::Encoding;
use crate::wire::usage_chunk::UsageChunkFilter;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;
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
}

/// Moves everything, then settles and closes.
pub(crate) async fn run(mut reply: Reply, client: Sender<Piece>) {
    let mut held = None;
    let ended = move_pieces(&mut reply, &client, &mut held).await;
    let Reply { mut open, connection, filter, encoding, .. } = reply;
    let shared = std::sync::Arc::clone(&open.shared);
    shared.metrics.streams.fetch_sub(1, Ordering::Relaxed);
    if let Stage::Replying(reader) = &mut open.stage {
        reader.end();
    }
    // A client that went away hears nothing any more.
    let mut tell = Vec::new();
    match ended {
        Ended::Whole => {
            open.settle(CallEnd::Complete);
            shared.upstreams.give_back(connection);
            let rest = filter.map(|mut filter| filter.rest()).filter(|rest| !rest.is_empty());
            tell.extend(held.into_iter().chain(rest.map(Bytes::from)).map(Piece::Data));
        }
        Ended::Broken => {
            open.settle(CallEnd::Broken);
            tell.extend(held.map(Piece::Data));
            tell.push(Piece::Broken);
        }
        Ended::Cancelled => open.settle(CallEnd::Cancelled),
        Ended::Stopped => {
            open.settle(CallEnd::Stopped);
            tell.push(cut(&RefusedRequest::stopped(), &open, encoding));
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
            tell.push(cut(&refusal, &open, encoding));
        }
    }
    for piece in tell {
        if client.send(piece).await.is_err() {
            return;
        }
    }
}

/// How a reply is cut: a stream that is not packed with the API's own error event, anything else by closing the connection.
fn cut(refusal: &RefusedRequest, open: &OpenCall, encoding: Encoding) -> Piece {
    match &open.stage {
        Stage::Replying(reader) if reader.is_stream() && encoding == Encoding::Identity => {
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
    loop {
        return match timeout(IDLE_WAIT, body.frame()).await {
            Err(_) | Ok(Some(Err(_))) => NextPiece::Broken,
            Ok(None) => NextPiece::End,
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => NextPiece::Data(data),
                Err(_) => continue,
            },
        };
    }
}

async fn move_pieces(reply: &mut Reply, client: &Sender<Piece>, held: &mut Option<Bytes>) -> Ended {
    let mut standing = reply.open.shared.standing.clone();
    loop {
        let begun = reply.begun.pop_front();
        let next = tokio::select! {
            biased;
            _ = standing.wait_for(|standing| *standing == Standing::Stopped) => return Ended::Stopped,
            () = client.closed() => return Ended::Cancelled,
            next = async {
                match begun {
                    Some(data) => NextPiece::Data(data),
                    None => next_piece(&mut reply.body).await,
                }
            } => next,
        };
        let data = match next {
            NextPiece::Data(data) => data,
            NextPiece::End => return Ended::Whole,
            NextPiece::Broken => return Ended::Broken,
        };
        let Stage::Replying(reader) = &mut reply.open.stage else { return Ended::Broken };
        reader.feed(&data);
        if reader.facts().chants() {
            return Ended::Chanted;
        }
        // Who has seen the end of a stream may rely on its being booked.
        let is_over = reader.is_stream() && reader.facts().is_complete && reader.facts().told().is_some();
        let is_stream = reader.is_stream();
        if is_over {
            reply.open.settle(CallEnd::Complete);
        }
        let data = match &mut reply.filter {
            Some(filter) => Bytes::from(filter.pass(&data)),
            None => data,
        };
        if data.is_empty() {
            continue;
        }
        // The last piece of a reply in one go is held back until it is booked.
        let next = if is_stream { Some(data) } else { held.replace(data) };
        let Some(next) = next else { continue };
        tokio::select! {
            biased;
            _ = standing.wait_for(|standing| *standing == Standing::Stopped) => return Ended::Stopped,
            sent = client.send(Piece::Data(next)) => {
                if sent.is_err() {
                    return Ended::Cancelled;
                }
            }
        }
    }
}
