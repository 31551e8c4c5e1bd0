//! The decoding layer: a model's words become typed arguments, or a fault that it can repair from (TOOL-2).

use super::entry::{PreparedCall, ToolEntry};
use super::nearest;
use super::schema::Mistake;
use super::tool::ARGUMENT_BYTES_MAX;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use tripwire_core::chain::event::{Action, AgentEvent, ErrorClass};
use tripwire_core::explain::Explain;
use tripwire_core::input::Permission;
use tripwire_core::label;
use tripwire_core::run::record::Call;
use tripwire_core::units::RunMillis;
use tripwire_observe::{Observer, RawCall, observe};
use tripwire_session::files::Files;
use tripwire_session::memory::MemoryStore;

/// Most bytes of a foreign text that a fault repeats.
const SHOWN_BYTES: usize = 120;

/// A call that can be carried out once it is permitted: decoded once, and kept until its event was observed.
#[derive(Debug)]
pub struct Decoded {
    tool: &'static str,
    call: Call,
    /// The same call as the record holds it.
    recorded: Option<Call>,
    prepared: Box<dyn PreparedCall>,
}

/// What a call means for the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning {
    /// The action of the request.
    pub action: Action,
    /// All permissions that it needs.
    pub permissions: Vec<Permission>,
    /// The files that it would write, relative to the workspace where they lie in it, else as they were written.
    pub writes: Vec<String>,
}

/// Why a call cannot be carried out. The text goes back to the model, which must correct it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum ToolFault {
    /// No tool has this name.
    #[error("there is no tool `{name}`{}", offered(.nearest))]
    UnknownTool {
        /// The name, cut.
        name: String,
        /// The names nearest to it.
        nearest: Vec<String>,
        /// All names.
        known: Vec<String>,
    },
    /// The arguments are no JSON.
    #[error("the arguments of `{tool}` are not JSON at byte {at} (line {line}, column {column}): {why}; near `{near}`")]
    NotJson {
        /// The tool.
        tool: String,
        /// The byte at which reading broke off.
        at: usize,
        /// Its line, from 1.
        line: usize,
        /// Its column, from 1.
        column: usize,
        /// What was expected.
        why: String,
        /// What stands there, cut.
        near: String,
    },
    /// The arguments do not fit.
    #[error("the arguments of `{tool}` do not fit: {}", joined(.mistakes))]
    Invalid {
        /// The tool.
        tool: String,
        /// What is wrong, and where.
        mistakes: Vec<Mistake>,
    },
    /// The arguments are longer than any call needs.
    #[error("the arguments of `{tool}` have {bytes} bytes, more than the {limit} that are taken")]
    TooLarge {
        /// The tool, cut.
        tool: String,
        /// Their size.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
}

impl Explain for ToolFault {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::UnknownTool { known, .. } => format!("call one of these tools: {}", known.join(", ")).into(),
            Self::NotJson { .. } => "send the call again with one complete JSON object as its arguments".into(),
            Self::Invalid { .. } => "correct what is named and send the call again".into(),
            Self::TooLarge { .. } => "send less at once: change a part with `edit` instead of writing all".into(),
        }
    }
}

impl ToolFault {
    /// The text that goes back to the model.
    #[must_use]
    pub fn for_model(&self) -> String {
        format!("error: {self}\nhint: {}", self.hint())
    }

    /// The call that failed, as an event: it ran nothing, and repeating it is a loop like any other.
    #[must_use]
    pub fn event(&self, call: &Call, files: &Files, observer: &mut Observer) -> AgentEvent {
        let said = self.to_string();
        let raw = RawCall {
            tool: &call.tool,
            args: &call.arguments,
            output: Some(&said),
            error: Some(true),
            workspace_root: root(files),
            ..RawCall::default()
        };
        let mut facts = observer.observe(&raw);
        facts.outcome.error_class = Some(ErrorClass::Tool);
        facts.event(RunMillis::ZERO)
    }
}

fn offered(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest::listed(nearest)) }
}

