//! The answer to one command line.

use crate::effect::Effect;
use crate::hold::{GuardRule, Segment};
use serde::Serialize;
use std::path::PathBuf;

/// The answer to one command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether the line may run.
    pub verdict: Answer,
    /// The rule that holds it.
    pub rule: Option<GuardRule>,
    /// Why, in words for a person.
    pub reason: String,
    /// Every command of the line.
    pub segments: Vec<JudgedSegment>,
    /// What would be hit.
    pub effect: Option<Effect>,
    /// Files that git does not know and that the line would lose, though too few to be held for alone.
    #[serde(skip)]
    pub lost: Vec<PathBuf>,
}

/// The two answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// Nothing in it is irreversible.
    Pass,
    /// It waits for a person.
    Hold,
}

/// One command of the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JudgedSegment {
    /// The text as written.
    pub command: String,
    /// The answer to it alone.
    pub verdict: Answer,
    /// The rule that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<GuardRule>,
}

impl Verdict {
    pub(crate) fn of(segments: Vec<Segment>) -> Self {
        let judged = |segment: &Segment| JudgedSegment {
            command: segment.command.clone(),
            verdict: if segment.hold.is_some() { Answer::Hold } else { Answer::Pass },
            rule: segment.hold.as_ref().map(|hold| hold.rule),
        };
        let shown = segments.iter().map(judged).collect();
        // The strictest rule speaks for the line: they are ordered by what they would cost.
        match segments.into_iter().filter_map(|segment| segment.hold).min_by_key(|hold| hold.rule) {
            None => Self::passed("nothing in it is irreversible", shown),
            Some(hold) => Self {
                verdict: Answer::Hold,
                rule: Some(hold.rule),
                reason: hold.reason,
                segments: shown,
                effect: Some(hold.effect).filter(|effect| !effect.is_empty()),
                lost: Vec::new(),
            },
        }
    }

    fn passed(reason: &str, segments: Vec<JudgedSegment>) -> Self {
        Self { verdict: Answer::Pass, rule: None, reason: reason.to_owned(), segments, effect: None, lost: Vec::new() }
    }

    pub(crate) fn refused(rule: GuardRule, reason: &str) -> Self {
        Self {
            verdict: Answer::Hold,
            rule: Some(rule),
            reason: reason.to_owned(),
            segments: Vec::new(),
            effect: None,
            lost: Vec::new(),
        }
    }
}
