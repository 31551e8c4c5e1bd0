//! Which request goes where, and who may send it.

use crate::body::ReplyBody;
use crate::books::LOCAL;
use crate::buffered::PoolFull;
use crate::call::{admit, keep_secrets};
use crate::config::Unpriced;
use crate::gathered::{GatherError, gather};
use crate::incoming::{Caller, Credentials, IncomingCall};
use crate::limits::{BODY_WAIT, REQUEST_BYTES_MAX};
use crate::metrics;
use crate::orders::Standing;
use crate::own_names::ForeignPage;
use crate::paused;
use crate::refusal::{RefusalKind, RefusedRequest};
use crate::request::{Packing, outgoing, passed_on, token};
use crate::shared::{Bind, Shared};
use crate::token::same;
use crate::wire::{Family, PathKind, path_kind, read_request};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tripwire_core::ledger::{AccountId, AccountKind};
use tripwire_core::record::chain::Digest;

/// Answers one request, whatever it is.
pub(crate) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<ReplyBody>, Infallible> {
    shared.metrics.requests.fetch_add(1, Ordering::Relaxed);
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let path = inner_path(&shared, &path);
    let (family, rest) = split(path);
    let done = match (family, path) {
        (None, "/healthz") => Ok(Response::new(ReplyBody::whole("ok\n"))),
        (None, "/metrics") => scrape(&shared, &parts),
        (None, _) => Err(RefusedRequest::new(
            RefusalKind::NotFound,
            "there is no such route",
            "use /anthropic/…, /openai/… or /gemini/…",
        )),
        (Some(family), _) => pass(&shared, parts, family, rest, body).await,
    };
    Ok(done.unwrap_or_else(|refusal| {
        shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
        refusal.reply(family.unwrap_or(Family::OpenAi))
    }))
}

/// The path behind the segment that only a run knows.
fn inner_path<'p>(shared: &Shared, path: &'p str) -> &'p str {
    match &shared.run {
        None => path,
        Some(run) => run.strip(path).unwrap_or_default(),
    }
}

/// Whose form a request expects its errors in.
pub(crate) fn family_of(shared: &Shared, request: &Request<Incoming>) -> Family {
    split(inner_path(shared, request.uri().path())).0.unwrap_or(Family::OpenAi)
}

