//! `tripwire approvals --fleet`: the questions of all machines as one queue, and a person's signed answer to one of them.

use super::bundles;
use super::membership::{FleetError, Membership};
use super::order;
use crate::error::Problem;
use crate::exit::Exit;
use crate::moment;
use crate::print::{self, Form, Out};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tripwire_core::chain::gate::floor::ApprovalVerdict;
use tripwire_fleet::approval::{self, Decided, Question, Verdict};
use tripwire_fleet::log::Log;
use tripwire_fleet::machine::{self, Liveness, MachineState};
use tripwire_journal::note::Verifier;
use tripwire_session::approvals::{Answer, ApprovalKind};
use tripwire_workspace::clock;

/// A question as its machine last told it.
struct FleetQuestion {
    question: Question,
    liveness: Liveness,
    /// What was decided about it and has not reached its session yet.
    verdict: Option<Verdict>,
}

/// Lists what waits on all machines.
pub(crate) fn list(form: Form) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let log = membership.log()?;
    let all = gather(log.as_ref(), &bundles::trusted()?)?;
    let mut out = Out::lock();
    for asked in &all {
        if form.json {
            out.line(&as_json(asked).to_string())?;
            continue;
        }
        for line in in_words(asked, &all) {
            out.prose(&line)?;
        }
    }
    if all.is_empty() && !form.json {
        print::say("nothing waits for an answer in the fleet");
    }
    out.flush()?;
    Ok(if all.iter().any(|asked| asked.verdict.is_none()) { Exit::Held } else { Exit::Done })
}

/// Answers one question of any machine, and waits until that machine has the answer.
pub(crate) fn answer(id: &str, answer: &Answer, form: Form) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let log = membership.log()?;
    let trusted = bundles::trusted()?;
    let all = gather(log.as_ref(), &trusted)?;
    let FleetQuestion { question, liveness, verdict: _ } = named(id, &all)?;
    if question.kind == ApprovalKind::Budget.name() && answer.says == ApprovalVerdict::Allowed && answer.raise.is_none()
    {
        return Err(FleetError::NoAmount { id: id.to_owned() }.into());
    }
    let signer = order::signer()?;
    let verdict = Verdict {
        proposal: question.proposal(),
        answer: answer.says,
        who: answer.who.clone(),
        reason: answer.reason.clone(),
        raise: answer.raise,
        at_ms: clock::now().epoch_ms(),
        nonce: tripwire_fleet::nonce().map_err(FleetError::Random)?,
    };
    match approval::decide(log.as_ref(), &verdict, &signer, &trusted)? {
        Decided::Now => {}
        Decided::Before(first) => {
            let first =
                first.map_or_else(|| "by a key that this machine does not trust".to_owned(), |first| words_of(&first));
            return Err(FleetError::AnsweredBefore { id: id.to_owned(), first }.into());
        }
    }
    let has_it = match liveness {
        Liveness::Alive => no_longer_waits(log.as_ref(), question, TAKEN_WITHIN)?,
        Liveness::Silent | Liveness::Left => false,
    };
    let mut out = Out::lock();
    let (machine, what, said) = (&question.machine, &question.what, verdict.answer.past());
    if form.json {
        let told = json!({"id": question.id, "machine": machine, "verdict": said, "what": what, "taken": has_it});
        out.line(&told.to_string())?;
    } else {
        out.prose(&format!("{said} `{}` on {machine}: {what}", question.id))?;
        let key = signer.verifier();
        out.prose(&match (has_it, liveness) {
            (true, _) => format!("it no longer waits on {machine}"),
            (false, Liveness::Silent | Liveness::Left) => {
                format!("{machine} is {} now; it takes the answer when it is back within 24 hours", liveness.name())
            }
            (false, Liveness::Alive) => format!(
                "{machine} has not taken it within {} s; if it does not know your key yet, run there: tripwire identity trust {key}",
                TAKEN_WITHIN.as_secs()
            ),
        })?;
    }
    out.flush()?;
    Ok(if has_it { Exit::Done } else { Exit::DoesNotHold })
}

