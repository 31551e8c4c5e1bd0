//! A command that destroys what cannot be restored waits for a person, in every mode (FLOOR-1).
//!
//! The judge outside finds the fact; here it is held. A person may let exactly one held command pass once: the allowance
//! is bound to the full digest of the command and its folder, so that another command with the same short code stays
//! held, and it ends with its first use or after 24 hours. A person may also deny it: the agent hears that when it asks
//! the next time, once. The first answer counts, and a second one changes nothing.

use crate::enforcement::{Denial, EnforcementError, FloorHeldError};
use crate::input::{ActOrigin, FloorFact, FloorWeight, Place};
use crate::label::Label;
use crate::limits::{ALLOWANCE_MS, LOST_FILES_HELD};
use crate::record::chain::Digest;
use crate::ring::Ring;
use crate::units::{Count, EventIndex, RunMillis};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Held commands that a person may still answer; an older one must be asked for again.
const REMEMBERED: usize = 8;

/// What was held, and what a person allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Floor {
    held: Ring<HeldCommand, REMEMBERED>,
    allowed: Ring<Allowance, REMEMBERED>,
    /// Files that git does not know which calls of the session were permitted to lose.
    lost: Count,
}

/// A command that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldCommand {
    /// The code that a person names.
    pub code: Label,
    /// The command, its folder and its workspace: an answer is good for exactly this.
    pub digest: Digest,
    /// What it would do, in words for a person.
    pub reason: Label,
    /// The rule about destructive commands that it breaks.
    pub rule: Label,
    /// The input that asked for it first.
    pub asked: EventIndex,
    /// When that was, in milliseconds since the session began.
    pub since: RunMillis,
    /// What a person said to it, if anybody did.
    pub answer: Option<PersonsAnswer>,
}

/// What a person said to a held command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonsAnswer {
    /// Yes or no.
    pub says: ApprovalVerdict,
    /// The input that brought it.
    pub index: EventIndex,
    /// Who, and why, where that is known.
    pub by: Option<ActOrigin>,
}

/// Yes or no to a held command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalVerdict {
    /// It may pass once.
    Allowed,
    /// It may not.
    Denied,
}

impl ApprovalVerdict {
    /// What was done, in one word.
    #[must_use]
    pub const fn past(self) -> &'static str {
        match self {
            Self::Allowed => "approved",
            Self::Denied => "denied",
        }
    }
}

/// A person's word for one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Allowance {
    digest: Digest,
    until: RunMillis,
    by: Option<ActOrigin>,
}

/// What became of a person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerEffect {
    /// One command may pass once.
    AllowedOnce,
    /// One command is refused when it is asked for the next time.
    DeniedOnce,
    /// No command that waits has this code.
    NothingWaits,
    /// Two different commands have it, and it is not known which was meant.
    Ambiguous,
    /// Another answer came first.
    TooLate,
}

impl AnswerEffect {
    /// The note in the journal.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::AllowedOnce => "a person allowed one held command once",
            Self::DeniedOnce => "a person denied one held command",
            Self::NothingWaits => "a person named a code that no held command has; nothing is allowed",
            Self::Ambiguous => "a person named a code that two held commands have; nothing is allowed",
            Self::TooLate => "a person answered a held command that was answered before; the first answer counts",
        }
    }
}

impl Floor {
    /// Whether a fact is one to hold: a few files that git does not know are not, until the session has lost too many.
    pub(crate) fn weighs(&self, fact: &FloorFact) -> bool {
        match fact.weight {
            FloorWeight::Destroys
            | FloorWeight::Publishes
            | FloorWeight::FromOutside(_)
            | FloorWeight::Asks
            | FloorWeight::Placeholder => true,
            FloorWeight::Loses(files) => {
                let lost = self.lost.get().saturating_add(files.get());
                usize::try_from(lost).is_ok_and(|lost| lost >= LOST_FILES_HELD)
            }
        }
    }

