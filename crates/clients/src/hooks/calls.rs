//! Calls between their question and their result, so that one that the client itself denies is not lost (LOOP-6).
//!
//! A client that denies a call reports no end of it to its hooks: its own transcript shows the result all the same. What a
//! hook reported is settled; what the transcript shows beyond that is a call that brought nothing, and counts as one.

use super::dialect::CallIds;
use super::event::ToolCall;
use crate::transcript::{Announcement, CallOutcome, Item, RawResult, RawToolCall};
use serde::{Deserialize, Serialize};
use tripwire_core::label::Fingerprint;
use tripwire_core::record::chain::Digest;

/// Calls that are remembered as open; more are never open at once.
const OPEN_MAX: usize = 24;
/// Calls that are remembered as settled; a transcript is read at every hook, so it lags by a few.
const SETTLED_MAX: usize = 96;
/// Longest arguments that are kept as they are; of longer ones a digest tells one call from another.
const INPUT_BYTES_MAX: usize = 4 * 1_024;

/// The calls of one session as its hooks and its transcript tell of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CallLedger {
    open: Vec<UnansweredCall>,
    settled: Vec<Fingerprint>,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct UnansweredCall {
    key: Fingerprint,
    id: Option<String>,
    name: String,
    input: String,
    /// What it means if no hook hears of its end.
    cause: DenialCause,
}

/// A call that brought no result to its hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeniedCall {
    /// The call.
    pub(super) tool: ToolCall,
    /// What the client wrote down instead of a result.
    pub(super) said: String,
    /// Why no hook reported its end.
    pub(super) cause: DenialCause,
}

/// Why no hook reported the end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum DenialCause {
    /// A hook let it pass, and the client denied it.
    ByClient,
    /// The client asked no hook about it: it was not fit to be run.
    Unfit,
}

impl CallLedger {
    /// Whether words of a call are kept, and not only what tells it from others.
    pub(super) fn has_words(&self) -> bool {
        self.open.iter().any(|call| call.id.is_some() || !call.name.is_empty() || !call.input.is_empty())
    }

    /// A hook is asked about a call.
    pub(super) fn asked(&mut self, ids: CallIds, tool: &ToolCall) {
        let key = key(ids, tool);
        self.settled.retain(|settled| *settled != key);
        // Where hooks name no calls, the transcript alone says which result is whose.
        if ids == CallIds::Shared && !self.open.iter().any(|call| call.key == key) {
            self.push(key, tool, DenialCause::ByClient);
        }
    }

    /// The same, where no transcript tells of it again: that it runs is all that is remembered.
    pub(super) fn began(&mut self, ids: CallIds, tool: &ToolCall) {
        let key = key(ids, tool);
        if !self.open.iter().any(|call| call.key == key) {
            let nothing = ToolCall { name: String::new(), input: String::new(), call_id: None };
            self.push(key, &nothing, DenialCause::ByClient);
        }
    }

    /// Whether calls that a hook let pass run beside this one.
    pub(super) fn has_others(&self, ids: CallIds, tool: &ToolCall) -> bool {
        let key = key(ids, tool);
        self.open.iter().any(|call| call.cause == DenialCause::ByClient && call.key != key)
    }

    /// A call has its result, or was refused here.
    pub(super) fn settle(&mut self, ids: CallIds, tool: &ToolCall) {
        self.close(ids, tool);
        self.settled.push(key(ids, tool));
        self.bound();
    }

    /// The same, where no transcript tells of it again.
    pub(super) fn close(&mut self, ids: CallIds, tool: &ToolCall) {
        let key = key(ids, tool);
        self.open.retain(|call| call.key != key);
    }

