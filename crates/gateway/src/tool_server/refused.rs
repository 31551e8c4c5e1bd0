//! What the carrier itself answers: an error of the protocol with the status that says what kind it is.

use crate::body::ReplyBody;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

/// A request that was turned away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Turned {
    status: StatusCode,
    why: String,
}

impl Turned {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    pub(super) fn busy(why: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, format!("{why}; try again in a moment"))
    }

    pub(super) fn bad_gateway(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, why)
    }

    pub(super) fn why(&self) -> &str {
        &self.why
    }

    pub(super) fn reply(&self) -> Response<ReplyBody> {
        let error = json!({"code": -32_000, "message": format!("tripwire: {}", self.why)});
        json_reply(self.status, json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string())
    }
}

/// A reply of our own in JSON.
pub(super) fn json_reply(status: StatusCode, text: String) -> Response<ReplyBody> {
    let mut reply = Response::new(ReplyBody::whole(text));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// A reply without a body.
pub(super) fn accepted() -> Response<ReplyBody> {
    let mut reply = Response::new(ReplyBody::Whole(None));
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}
