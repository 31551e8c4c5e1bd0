//! The model APIs on the wire: what a request asks for and may cost, how its output limit is lowered, what a reply used.
//!
//! One file per API. Nothing here does I/O: bytes in, facts out.

mod anthropic;
mod bound;
pub mod chant;
pub mod decode;
mod facts;
mod figure;
mod gemini;
mod json;
mod members;
mod openai_chat;
mod openai_responses;
pub mod reply;
mod reply_facts;
mod splice;
pub mod tool_calls;
pub mod usage_chunk;

pub use facts::{Api, Delivery, InputBound, PathKind, RequestFacts, UsageTelling, WireError};
pub use reply_facts::{Refusal, ReplyFacts};
pub use splice::Edit;
pub use tripwire_core::family::Family;

use bound::Finder;
use members::Members;

/// What a request to this path of a provider is.
#[must_use]
pub fn path_kind(family: Family, method: &str, path: &str) -> PathKind {
    match family {
        Family::Anthropic => anthropic::path(method, path),
        Family::OpenAi => openai_chat::path(method, path),
        Family::Gemini => gemini::path(method, path),
    }
}

/// Reads a request; Gemini names model and stream in the path.
///
/// # Errors
/// When it cannot be read, or says something twice.
pub fn read_request(api: Api, body: &[u8], model: Option<&str>, delivery: Delivery) -> Result<RequestFacts, WireError> {
    let mut finder = Finder::default();
    let members = match Members::read_looking(body, &mut finder) {
        Some(members) => members,
        None => {
            let members = Members::read(body)?;
            finder = Finder::look(members.whole_text());
            members
        }
    };
    let mut facts = match api {
        Api::Anthropic => anthropic::request(&members)?,
        Api::OpenAiChat => openai_chat::request(&members)?,
        Api::OpenAiResponses => openai_responses::request(&members)?,
        Api::Gemini => gemini::request(&members, model.unwrap_or_default(), delivery)?,
    };
    finder.note(&mut facts);
    Ok(facts)
}

/// The edit that has the provider tell its figures at the end of a stream, where the API does so only on demand.
///
/// # Errors
/// When the body cannot be read; it was before.
pub fn ask_for_usage(facts: &RequestFacts, body: &[u8]) -> Result<Option<Edit>, WireError> {
    match facts.usage {
        UsageTelling::Always => Ok(None),
        UsageTelling::OnDemand => openai_chat::include_usage(&Members::read(body)?).map(Some),
    }
}

/// A body with edits.
#[must_use]
pub fn edited(body: &[u8], edits: Vec<Edit>) -> Vec<u8> {
    splice::apply(body, edits)
}
