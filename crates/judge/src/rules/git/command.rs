//! One git command: its verb, where it works, and the configuration that it would see.

use super::options;
use crate::line::call::{Call, Place};
use crate::line::field::Field;
use crate::repository::Repo;
use crate::site::Site;
use crate::world::Last;
use std::path::PathBuf;
use std::rc::Rc;

/// Options of a push that take a value.
pub(super) const PUSH_VALUES: [&str; 5] = ["-o", "--push-option", "--receive-pack", "--exec", "--repo"];
/// Settings that variables may hold.
const SETTINGS_MAX: usize = 64;
/// Variables that name settings or files of settings.
const SETTING_FILES: [&str; 4] = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"];

/// A git command with the folder it works in.
#[derive(Clone)]
pub(super) struct Git {
    /// The subcommand.
    pub(super) verb: String,
    /// The subcommand and its arguments, as a call.
    pub(super) call: Call,
    /// The folder, where it can be known.
    pub(super) folder: Option<PathBuf>,
    /// The repository, where there is one.
    pub(super) repo: Option<Rc<Repo>>,
    /// What `-c` and the environment set for this command; no value where it cannot be known.
    pub(super) settings: Vec<(String, Option<String>)>,
    /// What stands behind a word that cannot be known: it may be nothing, or itself the subcommand.
    pub(super) behind_unknown: Option<Vec<Field>>,
}

impl Git {
    /// The value of a setting that this command would see.
    pub(super) fn config(&self, key: &str) -> Option<String> {
        self.configs(key).pop()
    }

    /// All values of a setting that may have more than one.
    pub(super) fn configs(&self, key: &str) -> Vec<String> {
        let is_key = |own: &str| own.eq_ignore_ascii_case(key);
        let found = self.repo.as_ref().and_then(|repo| repo.settings()).unwrap_or_default();
        let found = found.iter().filter(|(own, _)| is_key(own)).map(|(_, value)| value.trim().to_owned());
        let course = self.repo.as_ref().map(|repo| repo.course()).unwrap_or_default();
        let earlier = course.config.into_iter().filter(|(own, _)| is_key(own)).map(|(_, value)| value);
        let given = self.settings.iter().filter(|(own, _)| is_key(own)).filter_map(|(_, value)| value.clone());
        found.chain(earlier).chain(given).collect()
    }

    /// What `-c` or an earlier command of the line sets.
    pub(super) fn setting(&self, key: &str) -> Option<String> {
        let course = self.repo.as_ref().map(|repo| repo.course()).unwrap_or_default();
        let given = self.settings.iter().rev().find(|(own, _)| own.eq_ignore_ascii_case(key));
        let earlier = || course.config.iter().rev().find(|(own, _)| own.eq_ignore_ascii_case(key));
        match given {
            Some((_, value)) => value.clone(),
            None => earlier().map(|(_, value)| value.clone()),
        }
    }

    /// Whether this command is given a setting whose name begins so.
    pub(super) fn may_be_set(&self, start: &str) -> bool {
        let begins = |key: &str| key.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
        self.settings.iter().any(|(key, _)| begins(key))
    }
}

