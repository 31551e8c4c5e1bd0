//! What a command line would do, step by step, for whoever watches over certain paths: the same reader and the same
//! expansions as the judge's, and no rule of its own.
//!
//! A part of a word that only running it would tell fits anything, as far as something else speaks for it: `.geo$X/STOP`
//! may be `.geometry/STOP`, and `$FILE` may be every file there is, which says nothing.

use super::call::{Call, Place};
use super::field::{Atom, Field, fits};
use super::find::{Action, Search};
use super::stream::Stream;
use super::walk::Walker;
use super::world::World;
use super::{COMMAND_BYTES_MAX, Judge};
use std::path::{Component, Path, PathBuf};
use tripwire_shell as shell;

/// Steps of one line that are kept; a line with more is held by the judge.
const STEPS_MAX: usize = 8_192;

/// Letters of a run of short options behind which a value is looked for.
const CLUSTER_MAX: usize = 8;

/// One step of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub doing: Doing,
    /// The folders it may run in; none when nobody can know.
    pub folders: Vec<PathBuf>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// It runs a program.
    Runs {
        /// The program as it is written.
        program: Word,
        /// Its arguments.
        words: Vec<Word>,
        /// What it reads, where that is known.
        input: Option<String>,
    },
    /// It writes to a file, or deletes it.
    Writes(Word),
}

/// A word after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(Field);

/// How a word stands to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It cannot mean the path, nor anything around it.
    Apart,
    /// It may mean the path itself.
    Same,
    /// It may mean something below the path.
    Below,
    /// It may mean a folder that holds the path.
    Above,
}

impl Judge {
    /// The steps of a command line. `watched` names the paths that a search of the line may come upon; it is asked only if
    /// the line searches. A line that the judge holds as too complex may have more steps than are told here.
    #[must_use]
    pub fn steps(&self, command: &str, watched: &dyn Fn() -> Vec<PathBuf>) -> Vec<Step> {
        if command.len() > COMMAND_BYTES_MAX {
            return Vec::new();
        }
        let parsed = shell::parse(command);
        let world = World::new(&self.facts);
        let mut walker = Walker::new(&world, self.start()).watching(watched);
        let _written = walker.script(&parsed.script, &Stream::Closed, Place::Here);
        walker.spring_traps();
        if parsed.error.is_some() {
            // bash runs nothing of what it cannot parse; another shell may read it differently.
            let words = command.split_whitespace().map(Word::of).collect();
            walker.note(Doing::Runs { program: Word::of("sh"), words, input: None });
        }
        walker.watch.map(|watch| watch.steps).unwrap_or_default()
    }
}

/// What a walk notes for whoever watches.
pub(super) struct Watch<'w> {
    watched: &'w dyn Fn() -> Vec<PathBuf>,
    steps: Vec<Step>,
}

impl<'w> Walker<'w> {
    fn watching(mut self, watched: &'w dyn Fn() -> Vec<PathBuf>) -> Self {
        self.watch = Some(Watch { watched, steps: Vec::new() });
        self
    }

