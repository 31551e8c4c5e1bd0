//! Arguments that do not matter, learned: a reason beside a command or a made-up request number does not make a call new.
//!
//! What clients hand over beside the real arguments of their own tools is listed with them. A tool that nobody knows has such
//! arguments too, under names that say so; but a name alone proves nothing, since somebody's tool may act on its `reason`. So
//! the calls of a tool are compared with the one before: where nothing but such an argument differs, at every repetition, and
//! the same comes back, the tool does not look at it, and from then on it is left out of the call.

use super::arguments::Arguments;
use super::json::Json;
use super::lines::plain;
use super::names::Name;
use super::tools::ToolKind;
use super::words::hash_bytes;
use alloc::borrow::{Cow, ToOwned as _};
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use tripwire_core::label::Label;

/// Tools that are remembered, the newest last.
const TOOLS_MAX: usize = 8;
/// A call with more arguments is not compared.
const ARGUMENTS_MAX: usize = 16;
/// Repetitions at which an explanation must have changed before it is left out.
const EXPLANATION_CHANGES: u8 = 2;
/// Repetitions at which a made-up number must have changed.
const MADE_UP_CHANGES: u8 = 1;

/// Names of arguments in which an agent says why it calls; small letters without `_` and `-`.
const EXPLANATIONS: [&str; 13] = [
    "description",
    "explanation",
    "reason",
    "reasoning",
    "rationale",
    "thought",
    "thoughts",
    "thinking",
    "justification",
    "intent",
    "intention",
    "purpose",
    "why",
];
/// Names of arguments that an agent makes up for each call.
const MADE_UP: [&str; 12] = [
    "requestid",
    "reqid",
    "traceid",
    "spanid",
    "correlationid",
    "callid",
    "toolcallid",
    "invocationid",
    "idempotencykey",
    "nonce",
    "uuid",
    "timestamp",
];

/// What is known of the last tools' arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LearnedArguments {
    tools: Vec<LearnedTool>,
}

/// The last call of a tool, as hashes, and what changed from call to call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LearnedTool {
    tool: u64,
    /// The arguments that may matter.
    others: u64,
    /// Name and value of the others.
    loose: Vec<(u64, u64)>,
    result: u64,
    changing: Vec<ChangingArgument>,
}

/// An argument that was another one at each repetition so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct ChangingArgument {
    name: u64,
    changes: u8,
    needed: u8,
}

/// A call as far as it is compared with others of its tool.
#[derive(Debug)]
pub(super) struct ComparedCall {
    tool: u64,
    others: u64,
    loose: Vec<LooseArgument>,
}

#[derive(Debug)]
struct LooseArgument {
    name: String,
    value: u64,
    needed: u8,
}

impl ComparedCall {
    /// Reads a call; nothing if none of its arguments might be left out, or if nothing else would be left of it. What changes
    /// something is no repetition, whatever it is called with; and only of a tool that looks or runs a reason is beside the
    /// point: to one that reports or sends, the reason is what it is for.
    pub(super) fn of(tool: &str, kind: ToolKind, arguments: &Arguments<'_>) -> Option<Self> {
        let Arguments::Json(Json::Object(fields)) = arguments else { return None };
        let explained = match kind {
            ToolKind::Shell | ToolKind::Read | ToolKind::Search => true,
            ToolKind::Other => Name::of(tool).looks(),
            ToolKind::Edit | ToolKind::Plan | ToolKind::Wait => return None,
        };
        let needed = fields
            .iter()
            .map(|(name, _)| changes_needed(name).filter(|changes| explained || *changes == MADE_UP_CHANGES));
        let needed: Vec<Option<u8>> = needed.collect();
        let some = needed.iter().any(Option::is_some) && needed.iter().any(Option::is_none);
        if !some || fields.len() > ARGUMENTS_MAX {
            return None;
        }
        let mut call = Self { tool: hash_bytes(tool.as_bytes()), others: 0, loose: Vec::new() };
        for ((name, value), needed) in fields.iter().zip(needed) {
            let mut text = String::new();
            value.write(&mut text, |text| Cow::Borrowed(text));
            let value = hash_bytes(text.as_bytes());
            match needed {
                Some(needed) => call.loose.push(LooseArgument { name: name.clone().into_owned(), value, needed }),
                None => {
                    call.others = call.others.rotate_left(9) ^ hash_bytes(name.as_bytes()) ^ value.rotate_left(1);
                }
            }
        }
        Some(call)
    }
}

