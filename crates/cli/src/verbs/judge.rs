//! `tripwire judge`: what the guard would do with a command line, without running it.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Out};
use crate::workspace::{Where, homes};
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use tripwire_authority::current;
use tripwire_clients::doors::{DoorAct, DoorNote, DoorRuling, Doors};
use tripwire_clients::protected::ProtectedPaths;
use tripwire_core::visible::LINE_END;
use tripwire_fs::bounded;
use tripwire_judge::{Answer, COMMAND_BYTES_MAX, Facts};
use tripwire_workspace::policy_file::load_for;

/// Longest line of a stream: a command of the largest size, escaped.
const LINE_BYTES_MAX: usize = COMMAND_BYTES_MAX * 6 + 1_024;

/// Judge a shell command line without running it: what the guard would do, and by which rule.
///
/// The line is parsed as bash would parse it and checked against the real workspace. The answer combines all rules
/// that look at a command: what it would destroy (FLOOR-1) or publish (FLOOR-2), whether it attacks the guard itself
/// (CTRL-3), and what the workspace's policies forbid or require approval for (PERM-1). What only a session counts is
/// not known here. `-` reads one JSON object `{"command":…}` per line and answers each with one line. Exit code 0 is
/// pass, 11 is hold or refuse. Options come before the command line: `tripwire judge git reset --hard` judges all
/// three words.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    place: Where,
    /// Also protect branches that match this pattern, in addition to the policy's `identity.protected_branches` and
    /// the remote's HEAD.
    #[arg(long, value_name = "PATTERN")]
    protected_branch: Vec<String>,
    /// Write JSON.
    #[arg(long)]
    json: bool,
    /// The command line; `-` reads many from standard input.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND LINE")]
    command: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(args: &JudgeArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let start = args.place.folder()?;
    let policy = load_for(workspace.layout())?.policy;
    let mut facts = Facts::here(workspace.root().to_owned(), start, &policy);
    facts.protected.extend(args.protected_branch.iter().cloned());
    let permissions = current::permissions(workspace.layout())?;
    let protected = ProtectedPaths::new(&workspace, &homes());
    let doors = Doors { policy, permissions, protected };
    let mut out = Out::lock();
    if args.command == ["-"] {
        return stream(&doors, &facts, &mut out);
    }
    let ruling = doors.judge(&facts, &args.command.join(" "));
    if args.json {
        out.line(&as_json(&ruling).to_string())?;
    } else {
        tell(&ruling, &mut out)?;
    }
    out.flush()?;
    Ok(match ruling.act {
        DoorAct::Pass => Exit::Done,
        DoorAct::Hold(_) | DoorAct::Refuse(_) => Exit::Refused,
    })
}

fn tell(ruling: &DoorRuling, out: &mut Out) -> Result<(), Problem> {
    let verdict = &ruling.verdict;
    let word = match ruling.act {
        DoorAct::Pass => "pass".to_owned(),
        DoorAct::Hold(_) => format!("hold [{}]", ruling.name),
        DoorAct::Refuse(_) => format!("refuse [{}]", ruling.name),
    };
    out.prose(&format!("{word}: {}", ruling.reason))?;
    if let DoorAct::Hold(rule) | DoorAct::Refuse(rule) = ruling.act {
        out.prose(&format!("  by {}; see `tripwire explain {}`", rule.id(), rule.id()))?;
    }
    for note in &ruling.notes {
        out.prose(&format!("  note [{}]: {}", note.rule.id(), note.text))?;
    }
    if let Some(effect) = &verdict.effect {
        out.prose(&format!("  would hit: {}", effect.line()))?;
    }
    for segment in verdict.segments.iter().filter(|_| verdict.segments.len() > 1) {
        let mark = match segment.verdict {
            Answer::Pass => "pass",
            Answer::Hold => "hold",
        };
        let shown = match segment.command.split_once('\n') {
            Some((first, _)) => format!("{first}{LINE_END}…"),
            None => segment.command.clone(),
        };
        out.prose(&format!("  {mark}  {shown}"))?;
    }
    Ok(())
}

/// One line of a stream of questions.
#[derive(Deserialize)]
struct Question {
    command: String,
    cwd: Option<PathBuf>,
}

/// Answers line by line; a line that is no question is answered with what is wrong with it.
fn stream(doors: &Doors, facts: &Facts, out: &mut Out) -> Result<Exit, Problem> {
    let mut input = print::open(Path::new("-"))?;
    let mut exit = Exit::Done;
    let mut number = 0_u64;
    loop {
        let limit = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let line = bounded::read_line(&mut input, limit).map_err(|error| Problem::input(Path::new("-"), error))?;
        if line.is_empty() {
            out.flush()?;
            return Ok(exit);
        }
        number += 1;
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if line.len() >= LINE_BYTES_MAX && !line.ends_with(b"\n") {
            input.skip_until(b'\n').map_err(|error| Problem::input(Path::new("-"), error))?;
        }
        match serde_json::from_slice::<Question>(text) {
            Ok(question) => {
                let cwd = question.cwd.map_or_else(|| facts.cwd.clone(), |cwd| facts.cwd.join(cwd));
                let ruling = doors.judge(&Facts { cwd, ..facts.clone() }, &question.command);
                out.line(&as_json(&ruling).to_string())?;
            }
            Err(error) => {
                exit = Exit::Usage;
                out.line(&json!({"error": format!("line {number} is no `{{\"command\":…}}`: {error}")}).to_string())?;
            }
        }
        // A caller that asks line by line waits for each answer.
        out.flush()?;
    }
}

/// As one object: the guard's verdict, with what all rules say together in its place.
fn as_json(ruling: &DoorRuling) -> Value {
    let mut whole = json!(ruling.verdict);
    let (verdict, rule) = match ruling.act {
        DoorAct::Pass => ("pass", None),
        DoorAct::Hold(rule) => ("hold", Some(rule)),
        DoorAct::Refuse(rule) => ("refuse", Some(rule)),
    };
    if let Some(fields) = whole.as_object_mut() {
        fields.insert("verdict".to_owned(), json!(verdict));
        fields.insert("rule".to_owned(), if ruling.name.is_empty() { Value::Null } else { json!(ruling.name) });
        fields.insert("reason".to_owned(), json!(ruling.reason));
        fields.insert("by".to_owned(), json!(rule));
        let note = |note: &DoorNote| json!({"rule": note.rule, "text": note.text});
        fields.insert("notes".to_owned(), ruling.notes.iter().map(note).collect());
    }
    whole
}