    /// Takes in what the transcript says; gives a call that brought no result to its hook.
    pub(super) fn hear(&mut self, ids: CallIds, item: &Item<'_>) -> Option<DeniedCall> {
        match item {
            Item::Call(call) => {
                self.hear_call(ids, call);
                None
            }
            Item::Result(result) => self.hear_result(ids, result),
            Item::Session(_)
            | Item::Person
            | Item::Said(_)
            | Item::ExitCode { .. }
            | Item::Answer(_)
            | Item::ThreadTotal(_)
            | Item::UnreadableAnswer
            | Item::Model(_)
            | Item::Window(_)
            | Item::ProviderError(_) => None,
        }
    }

    fn hear_call(&mut self, ids: CallIds, call: &RawToolCall<'_>) {
        let announced = match call.announcement {
            Announcement::Expected => true,
            Announcement::Poll => false,
            Announcement::NotExpected => ids == CallIds::Unnamed,
        };
        let Some(id) = call.id.as_ref().filter(|_| announced) else { return };
        let key = Fingerprint::of(id.as_bytes());
        if !self.settled.contains(&key) && !self.open.iter().any(|open| open.key == key) {
            self.push(key, &call.tool_call(), DenialCause::Unfit);
        }
    }

    fn hear_result(&mut self, ids: CallIds, result: &RawResult<'_>) -> Option<DeniedCall> {
        let key = Fingerprint::of(result.call.as_bytes());
        let place = self.open.iter().position(|call| call.key == key)?;
        let UnansweredCall { id, name, input, cause, .. } = self.open.remove(place);
        self.settled.push(key);
        let tool = ToolCall { name, input, call_id: id };
        if ids == CallIds::Unnamed {
            let by_content = content_key(&tool);
            if let Some(reported) = self.settled.iter().position(|settled| *settled == by_content) {
                self.settled.remove(reported);
                return None;
            }
        }
        self.bound();
        if result.outcome == CallOutcome::Ran {
            return None;
        }
        let said = result.output().map(|output| output.text).unwrap_or_default();
        Some(DeniedCall { tool, said, cause })
    }

    fn push(&mut self, key: Fingerprint, tool: &ToolCall, cause: DenialCause) {
        let ToolCall { name, input, call_id } = tool.clone();
        self.open.push(UnansweredCall { key, id: call_id, name, input: kept(input), cause });
        self.bound();
    }

    fn bound(&mut self) {
        let (open, settled) = (self.open.len(), self.settled.len());
        self.open.drain(..open.saturating_sub(OPEN_MAX));
        self.settled.drain(..settled.saturating_sub(SETTLED_MAX));
    }
}

fn kept(input: String) -> String {
    if input.len() <= INPUT_BYTES_MAX { input } else { format!("{{\"digest\":\"{}\"}}", Digest::of(input.as_bytes())) }
}

/// What tells a call from others: its id, or its contents where hooks name no calls.
pub(super) fn key(ids: CallIds, tool: &ToolCall) -> Fingerprint {
    match (ids, &tool.call_id) {
        (CallIds::Shared, Some(id)) => Fingerprint::of(id.as_bytes()),
        (CallIds::Shared, None) | (CallIds::Unnamed, _) => content_key(tool),
    }
}

