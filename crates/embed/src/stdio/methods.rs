//! The methods: what each takes and gives.

use super::message::{ErrorCode, RpcFailure};
use crate::error::EmbedError;
use crate::options::SessionOptions;
use crate::session::GuardedSession;
use crate::types::{
    Admission, AgentId, CallId, CallQuestion, CallResult, NoResult, ResultAnswer, SessionStatus, Stop, UsageTold,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tripwire_core::explain::Explain as _;
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;

/// Begins the session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct InitializeParams {
    /// The version of the protocol that the program speaks.
    pub(super) protocol: u32,
    /// A folder of the workspace; by default the current one.
    #[serde(default)]
    workspace: Option<PathBuf>,
    /// A session to take up; by default a new one begins.
    #[serde(default)]
    session: Option<String>,
    /// The money budget, such as `5usd`.
    #[serde(default)]
    budget: Option<String>,
    /// The profile: `strict` or `balanced`.
    #[serde(default)]
    profile: Option<String>,
    /// The role to act in.
    #[serde(default)]
    role: Option<String>,
    /// Other settings of the policy, by their dotted path, as `tripwire policy show` lists them.
    #[serde(default)]
    settings: BTreeMap<String, String>,
}

impl InitializeParams {
    pub(super) fn options(self, default: &SessionOptions) -> SessionOptions {
        SessionOptions {
            workspace: self.workspace.or_else(|| default.workspace.clone()),
            session: self.session.or_else(|| default.session.clone()),
            budget: self.budget.or_else(|| default.budget.clone()),
            profile: self.profile.or_else(|| default.profile.clone()),
            role: self.role.or_else(|| default.role.clone()),
            settings: self.settings,
        }
    }
}

/// The session has begun.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InitializeResult {
    /// The version of the protocol that is spoken.
    pub(super) protocol: u32,
    /// The version of tripwire.
    pub(super) tripwire: &'static str,
    /// How the session stands.
    pub(super) status: SessionStatus,
}

/// Asks before a call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BeforeParams<'a> {
    /// The tool's name.
    tool: String,
    /// Its arguments: an object, or whatever the tool takes.
    #[serde(default, borrow)]
    #[schemars(with = "Option<serde_json::Value>")]
    args: Option<&'a RawValue>,
    /// The sub-agent that acts, as `child` named it.
    #[serde(default)]
    agent: Option<AgentId>,
    /// The model's answer that asked for it: calls of one answer share it and are one step.
    #[serde(default)]
    turn: Option<String>,
}

/// The answer to a question.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BeforeResult {
    /// Whether the call may run.
    allowed: bool,
    /// The id of the call, under which its result is reported; only where it may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<CallId>,
    /// What the agent should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why it may not run; only where it may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Box<Stop>>,
}

/// Reports what a call gave, and closes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AfterParams {
    /// The id that `before` gave.
    call: CallId,
    /// The output as text.
    #[serde(default)]
    output: String,
    /// Whether it failed.
    #[serde(default)]
    error: Option<bool>,
    /// The exit code of a command.
    #[serde(default)]
    exit_code: Option<i32>,
    /// How long it took; by default the time since `before`.
    #[serde(default)]
    duration_ms: Option<u64>,
    /// The call was given up and has no result: the other fields are not read.
    #[serde(default)]
    no_result: bool,
}

/// Counts what one answer of a model used, in classes that do not overlap.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UsageParams {
    /// The model's name, for its price.
    model: String,
    /// Input that no cache had.
    #[serde(default)]
    input_tokens: u64,
    /// Output without reasoning.
    #[serde(default)]
    output_tokens: u64,
    /// Input read from a cache.
    #[serde(default)]
    cache_read_tokens: u64,
    /// Input written to a cache.
    #[serde(default)]
    cache_write_tokens: u64,
    /// Reasoning, charged as output.
    #[serde(default)]
    reasoning_tokens: u64,
    /// Tokens in the context now.
    #[serde(default)]
    context_tokens: Option<u64>,
    /// The sub-agent that asked the model.
    #[serde(default)]
    agent: Option<AgentId>,
}

/// Announces a sub-agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ChildParams {
    /// What it is called; another of this name gets a number.
    name: String,
    /// The sub-agent that starts it; by default the main agent.
    #[serde(default)]
    parent: Option<AgentId>,
}

/// The answer to an announcement.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChildResult {
    /// Its id, for `before` and `usage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentId>,
    /// Why it may not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<Box<Stop>>,
}

/// Takes nothing.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParams {}

/// A method of a session that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Before,
    After,
    Usage,
    Child,
    Status,
    Close,
}

