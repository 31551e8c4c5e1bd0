//! One model call from the request to the reply: admission, reservation, the provider, the reply.

use crate::admission::worst_case;
use crate::body::ReplyBody;
use crate::config::Provider;
use crate::door::{DoorAnswer, DoorQuestion};
use crate::fallback::{
    StartedReply, announce, encoding_of, header_text, in_order, is_overload, is_overloaded, look_ahead, reader_of,
    retry_after,
};
use crate::incoming::{Credentials, IncomingCall};
use crate::limits::WHOLE_BYTES_MAX;
use crate::open_call::{Conversation, OpenCall, Stage};
use crate::orders::Standing;
use crate::outbound::OutboundAnswer;
use crate::pump;
use crate::refusal::{RefusalKind, RefusedRequest};
use crate::request::{Packing, outgoing, passed_on};
use crate::run_door::ModelNews;
use crate::shared::Shared;
use crate::upstream::UpstreamError;
use crate::whole_reply;
use crate::wire::decode::Encoding;
use crate::wire::tool_calls::read_conversation;
use crate::wire::usage_chunk::UsageChunkFilter;
use crate::wire::{RequestFacts, WireError, ask_for_usage, edited};
use bytes::Bytes;
use hyper::header::CONTENT_LENGTH;
use hyper::{Response, StatusCode};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tripwire_core::explain::Explain as _;
use tripwire_core::ledger::{AccountId, CallEnd, ReserveError};
use tripwire_core::units::MicroUsd;
use tripwire_session::shared_money::{MoneyPromise, SharedMoneyError};
use tripwire_workspace::clock;

/// What a model call asks for, if its sender may ask for it.
pub(crate) fn admit(
    shared: &Arc<Shared>,
    call: &IncomingCall,
    facts: Result<RequestFacts, WireError>,
) -> Result<RequestFacts, RefusedRequest> {
    let facts = facts.map_err(|error| {
        let kind = if error == WireError::Background { RefusalKind::Forbidden } else { RefusalKind::BadRequest };
        RefusedRequest::new(kind, error.to_string(), error.hint())
    })?;
    if call.caller.key.as_ref().is_some_and(|key| !key.may_ask(&facts.model)) {
        let reason = format!("the key `{}` may not ask the model `{}`", call.caller.account.name, facts.model);
        return Err(RefusedRequest::new(RefusalKind::Forbidden, reason, "add it to `models` in the configuration"));
    }
    keep_secrets(shared, call)?;
    Ok(facts)
}

/// Reserves a call, asks the provider, and the next one where it is overloaded, and passes the reply on.
pub(crate) async fn carry_out(
    shared: &Arc<Shared>,
    call: &IncomingCall,
    facts: RequestFacts,
) -> Result<Response<ReplyBody>, RefusedRequest> {
    let conversation = ask_door(shared, call, &facts).await?;
    let mut attempt = reserve(shared, call, facts, &conversation).await?;
    let providers = in_order(shared, &call.provider);
    let last = providers.len() - 1;
    for (number, provider) in providers.iter().enumerate() {
        let successor = if number < last { Successor::Waits } else { Successor::None };
        let (why, asked_wait) = match ask(shared, call, provider, attempt, successor).await? {
            Asked::Reply(reply) => return Ok(reply),
            Asked::GivesWay { attempt: back, why, wait } => {
                attempt = *back;
                (why, wait)
            }
        };
        let wait = shared.backoffs.begin(&provider.name, Instant::now(), asked_wait).as_secs();
        announce(shared, &format!("`{}` gives way to the next provider for {wait} s: {why}", provider.name));
    }
    Err(RefusedRequest::new(RefusalKind::BadGateway, "no provider answered", "try again"))
}

/// A reserved call, with the body and the filter that its reservation needs.
struct Attempt {
    open: OpenCall,
    body: Bytes,
    filter: Option<UsageChunkFilter>,
}

/// Whether another provider can take over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Successor {
    Waits,
    None,
}