fn joined(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The workspace's path, to which targets are made relative.
pub(super) fn root(files: &Files) -> Option<&str> {
    files.names().last().and_then(|root| root.to_str())
}

/// Decodes a call against the session's tools.
///
/// # Errors
/// A fault that names the place and the expectation, for the model to repair.
pub fn decode(call: &Call, tools: &[ToolEntry]) -> Result<Decoded, ToolFault> {
    let shown = || label::cut(&call.tool, SHOWN_BYTES).to_owned();
    let names = || tools.iter().map(|entry| entry.name);
    let Some(entry) = tools.iter().find(|entry| call.tool == entry.name) else {
        return Err(ToolFault::UnknownTool {
            name: shown(),
            nearest: nearest::names(label::cut(&call.tool, SHOWN_BYTES), names()),
            known: names().map(str::to_owned).collect(),
        });
    };
    let (bytes, limit) = (call.arguments.len(), ARGUMENT_BYTES_MAX);
    if bytes > limit {
        return Err(ToolFault::TooLarge { tool: shown(), bytes, limit });
    }
    let text = written(call);
    let arguments: Value = serde_json::from_str(text).map_err(|error| not_json(entry.name, text, &error))?;
    let prepared =
        entry.prepare(arguments).map_err(|mistakes| ToolFault::Invalid { tool: entry.name.to_owned(), mistakes })?;
    Ok(Decoded { tool: entry.name, call: call.clone(), recorded: None, prepared })
}

/// The arguments as the model wrote them; some providers send nothing at all where a tool needs none.
fn written(call: &Call) -> &str {
    if call.arguments.trim().is_empty() { "{}" } else { &call.arguments }
}

fn not_json(tool: &str, text: &str, error: &serde_json::Error) -> ToolFault {
    let (line, column) = (error.line(), error.column());
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = before.saturating_add(column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at = at.saturating_sub(1);
    }
    // What leads to the place tells more than what follows it.
    let mut from = at.saturating_sub(SHOWN_BYTES / 2);
    while !text.is_char_boundary(from) {
        from = from.saturating_sub(1);
    }
    let near = label::cut(text.get(from..).unwrap_or_default(), SHOWN_BYTES).replace('\n', "\\n");
    let why = error.to_string();
    let why = why.split(" at line ").next().unwrap_or(&why).to_owned();
    ToolFault::NotJson { tool: tool.to_owned(), at, line, column, why, near }
}

impl Decoded {
    /// The tool's name.
    #[must_use]
    pub const fn tool(&self) -> &'static str {
        self.tool
    }

    /// Whether it was decoded from exactly this call.
    #[must_use]
    pub fn is_of(&self, call: &Call) -> bool {
        self.call == *call
    }

    /// Whether it is the call that the record holds like this.
    #[must_use]
    pub fn is_recorded_as(&self, call: &Call) -> bool {
        self.recorded.as_ref().unwrap_or(&self.call) == call
    }

    /// The arguments as they are recorded: without secrets.
    #[must_use]
    pub fn text(&self) -> &str {
        written(self.recorded.as_ref().unwrap_or(&self.call))
    }

    /// Observes the call in this form, which has placeholders in the place of its secrets.
    #[must_use]
    pub fn recorded_as(mut self, call: &Call) -> Self {
        self.recorded = Some(call.clone());
        self
    }

    pub(super) fn prepared(&self) -> &dyn PreparedCall {
        self.prepared.as_ref()
    }

    /// What the call means for the gate, before anything runs.
    #[must_use]
    pub fn meaning(&self, files: &Files, memory: &MemoryStore) -> Meaning {
        let writes = self.prepared.writes();
        let writes = writes.iter().map(|path| {
            files.path(path).map_or_else(|_| label::cut(path, SHOWN_BYTES).to_owned(), |path| path.to_string())
        });
        Meaning { action: self.action(files), permissions: self.prepared.needs(memory), writes: writes.collect() }
    }

    /// The action of the request, as every other door would name it.
    #[must_use]
    pub fn action(&self, files: &Files) -> Action {
        let raw = RawCall { tool: self.tool, args: self.text(), workspace_root: root(files), ..RawCall::default() };
        observe(&raw).action
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::Registry;
    use super::*;

    fn fault(tool: &str, arguments: &str) -> ToolFault {
        let call = Call { id: "1".into(), tool: tool.into(), arguments: arguments.into() };
        decode(&call, Registry::new().unwrap().entries()).unwrap_err()
    }

    #[test]
    fn tool_2_good_arguments_are_decoded_and_nothing_stands_for_none() {
        let registry = Registry::new().unwrap();
        for (tool, arguments) in [
            ("list", ""),
            ("list", " "),
            ("list", "{}"),
            ("read_file", r#"{"path":"a","offset":null}"#),
            ("edit", r#"{"path":"a","old":"x","new":""}"#),
            ("shell", r#"{"command":"ls","timeout_ms":5}"#),
        ] {
            let call = Call { id: "".into(), tool: tool.into(), arguments: arguments.into() };
            assert_eq!(decode(&call, registry.entries()).unwrap().tool(), tool, "{arguments}");
        }
    }

    #[test]
    fn tool_1_an_unknown_tool_is_a_typed_fault_with_the_nearest_name() {
        let unknown = fault("readfile", "{}");
        let ToolFault::UnknownTool { nearest, .. } = &unknown else { panic!("{unknown:?}") };
        assert_eq!(nearest, &["read_file"]);
        assert!(unknown.for_model().contains("there is no tool `readfile`; did you mean `read_file`?"));
        assert!(unknown.for_model().contains("call one of these tools: edit, finish"));
        assert!(fault(&"x".repeat(100_000), "{}").for_model().len() < 500, "a huge name is cut");
    }

    #[test]
    fn tool_2_what_is_no_json_is_told_with_the_place() {
        for (text, place, words) in [
            (r#"{"path": "a""#, 11, "EOF while parsing an object"),
            ("{\n  \"path\": a\n}", 12, "expected value"),
            ("not json", 1, "expected"),
            (r#"{"path":"a"} trailing"#, 13, "trailing characters"),
        ] {
            let broken = fault("read_file", text);
            let ToolFault::NotJson { at, why, .. } = &broken else { panic!("{broken:?}") };
            assert!(at.abs_diff(place) <= 1, "{text}: {at}");
            assert!(why.contains(words), "{text}: {why}");
        }
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert!(matches!(fault("list", &deep), ToolFault::NotJson { .. }));
    }

    #[test]
    fn tool_2_what_does_not_fit_is_told_with_path_expectation_and_piece() {
        for (tool, text, words) in [
            ("read_file", "{}", "\"path\" is a required property"),
            ("read_file", r#"{"path":1}"#, "at `/path`: this is not of type \"string\"; found `1`"),
            ("read_file", r#"{"path":"a","offset":0}"#, "at `/offset`: lines are counted from 1"),
            ("read_file", r#"{"path":"a","lines":3}"#, "'lines' was unexpected"),
            ("edit", r#"{"path":"a","old":"","new":"x"}"#, "at `/old`: it is empty"),
            ("edit", r#"{"path":"a","old":"x","new":"x"}"#, "at `/new`: it is the same as `old`"),
            ("edit", r#"{"path":"a","patch":"x"}"#, "at `/patch`: give either `patch` alone"),
            ("edit", r#"{"patch":"x"}"#, "at `/patch`: there is no `--- file` line"),
            ("edit", "{}", "at `/path`: the file is missing"),
            ("shell", r#"{"command":"  "}"#, "at `/command`: it is empty"),
            ("finish", r#"{"summary":" "}"#, "at `/summary`: say what was done"),
            ("search", r#"{"pattern":""}"#, "an empty pattern matches every line"),
            ("remember", r#"{"text":""}"#, "there is nothing to remember"),
            ("list", "[]", "is not of type \"object\""),
        ] {
            let invalid = fault(tool, text);
            assert!(matches!(invalid, ToolFault::Invalid { .. }), "{invalid:?}");
            assert!(invalid.to_string().contains(words), "{tool} {text}: {invalid}");
        }
    }

    #[test]
    fn tool_2_huge_arguments_are_refused_and_huge_mistakes_are_cut() {
        let huge = format!(r#"{{"path":"{}"}}"#, "x".repeat(ARGUMENT_BYTES_MAX));
        assert!(matches!(fault("read_file", &huge), ToolFault::TooLarge { .. }));
        let long = format!(r#"{{"path":["{}"]}}"#, "x".repeat(50_000));
        assert!(fault("read_file", &long).for_model().len() < 1_000);
    }
}
