//! git: what throws away work or history that nothing else holds, judged by the repository's real state.
//!
//! A moved branch tip passes (the reflog keeps its commits); what the reflog does not keep is held: uncommitted
//! changes, untracked files, stashes, unmerged branches, the reflog itself, and other people's branches on a remote.

use super::{git_branch, git_clean, git_modules, git_options, git_past, git_paths as paths, git_programs, push};
use crate::call::{Call, Place};
use crate::effect::Effect;
use crate::field::Field;
use crate::hold::{FloorRule, Hold};
use crate::invoke::as_code;
use crate::reading::git_verb;
use crate::repository::Repo;
use crate::walk::Walker;
use crate::world::{Last, Spot};
use std::path::PathBuf;
use std::rc::Rc;

/// Settings that variables may hold.
const SETTINGS_MAX: usize = 64;
/// Variables that name settings or files of settings.
const SETTING_FILES: [&str; 4] = ["GIT_CONFIG_PARAMETERS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"];

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
    /// What `-c` and the environment set for this command; no value where it cannot be known.
    settings: Vec<(String, Option<String>)>,
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

/// Judges a call of git.
pub(super) fn judge(walker: &mut Walker<'_>, call: &Call) -> Option<Hold> {
    if call.name() == "patch" {
        let git = read(walker, &call.with_args([vec![Field::of("git")], call.args.clone()].concat()), cwd(walker))?;
        return paths::reversed(walker, &git);
    }
    let name = call.name();
    let Some(verb) = git_verb(&name) else { return None };
    // `git-push` is `git push`.
    let whole = (!verb.is_empty()).then(|| {
        let rest = call.args.get(1..).unwrap_or_default();
        call.with_args([vec![Field::of("git"), Field::of(verb)], rest.to_vec()].concat())
    });
    judge_in_each_folder(walker, whole.as_ref().unwrap_or(call))
}

/// The command may run in any of the folders that the line may be in.
fn judge_in_each_folder(walker: &mut Walker<'_>, call: &Call) -> Option<Hold> {
    let cwds = walker.state.cwds.clone();
    let cwds: Vec<Option<PathBuf>> = if cwds.is_empty() { vec![None] } else { cwds.into_iter().map(Some).collect() };
    for cwd in cwds {
        let git = read(walker, call, cwd)?;
        let key = format!("alias.{}", git.verb);
        let given = git.settings.iter().rev().find(|(own, _)| own.eq_ignore_ascii_case(&key));
        let alias = match given {
            Some((_, None)) => {
                let push = push::unknown("which command the alias is cannot be known");
                walker.notes.git(&git.call, Some(push));
                continue;
            }
            Some((_, Some(text))) => Some(text.clone()),
            None => walker.state.git_aliases.get(&git.verb).cloned(),
        };
        if let Some(text) = alias.filter(|text| text.split_whitespace().next() != Some(git.verb.as_str())) {
            run_alias(walker, &text, &git);
            continue;
        }
        if git.call.has_any(&["--help"]) {
            continue;
        }
        git_programs::walk(walker, &git);
        let push = push::read(&git);
        walker.notes.git(&git.call, push.clone());
        let hold = match &push {
            Some(push) => push::judge(walker, &git, push),
            None => judge_verb(walker, &git),
        };
        if hold.is_some() {
            return hold;
        }
        git_past::note(walker, &git);
    }
    None
}

/// A program that cannot be known may be git: what it would push then is noted.
pub(crate) fn note_unknown_push(walker: &mut Walker<'_>, call: &Call) {
    let args = [vec![Field::of("git")], call.args.get(1..).unwrap_or_default().to_vec()].concat();
    let Some(git) = read(walker, &call.with_args(args), cwd(walker)) else { return };
    let push = push::read(&git).filter(|_| git.verb == "push" && git.call.operands().len() > 1);
    if let Some(push) = push {
        walker.notes.git(&git.call, Some(push));
    }
}

fn cwd(walker: &Walker<'_>) -> Option<PathBuf> {
    walker.state.cwd().map(std::path::Path::to_owned)
}