    /// Whether somebody watches instead of judging.
    pub(super) const fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    fn note(&mut self, doing: Doing) {
        let folders = self.state.cwds.clone();
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.steps.len() < STEPS_MAX) {
            watch.steps.push(Step { doing, folders });
        }
    }

    /// Notes where a redirection writes; a number or a dash behind `>&` names an open file.
    pub(super) fn note_redirect(&mut self, target: Field) {
        if !is_open_file(&target) {
            self.note(Doing::Writes(Word(target)));
        }
    }

    /// The file that `>&` names, where it is one and no open file; a watched walk only notes it.
    pub(super) fn duplicated(&mut self, target: &shell::Word) -> Option<Field> {
        let target = self.one(target);
        if self.is_watched() {
            self.note_redirect(target);
            return None;
        }
        // What nobody knows is an open file as a rule: `>&$fd`.
        (target.unknown().is_none() && !is_open_file(&target)).then_some(target)
    }

    /// Notes a call. A search is followed to what it does with what it finds.
    pub(super) fn note_call(&mut self, call: &Call) {
        let Some((program, words)) = call.args.split_first() else { return };
        if matches!(call.name().as_str(), "find" | "gfind") {
            self.note_search(call);
        }
        let input = call.stdin.text().map(str::to_owned);
        let words = words.iter().cloned().map(Word).collect();
        self.note(Doing::Runs { program: Word(program.clone()), words, input });
    }

    fn note_search(&mut self, call: &Call) {
        let search = Search::read(call);
        for (number, action) in search.actions.iter().enumerate().filter(|(_, action)| **action != Action::List) {
            let hits: Vec<Field> = self.watched_hits(&search, number).iter().map(|hit| Field::of(hit)).collect();
            for hit in &hits {
                match action {
                    Action::List => {}
                    Action::Delete => self.note(Doing::Writes(Word(hit.clone()))),
                    Action::Execute(command) => {
                        let args = command.iter().map(|field| super::invoke::fill(field, "{}", hit)).collect();
                        let _written = self.invoke_program(&call.with_args(args));
                    }
                }
            }
        }
    }

    /// The watched paths that an action of a search would find.
    pub(super) fn watched_hits(&self, search: &Search, action: usize) -> Vec<String> {
        let Some(watch) = &self.watch else { return Vec::new() };
        search.hits_among(self, action, &(watch.watched)())
    }
}

impl Word {
    /// A word of plain text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(Field::of(text))
    }

    /// The text, if all of it is known; a pattern counts as it is written.
    #[must_use]
    pub fn known(&self) -> Option<String> {
        self.0.known()
    }

    /// The text with everything unknown left out: enough to look at options.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The text as a person would write it.
    #[must_use]
    pub fn shown(&self) -> String {
        self.0.shown()
    }

    /// Whether nothing of it is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.0.unknown().is_some() && self.text().is_empty()
    }

    /// The word itself, and the parts of it that may be paths of their own: values of options, both sides of a colon.
    #[must_use]
    pub fn parts(&self) -> Vec<Self> {
        let mut parts = vec![self.clone()];
        let text = self.text();
        if text.starts_with('-') && !text.starts_with("--") {
            // `-so.x`: behind whichever letter, a value may begin.
            let letters = text.bytes().skip(1).take(CLUSTER_MAX).take_while(u8::is_ascii_alphanumeric).count();
            parts.extend((2..=letters + 1).filter(|at| *at < text.len()).map(|at| Self(self.0.without_prefix(at))));
        }
        let mut part = Field::default();
        let mut split = 0_usize;
        for atom in &self.0.atoms {
            let Atom::Text(text) = atom else {
                part.atoms.push(atom.clone());
                continue;
            };
            for (number, piece) in text.split(['=', ':', ',']).enumerate() {
                if number > 0 {
                    parts.push(Self(std::mem::take(&mut part)));
                    split += 1;
                }
                part.push_text(piece);
            }
        }
        if split > 0 {
            parts.push(Self(part));
        }
        parts
    }

    /// The path that it names, seen from a folder, if all of it is known and it is no pattern.
    #[must_use]
    pub fn path(&self, folder: Option<&Path>) -> Option<PathBuf> {
        let plain = !self.0.atoms.iter().any(|atom| matches!(atom, Atom::Glob(_)));
        let text = self.known().filter(|text| plain && !text.is_empty())?;
        if text.starts_with('/') { Some(PathBuf::from(text)) } else { folder.map(|folder| folder.join(text)) }
    }

    /// How it stands to a plain absolute path, seen from a folder. `telling` are names that speak for a word whose
    /// beginning is not known; a name of everyday files does not.
    #[must_use]
    pub fn relation(&self, folder: Option<&Path>, path: &Path, telling: &[&str]) -> Relation {
        let target: Vec<String> = normal_parts(path).collect();
        let mut parts = super::world::components(&self.0);
        parts.retain(|part| !matches!(part.as_slice(), [Atom::Text(text)] if text == "."));
        // Quotes leave empty texts behind.
        let first = self.0.atoms.iter().find(|atom| !matches!(atom, Atom::Text(text) if text.is_empty()));
        let starts_unknown = matches!(first, Some(Atom::Unknown(..)));
        let absolute = self.0.text().starts_with('/') && !starts_unknown;
        match (absolute, folder) {
            _ if starts_unknown => floating(&parts, &target, telling),
            (true, _) => aligned(&without_parents(Vec::new(), parts), &target, telling),
            (false, Some(folder)) => {
                let base = normal_parts(folder).map(|part| vec![Atom::Text(part)]).collect();
                aligned(&without_parents(base, parts), &target, telling)
            }
            (false, None) => floating(&parts, &target, telling),
        }
    }

    /// Whether one of its parts, seen from a folder, is this name.
    #[must_use]
    pub fn has_part(&self, folder: Option<&Path>, name: &str) -> bool {
        let inside = !self.0.text().starts_with('/')
            && folder.is_some_and(|folder| folder.components().any(|part| part.as_os_str() == name));
        inside || super::world::components(&self.0).iter().any(|part| literal(part).as_deref() == Some(name))
    }
}

