//! `tripwire review`: a staged change is proposed, reviewed and applied, and nothing else is.

use crate::error::Problem;
use crate::exit::Exit;
use crate::person;
use crate::print::{self, Form, Out};
use crate::session;
use crate::workspace::{self, Acting, Where};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::{Path, PathBuf};
use tripwire_authority::Who;
use tripwire_core::counted::counted;
use tripwire_core::input::Verdict;
use tripwire_core::record::chain::Digest;
use tripwire_core::visible::visible;
use tripwire_fs::bounded::{self, BoundedError};
use tripwire_session::review::{AnswerError, Gate, ListedProposal, Proposal, ReviewError, answer::ANSWER_BYTES_MAX};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// Have staged changes reviewed before they reach the workspace.
///
/// A change is staged with `tripwire sandbox exec --stage`. Its proposal is the SHA-256 of the whole change set; an
/// answer applies to that digest only, so that an edit after the approval voids it.
#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    #[command(subcommand)]
    act: ReviewAct,
}

#[derive(Debug, Subcommand)]
enum ReviewAct {
    /// Register the staged changes as a proposal and print its digest.
    Propose(ReviewProposeArgs),
    /// List the proposals, or show one with its changes.
    Show(ReviewShowArgs),
    /// Record a reviewer's answer: a text with exactly one explicit APPROVED or REJECTED.
    Decide(ReviewDecideArgs),
    /// Apply the staged changes to the workspace, if exactly they were approved.
    Apply(ReviewApplyArgs),
}

