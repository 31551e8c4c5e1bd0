//! Why there is no answer, before an engine puts its name to it; and what a provider's error means in our words.

use super::limits::EXCERPT_CHARS_MAX;
use crate::engines::error::EngineError;
use serde_json::Value;
use std::time::Duration;
use tripwire_observe::sse::SseError;
use tripwire_secrets::Secret;

/// Why a call ended without a whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The host cannot be reached.
    Unreachable(String),
    /// The answer broke off or is not understood.
    Broken(String),
    /// The provider said no, with a status or inside a stream.
    Said(Refusal),
    /// The deadline came first.
    Deadline,
    /// An answer that had begun fell silent for so long.
    Silent(Duration),
    /// The listener cut it off.
    Cut,
}

impl From<SseError> for Fault {
    fn from(error: SseError) -> Self {
        Self::Broken(error.to_string())
    }
}

/// A provider's error in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Refusal {
    /// The HTTP status, 200 for an error inside a stream that began well.
    pub(super) status: u16,
    /// Its kind: `overloaded_error`, `rate_limit_exceeded`, `RESOURCE_EXHAUSTED` …
    pub(super) kind: String,
    /// Its message.
    pub(super) message: String,
    /// How long to wait, where it says so.
    pub(super) retry_after: Option<Duration>,
    /// Whether it came as an error object and not as a page or a bare text.
    pub(super) is_object: bool,
    /// What was asked for and where, as far as the refusal of a whole request is about it.
    pub(super) asked: Option<Target>,
}

/// What was asked for and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Target {
    /// The address.
    pub(super) url: String,
    /// The model.
    pub(super) model: String,
}

impl Refusal {
    /// Reads the error object of any of the four dialects: `{"error": {…}}`, or the object itself. Whatever else came is
    /// quoted, so that no error is lost for being in an unknown form.
    pub(super) fn read(status: u16, body: &Value, raw: &str) -> Self {
        let error = body.get("error").filter(|error| !error.is_null()).unwrap_or(body);
        let word = |name: &str| match error.get(name) {
            Some(Value::String(word)) => word.clone(),
            Some(_) | None => String::new(),
        };
        let kind = ["code", "type", "status"].into_iter().map(word).find(|word| !word.is_empty() && word != "error");
        let mut kind = kind.unwrap_or_default();
        // OpenAI's `code` is the finer word, except for the broad one that hides the reason in `type`.
        if kind == "rate_limit_exceeded" && word("type") == "insufficient_quota" {
            kind = word("type");
        }
        let message = match error {
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => word("message"),
        };
        let message = if message.is_empty() { excerpt(raw) } else { message };
        let status = match (status, error.get("code").and_then(Value::as_u64)) {
            // Google repeats the status inside the stream.
            (200, Some(code)) => u16::try_from(code).unwrap_or(200),
            (status, _) => status,
        };
        Self { status, kind, message, retry_after: None, is_object: body.is_object(), asked: None }
    }

    fn reason(&self) -> Reason {
        let (kind, message) = (self.kind.as_str(), self.message.to_ascii_lowercase());
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        let is = |words: &[&str]| words.iter().any(|word| kind.eq_ignore_ascii_case(word));
        let refused_input = matches!(self.status, 200 | 400 | 413 | 422 | 500);
        if is(CONTEXT_KINDS) || (refused_input && says(CONTEXT_WORDS)) {
            return Reason::Context;
        }
        if is(QUOTA_KINDS) || says(QUOTA_WORDS) {
            return Reason::Rate;
        }
        if matches!(self.status, 401 | 403) || is(KEY_KINDS) || says(KEY_WORDS) {
            return Reason::Key;
        }
        if self.status == 404 {
            return if self.names_the_model(&message) { Reason::Model } else { Reason::Path };
        }
        if is(MODEL_KINDS) {
            return Reason::Model;
        }
        // The status decides first: a request that is refused for itself stays refused, whatever its kind is called.
        let is_final = (400..500).contains(&self.status) && !matches!(self.status, 408 | 429);
        if self.status == 429 || !is_final && is(RATE_KINDS) {
            return Reason::Rate;
        }
        if self.status == 408 || self.status >= 500 || !is_final && is(OVERLOAD_KINDS) {
            return Reason::Overload;
        }
        Reason::Other
    }

