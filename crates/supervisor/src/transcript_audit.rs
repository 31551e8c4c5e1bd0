//! The audit of a running client: what its own transcript shows, compared with what its hooks announced.
//!
//! A call that ran and that no hook announced means that the guard was passed by; so does a result that says that our
//! program could not be started.

use crate::guard::pulse::{Pulse, TestRun};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tripwire_clients::Client;
use tripwire_clients::hooks::CallIds;
use tripwire_clients::transcript::{Announcement, CallOutcome, Item};
use tripwire_fs::tail::{self, TailPosition};

/// What was seen of the client's transcripts.
#[derive(Debug)]
pub(crate) struct TranscriptAudit {
    client: Client,
    /// How long a call may stand in the transcript before its hook must have announced it.
    announced_within: Duration,
    transcripts: Vec<GrowingTranscript>,
    /// Calls without an announcement and without a result, and when they were first seen.
    open: BTreeMap<String, Duration>,
    /// Calls that ran, as the client wrote them down.
    ran: BTreeSet<String>,
    /// Calls that only look after a command that runs already.
    polls: BTreeSet<String>,
    /// The provider's last refusal.
    refusal: Option<String>,
}

impl TranscriptAudit {
    /// An audit that has seen nothing.
    pub(crate) const fn new(client: Client, announced_within: Duration) -> Self {
        Self {
            client,
            announced_within,
            transcripts: Vec::new(),
            open: BTreeMap::new(),
            ran: BTreeSet::new(),
            polls: BTreeSet::new(),
            refusal: None,
        }
    }

    /// The provider's last refusal, if nothing came after it.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// What the client's own transcript says about a test run that its hook told of. A client whose hooks name no calls, and
    /// one that wrote down nothing at all, says nothing.
    pub(crate) fn shows(&self, run: &TestRun) -> Shown {
        match (self.client.adapter().hooks.call_ids, &run.call) {
            (CallIds::Shared, Some(call)) if self.ran.contains(call) => Shown::Yes,
            (CallIds::Shared, Some(_)) if !self.ran.is_empty() => Shown::No,
            (CallIds::Shared | CallIds::Unnamed, Some(_) | None) => Shown::Unknown,
        }
    }

    /// Reads what is new at this time (of a clock that stands still while the client is frozen), and says what it proves
    /// against the guard.
    pub(crate) fn look(&mut self, pulse: &Pulse, now: Duration) -> Option<String> {
        for (path, length) in &pulse.transcripts {
            if !self.transcripts.iter().any(|transcript| transcript.path == *path) {
                self.transcripts.push(GrowingTranscript::follow(path, *length));
            }
        }
        // A transcript that cannot be read proves nothing; the hooks are what counts.
        let mut events = Vec::new();
        for transcript in &mut self.transcripts {
            let text = transcript.new_lines().unwrap_or_default();
            events.extend(events_in(self.client, &text));
        }
        let proof = events.into_iter().find_map(|event| self.take(event, pulse, now));
        self.open.retain(|call, _| !pulse.has_announced(call));
        proof.or_else(|| {
            let late = self.open.iter().find(|(_, since)| now.saturating_sub(**since) > self.announced_within);
            late.map(|(call, _)| {
                format!("no hook announced the call `{call}` within {} s", self.announced_within.as_secs())
            })
        })
    }

    fn take(&mut self, event: AuditEvent, pulse: &Pulse, now: Duration) -> Option<String> {
        match event {
            AuditEvent::Asked { call } => {
                self.refusal = None;
                if !pulse.has_announced(&call) {
                    self.open.entry(call).or_insert(now);
                }
                None
            }
            AuditEvent::Polled { call } => {
                self.refusal = None;
                self.polls.insert(call);
                None
            }
            AuditEvent::Answered { call, .. } if self.polls.remove(&call) => None,
            AuditEvent::Answered { call, outcome } => {
                self.open.remove(&call);
                match outcome {
                    CallOutcome::GuardFailed => Some(format!("the hook of the call `{call}` could not be run")),
                    CallOutcome::Ran => {
                        self.ran.insert(call.clone());
                        let passed_by = self.passed_by(&call, pulse);
                        passed_by.then(|| format!("the call `{call}` ran and no hook announced it"))
                    }
                    CallOutcome::Failed => None,
                }
            }
            AuditEvent::ProviderError { text } => {
                self.refusal = Some(text);
                None
            }
        }
    }