#[derive(Debug, Args)]
struct ReviewProposeArgs {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct ReviewShowArgs {
    /// The proposal, in full or by its first digits.
    digest: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct ReviewDecideArgs {
    /// The answer; `-` reads standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The proposal that the answer is about; by default the staged changes.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    /// Who answers; by default the person who runs the command.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct ReviewApplyArgs {
    /// The proposal to apply; by default the staged changes. A digest that does not match them is refused.
    #[arg(long, value_name = "DIGEST")]
    digest: Option<String>,
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

/// Runs the verb.
pub(crate) fn run(args: &ReviewArgs) -> Result<Exit, Problem> {
    match &args.act {
        ReviewAct::Propose(args) => propose(args),
        ReviewAct::Show(args) => show(args),
        ReviewAct::Decide(args) => decide(args),
        ReviewAct::Apply(args) => session::print_refusal(apply(args), args.form),
    }
}

fn gate(workspace: &Workspace) -> Gate {
    Gate::of(workspace, &workspace::places())
}

fn propose(args: &ReviewProposeArgs) -> Result<Exit, Problem> {
    let workspace = args.place.open()?;
    let proposal = gate(&workspace).propose(clock::now())?;
    print(&if args.form.json { as_json(&proposal, None).to_string() } else { in_words(&proposal) })
}

fn show(args: &ReviewShowArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let listed = gate(&workspace).proposals()?;
    let mut out = Out::lock();
    if let Some(text) = &args.digest {
        let ListedProposal { proposal, is_staged } = one(&listed, text)?;
        let words = || {
            format!(
                "{}{}",
                in_words(proposal),
                proposal.changes.iter().map(|line| format!("\n  {}", visible(line))).collect::<String>()
            )
        };
        out.line(&if args.form.json { as_json(proposal, Some(*is_staged)).to_string() } else { words() })?;
    } else {
        for ListedProposal { proposal, is_staged } in &listed {
            let mark = if *is_staged { "  (staged now)" } else { "" };
            out.line(&if args.form.json {
                as_json(proposal, Some(*is_staged)).to_string()
            } else {
                format!("{}{mark}", in_words(proposal))
            })?;
        }
        if listed.is_empty() && !args.form.json {
            print::say("nothing was proposed; stage a change and run `tripwire review propose`");
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn decide(args: &ReviewDecideArgs) -> Result<Exit, Problem> {
    person::only("review decide", &args.place)?;
    let text = read(&args.file)?;
    let workspace = args.place.open()?;
    let gate = gate(&workspace);
    let asked = args.digest.as_deref().map(|text| digest(&gate, text)).transpose()?;
    let mut driver = session::session(&workspace, None)?;
    let by = args.by.clone().unwrap_or_else(tripwire_workspace::account::current);
    let (proposal, verdict) = gate.decide(&mut driver, asked, (&text, &by), clock::now).map_err(refusal)?;
    if args.form.json {
        return print(&as_json(&proposal, None).to_string());
    }
    let (word, next) = match verdict {
        Verdict::Approved => ("APPROVED", "next: `tripwire review apply`"),
        Verdict::Rejected => ("REJECTED", "next: change what is staged, then `tripwire review propose`"),
    };
    print::say(next);
    print(&format!("{word} {}; the proposal is {}", proposal.short(), proposal.state.name()))
}

fn apply(args: &ReviewApplyArgs) -> Result<Exit, Problem> {
    let workspace = args.place.open()?;
    let gate = gate(&workspace);
    let asked = args.digest.as_deref().map(|text| digest(&gate, text)).transpose()?;
    let mut driver = session::session(&workspace, args.acting.named().as_deref())?;
    let role = driver.role().to_owned();
    let applied = gate.apply(&mut driver, Who::role(&role), asked, clock::now).map_err(refusal)?;
    if args.form.json {
        return print(&json!({"applied": applied.digest, "changes": applied.changes.changes().len()}).to_string());
    }
    let short: String = applied.digest.to_string().chars().take(16).collect();
    print(&format!("applied {short}: {}", counted(applied.changes.changes().len(), "change")))
}

/// A refusal of the engine is the same whichever verb asked for it.
fn refusal(error: ReviewError) -> Problem {
    if let ReviewError::Refused(decision) = error { Problem::Refused(decision) } else { error.into() }
}

/// The digest that a text means, in full or by its first digits.
fn digest(gate: &Gate, text: &str) -> Result<Digest, Problem> {
    match text.parse() {
        Ok(digest) => Ok(digest),
        Err(_) => Ok(one(&gate.proposals()?, text)?.proposal.digest),
    }
}

fn one<'a>(listed: &'a [ListedProposal], text: &str) -> Result<&'a ListedProposal, Problem> {
    let fits = |listed: &&ListedProposal| text.len() >= 4 && listed.proposal.digest.to_string().starts_with(text);
    let found: Vec<&ListedProposal> = listed.iter().filter(fits).collect();
    match found.as_slice() {
        [only] => Ok(only),
        [] | [..] => Err(ReviewError::NoSuchDigest { text: text.to_owned(), count: found.len() }.into()),
    }
}

fn in_words(proposal: &Proposal) -> String {
    let by = proposal.by.as_ref().map(|by| format!(" by {}", visible(by))).unwrap_or_default();
    let (short, state, count) = (proposal.short(), proposal.state.name(), proposal.changes.len());
    format!("{short}  {state}{by}  {}, proposed {}", counted(count, "change"), proposal.at)
}

fn as_json(proposal: &Proposal, is_staged: Option<bool>) -> serde_json::Value {
    json!({
        "digest": proposal.digest, "short": proposal.short(), "state": proposal.state, "by": proposal.by,
        "at": proposal.at, "decidedAt": proposal.decided_at, "changes": proposal.changes, "staged": is_staged,
    })
}

/// Reads an answer, bounded; bytes that are no text decide nothing.
fn read(file: &Path) -> Result<String, Problem> {
    let limit = u64::try_from(ANSWER_BYTES_MAX).unwrap_or(u64::MAX);
    let bytes = bounded::read_whole(print::open(file)?, limit).map_err(|error| match error {
        BoundedError::Io(error) => Problem::input(file, error),
        BoundedError::TooBig { .. } => ReviewError::Answer(AnswerError::TooLong).into(),
    })?;
    String::from_utf8(bytes).map_err(|_| ReviewError::Answer(AnswerError::NotText).into())
}

fn print(line: &str) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    out.line(line)?;
    out.flush()?;
    Ok(Exit::Done)
}
