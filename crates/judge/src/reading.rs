//! What a command line would run: the programs with their words after every expansion, as the interpreter reaches them.
//!
//! This is the reading that the rules judge by, handed on so that nobody has to read the line a second time: behind
//! variables, functions, aliases, pipes into a shell, `env -S`, `find -exec`, code inside code. What the rules know about
//! a `git push` comes along.

use crate::line::address::Address;
use crate::line::call::{Call, rest_of};
use crate::line::field::Field;
use crate::line::state::State;
use crate::verdict::Verdict;
use std::path::{Path, PathBuf};
use tripwire_core::input::{FloorFact, FloorWeight};
use tripwire_shell::glob::Glob;

/// Hosts and files of one command that are kept.
const NAMED_MAX: usize = 64;

/// Words of one command that are looked at for them.
const LOOKED_AT_MAX: usize = 256;

/// Options with a value of programs that go to one machine.
const SHELL_VALUES: [&str; 16] =
    ["-p", "-i", "-l", "-o", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-e", "-m", "-w", "-W", "-P"];

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
    /// The hosts that it names.
    pub hosts: Vec<String>,
    /// The files that it names: those that are there, and those that are written like a path.
    pub paths: Vec<PathBuf>,
}

impl CommandReading {
    /// Its words as one text.
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }

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

impl CallReading {
    /// Adds that a policy wants a person asked, unless something weighs more.
    pub fn ask(&mut self, fact: FloorFact) {
        let lighter = self.floor.as_ref().is_none_or(|own| matches!(own.weight, FloorWeight::Loses(_)));
        if lighter {
            self.floor = Some(fact);
        }
    }
}

impl Reading {
    /// A line that was not read at all.
    pub(crate) const fn refused(verdict: Verdict) -> Self {
        Self { verdict, commands: Vec::new(), extent: Extent::Cut }
    }
}

impl CommandReading {
    /// A command as it would be run. git's are read by its rules, which know its own options.
    pub(crate) fn of(call: &Call, state: &State) -> Option<Self> {
        let name = call.name();
        let arguments = call.args.iter().skip(1).map(Field::shown);
        git_verb(&name).is_none().then(|| Self {
            hosts: hosts(&name, call),
            paths: paths(call, state),
            words: [name].into_iter().chain(arguments).collect(),
            push: None,
        })
    }

    /// Files that are read or written without a command, or by the redirections of one.
    pub(crate) fn of_redirections(paths: Vec<PathBuf>) -> Self {
        Self { words: vec!["<".to_owned()], push: None, hosts: Vec::new(), paths }
    }

    /// A command of git: the subcommand with its arguments, and what it pushes.
    pub(crate) fn of_git(call: &Call, push: Option<Push>) -> Self {
        let arguments = call.args.iter().map(Field::shown);
        let hosts = hosts("git", call);
        Self { words: ["git".to_owned()].into_iter().chain(arguments).collect(), push, hosts, paths: Vec::new() }
    }
}

/// The hosts that a call names: in an address, or as the machine that it goes to.
fn hosts(name: &str, call: &Call) -> Vec<String> {
    let operands: Vec<String> = call.operands().iter().take(LOOKED_AT_MAX).map(|field| field.text()).collect();
    let fetches = matches!(name, "curl" | "wget" | "http" | "https" | "xh" | "aria2c" | "fetch");
    let is_address = |word: &&String| match word.split_once("://") {
        Some((scheme, _)) => !matches!(scheme, "s3" | "gs" | "az" | "file"),
        None => fetches,
    };
    let addresses = operands.iter().filter(is_address).filter_map(|word| Address::of(word));
    let mut hosts: Vec<String> = addresses.map(|address| address.host).collect();
    let machine = |word: &str| {
        let (_, host) = word.rsplit_once('@').unwrap_or(("", word));
        let host = host.split([':', '/']).next().unwrap_or_default().to_ascii_lowercase();
        Some(host).filter(|host| !host.is_empty())
    };
    match name {
        "ssh" | "mosh" | "autossh" | "telnet" | "ping" | "nc" | "ncat" => {
            let (_, rest) = rest_of(call.args.get(1..).unwrap_or_default(), &SHELL_VALUES, 0);
            hosts.extend(rest.first().and_then(|word| machine(&word.text())));
        }
        "scp" | "rsync" | "sftp" | "git" => {
            let remote = operands.iter().filter(|word| !word.contains("://") && word.contains(':'));
            hosts.extend(remote.filter_map(|word| machine(word)));
        }
        _ => {}
    }
    hosts.sort();
    hosts.dedup();
    hosts.truncate(NAMED_MAX);
    hosts
}

/// The files that a call names. What is only said is no file.
fn paths(call: &Call, state: &State) -> Vec<PathBuf> {
    if matches!(call.name().as_str(), "echo" | "printf" | ":" | "export" | "cd") || state.cwd().is_none() {
        return Vec::new();
    }
    let values = call.args.iter().skip(1).take(LOOKED_AT_MAX).filter_map(Field::known);
    let values = values.map(|word| match word.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value.to_owned(),
        Some(_) | None => word,
    });
    let named = values.filter(|word| !word.starts_with('-') && !word.is_empty() && !word.contains("://"));
    let paths = named.filter_map(|word| Some((state.absolute(&word)?, word)));
    let is_file = |path: &Path, word: &str| {
        path.symlink_metadata().is_ok() || (word.contains('/') && !word.contains(char::is_whitespace))
    };
    paths.filter(|(path, word)| is_file(path, word)).map(|(path, _)| path).take(NAMED_MAX).collect()
}

/// The subcommand that a program's name carries: nothing for `git`, `push` for `git-push`.
pub(crate) fn git_verb(name: &str) -> Option<&str> {
    if name == "git" { Some("") } else { name.strip_prefix("git-") }
}
