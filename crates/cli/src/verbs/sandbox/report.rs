//! What the sandbox verbs print: data on stdout, talk on stderr, one JSON object where asked for.

use std::io;

use serde_json::{Value, json};
use tripwire_core::counted::counted;
use tripwire_core::explain::Explain;
use tripwire_core::visible::visible;
use tripwire_egress::AllowListError;
use tripwire_sandbox::{
    ApplyError, Budget, Captured, ChangeSet, End, FindingFate, Layer, LayerState, Layers, NotRun, Report, SpecError,
    StageError,
};

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::Form;

/// The most bytes that a captured stream takes in the JSON text; bytes that are no UTF-8 grow when they are shown.
const TEXT_BYTES_MAX: usize = 1024 * 1024;

/// A finished run.
pub(crate) fn report(form: Form, report: &Report, staged: Option<Result<ChangeSet, StageError>>) -> Exit {
    match form.json {
        true => {
            out(&json_report(report, staged.as_ref()).to_string());
            left_armed(report).unwrap_or(Exit::Done)
        }
        false => {
            write_bytes(&mut io::stdout().lock(), &report.stdout.bytes);
            write_bytes(&mut io::stderr().lock(), &report.stderr.bytes);
            for note in notes(report) {
                talk(&format!("tripwire: {note}"));
            }
            for finding in &report.findings {
                let path = visible(&finding.path.to_string_lossy());
                talk(&format!("tripwire: `{path}`: {}: {}", finding.kind.name(), finding.action));
            }
            if let Some(Ok(changes)) = staged {
                let count = counted(changes.changes().len(), "change");
                talk(&format!("tripwire: staged {count}, digest {}", changes.digest()));
            }
            if let Some(exit) = left_armed(report) {
                return exit;
            }
            match report.end {
                End::Exited(code) => Exit::OfCommand(code),
                // As shells do.
                End::Signaled(signal) => Exit::OfCommand(signal.saturating_add(128)),
                End::TimedOut => {
                    talk("error: the command ran out of time and was ended\nhint: allow more with `--timeout SECS`");
                    Exit::Clock
                }
                End::Interrupted => {
                    talk("error: the command was interrupted and ended\nhint: run it again");
                    Exit::Clock
                }
                End::OverBudget(budget) => {
                    talk(&format!(
                        "error: the command spent its budget of {0} and was ended\nhint: allow more with `--{0}`",
                        budget.name()
                    ));
                    Exit::Budget
                }
            }
        }
    }
}

/// A workspace that may hold something armed is reported on stderr in every form, and no such run ends well.
fn left_armed(report: &Report) -> Option<Exit> {
    let left = report.left_armed();
    if left.is_empty() {
        return None;
    }
    for what in left {
        talk(&format!("error: the look at the workspace after the run could not make it safe: {}", visible(&what)));
    }
    talk(
        "hint: look at these places before you use git or start anything there; `git -C DIR config --list --show-origin`",
    );
    Some(Exit::DoesNotHold)
}

/// What the output itself does not show: that some of it was cut, or why a process is gone.
fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, stream) in [("output", &report.stdout), ("error output", &report.stderr)] {
        if stream.truncated() {
            let (kept, total) = (stream.bytes.len(), stream.total);
            notes.push(format!("its {name} is cut: {kept} of {total} bytes; lead it into a file to keep all of it"));
        }
    }
    if report.memory_kills > 0 && report.end != End::OverBudget(Budget::Memory) {
        notes.push("the kernel ended a process for the memory budget; allow more with `--memory SIZE`".to_owned());
    }
    if report.end == End::Exited(TOO_LARGE_A_FILE) {
        notes.push(
            "153 is how a shell tells that a process was ended for a file beyond `--file-size SIZE` (which is never more \
             than `--disk`, unless it is given)"
                .to_owned(),
        );
    }
    notes
}

/// What a shell ends with when its last command was ended by SIGXFSZ.
const TOO_LARGE_A_FILE: u8 = 128 + 25;

