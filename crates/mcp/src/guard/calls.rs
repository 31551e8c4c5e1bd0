//! A call on its way: asked about, open at the server, answered.

use super::pin_keeper::ToolSchemas;
use crate::wire::message::{Answered, Id, members};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tripwire_clients::hooks::{PersonAsk, ToolCall};
use tripwire_core::label::Fingerprint;
use tripwire_core::units::Count;

/// The most bytes of arguments of all calls that are open at the same time.
const OPEN_BYTES_MAX: usize = 512 << 20;

/// A call that the client waits for.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) tool: ToolCall,
    pub(super) since: Instant,
    /// That the server works on it; nothing while it is asked about or waits here.
    pub(super) runs: Option<RunningCall>,
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

/// How many calls run at the server now, of all clients together, by what they are.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningCalls(Arc<Mutex<BTreeMap<Fingerprint, u32>>>);

/// One of them; it ends with this value.
#[derive(Debug)]
pub(super) struct RunningCall {
    all: RunningCalls,
    key: Fingerprint,
}

impl RunningCalls {
    /// A call goes to the server.
    pub(super) fn begin(&self, tool: &ToolCall) -> RunningCall {
        let key = call_key(tool);
        let mut all = self.all();
        let count = all.entry(key).or_default();
        *count = count.saturating_add(1);
        RunningCall { all: self.clone(), key }
    }

    /// How many calls like this one run.
    pub(super) fn like(&self, tool: &ToolCall) -> Count {
        Count::new(self.all().get(&call_key(tool)).copied().unwrap_or_default())
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Fingerprint, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        let mut all = self.all.all();
        let left = all.get(&self.key).copied().unwrap_or_default().saturating_sub(1);
        if left == 0 {
            all.remove(&self.key);
        } else {
            all.insert(self.key, left);
        }
    }
}

fn call_key(tool: &ToolCall) -> Fingerprint {
    Fingerprint::of(tool.name.as_bytes()).and(Fingerprint::of(tool.input.as_bytes()))
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

    #[test]
    fn loop_6_only_equal_calls_that_run_are_counted_as_running() {
        let all = RunningCalls::default();
        let tool = |input: &str| ToolCall { name: "t".to_owned(), input: input.to_owned(), call_id: None };
        let (one, two) = (all.begin(&tool("{}")), all.begin(&tool("{}")));
        assert_eq!((all.like(&tool("{}")), all.like(&tool("{\"a\":1}"))), (Count::new(2), Count::ZERO));
        drop(one);
        assert_eq!(all.like(&tool("{}")), Count::new(1));
        drop(two);
        assert_eq!(all.like(&tool("{}")), Count::ZERO);
    }
}
