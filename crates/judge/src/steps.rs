//! What a command line would do, step by step, for those who watch over certain paths: the same reader and the same
//! expansions as the guard's, and no rule of its own.

use crate::findings::{Findings, Run};
use crate::hold::Hold;
use crate::interpreter::observer::Observer;
use crate::line::call::{Call, Redirection};
use crate::line::field::Field;
use crate::line::state::State;
use crate::search::{Action, Search};
use crate::site::Site;
use crate::word::Word;
use crate::world::World;
use std::path::{Path, PathBuf};

/// Steps of one line that are kept; a line with more is held by the judge.
const STEPS_MAX: usize = 8_192;

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

/// Keeps the steps of a line.
pub(crate) struct Watch<'w> {
    watched: &'w dyn Fn() -> Vec<PathBuf>,
    steps: Vec<Step>,
}

impl<'w> Watch<'w> {
    /// A watch over paths that a search may find.
    pub(crate) const fn new(watched: &'w dyn Fn() -> Vec<PathBuf>) -> Self {
        Self { watched, steps: Vec::new() }
    }

    /// The steps that were seen.
    pub(crate) fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// Notes a line that does not parse: bash runs nothing of it, and another shell may read it differently.
    pub(crate) fn note_unparsed(&mut self, line: &str, folder: &Path) {
        let words = line.split_whitespace().map(Word::of).collect();
        self.note(vec![folder.to_owned()], Doing::Runs { program: Word::of("sh"), words, input: None });
    }

    fn note(&mut self, folders: Vec<PathBuf>, doing: Doing) {
        if self.steps.len() < STEPS_MAX {
            self.steps.push(Step { doing, folders });
        }
    }

    /// What a search does with the watched paths that it finds.
    fn search(&mut self, site: &Site<'_>, call: &Call) -> Vec<Run> {
        let search = Search::read(call);
        let mut runs = Vec::new();
        for (number, action) in search.actions.iter().enumerate().filter(|(_, action)| **action != Action::List) {
            for hit in self.hits(site, &search, number).iter().map(|hit| Field::of(hit)) {
                match action {
                    Action::List => {}
                    Action::Delete => self.note(site.state.cwds.clone(), Doing::Writes(Word(hit))),
                    Action::Execute(command) => {
                        let args = command.iter().map(|field| field.filled("{}", &hit)).collect();
                        runs.push(Run::Program(call.with_args(args)));
                    }
                }
            }
        }
        runs
    }

    /// The watched paths that an action of a search would find.
    fn hits(&self, site: &Site<'_>, search: &Search, action: usize) -> Vec<String> {
        search.hits_among(site, action, &(self.watched)())
    }
}

impl Observer for Watch<'_> {
    fn call(&mut self, site: &Site<'_>, call: &Call) -> Findings {
        let searches = matches!(call.name().as_str(), "find" | "gfind");
        let runs = if searches { self.search(site, call) } else { Vec::new() };
        let noted = self.unknown_call(site, call);
        Findings { runs, ..noted }
    }

    fn unknown_call(&mut self, site: &Site<'_>, call: &Call) -> Findings {
        if let Some((program, words)) = call.args.split_first() {
            let input = call.stdin.text().map(str::to_owned);
            let words = settings(site, call).iter().chain(words).cloned().map(Word).collect();
            self.note(site.state.cwds.clone(), Doing::Runs { program: Word(program.clone()), words, input });
        }
        Findings::default()
    }

    fn redirection(&mut self, site: &Site<'_>, redirection: &Redirection<'_>) -> Option<Hold> {
        self.note(site.state.cwds.clone(), Doing::Writes(Word(redirection.target.clone())));
        None
    }

    fn note_effects(&self, _world: &World, _state: &mut State, _call: &Call) {}

    fn listed(&self, site: &Site<'_>, search: &Search) -> Vec<String> {
        self.hits(site, search, 0)
    }

    /// A branch is no path.
    fn needs_branch(&self) -> bool {
        false
    }

    /// A line is not called harmless for what a script says: another text may stand there when it runs.
    fn follows_own_scripts(&self) -> bool {
        false
    }
}

/// The settings that git is given by variables, as the options that say the same: `-c key=value`.
fn settings(site: &Site<'_>, call: &Call) -> Vec<Field> {
    if call.name() != "git" {
        return Vec::new();
    }
    let set = site.state.variables.iter().map(|(name, value)| (name.as_str(), value));
    let set = set.chain(call.env.iter().map(|(name, value)| (name.as_str(), value)));
    let named = |(name, value): (&str, &Field)| -> Vec<String> {
        match name {
            // One setting or more, each in quotes.
            "GIT_CONFIG_PARAMETERS" => value.text().split(' ').map(|one| one.trim_matches('\'').to_owned()).collect(),
            _ if name.starts_with("GIT_CONFIG_KEY_") => vec![format!("{}=", value.text())],
            _ => Vec::new(),
        }
    };
    set.flat_map(named).flat_map(|setting| [Field::of("-c"), Field::of(&setting)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::judge::Judge;
    use crate::word::Relation;

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
            ("find . -type f -name 'S*' -exec rm {} +", Relation::Same),
            ("find . -path ./.guard -prune -o -name 'S*' -delete", Relation::Same),
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
            // Nothing is there to be found, and nothing asks for its name.
            "find . -type f -exec rm {} +",
            "find . -xtype l -delete",
            "find . -path ./.guard -prune -o -name 'S*' -exec rm {} +",
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
