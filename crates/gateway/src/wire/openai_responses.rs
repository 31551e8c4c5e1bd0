//! OpenAI's Responses.

use super::facts::{Api, Delivery, InputBound, RequestFacts, UsageTelling, WireError};
use super::figure::Figures;
use super::json::Json;
use super::members::Members;
use super::openai_chat::{inside, tier};
use super::reply_facts::ReplyFacts;
use tripwire_core::prices::{AudioUse, CacheUse};
use tripwire_core::units::Tokens;

/// The least that the API accepts as an output limit.
const LIMIT_MIN: Tokens = Tokens::new(16);

pub(super) fn request(members: &Members<'_>) -> Result<RequestFacts, WireError> {
    let model = members.read_as::<String>("model")?.ok_or(WireError::NoModel)?;
    if members.read_as("background")?.unwrap_or(false) {
        return Err(WireError::Background);
    }
    let (limit, place) = members.limit(&["max_output_tokens"])?;
    // A prompt that is kept at the provider puts in what it says there.
    let kept = members.has("prompt")?;
    Ok(RequestFacts {
        api: Api::OpenAiResponses,
        model,
        delivery: Delivery::of(members.read_as("stream")?),
        limit,
        limit_min: LIMIT_MIN,
        replies: 1,
        input: if kept { InputBound::Window } else { InputBound::Bytes(members.whole_text().len() as u64) },
        cache: CacheUse::Short,
        audio: AudioUse::None,
        samplings: 1,
        server_calls: 0,
        server_calls_min: 0,
        price_per_mille: tier(members)?,
        usage: UsageTelling::Always,
        may_call_tools: members.offers_tools()?,
        place,
    })
}

pub(super) fn whole(value: &Json<'_>, reply: &mut ReplyFacts) {
    if value.get("error").is_some_and(|error| !error.is_null()) {
        reply.refused(value.get("error"));
    }
    reply.named(value.get("model"));
    for item in value.get("output").and_then(Json::as_array).into_iter().flatten() {
        for part in item.get("content").and_then(Json::as_array).into_iter().flatten() {
            reply.say(part.get("text").and_then(Json::as_str).unwrap_or_default());
        }
        reply.argue(item.get("arguments").and_then(Json::as_str).unwrap_or_default().len());
    }
    ended(value, reply);
}

pub(super) fn event(value: &Json<'_>, reply: &mut ReplyFacts) {
    let kind = value.get("type").and_then(Json::as_str).unwrap_or_default();
    match kind {
        "response.output_text.delta"
        | "response.refusal.delta"
        | "response.reasoning_text.delta"
        | "response.reasoning_summary_text.delta" => {
            reply.say(value.get("delta").and_then(Json::as_str).unwrap_or_default());
        }
        "response.created" => reply.named(value.at(&["response", "model"])),
        "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
            let response = value.get("response").unwrap_or(&Json::Null);
            if response.get("error").is_some_and(|error| !error.is_null()) {
                reply.refused(response.get("error"));
            }
            reply.named(response.get("model"));
            ended(response, reply);
        }
        "error" => reply.refused(value.get("error").or(Some(value))),
        // Arguments of functions and of the provider's own tools.
        other if other.ends_with(".delta") => {
            reply.argue(value.get("delta").and_then(Json::as_str).unwrap_or_default().len());
        }
        _ => {}
    }
}

fn ended(response: &Json<'_>, reply: &mut ReplyFacts) {
    let searches =
        |item: &&Json<'_>| item.get("type").and_then(Json::as_str).is_some_and(|kind| kind.ends_with("_search_call"));
    let items = response.get("output").and_then(Json::as_array);
    reply.server_calls = items.map_or(0, |items| items.iter().filter(searches).count() as u64);
    if response.get("service_tier").and_then(Json::as_str) == Some("priority") {
        reply.price_per_mille = reply.price_per_mille.max(2_500);
    }
    reply.is_complete = true;
    let Some(usage) = response.get("usage").filter(|usage| usage.as_object().is_some()) else { return };
    let mut figures = Figures::over(usage);
    let input = figures.get("input_tokens").unwrap_or_default();
    let output = figures.get("output_tokens").unwrap_or_default();
    let cached = figures.inside("input_tokens_details", "cached_tokens").unwrap_or_default();
    let written = figures.inside("input_tokens_details", "cache_write_tokens").unwrap_or_default();
    let reasoning = figures.inside("output_tokens_details", "reasoning_tokens").unwrap_or_default();
    reply.tell(inside(input, cached, written, output, reasoning), &figures);
}