    /// Whether this very command waits already: a person was told of it.
    pub(crate) fn waits(&self, fact: &FloorFact) -> bool {
        self.held.newest_first().any(|held| held.digest == fact.digest && held.code == fact.code)
    }

    /// Checks a request, and says who allowed it where that is known. What is not allowed is remembered, so that a person
    /// can answer it; what a person denied is told once, and waits again when it is requested again.
    pub(crate) fn check(&mut self, fact: &FloorFact, place: Place) -> Result<Option<ActOrigin>, EnforcementError> {
        if let Some(word) = self.allowance(fact.digest, place.at) {
            return Ok(word.by.clone());
        }
        let denied = self.denial(fact.digest);
        if denied.is_some() {
            self.held.retain(|held| held.digest != fact.digest);
        } else if !self.waits(fact) {
            self.held.push(HeldCommand {
                code: fact.code.clone(),
                digest: fact.digest,
                reason: fact.reason.clone(),
                rule: fact.rule.clone(),
                asked: place.index,
                since: place.at,
                answer: None,
            });
        } else {
            // An allowance that ran out is no answer any more.
            self.set_answer(fact.digest, None);
        }
        let FloorFact { code, digest: _, reason, rule, weight: _ } = fact.clone();
        Err(EnforcementError::FloorHeld(FloorHeldError { code, reason, rule, denied }))
    }

    /// A person allows what waits under a code, once.
    pub(crate) fn allow(&mut self, code: &Label, place: Place, by: Option<&ActOrigin>) -> AnswerEffect {
        let digest = match self.unanswered(code, place.at) {
            Ok(digest) => digest,
            Err(effect) => return effect,
        };
        let until = place.at.plus(RunMillis::new(ALLOWANCE_MS));
        self.allowed.push(Allowance { digest, until, by: by.cloned() });
        self.note_answer(digest, ApprovalVerdict::Allowed, place, by);
        AnswerEffect::AllowedOnce
    }

    /// A person denies what waits under a code.
    pub(crate) fn deny(&mut self, code: &Label, place: Place, by: Option<&ActOrigin>) -> AnswerEffect {
        match self.unanswered(code, place.at) {
            Ok(digest) => {
                self.note_answer(digest, ApprovalVerdict::Denied, place, by);
                AnswerEffect::DeniedOnce
            }
            Err(effect) => effect,
        }
    }

    /// The one command that waits under a code and that nobody answered.
    fn unanswered(&self, code: &Label, at: RunMillis) -> Result<Digest, AnswerEffect> {
        let mut of_code = self.held.newest_first().filter(|held| held.code == *code);
        let Some(held) = of_code.next() else { return Err(AnswerEffect::NothingWaits) };
        if of_code.any(|other| other.digest != held.digest) {
            return Err(AnswerEffect::Ambiguous);
        }
        let is_answered = self.denial(held.digest).is_some() || self.allowance(held.digest, at).is_some();
        if is_answered { Err(AnswerEffect::TooLate) } else { Ok(held.digest) }
    }

    /// The allowance that stands for a command.
    fn allowance(&self, digest: Digest, at: RunMillis) -> Option<&Allowance> {
        self.allowed.newest_first().find(|allowance| allowance.digest == digest && at < allowance.until)
    }

    /// A person's no that the agent has not heard yet.
    fn denial(&self, digest: Digest) -> Option<Denial> {
        let mut answers =
            self.held.newest_first().filter(|held| held.digest == digest).filter_map(|held| held.answer.as_ref());
        let answer = answers.find(|answer| answer.says == ApprovalVerdict::Denied)?;
        Some(Denial { by: answer.by.clone() })
    }

    fn note_answer(&mut self, digest: Digest, says: ApprovalVerdict, place: Place, by: Option<&ActOrigin>) {
        self.set_answer(digest, Some(PersonsAnswer { says, index: place.index, by: by.cloned() }));
    }

