//! What a rule of the ladder answers with: a candidate while it counts, an alarm once its proof is written out.

use crate::chain::activity::Sign;
use crate::chain::event::Action;
use crate::counted::counted;
use crate::decision::{Evidence, Finding, FindingKind, Level};
use crate::effect::Sameness;
use crate::label::{Fingerprint, Label};
use crate::rules::Rule;
use crate::text::{Reason, SignatureText};
use crate::units::{Count, EventIndex, Price};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// One alarm: which rule, how far up the ladder, and the proof.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alarm {
    pub(crate) level: Level,
    pub(crate) kind: FindingKind,
    pub(crate) rule: Rule,
    pub(crate) count: Count,
    /// What repeats: alarms with the same key are one alarm.
    pub(crate) key: Fingerprint,
    pub(crate) evidence: Evidence,
    pub(crate) price: Price,
    pub(crate) reason: Reason,
    pub(crate) signature: SignatureText,
    /// What must not be repeated, in words that the agent knows.
    pub(crate) object: Label,
    /// Whether the same came back each time.
    pub(crate) result: Sameness,
    /// Whether the workspace moved meanwhile; identical only where that was measured.
    pub(crate) workspace: Sameness,
    /// Whether this alarm has just climbed a rung, and must be reported.
    pub(crate) news: Sign,
    /// Whether it rests on results that are known.
    pub(crate) proven: Sign,
}

/// A rung that a rule has reached: cheap to make, so that the quiet path builds no texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate<P = Proof> {
    pub(crate) level: Level,
    pub(crate) kind: FindingKind,
    pub(crate) rule: Rule,
    /// How often.
    pub(crate) count: u32,
    /// What repeats.
    pub(crate) key: Fingerprint,
    /// Which calls prove it.
    pub(crate) proof: P,
    /// How the reason goes on after the count: `times in a row`.
    pub(crate) words: &'static str,
    /// What the reason and the override name.
    pub(crate) about: About,
    /// Whether it rests on results that are known.
    pub(crate) proven: Sign,
}

/// What an alarm is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// One call with its arguments.
    Call,
    /// A question to which an answer came.
    Question,
    /// A task for another agent.
    Task,
    /// A message that nobody got.
    Echo,
    /// A page of a list.
    Page,
    /// A change that does not land.
    Edit,
    /// Calls of one signature, whatever their other arguments.
    Signature,
    /// An error, whatever the arguments that led to it.
    Error,
    /// So many calls that go round.
    Round(usize),
    /// What the model says, whatever it calls.
    Replies,
    /// Nothing that has a name.
    Nothing,
}

/// The newest event as words name it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) action: &'a Action,
    /// The line that tells its error.
    pub(crate) error: Option<&'a Label>,
    /// A part of its result that was ignored, because it changes at each repetition.
    pub(crate) ignored: Option<&'a Label>,
}

impl Named<'_> {
    /// What must not be repeated, and the same as a reason begins with it. `round` are the newest calls, oldest first.
    pub(crate) fn subject(&self, about: About, round: &[&Label]) -> (Label, String) {
        let call = self.action.named();
        match (about, self.error) {
            (About::Error, Some(error)) => {
                (Label::cut(&format!("any call that fails with: {error}")), format!("error `{error}`"))
            }
            (About::Call | About::Question | About::Task | About::Echo | About::Page | About::Edit, _)
            | (About::Error, None) => (Label::cut(&call), format!("`{call}`")),
            (About::Signature, _) => {
                let signature = self.action.shown();
                let last = if signature == call { String::new() } else { format!(", last `{call}`") };
                (Label::cut(&call), format!("`{signature}`{last}"))
            }
            (About::Round(length), _) => {
                let skipped = round.len().saturating_sub(length);
                let calls: Vec<&str> = round.iter().skip(skipped).map(|label| label.as_str()).collect();
                (Label::cut(&calls.join(" ; ")), format!("`{}`", calls.join("`, `")))
            }
            (About::Replies, _) => {
                let last = if call.is_empty() { String::new() } else { format!("last `{call}`") };
                (Label::cut("the approach of the last replies"), last)
            }
            (About::Nothing, _) => (Label::default(), String::new()),
        }
    }
}

