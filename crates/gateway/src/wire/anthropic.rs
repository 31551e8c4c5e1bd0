//! Anthropic's Messages.

use super::facts::{Api, Delivery, InputBound, PathKind, RequestFacts, UsageTelling, WireError};
use super::figure::Figures;
use super::json::Json;
use super::members::Members;
use super::reply_facts::ReplyFacts;
use serde::Deserialize;
use serde_json::value::RawValue;
use tripwire_core::label::Label;
use tripwire_core::ledger::ModelUsage;
use tripwire_core::prices::{AudioUse, CacheUse};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// Fast mode costs six times the list price; not checked against the provider's page.
const FAST_PER_MILLE: u64 = 6_000;
/// Inference in one country costs a tenth more; not checked against the provider's page.
const REGION_PER_MILLE: u64 = 1_100;

pub(super) fn path(method: &str, path: &str) -> PathKind {
    match (method, path) {
        ("POST", "/v1/messages") => PathKind::Priced { api: Api::Anthropic, model: None, delivery: Delivery::Whole },
        ("POST", "/v1/messages/count_tokens") => PathKind::Free,
        ("GET" | "HEAD", "/" | "/v1/models") => PathKind::Free,
        ("GET", path) if path.strip_prefix("/v1/models/").is_some_and(|model| !model.contains('/')) => PathKind::Free,
        _ => PathKind::Unpriced,
    }
}

#[derive(Deserialize)]
struct Thinking {
    budget_tokens: Option<u64>,
}

pub(super) fn request(members: &Members<'_>) -> Result<RequestFacts, WireError> {
    let model = members.read_as::<String>("model")?.ok_or(WireError::NoModel)?;
    let (limit, place) = members.limit(&["max_tokens"])?;
    let thinking = members.read_as::<Thinking>("thinking")?.and_then(|thinking| thinking.budget_tokens);
    let speed = members.read_as::<String>("speed")?;
    let geo = members.get(&["inference_geo"])?.map(RawValue::get);
    let fast = if speed.as_deref() == Some("fast") { FAST_PER_MILLE } else { 1_000 };
    let region = if geo.is_some_and(|geo| geo != "\"global\"") { REGION_PER_MILLE } else { 1_000 };
    Ok(RequestFacts {
        api: Api::Anthropic,
        model,
        delivery: Delivery::of(members.read_as("stream")?),
        limit,
        limit_min: Tokens::new(thinking.map_or(1, |budget| budget.saturating_add(1))),
        replies: 1,
        input: InputBound::Bytes(members.whole_text().len() as u64),
        cache: CacheUse::None,
        audio: AudioUse::None,
        samplings: 1,
        server_calls: 0,
        server_calls_min: 0,
        price_per_mille: fast * region / 1_000,
        usage: UsageTelling::Always,
        may_call_tools: members.offers_tools()?,
        place,
    })
}

pub(super) fn whole(value: &Json<'_>, reply: &mut ReplyFacts) {
    if value.get("type").and_then(Json::as_str) == Some("error") {
        reply.refused(value.get("error"));
        return;
    }
    reply.named(value.get("model"));
    for block in value.get("content").and_then(Json::as_array).into_iter().flatten() {
        said(block, reply);
    }
    usage(value.get("usage"), reply);
    reply.is_complete = true;
}

pub(super) fn event(value: &Json<'_>, reply: &mut ReplyFacts) {
    match value.get("type").and_then(Json::as_str).unwrap_or_default() {
        "message_start" => {
            let message = value.get("message").unwrap_or(&Json::Null);
            reply.named(message.get("model"));
            usage(message.get("usage"), reply);
        }
        "content_block_start" => said(value.get("content_block").unwrap_or(&Json::Null), reply),
        "content_block_delta" => said(value.get("delta").unwrap_or(&Json::Null), reply),
        "message_delta" => usage(value.get("usage"), reply),
        "message_stop" => reply.is_complete = true,
        "error" => reply.refused(value.get("error")),
        _ => {}
    }
}

/// The text of a block or of a piece of one.
fn said(block: &Json<'_>, reply: &mut ReplyFacts) {
    for name in ["text", "thinking"] {
        if let Some(text) = block.get(name).and_then(Json::as_str) {
            reply.say(text);
        }
    }
    if let Some(arguments) = block.get("partial_json").and_then(Json::as_str) {
        reply.argue(arguments.len());
    }
    if let Some(input) = block.get("input").filter(|input| input.as_object().is_some_and(|map| !map.is_empty())) {
        reply.argue(input.to_text().len());
    }
}

/// The figures so far: those of the end replace those of the beginning, field by field.
fn usage(value: Option<&Json<'_>>, reply: &mut ReplyFacts) {
    let Some(value) = value.filter(|value| value.as_object().is_some()) else { return };
    let mut figures = Figures::over(value);
    let mut found = classes(&mut figures, value, reply.usage.unwrap_or_default());
    if let Some(list) = value.get("iterations").filter(|list| !list.is_null()) {
        figures.is_broken |= list.as_array().is_none();
        let (all, others) = iterations(list.as_array().unwrap_or_default(), reply.model.as_deref(), &mut figures);
        // The sums of the reply leave some iterations out, and the list is what is charged.
        found = found.with(all, Tokens::max);
        reply.others = others;
    }
    if let Some(tools) = value.get("server_tool_use") {
        let mut calls = Figures::over(tools);
        reply.server_calls = calls.get("web_search_requests").unwrap_or(Tokens::ZERO).get();
    }
    reply.tell(found, &figures);
}

/// The classes of some figures, over those that were told before.
fn classes(figures: &mut Figures<'_>, value: &Json<'_>, before: Usage) -> Usage {
    let written = figures.get("cache_creation_input_tokens");
    let long = value.get("cache_creation").map(Figures::over).and_then(|mut parts| {
        let long = parts.get("ephemeral_1h_input_tokens");
        figures.is_broken |= parts.is_broken;
        long
    });
    let cache_write_long = long.unwrap_or(before.cache_write_long);
    let written = written.unwrap_or_else(|| before.cache_write.plus(before.cache_write_long));
    Usage {
        fresh_input: figures.get("input_tokens").unwrap_or(before.fresh_input),
        cache_read: figures.get("cache_read_input_tokens").unwrap_or(before.cache_read),
        cache_write: written.minus(cache_write_long),
        cache_write_long,
        output: figures.get("output_tokens").unwrap_or(before.output),
        reasoning: Tokens::ZERO,
    }
}

/// What all iterations of a reply used, and those of other models than the one that the reply names: an adviser, one that stood in
/// for another, one that declined. A summary of the conversation is the model's own.
fn iterations(list: &[Json<'_>], model: Option<&str>, figures: &mut Figures<'_>) -> (Usage, Vec<ModelUsage>) {
    let (mut all, mut others) = (Usage::default(), Vec::new());
    for value in list {
        let mut iteration = Figures::over(value);
        let used = classes(&mut iteration, value, Usage::default());
        figures.is_broken |= iteration.is_broken || value.as_object().is_none();
        all = all.with(used, Tokens::plus);
        let asked = value.get("model").and_then(Json::as_str);
        let is_own = match value.get("type").and_then(Json::as_str) {
            Some("advisor_message" | "fallback_message") => false,
            Some(_) | None => asked.is_none() || asked == model,
        };
        if !is_own {
            others.push(ModelUsage { model: Label::cut(asked.unwrap_or_default()), usage: used });
        }
    }
    (all, others)
}