/// The family and the provider's own path.
fn split(path: &str) -> (Option<Family>, &str) {
    let found = Family::ALL.into_iter().find_map(|family| {
        let rest = path.strip_prefix('/')?.strip_prefix(family.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then_some((family, rest))
    });
    found.map_or((None, path), |(family, rest)| (Some(family), if rest.is_empty() { "/" } else { rest }))
}

fn scrape(shared: &Shared, parts: &Parts) -> Result<Response<ReplyBody>, RefusedRequest> {
    match &shared.bind {
        Bind::Open => drop(who(shared, parts)?),
        Bind::Loopback(names) => names.check(&parts.headers).map_err(no_page)?,
        Bind::OneRun => {}
    }
    let mut reply = Response::new(ReplyBody::whole(metrics::text(shared)));
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4"));
    Ok(reply)
}

/// Refuses what a page in a browser may have sent: it could spend the provider's key, which needs no token here.
fn no_page(page: ForeignPage) -> RefusedRequest {
    let hint =
        "ask under 127.0.0.1 or localhost with the port, or give callers a `[[key]]`: `tripwire gateway key new NAME`";
    RefusedRequest::new(RefusalKind::Forbidden, format!("{page}: without keys, no web page may ask"), hint)
}

/// Who sent a request.
fn who(shared: &Shared, parts: &Parts) -> Result<Caller, RefusedRequest> {
    let config = shared.config();
    let presented = || token(parts).map(|token| Digest::of(token.as_bytes()));
    if let Some(run) = &shared.run {
        let is_ours = presented().is_some_and(|presented| same(&presented, &run.token));
        let credentials = if is_ours { Credentials::Brokered } else { Credentials::Own };
        return Ok(Caller { account: run.account.clone(), key: None, credentials });
    }
    if config.keys.is_empty()
        && let Bind::Loopback(names) = &shared.bind
    {
        names.check_call(&parts.method, &parts.headers).map_err(no_page)?;
        let account = AccountId::new(AccountKind::Key, LOCAL);
        return Ok(Caller { account, key: None, credentials: Credentials::Passed });
    }
    let presented = presented();
    // Every key is compared, so that the time tells nothing about which one fits.
    let mut found = None;
    for key in &config.keys {
        if presented.as_ref().is_some_and(|presented| same(presented, &key.token)) {
            found = Some(key);
        }
    }
    let key = found.ok_or_else(|| {
        RefusedRequest::new(
            RefusalKind::Unauthorised,
            "the request has no token that this gateway knows",
            "make one with `tripwire gateway key new NAME`",
        )
    })?;
    Ok(Caller { account: key.account(), key: Some(key.clone()), credentials: Credentials::Brokered })
}

async fn pass(
    shared: &Arc<Shared>,
    parts: Parts,
    family: Family,
    rest: &str,
    body: Incoming,
) -> Result<Response<ReplyBody>, RefusedRequest> {
    let caller = who(shared, &parts)?;
    if parts.headers.contains_key(UPGRADE) || parts.method == Method::CONNECT {
        return Err(RefusedRequest::new(
            RefusalKind::Forbidden,
            "an upgraded connection cannot be counted",
            "switch WebSockets off in the client (Codex: `supports_websockets = false`)",
        ));
    }
    if shared.orders.known() == Standing::Stopped {
        return Err(RefusedRequest::stopped(&shared.orders));
    }
    let config = shared.config();
    let provider = config.provider_of(family).ok_or_else(|| {
        let reason = format!("no provider speaks `{}`", family.as_str());
        RefusedRequest::new(RefusalKind::NotFound, reason, "add a `[[provider]]` to the configuration")
    })?;
    if let Some(key) = &caller.key
        && let Some(wait) = shared.books().count(key)
    {
        return Err(RefusedRequest::minute_used(key, wait));
    }
    if parts.headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(RefusedRequest::new(RefusalKind::BadRequest, "the request is packed", "send it as plain JSON"));
    }
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > REQUEST_BYTES_MAX) {
        return Err(too_large());
    }
    let mut share = shared.buffered.share(config.buffered_bytes_max);
    share.grow_to(length.unwrap_or(0)).map_err(too_many_bytes)?;
    let gathered = gather(body, &mut share, REQUEST_BYTES_MAX, BODY_WAIT).await;
    let body = gathered.map_err(|error| match error {
        GatherError::TooLarge => too_large(),
        GatherError::PoolFull => too_many_bytes(PoolFull),
        GatherError::Broken => RefusedRequest::new(RefusalKind::BadRequest, "the request broke off", "send it whole"),
    })?;
    let provider = Arc::clone(provider);
    let call = IncomingCall { parts, rest: rest.to_owned(), body, _share: share, provider, caller };
    match path_kind(family, call.parts.method.as_str(), rest) {
        PathKind::Priced { api, model, delivery } => {
            let facts = read_request(api, &call.body, model.as_deref(), delivery);
            let facts = admit(shared, &call, facts)?;
            paused::held(shared, call, facts).await
        }
        PathKind::Free => {
            keep_secrets(shared, &call)?;
            through(shared, &call).await
        }
        PathKind::Unpriced => unpriced(shared, &call).await,
    }
}

/// Passes a request that nobody can price, unless something applies to its caller that only priced paths are held to.
async fn unpriced(shared: &Arc<Shared>, call: &IncomingCall) -> Result<Response<ReplyBody>, RefusedRequest> {
    keep_secrets(shared, call)?;
    paused::until_resumed(shared).await?;
    let IncomingCall { parts, rest, provider, caller, .. } = call;
    if let Some(bound) = bound_of(shared, caller).filter(|_| provider.unpriced == Unpriced::Refuse) {
        let reason = format!("`{} {rest}` has no price, and {bound} applies", parts.method);
        let hint = format!("set `unpriced = \"allow\"` for the provider `{}` to let it pass", provider.name);
        return Err(RefusedRequest::new(RefusalKind::Forbidden, reason, hint));
    }
    shared.metrics.unpriced.fetch_add(1, Ordering::Relaxed);
    // The path may carry names of things, never a token: that stands in headers and in the query.
    let rest = shared.outbound.hide(rest);
    shared.books().note("UNPRICED", &format!("{}: {} {rest}", caller.account, parts.method));
    through(shared, call).await
}