fn content_key(tool: &ToolCall) -> Fingerprint {
    // Arguments are compared as values: hooks and transcript space them differently.
    let input = serde_json::from_str::<serde_json::Value>(&kept(tool.input.clone()))
        .map_or_else(|_| tool.input.clone(), |value| value.to_string());
    Fingerprint::of(tool.name.as_bytes()).and(Fingerprint::of(input.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;

    fn heard(ledger: &mut CallLedger, client: Client, line: &str) -> Vec<DeniedCall> {
        let mut items = Vec::new();
        (client.adapter().transcript.read_line)(line, &mut items);
        let ids = client.adapter().hooks.call_ids;
        items.iter().filter_map(|item| ledger.hear(ids, item)).collect()
    }

    fn bash(id: &str) -> ToolCall {
        let input = r#"{"command":"curl x"}"#.to_owned();
        ToolCall { name: "Bash".to_owned(), input, call_id: Some(id.to_owned()) }
    }

    fn claude_call(id: &str) -> String {
        format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"curl x"}}}}]}}}}"#
        )
    }

    fn claude_result(id: &str, error: &str) -> String {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"This command requires approval","is_error":{error}}}]}}}}"#
        )
    }

    #[test]
    fn loop_6_a_result_that_no_hook_reported_is_a_denied_call_and_counts_once() {
        let mut ledger = CallLedger::default();
        let client = Client::Claude;
        ledger.asked(CallIds::Shared, &bash("a"));
        assert_eq!(heard(&mut ledger, client, &claude_call("a")), []);
        let denied = heard(&mut ledger, client, &claude_result("a", "true"));
        assert_eq!(denied.len(), 1);
        assert_eq!((denied[0].tool.clone(), denied[0].cause), (bash("a"), DenialCause::ByClient));
        assert_eq!(heard(&mut ledger, client, &claude_result("a", "true")), [], "it counted");
        assert_eq!(heard(&mut ledger, client, &claude_call("b")), []);
        let unfit = heard(&mut ledger, client, &claude_result("b", "true"));
        assert_eq!(unfit.first().map(|call| call.cause), Some(DenialCause::Unfit), "no hook was asked");
    }

    #[test]
    fn loop_6_a_call_that_a_hook_reported_or_refused_is_not_denied_by_the_client() {
        let mut ledger = CallLedger::default();
        let client = Client::Claude;
        ledger.asked(CallIds::Shared, &bash("a"));
        ledger.settle(CallIds::Shared, &bash("a"));
        for line in [claude_call("a"), claude_result("a", "true"), claude_call("c"), claude_result("c", "false")] {
            assert_eq!(heard(&mut ledger, client, &line), [], "{line}");
        }
    }

    #[test]
    fn loop_6_without_ids_a_reported_call_is_known_by_its_contents() {
        let mut ledger = CallLedger::default();
        let line = |id: &str, status: &str| {
            format!(
                r#"{{"id":"m{id}","type":"gemini","toolCalls":[{{"id":"{id}","name":"Bash","args":{{ "command": "curl x" }},"status":"{status}","result":[]}}]}}"#
            )
        };
        ledger.settle(CallIds::Unnamed, &ToolCall { call_id: None, ..bash("") });
        assert_eq!(heard(&mut ledger, Client::Gemini, &line("1", "error")), [], "its hook reported it");
        assert_eq!(heard(&mut ledger, Client::Gemini, &line("1", "error")), [], "a line that is written again");
        assert_eq!(heard(&mut ledger, Client::Gemini, &line("2", "cancelled")).len(), 1);
        assert_eq!(heard(&mut ledger, Client::Gemini, &line("3", "success")), []);
    }

    #[test]
    fn loop_6_without_a_transcript_a_call_is_open_until_it_ends_and_nothing_of_it_is_kept() {
        let mut ledger = CallLedger::default();
        ledger.began(CallIds::Shared, &bash("a"));
        ledger.began(CallIds::Shared, &bash("a"));
        assert!(!ledger.has_others(CallIds::Shared, &bash("a")) && ledger.has_others(CallIds::Shared, &bash("b")));
        assert!(!serde_json::to_string(&ledger).unwrap().contains("curl"));
        ledger.close(CallIds::Shared, &bash("a"));
        assert_eq!(ledger, CallLedger::default());
    }

    #[test]
    fn a_ledger_is_bounded_and_long_arguments_are_told_apart() {
        let mut ledger = CallLedger::default();
        for n in 0..500 {
            let long = ToolCall { input: format!("\"{}{n}\"", "x".repeat(100_000)), ..bash(&n.to_string()) };
            ledger.asked(CallIds::Shared, &long);
            ledger.settle(CallIds::Shared, &bash(&format!("s{n}")));
        }
        assert_eq!((ledger.open.len(), ledger.settled.len()), (OPEN_MAX, SETTLED_MAX));
        assert!(serde_json::to_string(&ledger).unwrap().len() < 16_000);
        assert_ne!(ledger.open[0].input, ledger.open[1].input);
    }
}