    /// Whether a call ran past the guard. Where hooks name no call, more calls must not run than were announced.
    fn passed_by(&self, call: &str, pulse: &Pulse) -> bool {
        match self.client.adapter().hooks.call_ids {
            CallIds::Shared => !pulse.has_announced(call),
            CallIds::Unnamed => u64::try_from(self.ran.len()).unwrap_or(u64::MAX) > pulse.asked,
        }
    }
}

/// Whether the client's own transcript shows what its hook told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It does.
    Yes,
    /// It shows other calls, and not this one.
    No,
    /// It does not say.
    Unknown,
}

/// What the audit minds of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AuditEvent {
    /// The client was asked for a call that a hook has to announce.
    Asked { call: String },
    /// It was asked to look after a command that runs already.
    Polled { call: String },
    /// A call has a result.
    Answered { call: String, outcome: CallOutcome },
    /// The model's provider refused, in its words.
    ProviderError { text: String },
}

fn events_in(client: Client, text: &str) -> Vec<AuditEvent> {
    let mut items = Vec::new();
    for line in text.lines() {
        (client.adapter().transcript.read_line)(line, &mut items);
    }
    items.into_iter().filter_map(event).collect()
}

fn event(item: Item<'_>) -> Option<AuditEvent> {
    match item {
        Item::Call(call) => {
            let id = call.id.unwrap_or_default().into_owned();
            match call.announcement {
                Announcement::Expected => Some(AuditEvent::Asked { call: id }),
                Announcement::Poll => Some(AuditEvent::Polled { call: id }),
                Announcement::NotExpected => None,
            }
        }
        Item::Result(result) => Some(AuditEvent::Answered { call: result.call.into_owned(), outcome: result.outcome }),
        Item::ProviderError(text) => Some(AuditEvent::ProviderError { text }),
        Item::Session(_)
        | Item::Person
        | Item::Said(_)
        | Item::ExitCode { .. }
        | Item::Answer(_)
        | Item::ThreadTotal(_)
        | Item::UnreadableAnswer
        | Item::Model(_)
        | Item::Window(_) => None,
    }
}

/// Whether a transcript shows calls; one that cannot be read may hold anything.
pub(crate) fn shows_calls(client: Client, path: &Path) -> bool {
    let Ok(text) = GrowingTranscript::follow(path, 0).new_lines() else { return true };
    events_in(client, &text).iter().any(|event| !matches!(event, AuditEvent::ProviderError { .. }))
}

/// A transcript that is read as it grows.
#[derive(Debug)]
struct GrowingTranscript {
    path: PathBuf,
    position: TailPosition,
}

impl GrowingTranscript {
    /// Follows a transcript from this place on.
    fn follow(path: &Path, offset: u64) -> Self {
        Self { path: path.to_owned(), position: TailPosition { offset, inside: false } }
    }