/// What a request without a price would get around.
fn bound_of(shared: &Shared, caller: &Caller) -> Option<&'static str> {
    // A closed account has nothing left either.
    if !matches!(shared.books().left(&caller.account), Ok(None)) {
        return Some("a budget");
    }
    if let Some(key) = &caller.key {
        if !key.models.is_empty() {
            return Some("the key's list of `models`");
        }
        if key.tokens_per_minute.is_some() {
            return Some("the key's `tokens_per_minute`");
        }
    }
    // A client without hooks is guarded by what can be read alone.
    (shared.run.is_some() && shared.asks()).then_some("the guard of a run")
}

fn too_many_bytes(_: PoolFull) -> RefusedRequest {
    let hint = "try again in a moment, or raise `buffered_mib` in the configuration";
    RefusedRequest::new(RefusalKind::Busy, "the requests under way hold too many bytes", hint)
}

fn too_large() -> RefusedRequest {
    let reason = format!("the request is longer than {REQUEST_BYTES_MAX} bytes");
    RefusedRequest::new(RefusalKind::TooLarge, reason, "send less at once")
}

/// Passes a request that costs nothing, or that nobody can price, and its whole reply; a stop cuts it.
async fn through(shared: &Arc<Shared>, call: &IncomingCall) -> Result<Response<ReplyBody>, RefusedRequest> {
    let _counted = PassedReply::begin(&shared.metrics.streams);
    let mut standing = shared.orders.follow();
    tokio::select! {
        biased;
        _ = standing.wait_for(|standing| *standing == Standing::Stopped) => Err(RefusedRequest::stopped(&shared.orders)),
        passed = pass_whole(shared, call) => passed,
    }
}

/// A reply under way that is passed on as a whole: the end of the gateway waits for it.
struct PassedReply<'a>(&'a AtomicUsize);

impl<'a> PassedReply<'a> {
    fn begin(open: &'a AtomicUsize) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(open)
    }
}

impl Drop for PassedReply<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn pass_whole(shared: &Arc<Shared>, call: &IncomingCall) -> Result<Response<ReplyBody>, RefusedRequest> {
    let broken = |reason: String| RefusedRequest::new(RefusalKind::BadGateway, reason, "try again");
    let request = outgoing(call, &call.provider, call.body.clone(), Packing::Accepted);
    let request = request.ok_or_else(|| broken("the request cannot be passed on".to_owned()))?;
    let sent = shared.upstreams.send(call.provider.destination(), request).await;
    let (reply, connection) = sent.map_err(|error| broken(error.to_string()))?;
    let (head, body) = reply.into_parts();
    if head.status.is_redirection() || head.status.is_informational() {
        return Err(broken(format!("the provider answered {} and wants to lead elsewhere", head.status)));
    }
    let mut share = shared.buffered.share(shared.config().buffered_bytes_max);
    let gathered = gather(body, &mut share, REQUEST_BYTES_MAX, BODY_WAIT).await;
    let whole = gathered.map_err(|error| match error {
        GatherError::TooLarge => broken(format!("the reply is longer than {REQUEST_BYTES_MAX} bytes")),
        GatherError::PoolFull => too_many_bytes(PoolFull),
        GatherError::Broken => broken("the reply broke off".to_owned()),
    })?;
    shared.upstreams.give_back(connection);
    // A client that reads slowly still holds it.
    let mut response = Response::new(ReplyBody::whole(share.holding(whole)));
    *response.status_mut() = head.status;
    *response.headers_mut() = passed_on(head.headers);
    response.headers_mut().remove(CONTENT_LENGTH);
    Ok(response)
}
