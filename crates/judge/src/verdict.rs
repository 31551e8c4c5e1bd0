//! The answer to one command line.

use crate::effect::Effect;
use crate::hold::{GuardRule, Segment};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::Metadata;
use std::path::PathBuf;
use tripwire_core::record::chain::Digest;
use tripwire_fs::{bounded, file};

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
    /// What the line would run, with what stands in the scripts that it calls: a person's answer is bound to it.
    #[serde(skip)]
    pub(crate) runs: String,
    /// The files that it names: their content belongs to it.
    #[serde(skip)]
    pub(crate) named: Vec<PathBuf>,
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
                runs: String::new(),
                named: Vec::new(),
            },
        }
    }

    fn passed(reason: &str, segments: Vec<JudgedSegment>) -> Self {
        Self {
            verdict: Answer::Pass,
            rule: None,
            reason: reason.to_owned(),
            segments,
            effect: None,
            lost: Vec::new(),
            runs: String::new(),
            named: Vec::new(),
        }
    }

    pub(crate) fn refused(rule: GuardRule, reason: &str) -> Self {
        Self {
            verdict: Answer::Hold,
            rule: Some(rule),
            reason: reason.to_owned(),
            segments: Vec::new(),
            effect: None,
            lost: Vec::new(),
            runs: String::new(),
            named: Vec::new(),
        }
    }

    /// What a person's answer is bound to beside the line itself: the rule, what would run, and what would be hit. Sizes are
    /// left out, because a log that grows by a line is no other target.
    pub(crate) fn bound(&self) -> String {
        let mut effect = self.effect.clone().unwrap_or_default();
        effect.targets.iter_mut().for_each(|target| target.bytes = 0);
        let lost: Vec<_> = self.lost.iter().map(|path| path.display().to_string()).collect();
        let rule = self.rule.map_or("", GuardRule::name);
        let card = serde_json::to_string(&effect).unwrap_or_default();
        [rule, &self.runs, &card, &lost.join("\n"), &contents(&self.named)].join("\0")
    }
}

/// The content of files that a line names, as digests: a script that was changed is another one. Large files count by their
/// size; what is no file, by its name, which is in the line.
pub(crate) fn contents(named: &[PathBuf]) -> String {
    let mut text = String::new();
    for path in named.iter().take(NAMED_READ_MAX) {
        let size = path.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.len());
        let read = || bounded::read_whole(file::open_regular(path).ok()?, CONTENT_BYTES_MAX).ok();
        let digest = || read().map(|bytes| Digest::of(&bytes).to_string());
        // Writing to a string cannot fail.
        let _written = match size {
            Some(size) if size > CONTENT_BYTES_MAX => writeln!(text, "{size} bytes"),
            Some(_) => writeln!(text, "{}", digest().unwrap_or_default()),
            None => writeln!(text, "none"),
        };
    }
    text
}

/// Named files whose content is read.
const NAMED_READ_MAX: usize = 32;
/// The largest file that is read.
const CONTENT_BYTES_MAX: u64 = 256 << 10;
