//! A command line, judged by the paths that its steps name. The steps come from the judge's own reader; here only stands
//! what they mean for what is out of reach.

use super::paths::{Entry, ProtectedList, SETTINGS_FILES, plain};
use super::verbs;
use std::path::{Path, PathBuf};
use tripwire_judge::steps::{Doing, Step};
use tripwire_judge::word::{Relation, Word};
use tripwire_judge::{Facts, Judge};
use tripwire_workspace::geometry::layout::FOLDER;

/// Files by which people command the guard.
const CONTROL_FILES: [&str; 3] = ["STOP", "PAUSE", "MANIFEST.yaml"];
/// Entries of one protected folder that a search may find, beside those that are always looked for.
const SEARCHED_MAX: usize = 256;

/// The steps of a command line, with what its searches would find of the protected paths.
pub(super) fn steps(protected: &ProtectedList, text: &str, facts: Facts) -> Vec<Step> {
    Judge::new(facts).steps(text, &|| protected.searched())
}

/// What the steps of a command line would touch; none if they only read or touch nothing protected.
pub(super) fn touches(protected: &ProtectedList, steps: &[Step]) -> Option<String> {
    let mut copies = Vec::new();
    steps.iter().find_map(|step| match &step.doing {
        Doing::Writes(word) => protected.may_hold(word, step).then(|| word.shown()),
        Doing::Runs { program, words, input } => {
            let run = Run { protected, step, program, words, input: input.as_deref() };
            let found = run.commands_the_guard(&copies).or_else(|| run.ends_the_guard(steps)).or_else(|| run.writes());
            copies.extend(run.copy_of_ours());
            found
        }
    })
}

/// One program that a line runs.
struct Run<'a> {
    protected: &'a ProtectedList,
    step: &'a Step,
    program: &'a Word,
    words: &'a [Word],
    input: Option<&'a str>,
}

impl Run<'_> {
    fn name(&self) -> String {
        self.program.text().rsplit('/').next().unwrap_or_default().to_owned()
    }

    fn texts(&self) -> Vec<String> {
        self.words.iter().map(Word::text).collect()
    }

    /// People's own commands: only a person gives them, under whatever name the program goes.
    fn commands_the_guard(&self, copies: &[PathBuf]) -> Option<String> {
        let words = self.texts();
        if self.name() != verbs::OURS && !verbs::commands(&words) {
            return None;
        }
        let ours = self.name() == verbs::OURS || self.program.is_unknown() || self.is_ours(copies);
        (ours && !verbs::only_looks(&words)).then(|| format!("{} {}", verbs::OURS, words.join(" ")))
    }

    /// What ends the guard's own processes, or makes git run other hooks.
    fn ends_the_guard(&self, steps: &[Step]) -> Option<String> {
        let (name, words) = (self.name(), self.texts());
        let looked_for = || {
            steps.iter().any(|step| match &step.doing {
                Doing::Runs { program, words, .. } => {
                    let words: Vec<String> = words.iter().map(Word::text).collect();
                    verbs::finds_the_guard(program.text().rsplit('/').next().unwrap_or_default(), &words)
                }
                Doing::Writes(_) => false,
            })
        };
        let unknown = self.words.iter().any(|word| word.known().is_none());
        let ends = verbs::ends_the_guard(&name, &words) || (name == "kill" && unknown && looked_for());
        let shown = || self.words.iter().map(Word::shown).collect::<Vec<_>>().join(" ");
        (ends || verbs::moves_git_hooks(&name, &words)).then(|| format!("{name} {}", shown()))
    }

    /// Whether the program is ours under another name: a copy that the line made, a link to it, or a file of its size.
    fn is_ours(&self, copies: &[PathBuf]) -> bool {
        let paths = self.paths();
        let own = std::env::current_exe().and_then(|exe| exe.metadata()).map(|metadata| metadata.len());
        paths.iter().any(|path| {
            let real = path.canonicalize().ok();
            let named = real.as_ref().is_some_and(|real| real.file_name().is_some_and(|name| name == verbs::OURS));
            let size = real.as_ref().and_then(|real| real.metadata().ok()).map(|metadata| metadata.len());
            copies.contains(path) || named || size.is_some_and(|size| own.as_ref().is_ok_and(|own| *own == size))
        })
    }

    /// Where the program may lie.
    fn paths(&self) -> Vec<PathBuf> {
        let text = self.program.text();
        if text.contains('/') {
            return folders(self.step)
                .filter_map(|folder| self.program.path(folder))
                .map(|path| plain(&path))
                .collect();
        }
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search).map(|folder| folder.join(&text)).filter(|path| path.is_file()).collect()
    }

    /// The place to which our own program is copied or linked.
    fn copy_of_ours(&self) -> Option<PathBuf> {
        let (target, sources) = self.words.split_last().filter(|_| verbs::copies(&self.name()))?;
        let ours = |word: &Word| word.text().rsplit('/').next().is_some_and(|name| name == verbs::OURS);
        let target = plain(&target.path(self.step.folders.first().map(PathBuf::as_path))?);
        sources.iter().any(ours).then(|| if target.is_dir() { target.join(verbs::OURS) } else { target })
    }

    /// What it writes that it must not.
    fn writes(&self) -> Option<String> {
        let (name, words) = (self.name(), self.texts());
        let aliases = verbs::aliases(&name, &words);
        if aliases || verbs::moves(&name) {
            let taken = |word: &&Word| !word.text().starts_with('-') && self.protected.may_take_along(word, self.step);
            if let Some(word) = self.words.iter().find(taken) {
                return Some(word.shown());
            }
        }
        if self.writes_by_script(&name) {
            return Some(words.join(" "));
        }
        if verbs::reads(&name, &words) {
            return None;
        }
        let written = match self.words.split_last() {
            // What is copied is only read.
            Some((target, _)) if name == "cp" && !aliases && !words.iter().any(|word| verbs::names_target(word)) => {
                std::slice::from_ref(target)
            }
            Some(_) | None => self.words,
        };
        let found = written.iter().find(|word| self.may_write(&name, word)).map(Word::shown);
        found.or_else(|| if verbs::takes_code(&name) { self.code() } else { None })
    }

    fn may_write(&self, name: &str, word: &Word) -> bool {
        // Words with spaces are prose, such as a commit's message, unless the program takes nothing but files.
        if word.text().contains(char::is_whitespace) {
            return verbs::takes_files(name) && self.protected.may_hold(word, self.step);
        }
        word.parts().iter().any(|part| self.protected.may_hold(part, self.step))
    }

    /// Code of another language that names something protected, or gives a command of people's.
    fn code(&self) -> Option<String> {
        let apart = |c: char| c.is_whitespace() || "'\"`=:,()[]{}<>|&;".contains(c);
        let texts = self.words.iter().map(Word::text).chain(self.input.map(str::to_owned));
        texts.into_iter().find_map(|text| {
            let pieces: Vec<&str> = text.split(apart).filter(|piece| !piece.is_empty()).collect();
            let held = pieces.iter().find(|piece| self.protected.may_hold(&Word::of(piece), self.step));
            let commanded = pieces.windows(2).find_map(|pair| match pair {
                [program, verb] if program.rsplit('/').next() == Some(verbs::OURS) => {
                    verbs::commands(&[(*verb).to_owned()]).then_some(program)
                }
                _ => None,
            });
            held.or(commanded).map(|piece| (*piece).to_owned())
        })
    }

    /// `sed` writes with `w` inside its script, with or without a blank behind it.
    fn writes_by_script(&self, name: &str) -> bool {
        let names = |text: &str| {
            text.match_indices(['w', 'W']).any(|(at, _)| {
                let file = text.get(at + 1..).unwrap_or_default().trim_start();
                let file = file.split(['\n', '}']).next().unwrap_or_default();
                !file.is_empty() && self.protected.may_hold(&Word::of(file), self.step)
            })
        };
        matches!(name, "sed" | "gsed") && self.words.iter().any(|word| names(&word.text()))
    }
}