/// Reads git's own options: where it works, and what `-c` sets.
fn read(walker: &Walker<'_>, call: &Call, cwd: Option<PathBuf>) -> Option<Git> {
    let mut folder = from_environment(walker, call, cwd);
    let mut settings = settings_of_environment(walker, call);
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
                settings.extend(value.map(|value| setting_by_name(walker, call, &value.text())));
                at += 2;
            }
            option if option.starts_with("--config-env=") => {
                settings.push(setting_by_name(walker, call, option.trim_start_matches("--config-env=")));
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
    let at = before.filter(|_| at >= call.args.len()).unwrap_or(at);
    let args = call.args.get(at..).filter(|args| !args.is_empty())?.to_vec();
    let folder = folder.map(|path| walker.world.real(&path, Last::Followed));
    let here = call.place == Place::Here;
    let repo = folder.as_ref().filter(|_| here).and_then(|path| walker.world.repository(path));
    let verb = args.first()?.text();
    let args = git_options::written_out(&verb, args);
    Some(Git { verb, call: call.with_args(args), folder, repo, settings })
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
fn setting_by_name(walker: &Walker<'_>, call: &Call, text: &str) -> (String, Option<String>) {
    let (key, name) = text.rsplit_once('=').unwrap_or((text, ""));
    (key.to_owned(), variable(walker, call, name))
}

/// What variables set: `GIT_CONFIG_KEY_0` with its value, or files that may say anything.
fn settings_of_environment(walker: &Walker<'_>, call: &Call) -> Vec<(String, Option<String>)> {
    let count = variable(walker, call, "GIT_CONFIG_COUNT").and_then(|count| count.trim().parse().ok()).unwrap_or(0);
    let pair = |number: usize| {
        let key = variable(walker, call, &format!("GIT_CONFIG_KEY_{number}"))?;
        Some((key, variable(walker, call, &format!("GIT_CONFIG_VALUE_{number}"))))
    };
    let mut settings: Vec<_> = (0..count.min(SETTINGS_MAX)).filter_map(pair).collect();
    let says_something = |name: &&str| {
        let given = call.env.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value);
        let value = given.or_else(|| walker.state.variables.get(*name)).map(Field::known);
        value.is_some_and(|value| value.is_none_or(|value| !matches!(value.as_str(), "" | "/dev/null")))
    };
    let files = SETTING_FILES.into_iter().find(says_something);
    settings.extend(files.map(|_| ("include.path".to_owned(), None)));
    settings
}

/// The value of a variable that a call would see, where it is known.
fn variable(walker: &Walker<'_>, call: &Call, name: &str) -> Option<String> {
    call.variable(name).or_else(|| walker.state.variable(name).known())
}

/// The folder that `GIT_WORK_TREE` or `GIT_DIR` name, else the one it starts in.
fn from_environment(walker: &Walker<'_>, call: &Call, cwd: Option<PathBuf>) -> Option<PathBuf> {
    if let Some(tree) = variable(walker, call, "GIT_WORK_TREE") {
        return cwd.map(|cwd| cwd.join(tree));
    }
    match variable(walker, call, "GIT_DIR") {
        Some(folder) => git_folder(Some(&Field::of(&folder)), cwd),
        None => cwd,
    }
}

/// The work tree of a `--git-dir`, where it is the usual one.
fn git_folder(value: Option<&Field>, folder: Option<PathBuf>) -> Option<PathBuf> {
    let named = folder?.join(value?.known()?);
    if named.ends_with(".git") { named.parent().map(std::path::Path::to_owned) } else { Some(named) }
}

/// An alias is a git command, or with `!` a shell command.
fn run_alias(walker: &mut Walker<'_>, text: &str, git: &Git) {
    let rest: Vec<String> = git.call.args.iter().skip(1).map(crate::invoke::as_text).collect();
    let code = match text.strip_prefix('!') {
        Some(code) => format!("{code} {}", rest.join(" ")),
        None => {
            // The same settings hold for what it stands for.
            let given = git.settings.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
            let options = given.map(|setting| format!("-c {} ", as_code(&[Field::of(&setting)])));
            format!("git {}{text} {}", options.collect::<String>(), rest.join(" "))
        }
    };
    let stdin = git.call.stdin.clone();
    let _written = walker.code(&code, &stdin, git.call.place);
}

fn judge_verb(walker: &mut Walker<'_>, git: &Git) -> Option<Hold> {
    match git.verb.as_str() {
        "reset" if git.call.has_any(&["--hard", "--merge"]) => paths::discard_all(git),
        "read-tree" if git.call.has_any(&["--reset"]) && git.call.has_short(&['u']) => paths::discard_all(git),
        "checkout" => paths::checkout(walker, git),
        "checkout-index" if git.call.has_short(&['f']) || git.call.has_any(&["--force"]) => paths::discard_all(git),
        "restore" => paths::restore(walker, git),
        "switch" if git.call.has_short(&['f']) || git.call.has_any(&["--force", "--discard-changes"]) => {
            paths::discard_all(git)
        }
        "clean" => git_clean::clean(walker, git),
        "rm" => paths::removed(walker, git),
        "stash" => stash(git),
        "branch" => git_branch::deleted(git),
        "apply" => paths::reversed(walker, git),
        "reflog"
            if git.call.operands().first().is_some_and(|word| matches!(word.text().as_str(), "expire" | "delete")) =>
        {
            Some(history("it empties the reflog, the only way back to commits that no branch holds"))
        }
        "gc" | "prune" => prune(git),
        "filter-branch" | "filter-repo" if !git.call.has_any(&["--dry-run", "--analyze", "--help", "-h"]) => {
            Some(history("it rewrites the whole history of the repository"))
        }
        "update-ref" if git.call.has_short(&['d']) || git.call.has_any(&["--stdin"]) => {
            Some(history("it deletes a ref by hand; its commits may be held by nothing else"))
        }
        "worktree" => worktree(walker, git),
        "submodule" => git_modules::judge(walker, git),
        "bisect" => nested(walker, git, "run"),
        "rebase" => {
            if let Some(code) = git.call.option(&["-x", "--exec"]) {
                let _written = walker.code(&crate::invoke::as_text(&code), &git.call.stdin, git.call.place);
            }
            None
        }
        "config" | "commit" | "add" | "status" | "log" | "diff" | "show" | "fetch" | "pull" | "clone" | "init"
        | "merge" | "tag" | "ls-files" | "rev-parse" | "remote" | "blame" | "grep" | "mv" | "cherry-pick"
        | "revert" | "am" | "describe" | "cat-file" | "rev-list" | "shortlog" | "archive" | "notes" | "help"
        | "version" | "switch" | "reset" | "check-ignore" | "ls-remote" | "ls-tree" | "hash-object"
        | "sparse-checkout" => None,
        _ => configured_alias(walker, git),
    }
}