    /// Whether a 404 is about the model: an error object that speaks of one. Everything else is about the path.
    fn names_the_model(&self, message: &str) -> bool {
        let asked = self.asked.as_ref().map(|asked| asked.model.to_ascii_lowercase()).filter(|model| !model.is_empty());
        let named = asked.is_some_and(|model| message.contains(&model));
        self.is_object && (named || message.contains("model") || self.kind.eq_ignore_ascii_case("model_not_found"))
    }

    /// A path at which nothing is, with what the server said about it unless that is a page.
    fn no_path(&self) -> String {
        let at = self.asked.as_ref().map(|asked| format!(" (`{}`)", asked.url)).unwrap_or_default();
        let said = if self.is_object { format!("; it says: {}", self.said()) } else { String::new() };
        format!("nothing at this path{at}: check the base URL{said}")
    }

    fn said(&self) -> String {
        match (self.kind.is_empty(), self.message.is_empty()) {
            (true, true) => format!("status {}, without a word", self.status),
            (false, true) => self.kind.clone(),
            (true, false) => self.message.clone(),
            (false, false) => format!("{} ({})", self.message, self.kind),
        }
    }
}

/// What a refusal comes down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Context,
    Rate,
    Key,
    Model,
    Path,
    Overload,
    Other,
}

const CONTEXT_KINDS: &[&str] =
    &["context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_above_max_length"];
const CONTEXT_WORDS: &[&str] = &[
    "prompt is too long",
    "context window",
    "maximum context length",
    "context length",
    "context size",
    "input token count",
    "maximum number of tokens allowed",
];
const QUOTA_KINDS: &[&str] = &["insufficient_quota", "billing_hard_limit_reached", "billing_error"];
const QUOTA_WORDS: &[&str] = &["credit balance is too low", "exceeded your current quota"];
const KEY_KINDS: &[&str] =
    &["authentication_error", "permission_error", "invalid_api_key", "UNAUTHENTICATED", "PERMISSION_DENIED"];
const KEY_WORDS: &[&str] = &["api key not valid", "incorrect api key", "invalid x-api-key"];
const MODEL_KINDS: &[&str] = &["not_found_error", "model_not_found", "NOT_FOUND"];
const RATE_KINDS: &[&str] = &["rate_limit_error", "rate_limit_exceeded", "tokens", "requests", "RESOURCE_EXHAUSTED"];
const OVERLOAD_KINDS: &[&str] = &[
    "overloaded_error",
    "overloaded",
    "server_is_overloaded",
    "slow_down",
    "api_error",
    "server_error",
    "internal_server_error",
    "UNAVAILABLE",
    "INTERNAL",
    "DEADLINE_EXCEEDED",
    "timeout_error",
];

impl Fault {
    /// The fault as the contract knows it, without the key.
    pub(super) fn named(self, engine: &str, key: Option<&Secret>) -> EngineError {
        let engine = engine.to_owned();
        let clean = |text: &str| excerpt(&key.map_or_else(|| text.to_owned(), |key| key.redact(text)));
        match self {
            Self::Unreachable(why) => EngineError::Unreachable { engine, why: clean(&why) },
            Self::Broken(why) => EngineError::Broken { engine, why: clean(&why) },
            Self::Silent(silence) => {
                let why = format!("nothing came for {} s in the middle of it", silence.as_secs());
                EngineError::Broken { engine, why }
            }
            Self::Deadline => EngineError::Deadline { engine },
            Self::Cut => EngineError::Cut { engine },
            Self::Said(refusal) => {
                let (said, retry_after) = (clean(&refusal.said()), refusal.retry_after);
                let no_path = clean(&refusal.no_path());
                match refusal.reason() {
                    Reason::Context => EngineError::ContextExhausted { engine, said },
                    Reason::Rate => EngineError::RateLimited { engine, said, retry_after },
                    Reason::Key => EngineError::KeyRefused { engine, said },
                    Reason::Model => EngineError::UnknownModel { engine, said },
                    Reason::Overload => EngineError::Overloaded { engine, said, retry_after },
                    Reason::Path => EngineError::Refused { engine, status: refusal.status, said: no_path },
                    Reason::Other => EngineError::Refused { engine, status: refusal.status, said },
                }
            }
        }
    }
}

