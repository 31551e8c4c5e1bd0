//! One git command: its verb, where it works, and the configuration that it would see.

use super::options;
use crate::line::call::{Call, Place};
use crate::line::field::Field;
use crate::repository::Repo;
use crate::site::Site;
use crate::world::Last;
use std::path::PathBuf;
use std::rc::Rc;

/// A git command with the folder it works in.
pub(super) struct Git {
    /// The subcommand.
    pub(super) verb: String,
    /// The subcommand and its arguments, as a call.
    pub(super) call: Call,
    /// The folder, where it can be known.
    pub(super) folder: Option<PathBuf>,
    /// The repository, where there is one.
    pub(super) repo: Option<Rc<Repo>>,
    /// What `-c` sets for this command.
    pub(super) settings: Vec<(String, String)>,
}

impl Git {
    /// One line of the configuration that this command would see.
    pub(super) fn config(&self, key: &str) -> Option<String> {
        self.setting(key).or_else(|| self.repo.as_ref()?.config(key))
    }

    /// What `-c` or an earlier command of the line sets.
    pub(super) fn setting(&self, key: &str) -> Option<String> {
        let course = self.repo.as_ref().map(|repo| repo.course()).unwrap_or_default();
        let given = course.config.iter().chain(&self.settings).rev().find(|(own, _)| own.eq_ignore_ascii_case(key));
        given.map(|(_, value)| value.clone())
    }
}

/// Reads git's own options: where it works, and what `-c` sets.
pub(super) fn read(site: &Site<'_>, call: &Call, cwd: Option<PathBuf>) -> Option<Git> {
    let mut folder = from_environment(site, call, cwd);
    let mut settings = Vec::new();
    let mut at = 1;
    while let Some(field) = call.args.get(at) {
        let text = field.text();
        let value = call.args.get(at + 1);
        match text.as_str() {
            "-C" | "--work-tree" => {
                folder = value.and_then(|value| Some(folder?.join(value.known()?)));
                at += 2;
            }
            "-c" | "--config-env" => {
                let setting = value.map(Field::text).unwrap_or_default();
                settings.extend(setting.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())));
                at += 2;
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
            "" if field.unknown().is_some() => at += 1,
            _ => break,
        }
    }
    let args = call.args.get(at..).filter(|args| !args.is_empty())?.to_vec();
    let folder = folder.map(|path| site.world.real(&path, Last::Followed));
    let here = call.place == Place::Here;
    let repo = folder.as_ref().filter(|_| here).and_then(|path| site.world.repository(path));
    let verb = args.first()?.text();
    let args = options::written_out(&verb, args);
    Some(Git { verb, call: call.with_args(args), folder, repo, settings })
}

/// The folder that `GIT_WORK_TREE` or `GIT_DIR` name, else the one it starts in.
fn from_environment(site: &Site<'_>, call: &Call, cwd: Option<PathBuf>) -> Option<PathBuf> {
    let variable = |name: &str| call.variable(name).or_else(|| site.state.variable(name).known());
    if let Some(tree) = variable("GIT_WORK_TREE") {
        return cwd.map(|cwd| cwd.join(tree));
    }
    match variable("GIT_DIR") {
        Some(folder) => git_folder(Some(&Field::of(&folder)), cwd),
        None => cwd,
    }
}

/// The work tree of a `--git-dir`, where it is the usual one.
fn git_folder(value: Option<&Field>, folder: Option<PathBuf>) -> Option<PathBuf> {
    let named = folder?.join(value?.known()?);
    if named.ends_with(".git") { named.parent().map(std::path::Path::to_owned) } else { Some(named) }
}

/// The arguments that are neither options nor their values.
pub(super) fn operands(args: &[Field], values: &[&str]) -> Vec<Field> {
    let mut out = Vec::new();
    let mut args = args.iter().skip(1);
    while let Some(field) = args.next() {
        let text = field.text();
        if values.contains(&text.as_str()) {
            args.next();
        } else if text == "-" || !text.starts_with('-') {
            out.push(field.clone());
        }
    }
    out
}
