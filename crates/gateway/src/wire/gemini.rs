//! Gemini's `generateContent` and `streamGenerateContent`.

use super::facts::{Api, Delivery, InputBound, PathKind, RequestFacts, UsageTelling, WireError};
use super::figure::Figures;
use super::json::Json;
use super::members::Members;
use super::reply_facts::ReplyFacts;
use tripwire_core::prices::{AudioUse, CacheUse};
use tripwire_core::units::Tokens;
use tripwire_core::usage::{AudioInput, Usage};

pub(super) fn path(method: &str, path: &str) -> PathKind {
    let Some(rest) = ["/v1beta", "/v1alpha", "/v1"].iter().find_map(|version| path.strip_prefix(version)) else {
        return PathKind::Unpriced;
    };
    let Some(name) = rest.strip_prefix("/models") else { return PathKind::Unpriced };
    let name = name.strip_prefix('/').unwrap_or(name);
    match (method, name.split_once(':')) {
        ("GET", None) if !name.contains('/') => PathKind::Free,
        ("POST", Some((model, verb))) if !model.is_empty() && !model.contains('/') => match verb {
            "generateContent" => priced(model, Delivery::Whole),
            "streamGenerateContent" => priced(model, Delivery::Stream),
            "countTokens" => PathKind::Free,
            _ => PathKind::Unpriced,
        },
        _ => PathKind::Unpriced,
    }
}

fn priced(model: &str, delivery: Delivery) -> PathKind {
    PathKind::Priced { api: Api::Gemini, model: Some(model.to_owned()), delivery }
}

const CONFIG: [&str; 2] = ["generation_config", "generationConfig"];
const LIMIT: [&str; 2] = ["max_output_tokens", "maxOutputTokens"];

pub(super) fn request(members: &Members<'_>, model: &str, delivery: Delivery) -> Result<RequestFacts, WireError> {
    let config = members.inner(&CONFIG)?;
    let (limit, place) = match &config {
        Some(config) => config.limit(&LIMIT)?,
        None => (None, members.insert("\"generationConfig\":{\"maxOutputTokens\":".to_owned(), "}")),
    };
    let replies = match &config {
        Some(config) => config.get(&["candidateCount", "candidate_count"])?,
        None => None,
    };
    let replies = replies.map(|value| serde_json::from_str::<u64>(value.get())).transpose();
    let thinking = match &config {
        Some(config) => config.inner(&["thinkingConfig", "thinking_config"])?,
        None => None,
    };
    let thinking = match &thinking {
        Some(thinking) => thinking.get(&["thinkingBudget", "thinking_budget"])?,
        None => None,
    };
    // A negative budget means that the model chooses.
    let thinking = thinking.and_then(|value| serde_json::from_str::<u64>(value.get()).ok()).unwrap_or(0);
    Ok(RequestFacts {
        api: Api::Gemini,
        model: model.to_owned(),
        delivery,
        limit,
        limit_min: Tokens::new(thinking.saturating_add(1)),
        replies: replies.map_err(|_| WireError::Field("candidateCount"))?.unwrap_or(1).max(1),
        input: InputBound::Bytes(members.whole_text().len() as u64),
        cache: CacheUse::None,
        audio: AudioUse::None,
        samplings: 1,
        server_calls: 0,
        server_calls_min: 0,
        price_per_mille: 1_000,
        usage: UsageTelling::Always,
        may_call_tools: members.offers_tools()?,
        place,
    })
}

/// The audio in a list of tokens by kind; nothing where there is no such list.
fn audio(usage: &Json<'_>, list: &str, figures: &mut Figures<'_>) -> Option<Tokens> {
    let mut audio = Tokens::ZERO;
    for kind in usage.get(list)?.as_array()? {
        if kind.get("modality").and_then(Json::as_str) == Some("AUDIO") {
            let mut kind = Figures::over(kind);
            audio = audio.plus(kind.get("tokenCount").unwrap_or_default());
            figures.is_broken |= kind.is_broken;
        }
    }
    Some(audio)
}

/// A chunk and a whole reply have the same form; without `alt=sse` a stream is a list of chunks.
pub(super) fn event(value: &Json<'_>, reply: &mut ReplyFacts) {
    if let Some(list) = value.as_array() {
        list.iter().for_each(|chunk| event(chunk, reply));
        return;
    }
    if value.get("error").is_some_and(|error| !error.is_null()) {
        reply.refused(value.get("error"));
        return;
    }
    reply.named(value.get("modelVersion"));
    for candidate in value.get("candidates").and_then(Json::as_array).into_iter().flatten() {
        for part in candidate.at(&["content", "parts"]).and_then(Json::as_array).into_iter().flatten() {
            reply.say(part.get("text").and_then(Json::as_str).unwrap_or_default());
            if let Some(arguments) = part.at(&["functionCall", "args"]) {
                reply.argue(arguments.to_text().len());
            }
        }
        let queries = candidate.at(&["groundingMetadata", "webSearchQueries"]).and_then(Json::as_array);
        reply.server_calls = reply.server_calls.max(queries.map_or(0, |queries| queries.len() as u64));
        reply.is_complete |= candidate.get("finishReason").is_some_and(|reason| !reason.is_null());
    }
    // A prompt that was blocked has no candidates and is paid for.
    reply.is_complete |= value.get("promptFeedback").and_then(|feedback| feedback.get("blockReason")).is_some();
    let Some(usage) = value.get("usageMetadata").filter(|usage| usage.as_object().is_some()) else { return };
    let mut figures = Figures::over(usage);
    let prompt = figures.get("promptTokenCount").unwrap_or_default();
    let tools = figures.get("toolUsePromptTokenCount").unwrap_or_default();
    let cache_read = figures.get("cachedContentTokenCount").unwrap_or_default().min(prompt);
    let audio_sent = audio(usage, "promptTokensDetails", &mut figures);
    let audio_of_tools = audio(usage, "toolUsePromptTokensDetails", &mut figures).unwrap_or_default();
    let audio_cached = audio(usage, "cacheTokensDetails", &mut figures);
    reply.audio = audio_sent.map(|audio| {
        // Where nothing says what the cache held, it was text as far as it can have been: fresh audio is the dearest.
        let cached = audio_cached.unwrap_or_else(|| audio.minus(prompt.minus(cache_read))).min(audio);
        AudioInput { fresh: audio.minus(cached).plus(audio_of_tools), cached }
    });
    let found = Usage {
        fresh_input: prompt.minus(cache_read).plus(tools),
        cache_read,
        output: figures.get("candidatesTokenCount").unwrap_or_default(),
        reasoning: figures.get("thoughtsTokenCount").unwrap_or_default(),
        ..Usage::default()
    };
    reply.tell(found, &figures);
}