type Parts = Vec<Vec<Atom>>;

fn normal_parts(path: &Path) -> impl Iterator<Item = String> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    })
}

/// The text of a part that is neither pattern nor unknown.
fn literal(part: &[Atom]) -> Option<String> {
    let plain = part.iter().all(|atom| matches!(atom, Atom::Text(_)));
    plain.then(|| Field { atoms: part.to_vec() }.text())
}

/// A path of parts, with `..` taken by its text.
fn without_parents(mut base: Parts, parts: Parts) -> Parts {
    for part in parts {
        if literal(&part).as_deref() == Some("..") {
            base.pop();
        } else {
            base.push(part);
        }
    }
    base
}

/// Whether a part fits a name. A pattern does not begin with a hidden name's dot; what is unknown may.
fn part_fits(part: &[Atom], name: &str) -> bool {
    let hides = name.starts_with('.') && matches!(part.first(), Some(Atom::Glob(_)));
    !hides && fits(part, name)
}

/// Whether a part that fitted speaks for itself.
fn speaks(part: &[Atom], telling: &[&str]) -> bool {
    let unknown = part.iter().any(|atom| matches!(atom, Atom::Unknown(..)));
    let letters = |atom: &Atom| matches!(atom, Atom::Text(text) if text.chars().any(char::is_alphanumeric));
    if unknown { part.iter().any(letters) } else { literal(part).is_some_and(|name| telling.contains(&name.as_str())) }
}

/// Compares a path whose beginning is known.
fn aligned(parts: &[Vec<Atom>], target: &[String], telling: &[&str]) -> Relation {
    let common = parts.len().min(target.len());
    let fitting = parts.iter().zip(target).all(|(part, name)| part_fits(part, name));
    // A part of which nothing is known fits, if a part that is known speaks for it.
    let silent =
        |part: &&Vec<Atom>| part.iter().any(|atom| matches!(atom, Atom::Unknown(..))) && !speaks(part, telling);
    let compared = parts.get(..common).unwrap_or_default();
    let doubtful = match compared.iter().position(|part| silent(&part)) {
        None => false,
        Some(at) => !parts.get(at..).unwrap_or_default().iter().any(|part| speaks(part, telling)),
    };
    match (fitting && !doubtful, parts.len().cmp(&target.len())) {
        (false, _) => Relation::Apart,
        (true, std::cmp::Ordering::Equal) => Relation::Same,
        (true, std::cmp::Ordering::Greater) => Relation::Below,
        (true, std::cmp::Ordering::Less) => Relation::Above,
    }
}