impl Method {
    /// The method of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "before" => Self::Before,
            "after" => Self::After,
            "usage" => Self::Usage,
            "child" => Self::Child,
            "status" => Self::Status,
            "close" => Self::Close,
            _ => return None,
        })
    }

    /// Whether it may come without an id: what it does needs no answer.
    pub(super) const fn may_be_a_notification(self) -> bool {
        match self {
            Self::After | Self::Usage | Self::Close => true,
            Self::Before | Self::Child | Self::Status => false,
        }
    }

    /// Carries it out.
    pub(super) fn call(
        self,
        session: &mut GuardedSession,
        params: Option<&RawValue>,
    ) -> Result<Box<RawValue>, RpcFailure> {
        match self {
            Self::Before => before(session, read(params)?),
            Self::After => {
                let params: AfterParams = read(params)?;
                let answer = if params.no_result {
                    session.no_result(&params.call, NoResult::Abandoned)
                } else {
                    let AfterParams { call, output, error, exit_code, duration_ms, no_result: _ } = params;
                    session.after(&call, &CallResult { output, error, exit_code, duration_ms })
                };
                written(&answer.map_err(failure)?)
            }
            Self::Usage => written(&session.usage(&told(read(params)?)).map_err(failure)?),
            Self::Child => {
                let ChildParams { name, parent } = read(params)?;
                let (agent, stop) = match session.child(&name, parent.as_ref()).map_err(failure)? {
                    Ok(agent) => (Some(agent), None),
                    Err(stop) => (None, Some(stop)),
                };
                written(&ChildResult { agent, stop })
            }
            Self::Status => {
                let NoParams {} = read_or_default(params)?;
                written(&session.status().map_err(failure)?)
            }
            Self::Close => {
                let NoParams {} = read_or_default(params)?;
                session.close(NoResult::SessionClosed).map_err(failure)?;
                written(&session.status().map_err(failure)?)
            }
        }
    }
}

fn before(session: &mut GuardedSession, params: BeforeParams<'_>) -> Result<Box<RawValue>, RpcFailure> {
    let BeforeParams { tool, args, agent, turn } = params;
    let question = CallQuestion {
        tool: &tool,
        arguments: args.map_or("{}", RawValue::get),
        agent: agent.as_ref(),
        turn: turn.as_deref(),
    };
    written(&match session.before(&question).map_err(failure)? {
        Admission::Allowed { call, note } => BeforeResult { allowed: true, call: Some(call), note, stop: None },
        Admission::Stopped(stop) => BeforeResult { allowed: false, call: None, note: None, stop: Some(stop) },
    })
}

fn told(params: UsageParams) -> UsageTold {
    UsageTold {
        model: params.model,
        tokens: Usage {
            cache_read: Tokens::new(params.cache_read_tokens),
            cache_write: Tokens::new(params.cache_write_tokens),
            cache_write_long: Tokens::ZERO,
            fresh_input: Tokens::new(params.input_tokens),
            output: Tokens::new(params.output_tokens),
            reasoning: Tokens::new(params.reasoning_tokens),
        },
        context: params.context_tokens.map(Tokens::new),
        agent: params.agent,
    }
}

/// The parameters of a method.
pub(super) fn read<'a, T: Deserialize<'a>>(params: Option<&'a RawValue>) -> Result<T, RpcFailure> {
    let wrong = |why: String| RpcFailure::new(ErrorCode::InvalidParams, why, "see `tripwire help stdio`");
    let text = params.ok_or_else(|| wrong("the method needs parameters".to_owned()))?.get();
    serde_json::from_str(text).map_err(|error| wrong(error.to_string()))
}

fn read_or_default<'a, T: Deserialize<'a> + Default>(params: Option<&'a RawValue>) -> Result<T, RpcFailure> {
    if params.is_none() { Ok(T::default()) } else { read(params) }
}

/// A result as JSON.
pub(super) fn written(result: &impl Serialize) -> Result<Box<RawValue>, RpcFailure> {
    serde_json::value::to_raw_value(result).map_err(|error| {
        RpcFailure::new(ErrorCode::GuardFailed, error.to_string(), "this is a defect of tripwire; please report it")
    })
}

/// An error of the session as one of the protocol.
pub(super) fn failure(error: EmbedError) -> RpcFailure {
    let code = match &error {
        EmbedError::NoOpenCall { .. } => ErrorCode::NoOpenCall,
        EmbedError::NoSuchAgent { .. } => ErrorCode::NoSuchAgent,
        EmbedError::Closed => ErrorCode::WrongState,
        EmbedError::Budget { .. } | EmbedError::FrozenSettings | EmbedError::SessionId(_) => ErrorCode::InvalidParams,
        EmbedError::Driver(_) | EmbedError::Workspace(_) | EmbedError::TooManyOpenCalls { .. } => {
            ErrorCode::GuardFailed
        }
    };
    RpcFailure::new(code, error.to_string(), error.hint())
}

/// The first answer.
pub(super) fn initialized(session: &mut GuardedSession, protocol: u32) -> Result<Box<RawValue>, RpcFailure> {
    let status = session.status().map_err(failure)?;
    written(&InitializeResult { protocol, tripwire: env!("CARGO_PKG_VERSION"), status })
}

/// Each method with the schemas of what it takes and gives, in the order in which they are used.
pub(super) type MethodSchemas = [(&'static str, schemars::Schema, schemars::Schema); 7];

/// The schemas of all methods.
pub(super) fn schemas(takes: &mut schemars::SchemaGenerator, gives: &mut schemars::SchemaGenerator) -> MethodSchemas {
    [
        ("initialize", InitializeParams::json_schema(takes), InitializeResult::json_schema(gives)),
        ("before", BeforeParams::json_schema(takes), BeforeResult::json_schema(gives)),
        ("after", AfterParams::json_schema(takes), ResultAnswer::json_schema(gives)),
        ("usage", UsageParams::json_schema(takes), ResultAnswer::json_schema(gives)),
        ("child", ChildParams::json_schema(takes), ChildResult::json_schema(gives)),
        ("status", NoParams::json_schema(takes), SessionStatus::json_schema(gives)),
        ("close", NoParams::json_schema(takes), SessionStatus::json_schema(gives)),
    ]
}
