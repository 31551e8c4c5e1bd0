//! Which provider is asked, and when the next one takes over: on overload, also inside a stream before the model said anything,
//! and where a provider cannot be reached.

use crate::config::Provider;
use crate::limits::BEGUN_BYTES_MAX;
use crate::orders::Standing;
use crate::pump::{NextPiece, next_piece};
use crate::shared::Shared;
use crate::upstream::ReturnedConnection;
use crate::wire::decode::Encoding;
use crate::wire::reply::ReplyReader;
use crate::wire::{Refusal, RequestFacts};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use hyper::{Response, StatusCode};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A reply whose head is there.
pub(crate) struct StartedReply {
    pub(crate) reply: Response<Incoming>,
    pub(crate) connection: ReturnedConnection,
    /// What was read of its body.
    pub(crate) begun: VecDeque<Bytes>,
}

/// The providers of a call, those that are left alone for a while behind the others.
pub(crate) fn in_order(shared: &Arc<Shared>, first: &Arc<Provider>) -> Vec<Arc<Provider>> {
    let config = shared.config();
    let mut all = vec![Arc::clone(first)];
    all.extend(first.fallback.iter().filter_map(|name| config.provider(name).cloned()));
    let now = Instant::now();
    let left = shared.backoffs.left(&first.name, now);
    all.sort_by_key(|provider| shared.backoffs.left(&provider.name, now).is_some());
    if let (Some(left), Some(asked)) = (left, all.first().filter(|asked| asked.name != first.name)) {
        let text =
            format!("`{}` is left alone for {} s more; `{}` is asked", first.name, left.as_secs() + 1, asked.name);
        shared.books().note("FALLBACK", &text);
    }
    all
}

/// Reads the beginning of a stream until the model says something. The reader tells what came; `None` for other replies.
pub(crate) async fn look_ahead(
    shared: &Arc<Shared>,
    facts: &RequestFacts,
    started: &mut StartedReply,
) -> Option<ReplyReader> {
    let mut reader = reader_of(facts, &started.reply);
    if !reader.is_stream() || !started.reply.status().is_success() {
        return None;
    }
    let mut standing = shared.orders.follow();
    let mut bytes = 0;
    while bytes < BEGUN_BYTES_MAX {
        let next = tokio::select! {
            biased;
            _ = standing.wait_for(|standing| *standing == Standing::Stopped) => break,
            next = next_piece(started.reply.body_mut()) => next,
        };
        // The next read gives the same end.
        let NextPiece::Data(data) = next else { break };
        reader.feed(&data);
        bytes += data.len();
        started.begun.push_back(data);
        let seen = reader.facts();
        if seen.said_bytes > 0 || seen.refusal.is_some() || seen.is_complete || reader.is_unreadable() {
            break;
        }
    }
    Some(reader)
}

/// Whether a reply gave up before the model said anything.
pub(crate) fn is_overload(reader: &ReplyReader) -> bool {
    reader.facts().refusal == Some(Refusal::Overloaded) && reader.facts().said_bytes == 0
}

/// How long a provider asks to be left alone.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Nothing changes its provider silently.
pub(crate) fn announce(shared: &Arc<Shared>, text: &str) {
    shared.books().note("FALLBACK", text);
    shared.say(text);
}

pub(crate) fn is_overloaded(status: StatusCode) -> bool {
    matches!(status.as_u16(), 503 | 529)
}

/// A reader for a reply.
pub(crate) fn reader_of(facts: &RequestFacts, reply: &Response<Incoming>) -> ReplyReader {
    let content_type = header_text(reply.headers(), &CONTENT_TYPE).unwrap_or_default();
    ReplyReader::new(facts.api, content_type, encoding_of(reply.headers()))
}

/// How a reply is packed.
pub(crate) fn encoding_of(headers: &HeaderMap) -> Encoding {
    Encoding::of(header_text(headers, &CONTENT_ENCODING))
}

/// A header's value, if it is a text.
pub(crate) fn header_text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
