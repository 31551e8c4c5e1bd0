//! Calls that were asked for, allowed, and have no result yet: only to one of them a result can belong.
//!
//! Whatever runs in the client's tree can call the run's own hook, so a result alone proves nothing. One that was not
//! asked for is not taken in, and one that reports another call than the one that was asked for counts as that one's.

use std::collections::VecDeque;
use tripwire_clients::hooks::ToolCall;
use tripwire_core::record::chain::Digest;

/// Calls that are remembered; a client has few of them open at once, and the oldest were never run.
const OPEN_MAX: usize = 4_096;
/// Longest arguments that are kept as they are; of longer ones a digest is enough.
const KEPT_BYTES_MAX: usize = 16 * 1_024;

/// The open calls of one worker, oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    calls: VecDeque<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    id: Option<String>,
    name: String,
    input: AskedInput,
    /// Whether the guard of a tool server has seen it too.
    served: bool,
}

/// The arguments that were asked for.
#[derive(Debug, PartialEq, Eq)]
enum AskedInput {
    Whole(String),
    Long(Digest),
}

impl AskedInput {
    fn of(text: &str) -> Self {
        if text.len() <= KEPT_BYTES_MAX {
            Self::Whole(text.to_owned())
        } else {
            Self::Long(Digest::of_parts([text.as_bytes()]))
        }
    }
}

/// A call as the guard of a tool server sees it.
#[derive(Debug)]
pub(super) struct ServedCall<'a> {
    /// The tool's name at its server.
    pub(super) tool: &'a str,
    /// Its arguments.
    pub(super) input: &'a str,
}

impl ServedCall<'_> {
    fn is(&self, open: &OpenCall) -> bool {
        let named = open.name.strip_suffix(self.tool).is_some_and(|before| !before.ends_with(char::is_alphanumeric));
        named
            && match &open.input {
                AskedInput::Whole(input) => same_json(input, self.input),
                AskedInput::Long(_) => open.input == AskedInput::of(self.input),
            }
    }
}

/// Whether two texts are the same JSON value; a client serialises its arguments again for each door.
fn same_json(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    one == other || read(one).is_some_and(|one| Some(one) == read(other))
}

impl OpenCall {
    fn is(&self, tool: &ToolCall) -> bool {
        self.id == tool.call_id && self.name == tool.name && self.input == AskedInput::of(&tool.input)
    }
}

impl OpenCalls {
    /// A hook asks about this call.
    pub(super) fn ask(&mut self, tool: &ToolCall) {
        if self.calls.len() >= OPEN_MAX {
            self.calls.pop_front();
        }
        let input = AskedInput::of(&tool.input);
        self.calls.push_back(OpenCall { id: tool.call_id.clone(), name: tool.name.clone(), input, served: false });
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether exactly this call is open.
    pub(super) fn has(&self, tool: &ToolCall) -> bool {
        self.calls.iter().any(|call| call.is(tool))
    }

    /// Whether a call of a tool server is one that was asked about already and that no server has seen yet; then it is it, once.
    /// Clients call a server's tool by names of their own that end with its name.
    pub(super) fn serve(&mut self, served: &ServedCall<'_>) -> bool {
        let Some(open) = self.calls.iter_mut().find(|open| !open.served && served.is(open)) else { return false };
        open.served = true;
        true
    }

    /// Ends a call and gives it back as it was asked for; nothing if no such call is open. A client that numbers no calls
    /// is believed the tool's name alone, because other people's hooks may have rewritten the arguments.
    pub(super) fn end(&mut self, tool: &ToolCall) -> Option<ToolCall> {
        let exactly = self.calls.iter().position(|call| call.is(tool));
        let named = |call: &OpenCall| call.id == tool.call_id && call.name == tool.name;
        let call = self.calls.remove(exactly.or_else(|| self.calls.iter().position(named))?)?;
        match call.input {
            AskedInput::Whole(input) => Some(ToolCall { input, ..tool.clone() }),
            AskedInput::Long(_) => exactly.map(|_| tool.clone()),
        }
    }

    /// Forgets all of them: another worker begins.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(id: Option<&str>, input: &str) -> ToolCall {
        ToolCall { name: "Bash".to_owned(), input: input.to_owned(), call_id: id.map(str::to_owned) }
    }

    #[test]
    fn dirty_1_a_result_belongs_to_the_call_that_was_asked_for_and_to_it_once() {
        let mut calls = OpenCalls::default();
        calls.ask(&tool(Some("a"), "ls"));
        assert!(calls.has(&tool(Some("a"), "ls")) && !calls.has(&tool(Some("a"), "pytest")));
        assert_eq!(calls.end(&tool(Some("b"), "ls")), None, "nobody asked for it");
        assert_eq!(calls.end(&tool(None, "ls")), None);
        assert_eq!(calls.end(&tool(Some("a"), "pytest")), Some(tool(Some("a"), "ls")), "what was asked for counts");
        assert_eq!(calls.end(&tool(Some("a"), "ls")), None, "it has its result");
    }

    #[test]
    fn mcp_1_a_call_of_a_tool_server_that_was_asked_about_is_that_call_once() {
        let mut calls = OpenCalls::default();
        let named = |name: &str, input: &str| ToolCall { name: name.to_owned(), ..tool(Some(name), input) };
        calls.ask(&named("mcp__github__create_issue", r#"{"a":1,"b":2}"#));
        let served = |tool, input| ServedCall { tool, input };
        assert!(!calls.serve(&served("create_issue", r#"{"a":2}"#)), "other arguments are another call");
        assert!(!calls.serve(&served("issue_list", r#"{"a":1,"b":2}"#)));
        assert!(!calls.serve(&served("sue", r#"{"a":1,"b":2}"#)), "a part of a word is not a name");
        assert!(calls.serve(&served("create_issue", r#"{ "b":2, "a":1}"#)));
        assert!(!calls.serve(&served("create_issue", r#"{"a":1,"b":2}"#)), "the second one was asked about by nobody");
        for name in ["create_issue", "github_create_issue", "github.create_issue"] {
            calls.ask(&named(name, "{}"));
            assert!(calls.serve(&served("create_issue", "{}")), "{name}");
        }
    }

    #[test]
    fn dirty_1_calls_without_a_number_and_long_ones_are_told_apart() {
        let mut calls = OpenCalls::default();
        calls.ask(&tool(None, "ls"));
        calls.ask(&tool(None, "pwd"));
        assert_eq!(calls.end(&tool(None, "pwd")), Some(tool(None, "pwd")));
        assert_eq!(calls.end(&tool(None, "rewritten")), Some(tool(None, "ls")));
        let long = "x".repeat(KEPT_BYTES_MAX + 1);
        calls.ask(&tool(Some("l"), &long));
        assert_eq!(calls.end(&tool(Some("l"), "short")), None, "what was asked for is not known any more");
        calls.ask(&tool(Some("l"), &long));
        assert_eq!(calls.end(&tool(Some("l"), &long)), Some(tool(Some("l"), &long)));
    }
}