fn changes_needed(name: &str) -> Option<u8> {
    let plain = plain(name);
    if EXPLANATIONS.contains(&plain.as_str()) {
        Some(EXPLANATION_CHANGES)
    } else if MADE_UP.contains(&plain.as_str()) {
        Some(MADE_UP_CHANGES)
    } else {
        None
    }
}

impl LearnedArguments {
    /// The names of the arguments that this tool does not look at.
    pub(super) fn idle(&self, call: &ComparedCall) -> Vec<String> {
        let Some(known) = self.tools.iter().find(|known| known.tool == call.tool) else { return Vec::new() };
        let learned = |name: &str| {
            let name = hash_bytes(name.as_bytes());
            known.changing.iter().any(|argument| argument.name == name && argument.changes >= argument.needed)
        };
        call.loose
            .iter()
            .map(|argument| argument.name.as_str())
            .filter(|name| learned(name))
            .map(str::to_owned)
            .collect()
    }

    /// Takes in a call with its result, if that is known.
    pub(super) fn learn(&mut self, call: &ComparedCall, result: Option<&Label>) {
        let Some(result) = result.map(|digest| hash_bytes(digest.as_str().as_bytes())) else { return };
        let loose: Vec<(u64, u64)> =
            call.loose.iter().map(|argument| (hash_bytes(argument.name.as_bytes()), argument.value)).collect();
        let place = self.tools.iter().position(|known| known.tool == call.tool);
        let mut known = match place {
            Some(place) => self.tools.remove(place),
            None => LearnedTool { tool: call.tool, others: 0, loose: Vec::new(), result: 0, changing: Vec::new() },
        };
        let repeated = known.others == call.others && known.loose.len() == loose.len();
        if repeated {
            known.compare(call, &loose, result);
        }
        (known.others, known.loose, known.result) = (call.others, loose, result);
        self.tools.push(known);
        let surplus = self.tools.len().saturating_sub(TOOLS_MAX);
        self.tools.drain(..surplus);
    }
}

impl LearnedTool {
    /// Counts what changed since the call before, which was the same but for that.
    fn compare(&mut self, call: &ComparedCall, loose: &[(u64, u64)], result: u64) {
        for ((name, value), argument) in loose.iter().zip(&call.loose) {
            let before = self.loose.iter().find(|(known, _)| known == name);
            let changed = before.is_some_and(|(_, before)| before != value);
            let place = self.changing.iter().position(|known| known.name == *name);
            let mut counted = match place {
                Some(place) => self.changing.remove(place),
                None => ChangingArgument { name: *name, changes: 0, needed: argument.needed },
            };
            // What was learned stays; until then it must change each time, and bring the same each time.
            counted.changes = match (counted.changes >= counted.needed, changed && result == self.result) {
                (true, _) => counted.changes,
                (false, true) => counted.changes.saturating_add(1),
                (false, false) => 0,
            };
            self.changing.push(counted);
        }
        let surplus = self.changing.len().saturating_sub(ARGUMENTS_MAX);
        self.changing.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Observer, RawCall};
    use alloc::format;