fn gather(log: &dyn Log, trusted: &[Verifier]) -> Result<Vec<FleetQuestion>, Problem> {
    let now_ms = clock::now().epoch_ms();
    let mut all = Vec::new();
    for state in machine::all(log)? {
        let liveness = state.liveness(now_ms);
        for question in state.waiting {
            let verdict = approval::decided(log, &question.proposal(), trusted)?;
            let verdict = verdict.filter(|verdict| !verdict.is_expired(now_ms));
            all.push(FleetQuestion { question, liveness, verdict });
        }
    }
    Ok(all)
}

/// The question that a person means by its id or by the first digits of its digest.
fn named<'a>(id: &str, all: &'a [FleetQuestion]) -> Result<&'a FleetQuestion, FleetError> {
    let id = id.trim();
    let digits = id.to_lowercase();
    let fits = |asked: &&FleetQuestion| {
        asked.question.id.eq_ignore_ascii_case(id)
            || digits.len() >= DIGITS_MIN && asked.question.proposal().to_string().starts_with(&digits)
    };
    let fitting: Vec<&FleetQuestion> = all.iter().filter(fits).collect();
    let names =
        |asked: &[&FleetQuestion]| -> Vec<String> { asked.iter().map(|asked| digits_of(&asked.question)).collect() };
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => Err(FleetError::NoQuestion { id: id.to_owned() }),
        several @ [_, ..] => Err(FleetError::SeveralQuestions { id: id.to_owned(), digits: names(several).join(", ") }),
    }
}

/// Waits until a machine does not list a question any more.
fn no_longer_waits(log: &dyn Log, question: &Question, within: Duration) -> Result<bool, Problem> {
    let (deadline, proposal) = (Instant::now() + within, question.proposal());
    loop {
        let waits = |state: &MachineState| state.waiting.iter().any(|open| open.proposal() == proposal);
        if !machine::one(log, &question.machine)?.as_ref().is_some_and(waits) {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// What a person types to name a question: its id, or digits where two machines ask the same.
fn name_of(question: &Question, all: &[FleetQuestion]) -> String {
    let same = all.iter().filter(|other| other.question.id == question.id).count();
    if same > 1 { digits_of(question) } else { question.id.clone() }
}

fn digits_of(question: &Question) -> String {
    String::from_utf8_lossy(&question.proposal().short()).into_owned()
}

fn in_words(asked: &FleetQuestion, all: &[FleetQuestion]) -> Vec<String> {
    let FleetQuestion { question, liveness, verdict } = asked;
    let Question { machine, workspace, session, id, kind, what, rule, since_ms, .. } = question;
    let now_ms = clock::now().epoch_ms();
    let since = since_ms.map(|since| format!(", asked {} ago", moment::ago(now_ms.saturating_sub(since) / 1_000)));
    let standing = match liveness {
        Liveness::Alive => String::new(),
        Liveness::Silent | Liveness::Left => format!(" ({})", liveness.name()),
    };
    let session = session.as_ref().map(|session| format!(", {session}")).unwrap_or_default();
    let name = name_of(question, all);
    let raise = if kind == ApprovalKind::Budget.name() { " --raise 5usd" } else { "" };
    let next = verdict.as_ref().map_or_else(
        || format!("tripwire approvals approve {name}{raise} --fleet   |   tripwire approvals deny {name} --fleet"),
        |verdict| format!("{}; {machine} has not taken it yet", words_of(verdict)),
    );
    vec![
        format!("{id}  {kind} [{rule}] on {machine}{standing}, {workspace}{session}{}", since.unwrap_or_default()),
        format!("  {what}"),
        format!("  {next}"),
    ]
}

fn as_json(asked: &FleetQuestion) -> Value {
    let FleetQuestion { question, liveness, verdict } = asked;
    let mut value = json!(question);
    if let Value::Object(fields) = &mut value {
        fields.insert("proposal".to_owned(), json!(question.proposal()));
        fields.insert("alive".to_owned(), json!(*liveness == Liveness::Alive));
        fields.insert("verdict".to_owned(), json!(verdict.as_ref().map(|verdict| verdict.answer.past())));
        fields.insert("by".to_owned(), json!(verdict.as_ref().map(|verdict| &verdict.who)));
    }
    value
}

fn words_of(verdict: &Verdict) -> String {
    format!("{} by {}", verdict.answer.past(), verdict.who)
}

/// The fewest digits by which a question is named.
const DIGITS_MIN: usize = 4;
/// A machine looks once a second, and tells it with its next heartbeat.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);