impl About {
    /// What to do about it, in words that fit every rule which names the same.
    pub(crate) const fn way_out(self) -> &'static str {
        match self {
            Self::Call => "the same again brings the same; change what it depends on, or take another way",
            Self::Question => "use what the answers say, or ask for something else",
            Self::Task => "use what came back, or give out another task",
            Self::Echo => "its own text came back and reached nobody; call the tool or the agent that is to answer",
            Self::Page => "work with the pages that were read",
            Self::Edit => "read what is there now before the next edit",
            Self::Signature => "look whether anything still moves",
            Self::Error => "read the error and remove its cause before the next try",
            Self::Round(_) => "the round leads nowhere; change something in it, or take another way",
            Self::Replies => "write down what is known, and take a way that was not tried",
            Self::Nothing => "work with what is known",
        }
    }
}

/// `, 2400 tokens since the first repeat`, as far as it is known.
pub(super) fn cost(price: Price) -> String {
    if price.tokens.get() == 0 {
        return String::new();
    }
    format!(", {} since the first repeat", counted(price.tokens.get(), "token"))
}

/// `, and no file changed between`, as far as it was measured.
pub(super) const fn clause(workspace: Sameness) -> &'static str {
    match workspace {
        Sameness::Identical => ", and no file changed between",
        Sameness::Changed => ", while files changed",
        Sameness::Unknown => "",
    }
}

/// Which calls of the window prove a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Those with the same exact action among the newest.
    Exact(usize),
    /// Those with the same signature among the newest.
    Signature(usize),
}

impl Alarm {
    /// An alarm that was reported before: its level still counts, its words are not built again.
    pub(super) fn silent<P>(candidate: &Candidate<P>) -> Self {
        Self {
            level: candidate.level,
            kind: candidate.kind,
            rule: candidate.rule,
            count: Count::new(candidate.count),
            key: candidate.key,
            evidence: Evidence::default(),
            price: Price::default(),
            reason: Reason::default(),
            signature: SignatureText::default(),
            object: Label::default(),
            result: Sameness::Unknown,
            workspace: Sameness::Unknown,
            news: Sign::Absent,
            proven: candidate.proven,
        }
    }

    /// Whether it shows that the agent loops: what repeats is known to be the same. Only that is reported as LOOPING and costs
    /// health.
    pub(crate) fn is_proof(&self) -> bool {
        self.level >= Level::Override && self.rule.is_proof_of_loop() && self.proven.is_present()
    }

    /// The alarm as a finding of the decision.
    pub(crate) fn finding(&self) -> Finding {
        Finding {
            count: self.count,
            details: None,
            evidence: self.evidence.clone(),
            kind: self.kind,
            level: self.level,
            price: self.price,
            reason: self.reason.clone(),
            rule: self.rule,
            signature: self.signature.clone(),
        }
    }
}

/// Writes `#3, #4, #5` and, for many, `#3, #4, #5 … #19`.
pub(super) fn push_indices(text: &mut String, indices: &[EventIndex]) {
    use core::fmt::Write as _;
    const SHOWN: usize = 5;
    for (place, index) in indices.iter().enumerate() {
        let last = place.saturating_add(1) == indices.len();
        let written = match (place < SHOWN, last) {
            (true, _) if place == 0 => write!(text, "#{index}"),
            (true, _) => write!(text, ", #{index}"),
            (false, true) => write!(text, " … #{index}"),
            (false, false) => Ok(()),
        };
        if written.is_err() {
            return; // Writing into a String cannot fail; a shorter reason would be the only harm.
        }
    }
}