/// What became of asking one provider.
enum Asked {
    Reply(Response<ReplyBody>),
    /// The next one may try; `wait` is how long this one asks to be left alone.
    GivesWay {
        attempt: Box<Attempt>,
        why: String,
        wait: Option<Duration>,
    },
}

async fn ask(
    shared: &Arc<Shared>,
    call: &IncomingCall,
    provider: &Provider,
    attempt: Attempt,
    successor: Successor,
) -> Result<Asked, RefusedRequest> {
    let Attempt { mut open, body, filter } = attempt;
    let packing = if filter.is_some() { Packing::None } else { Packing::Accepted };
    let request = outgoing(call, provider, body.clone(), packing);
    let request = request.ok_or_else(|| {
        RefusedRequest::new(RefusalKind::BadRequest, "the request cannot be passed on", "send a plain path")
    })?;
    open.provider.clone_from(&provider.name);
    open.stage = Stage::Sent;
    let mut standing = shared.orders.follow();
    let sent = tokio::select! {
        biased;
        _ = standing.wait_for(|standing| *standing == Standing::Stopped) => return Err(RefusedRequest::stopped(&shared.orders)),
        sent = shared.upstreams.send(provider.destination(), request) => sent,
    };
    let (reply, connection) = match sent {
        Ok(sent) => sent,
        Err(error) if successor == Successor::Waits && matches!(error, UpstreamError::Connect(..)) => {
            let attempt = Box::new(Attempt { open, body, filter });
            return Ok(Asked::GivesWay { attempt, why: error.to_string(), wait: None });
        }
        Err(error) => return Err(failed(&mut open, &error)),
    };
    let mut started = StartedReply { reply, connection, begun: VecDeque::new() };
    if successor == Successor::None {
        return answer(open, started, filter).await.map(Asked::Reply);
    }
    if is_overloaded(started.reply.status()) {
        let (why, wait) = (format!("it said {}", started.reply.status()), retry_after(started.reply.headers()));
        return Ok(Asked::GivesWay { attempt: Box::new(Attempt { open, body, filter }), why, wait });
    }
    let Some(reader) = look_ahead(shared, &open.facts, &mut started).await.filter(is_overload) else {
        shared.backoffs.end(&provider.name);
        return answer(open, started, filter).await.map(Asked::Reply);
    };
    let mut attempt = Attempt { open, body, filter };
    // What it said it used before it gave up may be charged; the next one is paid from the same budget.
    if reader.facts().told().is_some() {
        let (facts, conversation) = (attempt.open.facts.clone(), attempt.open.conversation.clone());
        attempt.open.status = started.reply.status().as_u16();
        attempt.open.stage = Stage::Replying(Box::new(reader));
        attempt.open.settle(CallEnd::Broken);
        attempt = reserve(shared, call, facts, &conversation).await?;
    }
    let why = "it is overloaded and said so inside its reply".to_owned();
    Ok(Asked::GivesWay { attempt: Box::new(attempt), why, wait: None })
}

/// Asks the guard about a client without hooks: what its tools gave, and whether it may go on. The calls of a client with hooks
/// are followed under a run and not read elsewhere.
async fn ask_door(
    shared: &Arc<Shared>,
    call: &IncomingCall,
    facts: &RequestFacts,
) -> Result<Conversation, RefusedRequest> {
    let asks = shared.asks();
    if shared.run.is_none() && !(asks && facts.may_call_tools) {
        return Ok(Conversation::Unread);
    }
    let request = read_conversation(facts.api, &call.body, &facts.model).ok_or_else(|| {
        let reason = "the guard cannot read the request, and it may carry anything";
        RefusedRequest::new(RefusalKind::Forbidden, reason, "see `tripwire status` and `tripwire log`")
    })?;
    if let Some(run) = shared.run.as_ref().filter(|_| !asks) {
        run.follow_results(&request);
        return Ok(Conversation::Followed(request));
    }
    match shared.door.ask(&call.caller.account, DoorQuestion::Request(request.clone())).await {
        DoorAnswer::Pass => Ok(Conversation::Asked(request)),
        DoorAnswer::Wait(_, reason) | DoorAnswer::Refuse(reason) => {
            Err(RefusedRequest::new(RefusalKind::Forbidden, reason, "see `tripwire status` and `tripwire log`"))
        }
    }
}

