//! Requests that come while the workspace is paused: they wait, so that no token is spent.
//!
//! A request for one piece of JSON waits without a byte. A stream begins with its first ping, so that no client takes the
//! silence for a broken connection; whatever goes wrong after that is told inside the stream.

use crate::body::{Piece, ReplyBody};
use crate::call::carry_out;
use crate::incoming::IncomingCall;
use crate::limits::{ERROR_BYTES_MAX, PAUSE_WAIT, PING_EVERY};
use crate::orders::Standing;
use crate::refusal::{RefusalKind, RefusedRequest};
use crate::shared::Shared;
use crate::wire::{Api, Delivery, RequestFacts};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::Response;
use hyper::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use std::sync::Arc;
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

/// Holds a call while the workspace is paused, then has it carried out.
pub(crate) async fn held(
    shared: &Arc<Shared>,
    call: IncomingCall,
    facts: RequestFacts,
) -> Result<Response<ReplyBody>, RefusedRequest> {
    let query = call.parts.uri.query().unwrap_or_default();
    // Without that word Gemini streams one long list of JSON.
    let has_events = facts.api != Api::Gemini || query.split('&').any(|pair| pair == "alt=sse");
    match facts.delivery {
        Delivery::Stream if has_events => match timeout(PING_EVERY, until_resumed(shared)).await {
            Ok(waited) => waited?,
            Err(_) => return Ok(stream(shared, call, facts)),
        },
        Delivery::Stream | Delivery::Whole => until_resumed(shared).await?,
    }
    carry_out(shared, &call, facts).await
}

/// Waits until a person lets things go on; a stop ends the waiting.
pub(crate) async fn until_resumed(shared: &Arc<Shared>) -> Result<(), RefusedRequest> {
    shared.orders.look();
    let mut standing = shared.orders.follow();
    let going = standing.wait_for(|standing| *standing != Standing::Paused);
    let waited = timeout(PAUSE_WAIT, going).await;
    match waited.ok().and_then(Result::ok).map(|standing| *standing) {
        Some(Standing::Going) => Ok(()),
        Some(Standing::Stopped) => Err(RefusedRequest::stopped(&shared.orders)),
        Some(Standing::Paused) | None => Err(RefusedRequest::new(
            RefusalKind::Forbidden,
            "this workspace is paused (`.geometry/PAUSE`)",
            "go on with `tripwire resume`",
        )),
    }
}

/// A stream that has begun although nothing was asked yet.
fn stream(shared: &Arc<Shared>, mut call: IncomingCall, facts: RequestFacts) -> Response<ReplyBody> {
    // The head is out before the provider's: it cannot say how the reply is packed.
    call.parts.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let (client, pieces) = ReplyBody::pieces(None);
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let gone = client.clone();
        tokio::select! {
            () = gone.closed() => {}
            () = go_on(&shared, call, facts, &client) => {}
        }
    });
    let mut response = Response::new(pieces);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn go_on(shared: &Arc<Shared>, call: IncomingCall, facts: RequestFacts, client: &Sender<Piece>) {
    let api = facts.api;
    let resumed = loop {
        if client.send(Piece::Data(Bytes::from_static(ping(api).as_bytes()))).await.is_err() {
            return;
        }
        if let Ok(waited) = timeout(PING_EVERY, until_resumed(shared)).await {
            break waited;
        }
    };
    let answered = match resumed {
        Ok(()) => carry_out(shared, &call, facts).await,
        Err(refusal) => Err(refusal),
    };
    match answered {
        Err(refusal) => end_with(&refusal, api, client).await,
        Ok(reply) if reply.status().is_success() => pass_on(reply, client).await,
        Ok(reply) => {
            let status = reply.status();
            let read = Limited::new(reply.into_body(), ERROR_BYTES_MAX).collect().await;
            let text = read.map(|whole| String::from_utf8_lossy(&whole.to_bytes()).into_owned()).unwrap_or_default();
            end_with(&RefusedRequest::of_provider(status, &text), api, client).await;
        }
    }
}

async fn pass_on(mut reply: Response<ReplyBody>, client: &Sender<Piece>) {
    while let Some(frame) = reply.body_mut().frame().await {
        let piece = match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => Piece::Data(data),
            Ok(Err(_)) => continue,
            Err(_) => Piece::Broken,
        };
        if client.send(piece).await.is_err() {
            return;
        }
    }
}

/// Ends a stream that has begun with an error; a client that went away misses it.
async fn end_with(refusal: &RefusedRequest, api: Api, client: &Sender<Piece>) {
    drop(client.send(Piece::Data(Bytes::from(refusal.event(api)))).await);
}

/// What keeps a stream open and says nothing. Gemini's own library accepts nothing but blank lines between events.
const fn ping(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        Api::OpenAiChat | Api::OpenAiResponses => ": ping\n\n",
        Api::Gemini => "\r\n",
    }
}