/// Reads git's own options: where it works, and what `-c` sets.
pub(super) fn read(site: &Site<'_>, call: &Call, cwd: Option<PathBuf>) -> Option<Git> {
    let mut folder = from_environment(site, call, cwd);
    let mut settings = settings_of_environment(site, call);
    let mut before = None;
    let mut at = 1;
    while let Some(field) = call.args.get(at) {
        let text = field.text();
        let value = call.args.get(at + 1);
        match text.as_str() {
            "-C" | "--work-tree" => {
                folder = value.and_then(|value| Some(folder?.join(value.known()?)));
                at += 2;
            }
            "-c" => {
                settings.extend(value.map(setting));
                at += 2;
            }
            "--config-env" => {
                settings.extend(value.map(|value| setting_by_name(site, call, &value.text())));
                at += 2;
            }
            option if option.starts_with("--config-env=") => {
                settings.push(setting_by_name(site, call, option.trim_start_matches("--config-env=")));
                at += 1;
            }
            "--git-dir" | "--namespace" | "--exec-path" | "--super-prefix" => {
                if text == "--git-dir" {
                    folder = git_folder(value, folder);
                }
                at += 2;
            }
            option if option.starts_with("--git-dir=") => {
                folder = git_folder(Some(&field.without_prefix("--git-dir=".len())), folder);
                at += 1;
            }
            option if option.starts_with("--work-tree=") => {
                let named = field.without_prefix("--work-tree=".len()).known();
                folder = named.and_then(|named| Some(folder?.join(named)));
                at += 1;
            }
            option if option.starts_with('-') => at += 1,
            // What is not known may be nothing, and then the next word is the command.
            "" if field.unknown().is_some() => {
                before = before.or(Some(at));
                at += 1;
            }
            _ => break,
        }
    }
    // Nothing known behind it: then it is the command.
    let behind_unknown = before.and_then(|at| call.args.get(at + 1..)).map(<[Field]>::to_vec);
    let at = before.filter(|_| at >= call.args.len()).unwrap_or(at);
    let args = call.args.get(at..).filter(|args| !args.is_empty())?.to_vec();
    let folder = folder.map(|path| site.world.real(&path, Last::Followed));
    let here = call.place == Place::Here;
    let repo = folder.as_ref().filter(|_| here).and_then(|path| site.world.repository(path));
    let verb = args.first()?.text();
    let args = options::written_out(&verb, args);
    Some(Git { verb, call: call.with_args(args), folder, repo, settings, behind_unknown })
}

/// `-c key=value`; a key alone is a switch that is on.
fn setting(field: &Field) -> (String, Option<String>) {
    let text = field.text();
    match text.split_once('=') {
        Some((key, value)) => (key.to_owned(), field.unknown().is_none().then(|| value.to_owned())),
        None => (text, Some("true".to_owned())),
    }
}

/// `--config-env key=NAME`: the value is that of a variable.
fn setting_by_name(site: &Site<'_>, call: &Call, text: &str) -> (String, Option<String>) {
    let (key, name) = text.rsplit_once('=').unwrap_or((text, ""));
    (key.to_owned(), variable(site, call, name))
}

/// What variables set: `GIT_CONFIG_KEY_0` with its value, or files that may say anything.
fn settings_of_environment(site: &Site<'_>, call: &Call) -> Vec<(String, Option<String>)> {
    let count = variable(site, call, "GIT_CONFIG_COUNT").and_then(|count| count.trim().parse().ok()).unwrap_or(0);
    let pair = |number: usize| {
        let key = variable(site, call, &format!("GIT_CONFIG_KEY_{number}"))?;
        Some((key, variable(site, call, &format!("GIT_CONFIG_VALUE_{number}"))))
    };
    let mut settings: Vec<_> = (0..count.min(SETTINGS_MAX)).filter_map(pair).collect();
    let says_something = |name: &&str| {
        let given = call.env.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value);
        let value = given.or_else(|| site.state.variables.get(*name)).map(Field::known);
        value.is_some_and(|value| value.is_none_or(|value| !matches!(value.as_str(), "" | "/dev/null")))
    };
    let files = SETTING_FILES.into_iter().find(says_something);
    settings.extend(files.map(|_| ("include.path".to_owned(), None)));
    settings
}

/// The value of a variable that a call would see, where it is known.
fn variable(site: &Site<'_>, call: &Call, name: &str) -> Option<String> {
    call.variable(name).or_else(|| site.state.variable(name).known())
}

/// The folder that `GIT_WORK_TREE` or `GIT_DIR` name, else the one it starts in.
fn from_environment(site: &Site<'_>, call: &Call, cwd: Option<PathBuf>) -> Option<PathBuf> {
    if let Some(tree) = variable(site, call, "GIT_WORK_TREE") {
        return cwd.map(|cwd| cwd.join(tree));
    }
    match variable(site, call, "GIT_DIR") {
        Some(folder) => git_folder(Some(&Field::of(&folder)), cwd),
        None => cwd,
    }
}

/// The work tree of a `--git-dir`, where it is the usual one.
fn git_folder(value: Option<&Field>, folder: Option<PathBuf>) -> Option<PathBuf> {
    let named = folder?.join(value?.known()?);
    if named.ends_with(".git") { named.parent().map(std::path::Path::to_owned) } else { Some(named) }
}
