//! The messages: one JSON object a line, as JSON-RPC 2.0 has them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The version of the protocol that this program speaks. A change that an older program would misread raises it.
pub const PROTOCOL_VERSION: u32 = 1;

/// What is wrong with a message, or why there is no answer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The line is no JSON.
    Parse,
    /// It is JSON and no request.
    InvalidRequest,
    /// There is no such method.
    UnknownMethod,
    /// The parameters are not those of the method.
    InvalidParams,
    /// The session has not begun.
    NotInitialized,
    /// The program speaks a version that this one does not know.
    UnsupportedVersion,
    /// The session cannot begin, or cannot go on: nothing may run.
    GuardFailed,
    /// A result for a call that is not open.
    NoOpenCall,
    /// A sub-agent that was not announced.
    NoSuchAgent,
    /// The session has begun already, or is closed.
    WrongState,
    /// The line is longer than the bound.
    TooLong,
}

impl ErrorCode {
    /// All of them, for the reference.
    pub const ALL: [Self; 11] = [
        Self::Parse,
        Self::InvalidRequest,
        Self::UnknownMethod,
        Self::InvalidParams,
        Self::NotInitialized,
        Self::UnsupportedVersion,
        Self::GuardFailed,
        Self::NoOpenCall,
        Self::NoSuchAgent,
        Self::WrongState,
        Self::TooLong,
    ];

    /// The number: the first four are those of JSON-RPC.
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Parse => -32_700,
            Self::InvalidRequest => -32_600,
            Self::UnknownMethod => -32_601,
            Self::InvalidParams => -32_602,
            Self::NotInitialized => -32_001,
            Self::UnsupportedVersion => -32_002,
            Self::GuardFailed => -32_003,
            Self::NoOpenCall => -32_004,
            Self::NoSuchAgent => -32_005,
            Self::WrongState => -32_006,
            Self::TooLong => -32_007,
        }
    }

    /// When it is given.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Parse => "the line is not JSON",
            Self::InvalidRequest => "the line is JSON and no request of JSON-RPC 2.0; batches are none",
            Self::UnknownMethod => "there is no such method",
            Self::InvalidParams => "the parameters are not those of the method; nothing was done",
            Self::NotInitialized => "`initialize` comes first",
            Self::UnsupportedVersion => {
                "the version asked for is newer than this program; `data.supported` lists what it speaks"
            }
            Self::GuardFailed => "the session cannot begin or go on: nothing may run",
            Self::NoOpenCall => "a result for a call that is not open, or has its result already",
            Self::NoSuchAgent => "a sub-agent that `child` did not announce",
            Self::WrongState => "the session has begun already, or is closed",
            Self::TooLong => "the line is longer than 16 MiB and was skipped",
        }
    }
}

/// One request; without an id nobody waits for its answer.
#[derive(Debug, Deserialize)]
pub(super) struct RpcRequest<'a> {
    #[serde(borrow)]
    pub(super) jsonrpc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'a RawValue>,
}

/// One answer.
#[derive(Debug, Serialize)]
pub(super) struct RpcResponse<'a> {
    pub(super) jsonrpc: &'static str,
    /// Null where the request's could not be read.
    pub(super) id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<RpcFailure>,
}

/// Why there is no result.
#[derive(Debug, Serialize)]
pub(super) struct RpcFailure {
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) data: FailureData,
}

/// What goes with an error.
#[derive(Debug, Default, Serialize)]
pub(super) struct FailureData {
    /// What to do about it.
    pub(super) hint: String,
    /// The versions that this program speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) supported: Option<[u32; 1]>,
}

impl RpcFailure {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let supported = (code == ErrorCode::UnsupportedVersion).then_some([PROTOCOL_VERSION]);
        Self { code: code.number(), message: message.into(), data: FailureData { hint: hint.into(), supported } }
    }
}