    fn set_answer(&mut self, digest: Digest, answer: Option<PersonsAnswer>) {
        for held in self.held.iter_mut().filter(|held| held.digest == digest) {
            held.answer.clone_from(&answer);
        }
    }

    /// A permit was issued: the allowance is used up, and the command waits no longer. What it may lose counts, from zero
    /// on where a person looked.
    pub(crate) fn spend(&mut self, fact: &FloorFact) {
        if let FloorWeight::Loses(files) = fact.weight {
            let looked = self.allowed.newest_first().any(|allowance| allowance.digest == fact.digest);
            let lost = self.lost.get().saturating_add(files.get());
            self.lost = if looked { Count::new(0) } else { Count::new(lost) };
        }
        self.allowed.retain(|allowance| allowance.digest != fact.digest);
        self.held.retain(|held| held.digest != fact.digest);
    }

    /// The commands that were held, newest first.
    pub(crate) fn waiting(&self) -> Vec<HeldCommand> {
        self.held.newest_first().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(command: &[u8], code: &str) -> FloorFact {
        FloorFact {
            code: Label::cut(code),
            digest: Digest::of(command),
            reason: Label::cut("it deletes a home"),
            rule: Label::cut("delete-home"),
            weight: FloorWeight::Destroys,
        }
    }

    fn at_ms(ms: u64) -> Place {
        Place { at: RunMillis::new(ms), index: EventIndex::new(ms) }
    }

    fn denied(result: &Result<Option<ActOrigin>, EnforcementError>) -> bool {
        matches!(result, Err(EnforcementError::FloorHeld(held)) if held.denied.is_some())
    }

    #[test]
    fn floor_1_a_denial_is_told_once_and_the_command_waits_anew() {
        let mut floor = Floor::default();
        let (this, at) = (fact(b"rm -rf ~", "AAAA-AA"), at_ms(5));
        assert!(!denied(&floor.check(&this, at)));
        assert_eq!(floor.deny(&this.code, at, None), AnswerEffect::DeniedOnce);
        assert!(denied(&floor.check(&this, at)) && floor.waiting().is_empty());
        assert!(!denied(&floor.check(&this, at)), "it is a new question");
        assert_eq!(floor.allow(&this.code, at, None), AnswerEffect::AllowedOnce);
        assert!(floor.check(&this, at).is_ok());
    }

    #[test]
    fn floor_1_the_first_answer_counts() {
        let mut floor = Floor::default();
        let (this, at) = (fact(b"rm -rf ~", "AAAA-AA"), at_ms(5));
        assert!(floor.check(&this, at).is_err());
        assert_eq!(floor.allow(&this.code, at, None), AnswerEffect::AllowedOnce);
        assert_eq!(floor.deny(&this.code, at_ms(6), None), AnswerEffect::TooLate);
        assert_eq!(floor.allow(&this.code, at_ms(6), None), AnswerEffect::TooLate);
        assert_eq!(floor.waiting()[0].answer.as_ref().unwrap().index, at.index);
        assert!(floor.check(&this, at).is_ok());
        let other = fact(b"rm -rf /", "BBBB-BB");
        assert!(floor.check(&other, at).is_err());
        assert_eq!(floor.deny(&other.code, at, None), AnswerEffect::DeniedOnce);
        assert_eq!(floor.allow(&other.code, at, None), AnswerEffect::TooLate);
        assert!(denied(&floor.check(&other, at)));
    }

    #[test]
    fn floor_1_an_allowance_that_ran_out_can_be_given_again() {
        let mut floor = Floor::default();
        let (this, late) = (fact(b"rm -rf ~", "AAAA-AA"), at_ms(ALLOWANCE_MS + 5));
        assert!(floor.check(&this, at_ms(5)).is_err());
        assert_eq!(floor.allow(&this.code, at_ms(5), None), AnswerEffect::AllowedOnce);
        assert!(floor.check(&this, late).is_err() && floor.waiting()[0].answer.is_none());
        assert_eq!(floor.allow(&this.code, late, None), AnswerEffect::AllowedOnce);
        assert!(floor.check(&this, late).is_ok());
    }

    #[test]
    fn floor_1_few_lost_files_pass_and_are_counted_over_the_session() {
        let mut floor = Floor::default();
        let at = at_ms(5);
        let loses = |command: &[u8], files: u32| FloorFact {
            weight: FloorWeight::Loses(Count::new(files)),
            ..fact(command, "AAAA-AA")
        };
        for command in [b"rm a".as_slice(), b"rm b"] {
            assert!(!floor.weighs(&loses(command, 1)), "two files are everyday work");
            floor.spend(&loses(command, 1));
        }
        let third = loses(b"rm c", 1);
        assert!(floor.weighs(&third) && floor.check(&third, at).is_err());
        assert!(floor.weighs(&third), "what was not permitted does not count");
        assert_eq!(floor.allow(&third.code, at, None), AnswerEffect::AllowedOnce);
        assert!(floor.check(&third, at).is_ok());
        floor.spend(&third);
        assert!(!floor.weighs(&loses(b"rm d", 2)), "a person looked: the count starts over");
        assert!(floor.weighs(&loses(b"rm d e f", 3)), "three at once are held in any case");
    }

    #[test]
    fn floor_1_an_allowance_is_for_one_command_once() {
        let mut floor = Floor::default();
        let (this, at) = (fact(b"rm -rf ~", "AAAA-AA"), at_ms(5));
        assert!(floor.check(&this, at).is_err());
        assert_eq!(floor.allow(&this.code, at, None), AnswerEffect::AllowedOnce);
        assert!(floor.check(&this, at).is_ok());
        assert!(floor.check(&fact(b"rm -rf /", "BBBB-BB"), at).is_err(), "another command");
        floor.spend(&this);
        assert!(floor.check(&this, at).is_err(), "used up");
    }

    #[test]
    fn floor_1_a_forged_code_allows_neither_command() {
        let mut floor = Floor::default();
        let at = at_ms(5);
        let (harmless, harmful) = (fact(b"rm -rf old", "AAAA-AA"), fact(b"rm -rf ~", "AAAA-AA"));
        assert!(floor.check(&harmless, at).is_err());
        assert!(floor.check(&harmful, at).is_err());
        assert_eq!(floor.allow(&harmless.code, at, None), AnswerEffect::Ambiguous);
        assert!(floor.check(&harmless, at).is_err());
        assert!(floor.check(&harmful, at).is_err());
        assert_eq!(floor.allow(&Label::cut("ZZZZ-ZZ"), at, None), AnswerEffect::NothingWaits);
    }

    #[test]
    fn floor_1_a_forged_code_after_the_allowance_stays_held() {
        let mut floor = Floor::default();
        let at = at_ms(5);
        let (harmless, harmful) = (fact(b"rm -rf old", "AAAA-AA"), fact(b"rm -rf ~", "AAAA-AA"));
        assert!(floor.check(&harmless, at).is_err());
        assert_eq!(floor.allow(&harmless.code, at, None), AnswerEffect::AllowedOnce);
        assert!(floor.check(&harmful, at).is_err());
        assert!(floor.check(&harmless, at).is_ok());
    }

    #[test]
    fn floor_1_an_allowance_ends_after_a_day() {
        let mut floor = Floor::default();
        let (this, at) = (fact(b"rm -rf ~", "AAAA-AA"), at_ms(5));
        assert!(floor.check(&this, at).is_err());
        assert_eq!(floor.allow(&this.code, at, None), AnswerEffect::AllowedOnce);
        assert!(floor.check(&this, at_ms(ALLOWANCE_MS + 4)).is_ok());
        assert!(floor.check(&this, at_ms(ALLOWANCE_MS + 5)).is_err());
    }
}