/// A word that git does not know may be an alias of this repository.
fn configured_alias(walker: &mut Walker<'_>, git: &Git) -> Option<Hold> {
    let plain = git.verb.chars().all(|letter| letter.is_alphanumeric() || letter == '-');
    let text = git.repo.as_ref().filter(|_| plain).and_then(|repo| repo.config(&format!("alias.{}", git.verb)));
    match text {
        // An alias that names itself would never end; git refuses it as well.
        Some(text) if text.split_whitespace().next() == Some(git.verb.as_str()) => {}
        Some(text) => run_alias(walker, &text, git),
        None if git.may_be_set("include") => {
            walker.notes.git(&git.call, Some(push::unknown("which command of git it is cannot be known")));
        }
        None => {}
    }
    None
}

fn history(reason: &str) -> Hold {
    Hold::plain(FloorRule::GitHistory, reason)
}

/// Stashes are found nowhere else; without one there is nothing to drop.
fn stash(git: &Git) -> Option<Hold> {
    if let Some(hold) = git_clean::stashes_the_guard(git) {
        return Some(hold);
    }
    let verb = git.call.operands().first().map(|word| word.text())?;
    if !matches!(verb.as_str(), "drop" | "clear") {
        return None;
    }
    let past = git.repo.as_ref().map(|repo| repo.past()).unwrap_or_default();
    let kept = match &git.repo {
        Some(repo) => repo.count(&["rev-list", "--count", "--walk-reflogs", "refs/stash", "--"]).unwrap_or(0),
        None if git.folder.is_some() && git.call.place == Place::Here => 0,
        None => 1,
    };
    let kept = kept.saturating_add(past.stashes);
    let lost = if verb == "clear" { kept } else { kept.min(1) }.saturating_sub(past.applied + past.settled);
    let effect = Effect { commits: Some(lost), ..Effect::default() };
    (lost > 0).then(|| {
        Hold::with(FloorRule::GitHistory, format!("it throws away {lost} stash(es), found nowhere else"), effect)
    })
}

fn prune(git: &Git) -> Option<Hold> {
    let dry = git.call.has_any(&["-n", "--dry-run"]);
    let now = git.call.words().iter().any(|word| {
        matches!(word.as_str(), "--prune=now" | "--prune=all" | "--expire=now" | "--expire=all" | "--prune=0" | "now")
    });
    let whole = git.verb == "prune" && !git.call.words().iter().any(|word| word.starts_with("--expire"));
    let at_once = |value: String| matches!(value.as_str(), "now" | "all" | "0");
    let now = now || (git.verb == "gc" && git.config("gc.pruneExpire").is_some_and(at_once));
    (!dry && (now || whole)).then(|| history("it deletes objects at once that only the reflog could bring back"))
}

fn worktree(walker: &Walker<'_>, git: &Git) -> Option<Hold> {
    let operands = git.call.operands();
    let (verb, target) = (operands.first()?.text(), operands.get(1)?);
    let forced = git.call.has_short(&['f']) || git.call.has_any(&["--force"]);
    if verb != "remove" || !forced {
        return None;
    }
    for spot in walker.world.spots(target, git.folder.as_deref()) {
        let Spot::Path(path) = spot else { return Some(history("which work tree it removes cannot be known")) };
        let Some(status) = walker.world.repository(&path).and_then(|repo| repo.status()) else { continue };
        let mut effect = Effect::default();
        status.dirty().into_iter().for_each(|file| effect.uncommitted.add(file));
        status.untracked.iter().for_each(|file| effect.untracked.add(file));
        if !effect.is_empty() {
            let reason = "it removes a work tree with changes that no commit holds".to_owned();
            return Some(Hold::with(FloorRule::DiscardChanges, reason, effect));
        }
    }
    None
}

/// A command that git runs for somebody: what stands behind the word.
fn nested(walker: &mut Walker<'_>, git: &Git, word: &str) -> Option<Hold> {
    let at = git.call.args.iter().position(|field| field.text() == word)?;
    let rest: Vec<Field> = git.call.args.iter().skip(at + 1).cloned().collect();
    let text = match rest.as_slice() {
        [] => return None,
        [code] => crate::invoke::as_text(code),
        words => as_code(words),
    };
    let _written = walker.code(&text, &git.call.stdin, git.call.place);
    None
}