fn folders(step: &Step) -> impl Iterator<Item = Option<&Path>> {
    let unknown = step.folders.is_empty().then_some(None);
    step.folders.iter().map(|folder| Some(folder.as_path())).chain(unknown)
}

impl ProtectedList {
    /// Names that speak for a word whose beginning cannot be known: nothing else is called so.
    fn known_names(&self) -> Vec<&'static str> {
        self.folder_names.iter().copied().chain(CONTROL_FILES).collect()
    }

    /// Whether a word of a command line may mean something protected.
    fn may_hold(&self, word: &Word, step: &Step) -> bool {
        folders(step).any(|folder| match word.path(folder) {
            Some(path) => self.is_reached_by(&path),
            None => {
                word.has_part(folder, FOLDER)
                    || self.entries.iter().any(|entry| entry.may_be(word, folder, &self.known_names()))
            }
        })
    }

    /// Whether taking this away takes something protected along. Whole workspaces and homes are another rule's matter.
    fn may_take_along(&self, word: &Word, step: &Step) -> bool {
        let holder = |entry: &Entry| match entry {
            Entry::Folder(folder) | Entry::Settings(folder) => Some(folder.clone()),
            Entry::File(file) => file.parent().map(Path::to_owned),
        };
        let own = |folder: &PathBuf| {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            self.folder_names.contains(&name)
        };
        self.entries.iter().filter_map(holder).filter(own).any(|folder| {
            folders(step).any(|from| match word.path(from) {
                Some(path) => plain(&path) == folder,
                None => word.relation(from, &folder, &self.known_names()) == Relation::Same,
            })
        })
    }

    /// The paths that a search of the line may find.
    fn searched(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::Folder(folder) => {
                    paths.push(folder.clone());
                    paths.extend(CONTROL_FILES.map(|name| folder.join(name)));
                    let inside = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
                    paths.extend(inside.take(SEARCHED_MAX).map(|entry| entry.path()));
                }
                Entry::File(file) => paths.push(file.clone()),
                Entry::Settings(folder) => {
                    paths.extend(SETTINGS_FILES.map(|name| folder.join(name)));
                }
            }
        }
        // What is not there cannot be found; an order that a person gives meanwhile can.
        paths.retain(|path| path.exists() || path.parent().is_some_and(|folder| folder.ends_with(FOLDER)));
        paths
    }
}

impl Entry {
    /// Whether a word of which not everything is known may mean it.
    fn may_be(&self, word: &Word, folder: Option<&Path>, names: &[&str]) -> bool {
        let relation = |path: &Path| word.relation(folder, path, names);
        let is = |path: &Path| relation(path) == Relation::Same;
        match self {
            Self::Folder(path) => {
                matches!(relation(path), Relation::Same | Relation::Below)
                    || (path.ends_with(FOLDER) && CONTROL_FILES.iter().any(|name| is(&path.join(name))))
            }
            Self::File(path) => is(path),
            Self::Settings(path) => SETTINGS_FILES.iter().any(|name| is(&path.join(name))),
        }
    }
}
