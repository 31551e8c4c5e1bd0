//! A call on its way: asked about, open at the server, answered.

use super::pin_keeper::ToolSchemas;
use crate::wire::message::{Answered, Id, members};
use std::time::Instant;
use tripwire_clients::hooks::{PersonAsk, ToolCall};

/// A call that the server works on.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) tool: ToolCall,
    pub(super) since: Instant,
}

/// A call that is asked about.
pub(super) struct AskedCall {
    pub(super) id: Option<Id>,
    pub(super) tool: ToolCall,
    pub(super) asks: Option<PersonAsk>,
    pub(super) raw: String,
}

/// The name of a tool at its server.
pub(super) fn own_name(tool: &ToolCall) -> &str {
    tool.name.strip_prefix("mcp__").and_then(|name| name.split_once("__")).map_or(tool.name.as_str(), |(_, name)| name)
}

/// What of a structured result certainly does not fit what its tool declares.
pub(super) fn structured(answered: Answered<'_>, schemas: &ToolSchemas) -> Vec<String> {
    let Answered::Result(result) = answered else { return Vec::new() };
    let members = members(result.get()).unwrap_or_default();
    let content = members.iter().find(|(name, _)| name == "structuredContent").map(|(_, value)| value.get());
    content.map(|content| schemas.output_mistakes(content)).unwrap_or_default()
}
