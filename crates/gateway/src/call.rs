//! One model call from the request to the reply: admission, reservation, the provider, the reply.

use crate::admission::worst_case;
use crate::body::ReplyBody;
use crate::config::{Key, Provider};
use crate::limits::PAUSE_WAIT;
use crate::open_call::{OpenCall, Stage};
use crate::outbound::OutboundAnswer;
use crate::pump;
use crate::refusal::{RefusalKind, RefusedRequest};
use crate::request::{Credentials, outgoing, passed_on};
use crate::shared::{Shared, Standing};
use crate::upstream::{ReturnedConnection, UpstreamError};
use crate::wire::decode::Encoding;
use crate::wire::reply::ReplyReader;
use crate::wire::usage_chunk::UsageChunkFilter;
use crate::wire::{RequestFacts, WireError, ask_for_usage, edited};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tripwire_core::explain::Explain as _;
use tripwire_core::ledger::{AccountId, ReserveError};
use tripwire_core::record::chain::Digest;
use tripwire_workspace::clock;

/// A request that was read and whose sender is known.
pub(crate) struct IncomingCall<'r> {
    pub(crate) parts: &'r Parts,
    /// The provider's own path.
    pub(crate) rest: &'r str,
    pub(crate) body: Bytes,
    pub(crate) provider: &'r Provider,
    pub(crate) caller: &'r Caller,
}

/// Who sent a request.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) account: AccountId,
    pub(crate) key: Option<Key>,
    pub(crate) credentials: Credentials,
}

