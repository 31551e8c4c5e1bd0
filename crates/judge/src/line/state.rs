//! What a command line has done so far to its own surroundings: folders, variables, functions, files it wrote.

use crate::line::call::Place;
use crate::line::field::{Field, Origin, StandIn};
use crate::line::mounts::Mounts;
use crate::line::stream::Stream;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use tripwire_shell::Command;

/// The surroundings of the next command.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The folders it may run in; empty when nobody can know.
    pub(crate) cwds: Vec<PathBuf>,
    /// The folders it runs in if the last `cd` failed.
    pub(crate) fallback: Vec<PathBuf>,
    /// Folders left with `pushd`.
    pub(crate) stack: Vec<Vec<PathBuf>>,
    /// Variables that are known.
    pub(crate) variables: BTreeMap<String, Field>,
    /// Arrays that are known.
    pub(crate) arrays: BTreeMap<String, Vec<Field>>,
    /// `$1` and so on.
    pub(crate) positional: Vec<Field>,
    /// Functions that were defined.
    pub(crate) functions: BTreeMap<String, Rc<Command>>,
    /// Aliases that were defined.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Aliases that were given to git.
    pub(crate) git_aliases: BTreeMap<String, String>,
    /// Files that the line wrote, with what it wrote.
    pub(crate) files: BTreeMap<PathBuf, Stream>,
    /// Folders that the line made.
    pub(crate) made: BTreeSet<PathBuf>,
    /// What the container sees in which the next command runs.
    pub(crate) mounts: Mounts,
    /// Paths that the line deleted.
    pub(crate) removed: BTreeSet<PathBuf>,
    /// What the line moved: from where, and where it is now.
    pub(crate) moved: Vec<(PathBuf, PathBuf)>,
    /// Links that the line made: what they lead to, and where they are.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Variables that are only other names of variables: `declare -n`.
    pub(crate) references: BTreeMap<String, String>,
    /// Functions that a shell started from here knows.
    pub(crate) exported: BTreeSet<String>,
    /// Functions that only some ways through the line define: the program of that name may run instead.
    pub(crate) doubtful: BTreeSet<String>,
    /// What the shell does at its end.
    pub(crate) traps: Vec<Trap>,
}

/// Code that a shell runs at its end.
#[derive(Debug, Clone)]
pub(crate) struct Trap {
    pub(crate) code: String,
    /// The command that set it, for the verdict.
    pub(crate) source: String,
    /// Where the shell runs.
    pub(crate) place: Place,
}

impl State {
    /// The likeliest folder of the next command.
    pub(crate) fn cwd(&self) -> Option<&Path> {
        self.cwds.first().map(PathBuf::as_path)
    }