/// Compares a path whose beginning is not known: somewhere in the target its parts must fit, and one must speak for it.
fn floating(parts: &[Vec<Atom>], target: &[String], telling: &[&str]) -> Relation {
    // Of the first part perhaps only the end is known; nothing known in it is any number of folders.
    let parts = match parts.split_first() {
        Some((first, rest)) if first.iter().all(|atom| matches!(atom, Atom::Unknown(..))) => rest,
        Some(_) | None => parts,
    };
    if parts.is_empty() {
        return Relation::Apart;
    }
    for start in 0..target.len() {
        let tail = target.get(start..).unwrap_or_default();
        let told = parts.iter().zip(tail).any(|(part, _)| speaks(part, telling));
        if told && aligned(parts, tail, telling) == Relation::Same {
            return Relation::Same;
        }
        if told && aligned(parts, tail, telling) == Relation::Below {
            return Relation::Below;
        }
    }
    Relation::Apart
}

/// Whether a word behind `>&` is the number of an open file, or a dash.
fn is_open_file(target: &Field) -> bool {
    target.known().is_some_and(|text| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;

    fn steps(command: &str) -> Vec<Step> {
        let facts = Facts { workspace: "/w".into(), cwd: "/w".into(), home: Some("/h".into()), ..Facts::default() };
        Judge::new(facts).steps(command, &|| vec![PathBuf::from("/w/.guard/STOP")])
    }

    fn words(command: &str) -> Vec<Word> {
        let named = |step: Step| match step.doing {
            Doing::Runs { words, .. } => words,
            Doing::Writes(word) => vec![word],
        };
        steps(command).into_iter().flat_map(named).collect()
    }

    fn relation(command: &str, path: &str) -> Vec<Relation> {
        let of = |word: &Word| word.relation(Some(Path::new("/w")), Path::new(path), &["STOP", ".guard"]);
        words(command).iter().map(of).filter(|relation| *relation != Relation::Apart).collect()
    }

    #[test]
    fn ctrl_3_a_word_may_be_a_path_if_what_is_known_of_it_fits() {
        for (command, expected) in [
            ("rm .guard/STOP", Relation::Same),
            ("rm .gu$(echo ar)d/STOP", Relation::Same),
            ("rm .gu$(foo)/STOP", Relation::Same),
            ("rm $'.guard'/STOP", Relation::Same),
            ("rm $X/STOP", Relation::Same),
            ("rm \"$X/STOP\"", Relation::Same),
            ("rm ./$X/STOP", Relation::Same),
            ("rm $X.guard/STOP", Relation::Same),
            ("rm .g*/STOP", Relation::Same),
            ("rm a/../.guard/S?OP", Relation::Same),
            ("rm /w/.guard/STOP/x", Relation::Below),
            ("rm .guard", Relation::Above),
            ("echo x >& .guard/STOP", Relation::Same),
            ("find . -name 'ST*' -delete", Relation::Same),
            ("find . -name STOP | xargs rm", Relation::Same),
            ("find . -type f -exec rm {} +", Relation::Same),
        ] {
            assert!(relation(command, "/w/.guard/STOP").contains(&expected), "{command}: {:?}", steps(command));
        }
        for command in [
            "rm \"$FILE\"",
            "rm ./\"$FILE\"",
            "rm $A/$B",
            "rm $D/*.json",
            "rm *",
            "rm */STOP",
            "rm src/STOP",
            "rm $X/mode",
            "find . -name '*.pyc' -delete",
            "find src -name STOP -delete",
            "cp a ./$NAME.json",
            "echo x >&2",
            "ls 2>&-",
            "find . -not -path './.guard/*' -type f -delete",
        ] {
            let found = relation(command, "/w/.guard/STOP");
            assert!(
                !found.iter().any(|found| matches!(found, Relation::Same | Relation::Below)),
                "{command}: {found:?}"
            );
        }
    }

    #[test]
    fn ctrl_3_a_folder_entered_by_a_pattern_is_the_folder_that_it_fits() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir(root.join(".guard")).unwrap();
        let facts = Facts { workspace: root.clone(), cwd: root.clone(), ..Facts::default() };
        let steps = Judge::new(facts).steps("cd .gua* && rm STOP", &Vec::new);
        assert_eq!(steps.last().unwrap().folders, [root.join(".guard")]);
    }
}