/// Notes or refuses a request that carries a secret of the workspace.
pub(crate) fn keep_secrets(shared: &Arc<Shared>, call: &IncomingCall) -> Result<(), RefusedRequest> {
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

/// Reserves the worst case here and, where other machines spend from the same budget, there; the call is made to fit what is left.
async fn reserve(
    shared: &Arc<Shared>,
    call: &IncomingCall,
    facts: RequestFacts,
    conversation: &Conversation,
) -> Result<Attempt, RefusedRequest> {
    if shared.money.is_none() {
        return reserve_here(shared, call, facts, conversation, None);
    }
    let mut attempt = reserve_here(shared, call, facts.clone(), conversation, None)?;
    for last in [false, true] {
        match promise(shared, call, attempt.open.worst.amount).await {
            Ok(promised) => {
                attempt.open.promise = promised;
                return Ok(attempt);
            }
            Err(SharedMoneyError::Exhausted { budget, left }) if !last && left < attempt.open.worst.amount => {
                drop(attempt);
                // It is for the fleet's budget that it does not fit, if it does not.
                attempt = reserve_here(shared, call, facts.clone(), conversation, Some(left))
                    .map_err(|_| unpaid(&SharedMoneyError::Exhausted { budget, left }))?;
            }
            Err(error @ SharedMoneyError::TooFast { wait, .. }) => {
                let hint = "wait, or raise it: `tripwire fleet rate`";
                return Err(RefusedRequest::new(RefusalKind::Rate(wait), error.to_string(), hint));
            }
            Err(error @ (SharedMoneyError::Exhausted { .. } | SharedMoneyError::Unknown(_))) => {
                shared.books().refused(&call.caller.account, &shared.outbound.hide(&facts.model), "budget");
                report_refused(shared, &facts.model, attempt.open.worst.amount);
                return Err(unpaid(&error));
            }
        }
    }
    Ok(attempt)
}

/// Reports to a run that no budget pays for a call. What stands in the place of its model may be a secret.
fn report_refused(shared: &Shared, model: &str, least: MicroUsd) {
    shared.tell(|| ModelNews::Refused { model: shared.outbound.hide(model).into_owned(), least });
}

fn unpaid(error: &SharedMoneyError) -> RefusedRequest {
    let hint = "see what is left of it: `tripwire fleet status`";
    RefusedRequest::new(RefusalKind::Forbidden, error.to_string(), hint)
}

/// Asks the budgets that other machines spend too, on a thread that may wait.
async fn promise(
    shared: &Arc<Shared>,
    call: &IncomingCall,
    worst: MicroUsd,
) -> Result<Option<MoneyPromise>, SharedMoneyError> {
    let Some(money) = shared.money.clone() else { return Ok(None) };
    let accounts = shared.config().paying(&call.caller.account);
    let asked = tokio::task::spawn_blocking(move || money.reserve(&accounts, worst)).await;
    asked.map_err(|error| SharedMoneyError::Unknown(error.to_string()))?.map(Some)
}

/// The account that pays for a call: under a run, that of the agent whose conversation it goes on with.
fn payer(shared: &Shared, caller: &AccountId, conversation: &Conversation) -> AccountId {
    let agent = shared.run.as_ref().zip(conversation.request());
    agent.map_or_else(|| caller.clone(), |(run, request)| run.agent_of(request))
}

/// Reserves the worst case in the ledger of this machine, at most `most`, and writes the limit it rests on into the body.
fn reserve_here(
    shared: &Arc<Shared>,
    call: &IncomingCall,
    facts: RequestFacts,
    conversation: &Conversation,
    most: Option<MicroUsd>,
) -> Result<Attempt, RefusedRequest> {
    let account = &call.caller.account;
    let payer = payer(shared, account, conversation);
    let mut books = shared.books();
    if let Some(broken) = books.broken() {
        let reason = format!("the ledger cannot be written: {broken}");
        shared.tell(|| ModelNews::Broken(reason.clone()));
        return Err(RefusedRequest::new(RefusalKind::Forbidden, reason, "make room on the disk, then restart it"));
    }
    let refused = |error: &ReserveError, least: MicroUsd| {
        report_refused(shared, &facts.model, least);
        RefusedRequest::new(RefusalKind::Forbidden, error.to_string(), error.hint())
    };
    if let Some(key) = &call.caller.key
        && let Some(wait) = books.tokens_wait(key)
    {
        return Err(RefusedRequest::minute_used(key, wait));
    }
    if payer != *account {
        books.open_agent(&payer, account);
    }
    let left = books.left(&payer).map_err(|error| refused(&error, MicroUsd::ZERO))?;
    let left = [left, most].into_iter().flatten().min();
    let prices = shared.prices.of(&facts.model);
    let worst = worst_case(&prices, &facts, left).map_err(|least| {
        let reason = format!(
            "{} left of the budget of `{account}`, and this call may cost {} at least",
            left.unwrap_or_default().in_dollars(),
            least.in_dollars()
        );
        books.refused(account, &shared.outbound.hide(&facts.model), "budget");
        report_refused(shared, &facts.model, least);
        RefusedRequest::new(RefusalKind::Forbidden, reason, "see what was spent: `tripwire gateway usage`")
    })?;
    let reservation =
        books.reserve(&payer, call.caller.key.as_ref(), &worst).map_err(|error| refused(&error, worst.amount))?;
    drop(books);
    if let Some(run) = shared.run.as_ref().filter(|_| is_own(call)) {
        run.count_own_credential();
    }
    let mut open = OpenCall {
        shared: Arc::clone(shared),
        provider: String::new(),
        request_bytes: call.body.len() as u64,
        day: clock::now().date(),
        began: Instant::now(),
        reservation: Some(reservation),
        promise: None,
        caller: account.clone(),
        conversation: conversation.clone(),
        stage: Stage::Reserved,
        status: 0,
        prices,
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
    Ok(Attempt { open, body, filter })
}

/// Whether a call goes out with a credential of the caller's own.
fn is_own(call: &IncomingCall) -> bool {
    match call.caller.credentials {
        Credentials::Brokered => false,
        Credentials::Passed => call.provider.key.is_none(),
        Credentials::Own => true,
    }
}

/// Passes the reply on and settles the call with it.
async fn answer(
    mut open: OpenCall,
    started: StartedReply,
    filter: Option<UsageChunkFilter>,
) -> Result<Response<ReplyBody>, RefusedRequest> {
    let StartedReply { reply, connection, begun } = started;
    let mut reader = reader_of(&open.facts, &reply);
    let encoding = encoding_of(reply.headers());
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
    if open.conversation.request().is_some() && head.status.is_success() {
        reader.collect_calls();
    }
    let filter = filter.filter(|_| reader.is_stream() && encoding == Encoding::Identity);
    let length = header_text(&head.headers, &CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    // A stream may be cut with an error event, which has another length.
    let length = length.filter(|_| !reader.is_stream());
    let is_short = !reader.is_stream() && length.is_some_and(|length| length <= WHOLE_BYTES_MAX);
    let mut headers = passed_on(head.headers);
    headers.remove(CONTENT_LENGTH);
    open.stage = Stage::Replying(Box::new(reader));
    let reply = pump::Reply { open, begun, body, connection, filter, encoding };
    let body = if is_short {
        ReplyBody::whole(whole_reply::read(reply).await?)
    } else {
        reply.open.shared.metrics.streams.fetch_add(1, Ordering::Relaxed);
        let (sender, pieces) = ReplyBody::pieces(length);
        tokio::spawn(pump::run(reply, sender));
        pieces
    };
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = headers;
    Ok(response)
}