fn json_report(report: &Report, staged: Option<&Result<ChangeSet, StageError>>) -> Value {
    let (exit_code, signal) = match report.end {
        End::Exited(code) => (json!(code), Value::Null),
        End::Signaled(signal) => (Value::Null, json!(signal)),
        End::OverBudget(Budget::FileSize) => (Value::Null, json!(25)),
        End::TimedOut | End::Interrupted | End::OverBudget(Budget::Memory | Budget::Disk | Budget::Inodes) => {
            (Value::Null, json!(9))
        }
    };
    let over_budget = match report.end {
        End::OverBudget(budget) => json!(budget.name()),
        End::Exited(_) | End::Signaled(_) | End::TimedOut | End::Interrupted => Value::Null,
    };
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let armed = finding.fate == FindingFate::StillArmed;
            json!({"kind": finding.kind.name(), "path": finding.path.to_string_lossy(), "action": finding.action, "armed": armed})
        })
        .collect();
    let stage = staged.map(|result| match result {
        Ok(changes) => {
            json!({"digest": changes.digest().to_string(), "changes": changes.changes().len()})
        }
        Err(error) => json!({"error": error.to_string()}),
    });
    let truncated = report.stdout.truncated() || report.stderr.truncated();
    json!({
        "schema": 1,
        "ran": true,
        "exit_code": exit_code,
        "signal": signal,
        "timed_out": report.end == End::TimedOut,
        "over_budget": over_budget,
        "stdout": text(&report.stdout),
        "stderr": text(&report.stderr),
        "stdout_bytes": report.stdout.total,
        "stderr_bytes": report.stderr.total,
        "truncated": truncated,
        "wall_ms": millis(report.wall),
        "memory_kills": report.memory_kills,
        "notes": notes(report),
        "receipt": {
            "ended": report.receipt.ended,
            "survivors": report.receipt.survivors,
            "took_ms": millis(report.receipt.took),
        },
        "findings": findings,
        "stage": stage,
        "profile": report.profile.name(),
        "layers": layers(&report.layers),
    })
}

