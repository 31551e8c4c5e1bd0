//! A command that destroys what cannot be restored waits for a person, in every mode (FLOOR-1).
//!
//! The judge outside finds the fact; here it is held. A person may let exactly one held command pass once: the allowance
//! is bound to the full digest of the command and its folder, so that another command with the same short code stays
//! held, and it ends with its first use or after 24 hours.

use crate::enforcement::{EnforcementError, FloorHeldError};
use crate::input::{ActOrigin, FloorFact, FloorWeight};
use crate::label::Label;
use crate::limits::{ALLOWANCE_MS, LOST_FILES_HELD};
use crate::record::chain::Digest;
use crate::ring::Ring;
use crate::units::{Count, RunMillis};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Held commands that a person may still allow; an older one must be asked for again.
const REMEMBERED: usize = 8;

/// What was held, and what a person allowed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Floor {
    held: Ring<Held, REMEMBERED>,
    allowed: Ring<Allowance, REMEMBERED>,
    /// Files that git does not know which calls of the session were permitted to lose.
    lost: Count,
}

/// A command that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    code: Label,
    digest: Digest,
}

/// A person's word for one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Allowance {
    digest: Digest,
    until: RunMillis,
    by: Option<ActOrigin>,
}

/// What became of a person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// One command may pass once.
    Once,
    /// No command that waits has this code.
    NothingWaits,
    /// Two different commands have it, and it is not known which was meant.
    Ambiguous,
}

impl Allowed {
    /// The note in the journal.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Once => "a person allowed one held command once",
            Self::NothingWaits => "a person named a code that no held command has; nothing is allowed",
            Self::Ambiguous => "a person named a code that two held commands have; nothing is allowed",
        }
    }
}

impl Floor {
    /// Whether a fact is one to hold: a few files that git does not know are not, until the session has lost too many.
    pub(crate) fn weighs(&self, fact: &FloorFact) -> bool {
        match fact.weight {
            FloorWeight::Destroys | FloorWeight::Publishes | FloorWeight::Asks | FloorWeight::Placeholder => true,
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
    /// can allow it.
    pub(crate) fn check(&mut self, fact: &FloorFact, at: RunMillis) -> Result<Option<ActOrigin>, EnforcementError> {
        let mut standing = self.allowed.newest_first();
        if let Some(word) = standing.find(|allowance| allowance.digest == fact.digest && at < allowance.until) {
            return Ok(word.by.clone());
        }
        if !self.waits(fact) {
            self.held.push(Held { code: fact.code.clone(), digest: fact.digest });
        }
        let FloorFact { code, digest: _, reason, rule, weight: _ } = fact.clone();
        Err(EnforcementError::FloorHeld(FloorHeldError { code, reason, rule }))
    }

    /// A person allows what waits under a code, once.
    pub(crate) fn allow(&mut self, code: &Label, at: RunMillis, by: Option<&ActOrigin>) -> Allowed {
        let mut of_code = self.held.newest_first().filter(|held| held.code == *code).map(|held| held.digest);
        let Some(digest) = of_code.next() else { return Allowed::NothingWaits };
        if of_code.any(|other| other != digest) {
            return Allowed::Ambiguous;
        }
        let until = at.plus(RunMillis::new(ALLOWANCE_MS));
        self.allowed.push(Allowance { digest, until, by: by.cloned() });
        Allowed::Once
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

    /// The codes that wait, newest first.
    pub(crate) fn waiting(&self) -> Vec<Label> {
        self.held.newest_first().map(|held| held.code.clone()).collect()
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

    #[test]
    fn floor_1_few_lost_files_pass_and_are_counted_over_the_session() {
        let mut floor = Floor::default();
        let at = RunMillis::new(5);
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
        assert_eq!(floor.allow(&third.code, at, None), Allowed::Once);
        assert!(floor.check(&third, at).is_ok());
        floor.spend(&third);
        assert!(!floor.weighs(&loses(b"rm d", 2)), "a person looked: it is counted anew");
        assert!(floor.weighs(&loses(b"rm d e f", 3)), "three at once are held in any case");
    }

    #[test]
    fn floor_1_an_allowance_is_for_one_command_once() {
        let mut floor = Floor::default();
        let (this, at) = (fact(b"rm -rf ~", "AAAA-AA"), RunMillis::new(5));
        assert!(floor.check(&this, at).is_err());
        assert_eq!(floor.allow(&this.code, at, None), Allowed::Once);
        assert!(floor.check(&this, at).is_ok());
        assert!(floor.check(&fact(b"rm -rf /", "BBBB-BB"), at).is_err(), "another command");
        floor.spend(&this);
        assert!(floor.check(&this, at).is_err(), "used up");
    }

    #[test]
    fn floor_1_a_forged_code_allows_neither_command() {
        let mut floor = Floor::default();
        let at = RunMillis::new(5);
        let (harmless, harmful) = (fact(b"rm -rf old", "AAAA-AA"), fact(b"rm -rf ~", "AAAA-AA"));
        assert!(floor.check(&harmless, at).is_err());
        assert!(floor.check(&harmful, at).is_err());
        assert_eq!(floor.allow(&harmless.code, at, None), Allowed::Ambiguous);
        assert!(floor.check(&harmless, at).is_err());
        assert!(floor.check(&harmful, at).is_err());
        assert_eq!(floor.allow(&Label::cut("ZZZZ-ZZ"), at, None), Allowed::NothingWaits);
    }

    #[test]
    fn floor_1_a_forged_code_after_the_allowance_stays_held() {
        let mut floor = Floor::default();
        let at = RunMillis::new(5);
        let (harmless, harmful) = (fact(b"rm -rf old", "AAAA-AA"), fact(b"rm -rf ~", "AAAA-AA"));
        assert!(floor.check(&harmless, at).is_err());
        assert_eq!(floor.allow(&harmless.code, at, None), Allowed::Once);
        assert!(floor.check(&harmful, at).is_err());
        assert!(floor.check(&harmless, at).is_ok());
    }

    #[test]
    fn floor_1_an_allowance_ends_after_a_day() {
        let mut floor = Floor::default();
        let (this, at) = (fact(b"rm -rf ~", "AAAA-AA"), RunMillis::new(5));
        assert!(floor.check(&this, at).is_err());
        assert_eq!(floor.allow(&this.code, at, None), Allowed::Once);
        assert!(floor.check(&this, RunMillis::new(ALLOWANCE_MS + 4)).is_ok());
        assert!(floor.check(&this, RunMillis::new(ALLOWANCE_MS + 5)).is_err());
    }
}