/// The beginning of a foreign text, in one line, fit to stand in a message.
pub(super) fn excerpt(text: &str) -> String {
    let mut chars = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = chars.by_ref().take(EXCERPT_CHARS_MAX).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn named(status: u16, body: &Value) -> EngineError {
        Fault::Said(Refusal::read(status, body, &body.to_string())).named("e", None)
    }

    #[test]
    fn errors_of_all_four_dialects_find_their_reason() {
        let said = |error: &EngineError| format!("{error:?}").split(' ').next().map(str::to_owned).unwrap_or_default();
        for (status, body, reason) in [
            (
                401,
                json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
                "KeyRefused",
            ),
            (
                400,
                json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}),
                "KeyRefused",
            ),
            (403, json!({"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}), "KeyRefused"),
            (404, json!({"error": {"type": "not_found_error", "message": "model: x"}}), "UnknownModel"),
            (400, json!({"error": {"code": "model_not_found", "message": "does not exist"}}), "UnknownModel"),
            (
                400,
                json!({"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}),
                "ContextExhausted",
            ),
            (400, json!({"error": {"code": "context_length_exceeded", "message": "too much"}}), "ContextExhausted"),
            (
                400,
                json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
                "message": "The input token count exceeds the maximum number of tokens allowed."}}),
                "ContextExhausted",
            ),
            (429, json!({"error": {"type": "rate_limit_error", "message": "slow"}}), "RateLimited"),
            (
                429,
                json!({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}),
                "RateLimited",
            ),
            (
                400,
                json!({"error": {"type": "invalid_request_error", "message": "Your credit balance is too low"}}),
                "RateLimited",
            ),
            (429, json!({"error": {"code": 429, "message": "gone", "status": "RESOURCE_EXHAUSTED"}}), "RateLimited"),
            (529, json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}), "Overloaded"),
            (503, json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}), "Overloaded"),
            (500, json!("oops"), "Overloaded"),
            (
                200,
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                "Overloaded",
            ),
            (200, json!({"error": {"code": "server_is_overloaded", "message": "later"}}), "Overloaded"),
            (200, json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}), "Overloaded"),
            (422, json!({"detail": "odd"}), "Refused"),
            (400, json!({"error": {"type": "api_error", "message": "\"x\" does not support tools"}}), "Refused"),
            (422, json!({"error": {"code": "rate_limit_exceeded", "message": "odd"}}), "Refused"),
            (200, json!({"error": {"type": "api_error", "message": "Internal server error"}}), "Overloaded"),
            (404, json!({"error": {"message": "The model `x` does not exist"}}), "UnknownModel"),
            (404, json!({"error": {"type": "not_found_error", "message": "Not Found"}}), "Refused"),
            (404, json!({"detail": "Not Found"}), "Refused"),
            (404, json!("<html>no model here</html>"), "Refused"),
            (400, json!({"error": {"type": "invalid_request_error", "message": "messages: empty"}}), "Refused"),
        ] {
            assert_eq!(said(&named(status, &body)), reason, "{status} {body}");
        }
    }

    #[test]
    fn a_body_in_an_unknown_form_is_quoted() {
        let fault = Fault::Said(Refusal::read(418, &Value::Null, "<html>\nteapot</html>"));
        assert_eq!(
            fault.named("e", None),
            EngineError::Refused { engine: "e".to_owned(), status: 418, said: "<html> teapot</html>".to_owned() }
        );
        let silent = Fault::Said(Refusal::read(418, &Value::Null, "")).named("e", None);
        assert!(silent.to_string().contains("without a word"), "{silent}");
    }

    #[test]
    fn the_key_is_taken_out_before_a_text_is_cut() {
        let key = Secret::new("sk-0123456789").unwrap();
        let echo = format!("{}sk-0123456789", "x".repeat(EXCERPT_CHARS_MAX - 5));
        for fault in [Fault::Broken(echo.clone()), Fault::Unreachable(echo.clone())] {
            assert!(!fault.named("e", Some(&key)).to_string().contains("sk-0"));
        }
        let body = json!({"error": {"type": "authentication_error", "message": "bad key sk-0123456789"}});
        let error = Fault::Said(Refusal::read(401, &body, "")).named("e", Some(&key));
        assert_eq!(error.to_string(), "`e` refuses the key: bad key [key] (authentication_error)");
    }
}