    /// The value of a variable.
    pub(crate) fn variable(&self, name: &str) -> Field {
        // One step is enough: a reference to a reference is nobody's everyday work.
        let name = self.references.get(name).map_or(name, String::as_str);
        match name {
            "PWD" => self.cwd().map_or_else(|| Field::from_unknown(Origin::Variable("PWD".to_owned())), Field::of_path),
            "#" => Field::of(&self.positional.len().to_string()),
            "?" | "$" | "!" | "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "BASHPID" => {
                Field::from_stand_in(StandIn::Number)
            }
            "0" => self.variables.get("0").cloned().unwrap_or_else(|| Field::of("bash")),
            number if number.chars().all(|digit| digit.is_ascii_digit()) && !number.is_empty() => {
                let index = number.parse::<usize>().unwrap_or(usize::MAX);
                index
                    .checked_sub(1)
                    .and_then(|index| self.positional.get(index))
                    .cloned()
                    .unwrap_or_else(|| Field::of(""))
            }
            _ => self
                .variables
                .get(name)
                .cloned()
                .unwrap_or_else(|| Field::from_unknown(Origin::Variable(name.to_owned()))),
        }
    }

    /// The characters at which expansions are split; blanks, where `IFS` is not known.
    pub(crate) fn separators(&self) -> String {
        self.variables.get("IFS").and_then(Field::known).unwrap_or_else(|| " \t\n".to_owned())
    }

    /// A path in the likeliest folder, without looking at the disk.
    pub(crate) fn absolute(&self, name: &str) -> Option<PathBuf> {
        if name.starts_with('/') {
            return Some(plain(Path::new(name)));
        }
        self.cwd().map(|cwd| plain(&cwd.join(name)))
    }

    /// Gives what a process substitution writes a name that the command can be given.
    pub(crate) fn keep_process(&mut self, stream: Stream) -> String {
        let name = format!("/dev/fd/{}", 63 + self.files.len());
        self.files.insert(PathBuf::from(&name), stream);
        name
    }

    /// Takes what another way through the line may have done: what differs is no longer known.
    pub(crate) fn merge(&mut self, other: &Self) {
        for cwd in &other.cwds {
            if !self.cwds.contains(cwd) {
                self.cwds.push(cwd.clone());
            }
        }
        if other.cwds.is_empty() {
            self.cwds.clear();
        }
        for (name, value) in &other.variables {
            let known = self.variables.get(name);
            if known != Some(value) {
                let counts = value.is_number() && known.is_some_and(Field::is_number);
                let unknown = Field::from_unknown(Origin::Variable(name.clone()));
                let merged = if counts { Field::from_stand_in(StandIn::Number) } else { unknown };
                self.variables.insert(name.clone(), merged);
            }
        }
        self.variables.retain(|name, _| other.variables.contains_key(name));
        let known = self.functions.clone();
        self.functions.extend(other.functions.clone());
        self.doubt_functions(&known);
        self.doubt_functions(&other.functions);
        self.doubtful.extend(other.doubtful.iter().cloned());
        self.exported.extend(other.exported.iter().cloned());
        self.traps.extend(other.traps.iter().skip(self.traps.len()).cloned());
        self.aliases.extend(other.aliases.clone());
        self.git_aliases.extend(other.git_aliases.clone());
        self.keep_files(other.clone());
    }

    /// Takes what another shell did to files, and nothing else of it.
    pub(crate) fn keep_files(&mut self, other: Self) {
        self.files.extend(other.files);
        self.made.extend(other.made);
        self.removed.extend(other.removed);
        self.links = other.links;
        let known = std::mem::replace(&mut self.moved, other.moved);
        for pair in known {
            if !self.moved.contains(&pair) {
                self.moved.push(pair);
            }
        }
    }

    pub(crate) fn define(&mut self, name: &str, body: &Rc<Command>) {
        self.doubtful.remove(name);
        self.functions.insert(name.to_owned(), Rc::clone(body));
    }

    /// Functions that were not known before may be missing where another way was gone.
    pub(crate) fn doubt_functions(&mut self, before: &BTreeMap<String, Rc<Command>>) {
        let same = |name: &String, body: &Rc<Command>| before.get(name).is_some_and(|known| Rc::ptr_eq(known, body));
        let new = self.functions.iter().filter(|(name, body)| !same(name, body)).map(|(name, _)| name.clone());
        self.doubtful.extend(new.collect::<Vec<_>>());
    }

    /// What another program knows of this shell: exported functions, and no alias.
    pub(crate) fn leave_shell(&mut self) {
        let exported = &self.exported;
        self.functions.retain(|name, _| exported.contains(name));
        self.aliases.clear();
    }

    /// Whether a path lies in something that the line itself made, where nothing was before.
    pub(crate) fn is_made(&self, path: &Path) -> bool {
        let gone = |path: &Path| !path.exists() || path.ancestors().any(|above| self.removed.contains(above));
        path.ancestors().any(|above| self.made.contains(above) && gone(above))
    }

    /// Where what lies at or below a path now was before the line moved it.
    pub(crate) fn origins(&self, path: &Path) -> Vec<PathBuf> {
        let origin = |(from, to): &(PathBuf, PathBuf)| match path.strip_prefix(to) {
            Ok(rest) if rest.as_os_str().is_empty() => Some(from.clone()),
            Ok(rest) => Some(from.join(rest)),
            Err(_) => to.starts_with(path).then(|| from.clone()),
        };
        // Behind a link lies what it leads to; the link itself is only a link.
        let behind = |(from, to): &(PathBuf, PathBuf)| {
            let rest = path.strip_prefix(to).ok()?;
            (!rest.as_os_str().is_empty()).then(|| from.join(rest))
        };
        self.moved.iter().filter_map(origin).chain(self.links.iter().filter_map(behind)).collect()
    }

    /// Notes that something was moved.
    pub(crate) fn note_move(&mut self, from: &Path, to: &Path) {
        let mut carried = false;
        for (_, now) in &mut self.moved {
            if let Ok(rest) = now.strip_prefix(from).map(Path::to_owned) {
                *now = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
                carried = true;
            }
        }
        if !carried || from.exists() {
            self.moved.push((from.to_owned(), to.to_owned()));
        }
    }
}

/// A path without `.` and `..`, by its text.
pub(crate) fn plain(path: &Path) -> PathBuf {
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
