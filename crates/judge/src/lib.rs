//! The judge: what a shell command line would destroy for good, found out without running it.
//!
//! One rule decides: *irreversible, and outside of what the run itself may lose*. A line is parsed as bash would parse
//! it, every command in every position is looked at in the folder and with the variables it would have, and the real
//! workspace says what would be hit: the same `git checkout -- .` is harmless in a clean tree and ruinous in a dirty
//! one. The judge only finds facts; whether they bind is the core's decision (`FLOOR-1`).

mod abbreviations;
mod builtin;
mod call;
mod compound;
mod conflict;
mod effect;
mod expand;
mod fact;
mod field;
mod find;
mod hold;
mod invoke;
mod losses;
mod mounts;
mod named;
mod past;
pub mod paths;
pub mod reading;
mod remember;
mod repository;
mod rules;
mod runners;
mod state;
mod stream;
mod walk;
mod world;
mod wrappers;

#[cfg(test)]
mod tests;

pub use effect::{Count, Effect, Names, Target};
pub use hold::FloorRule;

use self::call::Place;
use self::field::Field;
use self::reading::Reading;
use self::state::State;
use self::stream::Stream;
use self::walk::Walker;
use self::world::World;
use serde::Serialize;
use std::path::PathBuf;
use std::time::SystemTime;

/// Longest command line that is judged; a longer one is held, because nobody reads it either.
pub const COMMAND_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What the door that asks knows about the surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The folder that the run may work in.
    pub workspace: PathBuf,
    /// The folder in which the command would start.
    pub cwd: PathBuf,
    /// The home of the user who runs it.
    pub home: Option<PathBuf>,
    /// The user's name.
    pub user: Option<String>,
    /// The system's temporary folders.
    pub temporary: Vec<PathBuf>,
    /// Patterns of branches that a person protects beside the usual ones.
    pub protected: Vec<String>,
    /// When the session began: what was born later is the run's own.
    pub began: Option<SystemTime>,
}

impl Facts {
    /// The facts of this process: its home, its user, its temporary folders.
    #[must_use]
    pub fn here(workspace: PathBuf, cwd: PathBuf) -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let folders = text("TMPDIR").into_iter().chain(["/tmp", "/var/tmp", "/dev/shm"].map(str::to_owned));
        Self {
            workspace,
            cwd,
            home: text("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            user: text("USER").or_else(|| text("LOGNAME")),
            temporary: folders.map(PathBuf::from).filter(|folder| folder.is_absolute()).collect(),
            protected: Vec::new(),
            began: None,
        }
    }
}

/// The answer to one command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether the line may run.
    pub verdict: Answer,
    /// The rule that holds it.
    pub rule: Option<FloorRule>,
    /// Why, in words for a person.
    pub reason: String,
    /// Every command of the line.
    pub segments: Vec<JudgedSegment>,
    /// What would be hit.
    pub effect: Option<Effect>,
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
    pub rule: Option<FloorRule>,
}

/// Judges command lines in one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judge {
    facts: Facts,
}

impl Judge {
    /// A judge for these surroundings.
    #[must_use]
    pub const fn new(facts: Facts) -> Self {
        Self { facts }
    }

    /// The same judge for a command that starts in another folder.
    #[must_use]
    pub fn at(self, cwd: PathBuf) -> Self {
        Self { facts: Facts { cwd, ..self.facts } }
    }

    /// Judges one command line. Nothing is run but read-only questions to git, and those only when a rule asks.
    #[must_use]
    pub fn judge(&self, command: &str) -> Verdict {
        self.read(command).verdict
    }

    /// Judges one command line and tells what it would run.
    #[must_use]
    pub fn read(&self, command: &str) -> Reading {
        if command.len() > COMMAND_BYTES_MAX {
            return Reading::refused(Verdict::refused(FloorRule::TooComplex, "the line is longer than 2 MiB"));
        }
        let parsed = tripwire_shell::parse(command);
        if let Some(error @ tripwire_shell::SyntaxError::TooDeep) = parsed.error {
            return Reading::refused(Verdict::refused(FloorRule::TooComplex, &error.to_string()));
        }
        let world = World::new(&self.facts);
        let mut walker = Walker::new(&world, self.start());
        let _written = walker.script(&parsed.script, &Stream::Closed, Place::Here);
        walker.spring_traps();
        if world.budget() == world::Budget::Spent {
            walker.hold(hold::Hold::plain(FloorRule::TooComplex, "it reaches over more files than can be looked at"));
        }
        let reading::Notes { commands, extent } = std::mem::take(&mut walker.notes);
        let verdict = Verdict::of(walker.segments);
        let verdict = match (parsed.error, verdict.verdict) {
            (Some(error), Answer::Pass) => {
                Verdict { reason: format!("a shell stops at what it cannot parse: {error}"), ..verdict }
            }
            (Some(_), Answer::Hold) | (None, Answer::Pass | Answer::Hold) => verdict,
        };
        Reading { verdict, commands, extent }
    }

    fn start(&self) -> State {
        let mut state = State { cwds: vec![self.facts.cwd.clone()], ..State::default() };
        let mut set = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                state.variables.insert(name.to_owned(), Field::of(&value));
            }
        };
        set("HOME", self.facts.home.as_ref().map(|home| home.display().to_string()));
        set("USER", self.facts.user.clone());
        set("LOGNAME", self.facts.user.clone());
        set("TMPDIR", self.facts.temporary.first().map(|folder| folder.display().to_string()));
        set("IFS", Some(" \t\n".to_owned()));
        // Whichever shell they name, it runs what stands behind `-c`.
        set("SHELL", Some("/bin/bash".to_owned()));
        set("BASH", Some("/bin/bash".to_owned()));
        state
    }
}

impl Verdict {
    fn of(segments: Vec<hold::Segment>) -> Self {
        let judged = |segment: &hold::Segment| JudgedSegment {
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
            },
        }
    }

    fn passed(reason: &str, segments: Vec<JudgedSegment>) -> Self {
        Self { verdict: Answer::Pass, rule: None, reason: reason.to_owned(), segments, effect: None }
    }

    fn refused(rule: FloorRule, reason: &str) -> Self {
        Self { verdict: Answer::Hold, rule: Some(rule), reason: reason.to_owned(), segments: Vec::new(), effect: None }
    }
}
