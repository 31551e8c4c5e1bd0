//! What a command line has done so far to its own surroundings: folders, variables, functions, files it wrote.

use super::expand::unknown;
use super::field::{Field, Origin};
use super::mounts::Mounts;
use super::shell::Command;
use super::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

/// The surroundings of the next command.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// The folders it may run in; empty when nobody can know.
    pub(super) cwds: Vec<PathBuf>,
    /// The folders it runs in if the last `cd` failed.
    pub(super) fallback: Vec<PathBuf>,
    /// Folders left with `pushd`.
    pub(super) stack: Vec<Vec<PathBuf>>,
    /// Variables that are known.
    pub(super) variables: BTreeMap<String, Field>,
    /// Arrays that are known.
    pub(super) arrays: BTreeMap<String, Vec<Field>>,
    /// `$1` and so on.
    pub(super) positional: Vec<Field>,
    /// Functions that were defined.
    pub(super) functions: BTreeMap<String, Rc<Command>>,
    /// Aliases that were defined.
    pub(super) aliases: BTreeMap<String, String>,
    /// Aliases that were given to git.
    pub(super) git_aliases: BTreeMap<String, String>,
    /// Files that the line wrote, with what it wrote.
    pub(super) files: BTreeMap<PathBuf, Stream>,
    /// Folders that the line made.
    pub(super) made: BTreeSet<PathBuf>,
    /// What the container sees in which the next command runs.
    pub(super) mounts: Mounts,
}

impl State {
    /// The likeliest folder of the next command.
    pub(super) fn cwd(&self) -> Option<&Path> {
        self.cwds.first().map(PathBuf::as_path)
    }

    /// The value of a variable.
    pub(super) fn variable(&self, name: &str) -> Field {
        match name {
            "PWD" => self.cwd().map_or_else(|| unknown(Origin::Variable("PWD".to_owned())), path_field),
            "?" | "$" | "!" | "#" | "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "BASHPID" => {
                Field::of("0")
            }
            "0" => Field::of("bash"),
            number if number.chars().all(|digit| digit.is_ascii_digit()) && !number.is_empty() => {
                let index = number.parse::<usize>().unwrap_or(usize::MAX);
                index
                    .checked_sub(1)
                    .and_then(|index| self.positional.get(index))
                    .cloned()
                    .unwrap_or_else(|| Field::of(""))
            }
            _ => self.variables.get(name).cloned().unwrap_or_else(|| unknown(Origin::Variable(name.to_owned()))),
        }
    }

    /// The characters at which expansions are split; blanks, where `IFS` is not known.
    pub(super) fn separators(&self) -> String {
        self.variables.get("IFS").and_then(Field::known).unwrap_or_else(|| " \t\n".to_owned())
    }

    /// A path in the likeliest folder, without looking at the disk.
    pub(super) fn absolute(&self, name: &str) -> Option<PathBuf> {
        if name.starts_with('/') {
            return Some(plain(Path::new(name)));
        }
        self.cwd().map(|cwd| plain(&cwd.join(name)))
    }

    /// Gives what a process substitution writes a name that the command can be given.
    pub(super) fn keep_process(&mut self, stream: Stream) -> String {
        let name = format!("/dev/fd/{}", 63 + self.files.len());
        self.files.insert(PathBuf::from(&name), stream);
        name
    }

    /// Takes what another way through the line may have done: what differs is no longer known.
    pub(super) fn merge(&mut self, other: &Self) {
        for cwd in &other.cwds {
            if !self.cwds.contains(cwd) {
                self.cwds.push(cwd.clone());
            }
        }
        if other.cwds.is_empty() {
            self.cwds.clear();
        }
        for (name, value) in &other.variables {
            if self.variables.get(name) != Some(value) {
                self.variables.insert(name.clone(), unknown(Origin::Variable(name.clone())));
            }
        }
        self.variables.retain(|name, _| other.variables.contains_key(name));
        self.functions.extend(other.functions.clone());
        self.aliases.extend(other.aliases.clone());
        self.git_aliases.extend(other.git_aliases.clone());
        self.files.extend(other.files.clone());
        self.made.extend(other.made.iter().cloned());
    }
}

/// A path as an argument.
pub(super) fn path_field(path: &Path) -> Field {
    Field::of(&path.display().to_string())
}

/// A path without `.` and `..`, by its text.
pub(super) fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => out.push(component),
        }
    }
    out
}
