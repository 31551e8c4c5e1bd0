//! OpenAI's Chat Completions, which many other servers speak as well; also the paths of OpenAI as a whole.

use super::facts::{Api, Delivery, InputBound, LimitPlace, PathKind, RequestFacts, UsageTelling, WireError};
use super::figure::Figures;
use super::json::Json;
use super::members::Members;
use super::reply_facts::ReplyFacts;
use super::splice::Edit;
use tripwire_core::prices::{AudioUse, CacheUse};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// The priority tier costs about twice the list price; rounded up, and not checked against the provider's page.
const PRIORITY_PER_MILLE: u64 = 2_500;

pub(super) fn path(method: &str, path: &str) -> PathKind {
    // Clients set a base with or without the version.
    let plain = path.strip_prefix("/v1").unwrap_or(path);
    let priced = |api| PathKind::Priced { api, model: None, delivery: Delivery::Whole };
    match (method, plain) {
        ("POST", "/chat/completions") => priced(Api::OpenAiChat),
        ("POST", "/responses") => priced(Api::OpenAiResponses),
        ("POST", "/responses/input_tokens") => PathKind::Free,
        ("GET", "/models") => PathKind::Free,
        ("GET", path) if path.strip_prefix("/models/").is_some_and(|model| !model.contains("..")) => PathKind::Free,
        _ => PathKind::Unpriced,
    }
}

/// How many times the list price a tier costs, in thousandths.
pub(super) fn tier(members: &Members<'_>) -> Result<u64, WireError> {
    let tier = members.read_as::<String>("service_tier")?;
    Ok(match tier.as_deref() {
        Some("priority" | "fast") => PRIORITY_PER_MILLE,
        Some(_) | None => 1_000,
    })
}

pub(super) fn request(members: &Members<'_>) -> Result<RequestFacts, WireError> {
    let model = members.read_as::<String>("model")?.ok_or(WireError::NoModel)?;
    // Both names may be set; then the newer one counts with OpenAI, and the other is an ordinary field for us.
    let names: &[&'static str] =
        if members.has("max_completion_tokens")? { &["max_completion_tokens"] } else { &["max_tokens"] };
    let (limit, mut place) = members.limit(names)?;
    if limit.is_none() && matches!(place, LimitPlace::Insert { .. }) {
        (_, place) = members.limit(&["max_completion_tokens"])?;
    }
    let delivery = Delivery::of(members.read_as("stream")?);
    // With this field a model searches before every answer, and no figure of the reply says so.
    let searches = if members.has("web_search_options")? { 1 } else { 0 };
    let options = members.inner(&["stream_options"])?;
    let asked = options.map(|options| options.read_as("include_usage")).transpose()?.flatten();
    Ok(RequestFacts {
        api: Api::OpenAiChat,
        model,
        delivery,
        limit,
        limit_min: Tokens::new(1),
        replies: members.read_as::<u64>("n")?.unwrap_or(1).max(1),
        input: InputBound::Bytes(members.whole_text().len() as u64),
        cache: CacheUse::Short,
        audio: AudioUse::None,
        samplings: 1,
        server_calls: searches,
        server_calls_min: searches,
        price_per_mille: tier(members)?,
        usage: if delivery == Delivery::Stream && asked != Some(true) {
            UsageTelling::OnDemand
        } else {
            UsageTelling::Always
        },
        may_call_tools: members.offers_tools()?,
        place,
    })
}

/// The edit that sets `stream_options.include_usage`.
pub(super) fn include_usage(members: &Members<'_>) -> Result<Edit, WireError> {
    let place = match members.inner(&["stream_options"])? {
        None => match members.get(&["stream_options"])? {
            Some(value) => LimitPlace::At(members.place(value)),
            None => members.insert("\"stream_options\":{\"include_usage\":".to_owned(), "}"),
        },
        Some(options) => match options.get(&["include_usage"])? {
            Some(value) => LimitPlace::At(options.place(value)),
            None => options.insert("\"include_usage\":".to_owned(), ""),
        },
    };
    Ok(match place {
        LimitPlace::At(range) => Edit { range, text: "true".to_owned() },
        LimitPlace::Insert { at, before, after } => Edit { range: at..at, text: format!("{before}true{after}") },
    })
}

pub(super) fn whole(value: &Json<'_>, reply: &mut ReplyFacts) {
    event(value, reply);
    reply.is_complete = reply.refusal.is_none();
}

/// One chunk, or a whole reply: they differ in the name of the text's object only.
pub(super) fn event(value: &Json<'_>, reply: &mut ReplyFacts) {
    if value.get("error").is_some_and(|error| !error.is_null()) {
        reply.refused(value.get("error"));
        return;
    }
    reply.named(value.get("model"));
    for choice in value.get("choices").and_then(Json::as_array).into_iter().flatten() {
        let said = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Json::Null);
        for name in ["content", "reasoning_content", "reasoning", "refusal"] {
            if let Some(text) = said.get(name).and_then(Json::as_str) {
                reply.say(text);
            }
        }
        for call in said.get("tool_calls").and_then(Json::as_array).into_iter().flatten() {
            let arguments = call.at(&["function", "arguments"]).and_then(Json::as_str).unwrap_or_default();
            reply.argue(arguments.len());
        }
        reply.is_complete |= choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
    }
    if value.get("service_tier").and_then(Json::as_str) == Some("priority") {
        reply.price_per_mille = PRIORITY_PER_MILLE;
    }
    let Some(usage) = value.get("usage").filter(|usage| usage.as_object().is_some()) else { return };
    let mut figures = Figures::over(usage);
    let input = figures.get("prompt_tokens").unwrap_or_default();
    let output = figures.get("completion_tokens").unwrap_or_default();
    let cached = figures.inside("prompt_tokens_details", "cached_tokens").unwrap_or_default();
    let written = figures.inside("prompt_tokens_details", "cache_write_tokens").unwrap_or_default();
    let reasoning = figures.inside("completion_tokens_details", "reasoning_tokens").unwrap_or_default();
    reply.tell(inside(input, cached, written, output, reasoning), &figures);
}

/// OpenAI's arithmetic: the parts are inside the sums.
pub(super) fn inside(input: Tokens, cached: Tokens, written: Tokens, output: Tokens, reasoning: Tokens) -> Usage {
    let cache_read = cached.min(input);
    let cache_write = written.min(input.minus(cache_read));
    let reasoning = reasoning.min(output);
    Usage {
        fresh_input: input.minus(cache_read).minus(cache_write),
        cache_read,
        cache_write,
        cache_write_long: Tokens::ZERO,
        output: output.minus(reasoning),
        reasoning,
    }
}