    /// The complete lines that are new. A file that is not there has none.
    fn new_lines(&mut self) -> io::Result<String> {
        match tail::read(&self.path, &mut self.position) {
            Ok(new) => Ok(new.text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const WITHIN: Duration = Duration::from_secs(20);

    #[test]
    fn dirty_1_a_test_run_that_the_clients_record_does_not_show_is_known() {
        let run = |call: &str| TestRun { action: "Bash(pytest)".to_owned(), call: Some(call.to_owned()) };
        let pulse = Pulse::announcing(&["a", "forged"]);
        for client in [Client::Claude, Client::Codex] {
            let mut audit = TranscriptAudit::new(client, WITHIN);
            assert_eq!(audit.shows(&run("a")), Shown::Unknown, "it wrote down nothing");
            audit.take(answered("a", CallOutcome::Ran), &pulse, Duration::ZERO);
            assert_eq!((audit.shows(&run("a")), audit.shows(&run("forged"))), (Shown::Yes, Shown::No));
        }
    }

    fn asked(call: &str) -> AuditEvent {
        AuditEvent::Asked { call: call.to_owned() }
    }

    fn answered(call: &str, outcome: CallOutcome) -> AuditEvent {
        AuditEvent::Answered { call: call.to_owned(), outcome }
    }

    fn proofs(client: Client, pulse: &Pulse, entries: Vec<AuditEvent>) -> usize {
        let mut audit = TranscriptAudit::new(client, WITHIN);
        entries.into_iter().filter_map(|entry| audit.take(entry, pulse, Duration::ZERO)).count()
    }

    #[test]
    fn const_5_a_call_that_ran_unannounced_is_proof_and_an_announced_or_refused_one_is_not() {
        let pulse = Pulse::announcing(&["a"]);
        for client in [Client::Claude, Client::Codex] {
            let good =
                vec![asked("a"), answered("a", CallOutcome::Ran), asked("b"), answered("b", CallOutcome::Failed)];
            assert_eq!(proofs(client, &pulse, good), 0);
            assert_eq!(proofs(client, &pulse, vec![answered("b", CallOutcome::Ran)]), 1);
            assert_eq!(proofs(client, &pulse, vec![answered("b", CallOutcome::GuardFailed)]), 1);
        }
        let twice = vec![answered("x", CallOutcome::Ran), answered("x", CallOutcome::Ran)];
        assert_eq!(proofs(Client::Gemini, &pulse, twice), 0, "a line that is written again is one call");
        let two = vec![answered("x", CallOutcome::Ran), answered("y", CallOutcome::Ran)];
        assert_eq!(proofs(Client::Gemini, &pulse, two), 1, "one was announced");
    }

    #[test]
    fn const_5_a_call_whose_hook_does_not_come_is_proof_after_a_while() {
        let pulse = Pulse::announcing(&["a"]);
        let mut audit = TranscriptAudit::new(Client::Claude, WITHIN);
        assert_eq!(audit.take(asked("a"), &pulse, Duration::ZERO), None);
        assert_eq!(audit.look(&pulse, WITHIN * 2), None, "it was announced");
        assert_eq!(audit.take(asked("late"), &pulse, Duration::ZERO), None);
        assert_eq!(audit.look(&pulse, WITHIN), None);
        assert!(audit.look(&pulse, WITHIN * 2).is_some());
        assert_eq!(audit.look(&Pulse::announcing(&["late"]), WITHIN * 2), None, "it came after all");
    }

    #[test]
    fn run_4_a_refusal_of_the_provider_counts_until_the_work_goes_on() {
        let pulse = Pulse::announcing(&["a"]);
        let mut audit = TranscriptAudit::new(Client::Claude, WITHIN);
        assert_eq!(audit.take(AuditEvent::ProviderError { text: "529".to_owned() }, &pulse, Duration::ZERO), None);
        assert_eq!(audit.refusal(), Some("529"));
        assert_eq!(audit.take(asked("a"), &pulse, Duration::ZERO), None);
        assert_eq!(audit.refusal(), None);
    }

    fn read(client: Client, lines: &[&str]) -> Vec<AuditEvent> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"{\"old\":1}\n").unwrap();
        let mut transcript = GrowingTranscript::follow(file.path(), 10);
        let mut entries = events_in(client, &transcript.new_lines().unwrap());
        for line in lines {
            // Written in two halves: half a line is nothing yet.
            let (head, tail) = line.split_at(line.len() / 2);
            file.write_all(head.as_bytes()).unwrap();
            entries.extend(events_in(client, &transcript.new_lines().unwrap()));
            writeln!(file, "{tail}").unwrap();
            entries.extend(events_in(client, &transcript.new_lines().unwrap()));
        }
        entries
    }

    #[test]
    fn const_5_claudes_record_tells_calls_results_and_refusals_of_the_provider() {
        let entries = read(
            Client::Claude,
            &[
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}"#,
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":false}]}}"#,
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"b","content":"tripwire: guard failed","is_error":true}]}}"#,
                r#"{"type":"api-request-blob","message":{"content":[{"type":"tool_use","id":"old"}]}}"#,
                r#"{"type":"user","message":{"content":"a word about tool_use"}}"#,
                r#"{"type":"assistant","isApiErrorMessage":true,"message":{"content":[{"type":"text","text":"API Error: 529"}]}}"#,
                "not json but tool_use",
            ],
        );
        let error = AuditEvent::ProviderError { text: "API Error: 529".to_owned() };
        assert_eq!(
            entries,
            [asked("a"), answered("a", CallOutcome::Ran), answered("b", CallOutcome::GuardFailed), error]
        );
    }

    #[test]
    fn const_5_codexs_record_tells_commands_and_not_its_own_tools() {
        let entries = read(
            Client::Codex,
            &[
                r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","call_id":"a"}}"#,
                r#"{"type":"response_item","payload":{"type":"function_call","name":"update_plan","call_id":"p"}}"#,
                r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"Process exited with code 0"}}"#,
                r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"b","output":"blocked by PreToolUse hook: tripwire: guard failed"}}"#,
                r#"{"type":"event_msg","payload":{"type":"error","message":"at capacity"}}"#,
            ],
        );
        let error = AuditEvent::ProviderError { text: "at capacity".to_owned() };
        assert_eq!(
            entries,
            [asked("a"), answered("a", CallOutcome::Ran), answered("b", CallOutcome::GuardFailed), error]
        );
    }

    #[test]
    fn const_5_codex_may_look_after_a_command_and_not_type_into_it() {
        let call = |name: &str, arguments: &str| {
            let arguments = serde_json::Value::from(arguments);
            format!(
                r#"{{"type":"response_item","payload":{{"type":"function_call","name":"write_stdin","call_id":"{name}","arguments":{arguments}}}}}"#
            )
        };
        let lines = [
            call("a", r#"{"session_id":1,"chars":"","yield_time_ms":5}"#),
            call("b", r#"{"session_id":1}"#),
            call("c", r#"{"session_id":1,"chars":"rm x\n"}"#),
            call("d", "not json"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let polled = |call: &str| AuditEvent::Polled { call: call.to_owned() };
        assert_eq!(read(Client::Codex, &lines), [polled("a"), polled("b")]);
    }

    #[test]
    fn const_5_geminis_record_tells_calls_with_their_results() {
        let entries = read(
            Client::Gemini,
            &[
                r#"{"id":"1","type":"gemini","toolCalls":[{"id":"a","status":"success","result":[]},{"id":"b","status":"error"}]}"#,
                r#"{"$set":{"toolCalls":1}}"#,
            ],
        );
        assert_eq!(entries, [answered("a", CallOutcome::Ran), answered("b", CallOutcome::Failed)]);
    }

    #[test]
    fn a_record_that_is_written_anew_is_read_anew_and_a_missing_one_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let mut transcript = GrowingTranscript::follow(&path, 0);
        let mut news = || events_in(Client::Gemini, &transcript.new_lines().unwrap());
        assert_eq!(news(), []);
        std::fs::write(&path, "{\"toolCalls\":[{\"id\":\"a\",\"status\":\"success\"}],\"x\":\"long\"}\n").unwrap();
        assert_eq!(news().len(), 1);
        std::fs::write(&path, "{\"toolCalls\":[{\"id\":\"b\",\"status\":\"error\"}]}\n").unwrap();
        assert_eq!(news(), [answered("b", CallOutcome::Failed)]);
    }
}
