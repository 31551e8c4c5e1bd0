//! What the server answers, with the headers that every answer carries.

use bytes::Bytes;
use hyper::header::{CONTENT_SECURITY_POLICY as SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use std::sync::LazyLock;
use tripwire_gateway::body::ReplyBody;

/// What an answer may do in a browser: run the page's own scripts, ask its own server, and nothing else.
static CONTENT_SECURITY_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| of_policy(&content_security_policy("'self'")));

/// The policy of an answer whose style comes from these sources.
pub(super) fn content_security_policy(styles: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src {styles}; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    )
}

/// A policy as a header's value; what cannot be one permits nothing.
pub(super) fn of_policy(policy: &str) -> HeaderValue {
    HeaderValue::from_str(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// An answer.
pub(super) type Reply = Response<ReplyBody>;

/// Why something was not done, as an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotDone {
    pub(super) status: StatusCode,
    pub(super) why: String,
}

impl NotDone {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    pub(super) fn not_found(why: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, why)
    }

    pub(super) fn bad(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }

    pub(super) fn reply(&self) -> Reply {
        with_type(self.status, "application/json", json!({"error": self.why}).to_string())
    }
}

pub(super) fn of_json(text: String) -> Reply {
    with_type(StatusCode::OK, "application/json", text)
}

pub(super) fn of_value(value: &Value) -> Reply {
    of_json(value.to_string())
}

pub(super) fn with_type(status: StatusCode, content_type: &'static str, text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(ReplyBody::whole(text));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    guarded(reply)
}

/// An answer with the headers that every answer carries.
pub(super) fn guarded(mut reply: Reply) -> Reply {
    reply.headers_mut().insert(SECURITY_POLICY, CONTENT_SECURITY_POLICY.clone());
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
        ("cache-control", "no-store"),
    ] {
        reply.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    reply
}
