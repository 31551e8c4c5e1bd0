//! What a command line would run: the programs with their words after every expansion, as the interpreter reaches them.
//!
//! This is the reading that the rules judge by, handed on so that nobody has to read the line a second time: behind
//! variables, functions, aliases, pipes into a shell, `env -S`, `find -exec`, code inside code. What the rules know about
//! a `git push` comes along.

use crate::line::call::Call;
use crate::line::field::Field;
use crate::verdict::Verdict;
use tripwire_core::input::FloorFact;
use tripwire_shell::glob::Glob;

/// One command line, read and judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What it would destroy.
    pub verdict: Verdict,
    /// What it would run, wrappers before what they wrap, in the order of the line.
    pub commands: Vec<CommandReading>,
    /// Whether that is all.
    pub extent: Extent,
}

/// Whether a line was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Extent {
    /// Every command is there.
    #[default]
    Whole,
    /// The line is too long, too deep or too large: it may run more than is listed.
    Cut,
}

/// One command that a line would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReading {
    /// The program's name without its folder, then its arguments. Options of git itself, such as `-C`, are left out. What
    /// cannot be known before it runs is shown as `${NAME}` or `$(…)`.
    pub words: Vec<String>,
    /// What it pushes, if it is a push.
    pub push: Option<Push>,
}

impl CommandReading {
    /// Whether it is the command of these words, whatever follows them.
    #[must_use]
    pub fn starts_with(&self, words: &[&str]) -> bool {
        self.words.len() >= words.len() && self.words.iter().zip(words).all(|(own, word)| own == word)
    }
}

/// What a `git push` would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The remote.
    pub remote: String,
    /// The branches on it, each with what happens to it. A dry run reaches none.
    pub reaches: Vec<Reach>,
}

impl Push {
    /// Whether it may reach a branch that fits one of these patterns, in which `*` stands for anything.
    #[must_use]
    pub fn reaches_any_of<'a>(&self, patterns: impl Iterator<Item = &'a str> + Clone) -> bool {
        self.reaches.iter().any(|reach| match &reach.branch {
            Branch::Named(branch) => patterns.clone().any(|pattern| Glob::of(pattern).fits(branch)),
            Branch::Any(_) => true,
        })
    }
}

/// A branch on a remote and what a push does to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The branch.
    pub branch: Branch,
    /// What happens to it.
    pub act: Act,
}

/// Which branch a push reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Branch {
    /// This one.
    Named(String),
    /// Every branch, or one that cannot be known; the words say why.
    Any(&'static str),
}

/// What a push does to a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It adds commits.
    Update,
    /// It may replace commits: forced, with a lease or without.
    Rewrite,
    /// It deletes the branch.
    Delete,
}

/// One tool call, read and judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallReading {
    /// What it would destroy, if anything.
    pub floor: Option<FloorFact>,
    /// What its command lines would run.
    pub commands: Vec<CommandReading>,
    /// Whether that is all.
    pub extent: Extent,
}

impl Reading {
    /// A line that was not read at all.
    pub(crate) const fn refused(verdict: Verdict) -> Self {
        Self { verdict, commands: Vec::new(), extent: Extent::Cut }
    }
}

impl CommandReading {
    /// A command as it would be run. git's are read by its rules, which know its own options.
    pub(crate) fn of(call: &Call) -> Option<Self> {
        let name = call.name();
        let arguments = call.args.iter().skip(1).map(Field::shown);
        git_verb(&name).is_none().then(|| Self { words: [name].into_iter().chain(arguments).collect(), push: None })
    }

    /// A command of git: the subcommand with its arguments, and what it pushes.
    pub(crate) fn of_git(call: &Call, push: Option<Push>) -> Self {
        let arguments = call.args.iter().map(Field::shown);
        Self { words: ["git".to_owned()].into_iter().chain(arguments).collect(), push }
    }
}

/// The subcommand that a program's name carries: nothing for `git`, `push` for `git-push`.
pub(crate) fn git_verb(name: &str) -> Option<&str> {
    if name == "git" { Some("") } else { name.strip_prefix("git-") }
}