/// Carries a model call out.
pub(crate) async fn model_call(
    shared: &Arc<Shared>,
    call: IncomingCall<'_>,
    facts: Result<RequestFacts, WireError>,
) -> Result<Response<ReplyBody>, RefusedRequest> {
    let facts = facts.map_err(|error| {
        let kind = if error == WireError::Background { RefusalKind::Forbidden } else { RefusalKind::BadRequest };
        RefusedRequest::new(kind, error.to_string(), error.hint())
    })?;
    if call.caller.key.as_ref().is_some_and(|key| !key.may_ask(&facts.model)) {
        let reason = format!("the key `{}` may not ask the model `{}`", call.caller.account.name, facts.model);
        return Err(RefusedRequest::new(RefusalKind::Forbidden, reason, "add it to `models` in the configuration"));
    }
    keep_secrets(shared, &call)?;
    wait_while_paused(shared).await?;
    let (mut open, body, filter) = reserve(shared, &call, facts)?;
    let mut parts = call.parts.clone();
    if filter.is_some() {
        parts.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let config = shared.config();
    let mut providers = vec![call.provider];
    providers.extend(call.provider.fallback.iter().filter_map(|name| config.provider(name)));
    let last = providers.len() - 1;
    for (number, provider) in providers.into_iter().enumerate() {
        open.provider.clone_from(&provider.name);
        let request = outgoing(&parts, provider, call.rest, body.clone(), call.caller.credentials);
        let request = request.ok_or_else(|| {
            RefusedRequest::new(RefusalKind::BadRequest, "the request cannot be passed on", "send a plain path")
        })?;
        open.stage = Stage::Sent;
        let sent = shared.upstreams.send(provider, request).await;
        match sent {
            // Nothing was sent, or nothing came: the next one may try, out of the same reservation.
            Err(error) if number < last && matches!(error, UpstreamError::Connect(..)) => {
                announce(shared, provider, &error.to_string());
            }
            Ok((reply, connection)) if number < last && is_overloaded(reply.status()) => {
                drop(connection);
                announce(shared, provider, &format!("it said {}", reply.status()));
            }
            Err(error) => return Err(failed(&mut open, &error)),
            Ok((reply, connection)) => return answer(open, reply, connection, filter),
        }
    }
    Err(RefusedRequest::new(RefusalKind::BadGateway, "no provider answered", "try again"))
}

/// Notes or refuses a request that carries a secret of the workspace.
fn keep_secrets(shared: &Arc<Shared>, call: &IncomingCall<'_>) -> Result<(), RefusedRequest> {
    match shared.outbound.look(&call.caller.account, &call.body) {
        OutboundAnswer::Pass => Ok(()),
        OutboundAnswer::Note(reason) => {
            shared.books().note("SECRET_OUT", &reason);
            shared.say(&reason);
            Ok(())
        }
        OutboundAnswer::Hold(reason) => {
            shared.books().note("SECRET_OUT", &reason);
            let hint = "take it out of the conversation, or let it pass with `secrets.outbound: note` in the manifest";
            Err(RefusedRequest::new(RefusalKind::Forbidden, reason, hint))
        }
    }
}

fn announce(shared: &Arc<Shared>, provider: &Provider, why: &str) {
    let text = format!("`{}` gives way to the next provider: {why}", provider.name);
    shared.books().note("FALLBACK", &text);
    shared.say(&text);
}

fn is_overloaded(status: StatusCode) -> bool {
    matches!(status.as_u16(), 503 | 529)
}

/// A provider that gave no reply: a request that never arrived costs nothing, any other may have been paid for.
fn failed(open: &mut OpenCall, error: &UpstreamError) -> RefusedRequest {
    let kind = match error {
        UpstreamError::Connect(..) => {
            open.release();
            RefusalKind::BadGateway
        }
        UpstreamError::Timeout(_) => RefusalKind::Timeout,
        UpstreamError::Closed(..) => RefusalKind::BadGateway,
    };
    RefusedRequest::new(kind, error.to_string(), "look at the provider's status, then try again")
}

/// Waits until a person lets things go on; a stop ends the waiting.
async fn wait_while_paused(shared: &Arc<Shared>) -> Result<(), RefusedRequest> {
    let mut standing = shared.standing.clone();
    let going = standing.wait_for(|standing| *standing != Standing::Paused);
    let waited = tokio::time::timeout(PAUSE_WAIT, going).await;
    match waited.ok().and_then(Result::ok).map(|standing| *standing) {
        Some(Standing::Going) => Ok(()),
        Some(Standing::Stopped) => Err(RefusedRequest::stopped()),
        Some(Standing::Paused) | None => Err(RefusedRequest::new(
            RefusalKind::Forbidden,
            "this workspace is paused (`.geometry/PAUSE`)",
            "go on with `tripwire resume`",
        )),
    }
}

/// Reserves the worst case and writes the limit it rests on into the body.
fn reserve(
    shared: &Arc<Shared>,
    call: &IncomingCall<'_>,
    facts: RequestFacts,
) -> Result<(OpenCall, Bytes, Option<UsageChunkFilter>), RefusedRequest> {
    let account = &call.caller.account;
    let mut books = shared.books();
    if let Some(broken) = &books.broken {
        let reason = format!("the ledger cannot be written: {broken}");
        return Err(RefusedRequest::new(RefusalKind::Forbidden, reason, "make room on the disk, then restart it"));
    }
    let refused = |error: &ReserveError| RefusedRequest::new(RefusalKind::Forbidden, error.to_string(), error.hint());
    let left = books.left(account).map_err(|error| refused(&error))?;
    let worst = worst_case(&facts, left).map_err(|least| {
        let reason = format!(
            "{} left of the budget of `{account}`, and this call may cost {} at least",
            left.unwrap_or_default().in_dollars(),
            least.in_dollars()
        );
        books.refused(account, &facts.model, "budget");
        RefusedRequest::new(RefusalKind::Forbidden, reason, "see what was spent: `tripwire gateway usage`")
    })?;
    let reservation = books.reserve(account, &worst).map_err(|error| refused(&error))?;
    drop(books);
    let mut open = OpenCall {
        shared: Arc::clone(shared),
        provider: String::new(),
        request_bytes: call.body.len() as u64,
        request: Digest::of(&call.body),
        day: clock::now().date(),
        reservation: Some(reservation),
        stage: Stage::Reserved,
        status: 0,
        worst,
        facts,
    };
    let mut edits = Vec::new();
    if worst.is_lowered {
        edits.push(open.facts.set_limit(worst.limit));
    }
    let usage = ask_for_usage(&open.facts, &call.body).ok().flatten();
    let filter = usage.is_some().then(UsageChunkFilter::default);
    edits.extend(usage);
    let body = if edits.is_empty() { call.body.clone() } else { Bytes::from(edited(&call.body, edits)) };
    open.request_bytes = body.len() as u64;
    Ok((open, body, filter))
}

/// Passes the reply on and settles the call with it.
fn answer(
    mut open: OpenCall,
    reply: Response<Incoming>,
    connection: ReturnedConnection,
    filter: Option<UsageChunkFilter>,
) -> Result<Response<ReplyBody>, RefusedRequest> {
    let (head, body) = reply.into_parts();
    open.status = head.status.as_u16();
    if head.status.is_redirection() || head.status == StatusCode::SWITCHING_PROTOCOLS {
        open.release();
        let reason = format!("the provider answered {} and wants to lead elsewhere", head.status);
        return Err(RefusedRequest::new(RefusalKind::BadGateway, reason, "set `base_url` to where it leads"));
    }
    // An error of the provider is not charged.
    if !head.status.is_success() {
        open.release();
    }
    let text = |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let encoding = Encoding::of(text(CONTENT_ENCODING));
    let reader = ReplyReader::new(open.facts.api, text(CONTENT_TYPE).unwrap_or_default(), encoding);
    let filter = filter.filter(|_| reader.is_stream() && encoding == Encoding::Identity);
    let length = text(CONTENT_LENGTH).and_then(|length| length.parse().ok()).filter(|_| filter.is_none());
    let mut headers = passed_on(&head.headers);
    headers.remove(CONTENT_LENGTH);
    open.stage = Stage::Replying(Box::new(reader));
    open.shared.metrics.streams.fetch_add(1, Ordering::Relaxed);
    let (sender, pieces) = ReplyBody::pieces(length);
    tokio::spawn(pump::run(pump::Reply { open, body, connection, filter, encoding }, sender));
    let mut response = Response::new(pieces);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers;
    Ok(response)
}
