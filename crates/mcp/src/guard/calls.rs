//! A call on its way: asked about, open at the server, answered.

use super::pin_keeper::ToolSchemas;
use crate::wire::message::{Answered, Id, members};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tripwire_clients::hooks::{PersonAsk, ToolCall};

/// The most bytes of arguments of all calls that are open at the same time.
const OPEN_BYTES_MAX: usize = 512 << 20;

/// A call that the server works on.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) tool: ToolCall,
    pub(super) since: Instant,
    pub(super) _share: OpenShare,
}

/// A call that is asked about.
#[derive(Debug)]
pub(super) struct AskedCall {
    pub(super) id: Option<Id>,
    pub(super) tool: ToolCall,
    pub(super) asks: Option<PersonAsk>,
}

/// The bytes of the arguments of all open calls, which have to be kept until their results are recorded.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenBytes(Arc<AtomicUsize>);

/// The share of one call; it ends with this value.
#[derive(Debug)]
pub(super) struct OpenShare {
    all: OpenBytes,
    bytes: usize,
}

impl OpenBytes {
    /// The share of a call; none where all of them together would be too large.
    pub(super) fn take(&self, bytes: usize) -> Option<OpenShare> {
        let before = self.0.fetch_add(bytes, Ordering::SeqCst);
        let share = OpenShare { all: self.clone(), bytes };
        (before.saturating_add(bytes) <= OPEN_BYTES_MAX).then_some(share)
    }
}

impl Drop for OpenShare {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.bytes, Ordering::SeqCst);
    }
}

/// The name of a tool at its server.
pub(super) fn own_name(tool: &str) -> &str {
    tool.strip_prefix("mcp__").and_then(|name| name.split_once("__")).map_or(tool, |(_, name)| name)
}

/// What of a structured result certainly does not fit what its tool declares.
pub(super) fn structured(answered: Answered<'_>, schemas: &ToolSchemas) -> Vec<String> {
    let Answered::Result(result) = answered else { return Vec::new() };
    let members = members(result.get()).unwrap_or_default();
    let content = members.iter().find(|(name, _)| name == "structuredContent").map(|(_, value)| value.get());
    content.map(|content| schemas.output_mistakes(content)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_5_the_arguments_of_open_calls_have_one_bound() {
        let all = OpenBytes::default();
        let first = all.take(OPEN_BYTES_MAX).unwrap();
        assert!(all.take(1).is_none(), "and what was refused leaves no share behind");
        drop(first);
        assert!(all.take(OPEN_BYTES_MAX).is_some());
    }
}