/// A captured stream as text; what is no UTF-8 is replaced, and the text is cut at the cap again.
fn text(captured: &Captured) -> String {
    let mut text = String::from_utf8_lossy(&captured.bytes).into_owned();
    if text.len() > TEXT_BYTES_MAX {
        let mut end = TEXT_BYTES_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

fn layers(layers: &Layers) -> Value {
    let entries = layers.iter().map(|(layer, state)| {
        let (word, detail) = match state {
            LayerState::On(text) => ("on", text.as_str()),
            LayerState::Replaced(text) => ("replaced", text.as_str()),
            LayerState::Relaxed(text) => ("relaxed", text.as_str()),
            LayerState::Missing(text) => ("missing", text.as_str()),
            LayerState::Off => ("off", ""),
        };
        (layer.name().to_owned(), json!({"state": word, "detail": detail}))
    });
    Value::Object(entries.collect())
}

/// Nothing was run because a layer is missing, or the command cannot be started.
pub(crate) fn not_run(form: Form, refused: &NotRun) -> Exit {
    let object = refusal(refused.layer.name(), &refused.cause, &refused.hint, layers(&refused.layers));
    if refused.layer == Layer::Command {
        // Every layer is there: what was asked for cannot be started.
        print_refusal(form, object, &refused.cause, &refused.hint);
        return Exit::Usage;
    }
    print_refusal(
        form,
        object,
        &format!("layer `{}` is missing: {}", refused.layer.name(), refused.cause),
        &refused.hint,
    );
    Exit::DoesNotHold
}

/// Nothing was run because a host cannot be allowed as it was written.
pub(crate) fn bad_host(form: Form, error: &AllowListError) -> Exit {
    let object = refusal("request", &error.to_string(), &error.hint(), json!({}));
    print_refusal(form, object, &error.to_string(), &error.hint());
    Exit::Usage
}

/// Nothing was run because allowed hosts cannot be served.
pub(crate) fn not_run_for_network(form: Form, error: &dyn Explain) -> Exit {
    let (cause, hint) = (error.to_string(), format!("{}, or run without `--allow-host`", error.hint()));
    let object = refusal("network", &cause, &hint, json!({"network": {"state": "missing", "detail": cause}}));
    print_refusal(form, object, &cause, &hint);
    Exit::DoesNotHold
}

/// The request makes no sense.
pub(crate) fn not_asked_for(form: Form, error: &SpecError) -> Exit {
    let object = refusal("request", &error.to_string(), &error.hint(), json!({}));
    print_refusal(form, object, &error.to_string(), &error.hint());
    Exit::Usage
}

fn refusal(layer: &str, cause: &str, hint: &str, layers: Value) -> Value {
    json!({
        "schema": 1, "ran": false, "exit_code": null, "signal": null, "timed_out": false, "stdout": "", "stderr": "",
        "truncated": false, "wall_ms": 0, "refused_by": layer, "error": cause, "hint": hint, "layers": layers,
    })
}

fn print_refusal(form: Form, object: Value, cause: &str, hint: &str) {
    match form.json {
        true => out(&object.to_string()),
        false => talk(&format!("error: not run: {cause}\nhint: {hint}")),
    }
}

/// The staged changes.
pub(crate) fn changes(form: Form, changes: &ChangeSet) -> Exit {
    let digest = changes.digest().to_string();
    match form.json {
        true => {
            let list: Vec<Value> = changes
                .changes()
                .iter()
                .map(|change| json!({"kind": change.kind().name(), "path": change.path().to_string_lossy(), "what": change.summary()}))
                .collect();
            out(&json!({"schema": 1, "digest": digest, "changes": list}).to_string());
        }
        false => {
            for change in changes.changes() {
                out(&format!(
                    "{:<6} {}  {}",
                    change.kind().name(),
                    visible(&change.path().to_string_lossy()),
                    visible(&change.summary())
                ));
            }
            out(&format!("digest {digest}"));
        }
    }
    Exit::Done
}

/// The stage is gone.
pub(crate) fn discarded(form: Form) -> Exit {
    match form.json {
        true => out(&json!({"schema": 1, "discarded": true}).to_string()),
        false => talk("tripwire: staged changes discarded"),
    }
    Exit::Done
}

/// The stage cannot be read.
pub(crate) fn stage_error(error: &StageError) -> Exit {
    talk(&format!("error: {error}\nhint: {}", error.hint()));
    Exit::DoesNotHold
}

/// The changes were not applied.
pub(crate) fn apply_error(error: &ApplyError) -> Exit {
    talk(&format!("error: {error}\nhint: {}", error.hint()));
    match error {
        ApplyError::Mismatch { .. }
        | ApplyError::Conflict { .. }
        | ApplyError::Protected { .. }
        | ApplyError::Finished
        | ApplyError::Busy => Exit::Refused,
        ApplyError::Stage(_) | ApplyError::Write { .. } | ApplyError::Torn { .. } | ApplyError::Recover { .. } => {
            Exit::DoesNotHold
        }
    }
}

/// Permissions or the review gate stand against it; nothing was run or changed.
pub(crate) fn denied(form: Form, problem: &Problem) -> Exit {
    if let (true, Problem::Refused(decision)) = (form.json, problem) {
        out(&crate::session::as_json(decision).to_string());
    }
    crate::print::problem(problem)
}

fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn out(line: &str) {
    write_bytes(&mut io::stdout().lock(), [line, "\n"].concat().as_bytes());
}

fn talk(line: &str) {
    let safe: Vec<String> = line.split('\n').map(visible).collect();
    write_bytes(&mut io::stderr().lock(), [&safe.join("\n"), "\n"].concat().as_bytes());
}

/// A reader that went away is no reason to fail the run itself.
fn write_bytes(to: &mut impl io::Write, bytes: &[u8]) {
    drop(to.write_all(bytes).and_then(|()| to.flush()));
}

#[cfg(test)]
mod armed_tests {
    use super::*;
    use std::time::Duration;
    use tripwire_sandbox::{Finding, FindingKind, Profile, Receipt};

    fn exit_for(fate: FindingFate) -> Option<Exit> {
        let finding =
            Finding { kind: FindingKind::GitConfig, path: "r/config".into(), action: "tried".to_owned(), fate };
        left_armed(&Report {
            end: End::Exited(0),
            stdout: Captured::default(),
            stderr: Captured::default(),
            wall: Duration::ZERO,
            layers: Layers::default(),
            receipt: Receipt::default(),
            findings: vec![finding],
            memory_kills: 0,
            profile: Profile::Strict,
            stage: None,
        })
    }

    #[test]
    fn box_1_a_run_that_leaves_something_armed_does_not_end_well() {
        assert_eq!(exit_for(FindingFate::StillArmed), Some(Exit::DoesNotHold));
        assert_eq!(exit_for(FindingFate::Disarmed), None);
    }
}
