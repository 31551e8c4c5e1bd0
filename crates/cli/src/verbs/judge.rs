//! `tripwire judge`: what a command line would destroy for good, without running it.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Out};
use crate::workspace::Where;
use clap::Args;
use serde::Deserialize;
use serde_json::json;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use tripwire_fs::bounded;
use tripwire_judge::{Answer, COMMAND_BYTES_MAX, Facts, Judge, Verdict};
use tripwire_workspace::policy_file::load_for;

/// Longest line of a stream: a command of the largest size, escaped.
const LINE_BYTES_MAX: usize = COMMAND_BYTES_MAX * 6 + 1_024;

/// Judge a shell command line without running it: would it destroy something that cannot be recovered?
///
/// The line is parsed as bash would parse it, and the real workspace says what would be hit. `-` reads one JSON object
/// `{"command":…}` a line and answers each with one line. Exit code 0 is pass, 11 is hold. Options come before the command
/// line: `tripwire judge git reset --hard` judges all three words.
#[derive(Debug, Args)]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    place: Where,
    /// Protect branches that fit this pattern too, beside the policy's `identity.protected_branches` and the remote's HEAD.
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
    let mut out = Out::lock();
    if args.command == ["-"] {
        return stream(facts, &mut out);
    }
    let verdict = Judge::new(facts).judge(&args.command.join(" "));
    if args.json {
        out.line(&json!(verdict).to_string())?;
    } else {
        tell(&verdict, &mut out)?;
    }
    out.flush()?;
    Ok(match verdict.verdict {
        Answer::Pass => Exit::Done,
        Answer::Hold => Exit::Refused,
    })
}

fn tell(verdict: &Verdict, out: &mut Out) -> Result<(), Problem> {
    let word = match verdict.verdict {
        Answer::Pass => "pass".to_owned(),
        Answer::Hold => format!("hold [{}]", verdict.rule.map_or("", |rule| rule.name())),
    };
    out.prose(&format!("{word}: {}", verdict.reason))?;
    if let Some(effect) = &verdict.effect {
        out.prose(&format!("  would hit: {}", effect.line()))?;
    }
    for segment in verdict.segments.iter().filter(|_| verdict.segments.len() > 1) {
        let mark = match segment.verdict {
            Answer::Pass => "pass",
            Answer::Hold => "hold",
        };
        let first = segment.command.lines().next().unwrap_or_default();
        out.prose(&format!("  {mark}  {first}"))?;
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
fn stream(facts: Facts, out: &mut Out) -> Result<Exit, Problem> {
    let mut input = print::open(Path::new("-"))?;
    let mut exit = Exit::Done;
    let mut judge = Judge::new(facts.clone());
    let mut number = 0_u64;
    loop {
        let limit = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let line = bounded::read_line(&mut input, limit).map_err(|error| Problem::open(Path::new("-"), error))?;
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
            input.skip_until(b'\n').map_err(|error| Problem::open(Path::new("-"), error))?;
        }
        match serde_json::from_slice::<Question>(text) {
            Ok(question) => {
                let cwd = question.cwd.map_or_else(|| facts.cwd.clone(), |cwd| facts.cwd.join(cwd));
                judge = judge.at(cwd);
                out.line(&json!(judge.judge(&question.command)).to_string())?;
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