    /// How the calls of one session are told apart: by the number of the first that counts as the same.
    fn same(tool: &str, calls: &[(&str, &str)]) -> Vec<usize> {
        let mut observer = Observer::default();
        let mut digests: Vec<Label> = Vec::new();
        for (args, output) in calls {
            let raw = RawCall { tool, args, output: Some(output), ..RawCall::default() };
            digests.extend(observer.observe(&raw).action.args_digest);
            // What is learned survives the way from one process to the next.
            observer = serde_json::from_str(&serde_json::to_string(&observer).unwrap()).unwrap();
        }
        digests.iter().map(|one| digests.iter().position(|first| first == one).unwrap()).collect()
    }

    #[test]
    fn loop_2_a_reason_that_changes_while_the_same_comes_back_is_left_out() {
        let calls = [
            (r#"{"service":"api","reason":"first look"}"#, "api is down"),
            (r#"{"service":"api","reason":"look again"}"#, "api is down"),
            (r#"{"service":"api","reason":"to be sure"}"#, "api is down"),
            (r#"{"service":"api","reason":"once more"}"#, "api is down"),
            (r#"{"service":"api","reason":"still unsure"}"#, "api is down"),
            (r#"{"service":"web","reason":"another one"}"#, "web is up"),
        ];
        assert_eq!(same("check_service", &calls), [0, 1, 2, 3, 3, 5]);
    }

    #[test]
    fn loop_2_a_reason_that_the_tool_acts_on_stays_part_of_the_call() {
        let calls = [
            (r#"{"to":"ops","reason":"disk is full"}"#, "ticket 1: disk is full"),
            (r#"{"to":"ops","reason":"fan is loud"}"#, "ticket 2: fan is loud"),
            (r#"{"to":"ops","reason":"door is open"}"#, "ticket 3: door is open"),
            (r#"{"to":"ops","reason":"no light"}"#, "ticket 4: no light"),
        ];
        assert_eq!(same("check_problem", &calls), [0, 1, 2, 3]);
        let logged = |n: usize| format!(r#"{{"channel":"audit","reason":"entry {n}"}}"#);
        let logged: Vec<String> = (0..5).map(logged).collect();
        let calls: Vec<(&str, &str)> = logged.iter().map(|args| (args.as_str(), "ok")).collect();
        assert_eq!(same("log_event", &calls), [0, 1, 2, 3, 4], "the reason is what is logged");
    }

    #[test]
    fn loop_2_what_is_named_like_any_other_argument_always_matters() {
        let query = |n: usize| format!(r#"{{"index":"docs","query":"word {n}"}}"#);
        let queries: Vec<String> = (0..6).map(query).collect();
        let calls: Vec<(&str, &str)> = queries.iter().map(|args| (args.as_str(), "No matches found")).collect();
        assert_eq!(same("lookup_docs", &calls), [0, 1, 2, 3, 4, 5]);
        let only = [(r#"{"thought":"a"}"#, "ok"), (r#"{"thought":"b"}"#, "ok"), (r#"{"thought":"c"}"#, "ok")];
        assert_eq!(same("reflect", &only), [0, 1, 2], "nothing else would be left of it");
    }

    #[test]
    fn loop_2_a_made_up_number_is_left_out_after_its_first_repetition() {
        let call = |n: usize| format!(r#"{{"order":"7","request_id":"r-{n}"}}"#);
        let calls: Vec<String> = (0..4).map(call).collect();
        let calls: Vec<(&str, &str)> = calls.iter().map(|args| (args.as_str(), "pending")).collect();
        assert_eq!(same("order_state", &calls), [0, 1, 2, 2]);
    }

    #[test]
    fn what_is_learned_is_bounded() {
        let mut learned = LearnedArguments::default();
        for tool in 0..100 {
            for n in 0..3 {
                let args = format!(r#"{{"a":"x","reason":"{n}","uuid":"{n}"}}"#);
                let call =
                    ComparedCall::of(&format!("check_{tool}"), ToolKind::Other, &Arguments::read(&args)).unwrap();
                learned.learn(&call, Label::new("r").as_ref());
            }
        }
        assert_eq!(learned.tools.len(), TOOLS_MAX);
        assert!(serde_json::to_string(&learned).unwrap().len() < 4_000);
    }
}
