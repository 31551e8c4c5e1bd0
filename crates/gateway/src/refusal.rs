//! Refusals in the words and the form of each API: clients act on status and type, people read the reason.

use crate::body::ReplyBody;
use crate::config::Key;
use crate::orders::Orders;
use crate::wire::{Api, Family};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

/// What every refusal begins with, so that people know who speaks.
const SPEAKER: &str = "tripwire: ";

/// Why a request was not passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefusedRequest {
    /// What kind of refusal.
    pub(crate) kind: RefusalKind,
    /// The reason, for people.
    pub(crate) reason: String,
    /// What to do next.
    pub(crate) hint: String,
}

/// The kinds of refusals, each with its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// No token that is known.
    Unauthorised,
    /// A budget, a stop, a model or a path: 403 ends every client, where other statuses are tried again.
    Forbidden,
    /// Too many in a minute; again after so long.
    Rate(Duration),
    /// A request that cannot be read.
    BadRequest,
    /// A body that is too large.
    TooLarge,
    /// There is no such route.
    NotFound,
    /// The provider did not answer as it should.
    BadGateway,
    /// The provider took too long.
    Timeout,
    /// We have too much to do.
    Busy,
}

impl RefusalKind {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Unauthorised => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Rate(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::BadGateway => StatusCode::BAD_GATEWAY,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The word of Anthropic's and OpenAI's errors.
    const fn word(self) -> &'static str {
        match self {
            Self::Unauthorised => "authentication_error",
            Self::Forbidden => "permission_error",
            Self::Rate(_) => "rate_limit_error",
            Self::BadRequest => "invalid_request_error",
            Self::TooLarge => "request_too_large",
            Self::NotFound => "not_found_error",
            Self::BadGateway | Self::Timeout => "api_error",
            Self::Busy => "overloaded_error",
        }
    }

    /// The word of Google's errors.
    const fn google(self) -> &'static str {
        match self {
            Self::Unauthorised => "UNAUTHENTICATED",
            Self::Forbidden => "PERMISSION_DENIED",
            Self::Rate(_) => "RESOURCE_EXHAUSTED",
            Self::BadRequest | Self::TooLarge => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::BadGateway => "INTERNAL",
            Self::Timeout => "DEADLINE_EXCEEDED",
            Self::Busy => "UNAVAILABLE",
        }
    }
}

impl RefusedRequest {
    pub(crate) fn new(kind: RefusalKind, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), hint: hint.into() }
    }

    /// The refusal of what a stop cuts or keeps from beginning.
    pub(crate) fn stopped(orders: &Orders) -> Self {
        if orders.has_ended() {
            return Self::new(RefusalKind::Busy, "the gateway ends", "try again in a moment");
        }
        let reason = "this workspace is stopped (`.geometry/STOP`)";
        Self::new(RefusalKind::Forbidden, reason, "go on with `tripwire resume`")
    }

    /// The refusal of a key that has to wait.
    pub(crate) fn minute_used(key: &Key, wait: Duration) -> Self {
        let reason = format!("the key `{}` has used up its minute", key.name);
        Self::new(RefusalKind::Rate(wait), reason, "wait, or raise its rates")
    }

    /// What a provider refused with, for a client whose stream has begun.
    pub(crate) fn of_provider(status: StatusCode, text: &str) -> Self {
        let said = serde_json::from_str::<Value>(text).ok();
        let said = said.as_ref().and_then(|value| value.pointer("/error/message")).and_then(Value::as_str);
        let kind = match status.as_u16() {
            401 => RefusalKind::Unauthorised,
            403 => RefusalKind::Forbidden,
            404 => RefusalKind::NotFound,
            413 => RefusalKind::TooLarge,
            429 => RefusalKind::Rate(Duration::ZERO),
            400..500 => RefusalKind::BadRequest,
            503 | 529 => RefusalKind::Busy,
            504 => RefusalKind::Timeout,
            _ => RefusalKind::BadGateway,
        };
        let reason =
            format!("the provider answered {}: {}", status.as_u16(), said.unwrap_or("nothing that can be read"));
        Self::new(kind, reason, "look at the provider's status, then try again")
    }

    fn message(&self) -> String {
        // A guard's own words say already who speaks.
        let reason = self.reason.strip_prefix(SPEAKER).unwrap_or(&self.reason);
        format!("{SPEAKER}{reason}; {}", self.hint)
    }

    /// The error as the API writes it.
    pub(crate) fn text(&self, family: Family) -> String {
        let message = self.message();
        let status = self.kind.status().as_u16();
        match family {
            Family::Anthropic => json!({"type": "error", "error": {"type": self.kind.word(), "message": message}}),
            Family::OpenAi => {
                json!({"error": {"message": message, "type": self.kind.word(), "param": null, "code": self.kind.word()}})
            }
            Family::Gemini => {
                json!({"error": {"code": status, "message": message, "status": self.kind.google()}})
            }
        }
        .to_string()
    }

    /// The error as an event of a stream that has begun.
    pub(crate) fn event(&self, api: Api) -> String {
        let text = self.text(api.family());
        match api {
            Api::Anthropic => format!("event: error\ndata: {text}\n\n"),
            Api::OpenAiChat => format!("data: {text}\n\n"),
            // The Responses API ends a stream that fails with its own event; Codex reads no other.
            Api::OpenAiResponses => {
                let error = json!({"code": self.kind.word(), "message": self.message()});
                let failed = json!({"type": "response.failed", "response": {"object": "response", "status": "failed", "error": error}});
                format!("event: response.failed\ndata: {failed}\n\n")
            }
            // Gemini's own library looks for an error in a piece that is JSON and no event.
            Api::Gemini => format!("{text}\n"),
        }
    }

    /// The whole reply.
    pub(crate) fn reply(&self, family: Family) -> Response<ReplyBody> {
        let mut reply = Response::new(ReplyBody::whole(self.text(family)));
        *reply.status_mut() = self.kind.status();
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let RefusalKind::Rate(wait) = self.kind {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        // A client that asks again at once would only be refused again.
        if self.kind == RefusalKind::Forbidden {
            reply.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_once_who_speaks() {
        for reason in ["held: a loop", "tripwire: held: a loop"] {
            let refused = RefusedRequest::new(RefusalKind::Forbidden, reason, "look at it");
            assert_eq!(refused.message(), "tripwire: held: a loop; look at it");
        }
    }
}
