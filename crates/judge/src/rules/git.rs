//! git: what throws away work or history that nothing else holds, judged by the repository's real state.
//!
//! A moved branch tip passes (the reflog keeps its commits); what the reflog does not keep is held: uncommitted
//! changes, untracked files, stashes, unmerged branches, the reflog itself, and other people's branches on a remote.

mod branch;
mod clean;
mod command;
mod effects;
mod history;
mod options;
mod pathspec;
mod programs;
mod push;
mod submodules;
mod work_tree;

use self::command::{Git, read};
use crate::findings::Findings;
use crate::line::call::Call;
use crate::line::field::Field;
use crate::line::state::State;
use crate::reading::{CommandReading, git_verb};
use crate::site::Site;
use crate::world::World;

/// Judges a call of git.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Findings {
    if call.name() == "patch" {
        let as_git = call.with_args([vec![Field::of("git")], call.args.clone()].concat());
        let git = read(site, &as_git, site.state.cwd().map(std::path::Path::to_owned));
        return git.and_then(|git| work_tree::reversed(site, &git)).into();
    }
    let name = call.name();
    let mut findings = Findings::default();
    let Some(verb) = git_verb(&name) else { return findings };
    // `git-push` is `git push`.
    let whole = (!verb.is_empty()).then(|| {
        let rest = call.args.get(1..).unwrap_or_default();
        call.with_args([vec![Field::of("git"), Field::of(verb)], rest.to_vec()].concat())
    });
    let call = whole.as_ref().unwrap_or(call);
    for cwd in site.folders() {
        let Some(git) = read(site, call, cwd) else { break };
        match alias(site, &git) {
            Alias::None => {}
            Alias::Text(text) => {
                findings.extend(of_alias(&text, &git));
                continue;
            }
            Alias::Unknown => {
                findings.commands.push(unknown_command(&git));
                continue;
            }
        }
        if git.call.has_any(&["--help"]) {
            continue;
        }
        findings.runs.extend(programs::started(site, &git));
        let push = push::read(&git);
        findings.commands.push(CommandReading::of_git(&git.call, push.clone()));
        findings.extend(match &push {
            Some(push) => push::judge(site, &git, push).into(),
            None => judge_verb(site, &git),
        });
        if findings.hold.is_some() {
            break;
        }
    }
    findings
}

/// Notes what a call of git leaves behind for the commands after it, if it succeeds.
pub(crate) fn note_effects(world: &World, state: &mut State, call: &Call) {
    if call.name() != "git" {
        return;
    }
    for cwd in (Site { world, state }).folders() {
        let site = Site { world, state };
        let Some(git) = read(&site, call, cwd) else { return };
        if alias(&site, &git) == Alias::None && !git.call.has_any(&["--help"]) {
            effects::note(world, state, &git);
        }
    }
}

/// A program that cannot be known may be git: what it would push then.
pub(crate) fn unknown_push(site: &Site<'_>, call: &Call) -> Option<CommandReading> {
    let args = [vec![Field::of("git")], call.args.get(1..).unwrap_or_default().to_vec()].concat();
    let git = read(site, &call.with_args(args), site.state.cwd().map(std::path::Path::to_owned))?;
    let push = push::read(&git).filter(|_| git.verb == "push" && git.call.operands().len() > 1)?;
    Some(CommandReading::of_git(&git.call, Some(push)))
}

/// `git $X origin main`: git knows no `origin`, so the word before it is the command, and it may be `push`.
fn push_behind_unknown(git: &Git) -> Option<CommandReading> {
    let behind = git.behind_unknown.clone()?;
    let call = git.call.with_args([vec![Field::of("push")], behind].concat());
    let as_push = Git { verb: "push".to_owned(), call, ..git.clone() };
    let push = push::read(&as_push).filter(|push| push::names_remote(&as_push, &push.remote))?;
    (as_push.call.operands().len() > 1).then(|| CommandReading::of_git(&as_push.call, Some(push)))
}

/// A command of git that may be a push.
fn unknown_command(git: &Git) -> CommandReading {
    CommandReading::of_git(&git.call, Some(push::unknown("which command of git it is cannot be known")))
}

/// What a verb stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Alias {
    /// Itself.
    None,
    /// Another command.
    Text(String),
    /// A command that cannot be known.
    Unknown,
}

/// What the verb stands for, where `-c` or an earlier command of the line makes it an alias.
fn alias(site: &Site<'_>, git: &Git) -> Alias {
    let key = format!("alias.{}", git.verb);
    let given = git.settings.iter().rev().find(|(own, _)| own.eq_ignore_ascii_case(&key));
    let text = match given {
        Some((_, None)) => return Alias::Unknown,
        Some((_, Some(text))) => Some(text.clone()),
        None => site.state.git_aliases.get(&git.verb).cloned(),
    };
    let text = text.filter(|text| text.split_whitespace().next() != Some(git.verb.as_str()));
    text.map_or(Alias::None, Alias::Text)
}

/// An alias is a git command, or with `!` a shell command.
fn of_alias(text: &str, git: &Git) -> Findings {
    let rest: Vec<String> = git.call.args.iter().skip(1).map(Field::to_code).collect();
    let code = match text.strip_prefix('!') {
        Some(code) => format!("{code} {}", rest.join(" ")),
        None => {
            // The same settings hold for what it stands for.
            let given = git.settings.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_ref()?)));
            let options = given.map(|setting| format!("-c {} ", Field::quoted(&[Field::of(&setting)])));
            format!("git {}{text} {}", options.collect::<String>(), rest.join(" "))
        }
    };
    Findings::of_code(code, &git.call)
}

fn judge_verb(site: &Site<'_>, git: &Git) -> Findings {
    let hold = match git.verb.as_str() {
        "reset" if git.call.has_any(&["--hard", "--merge"]) => work_tree::discard_all(git),
        "read-tree" if git.call.has_any(&["--reset"]) && git.call.has_short(&['u']) => work_tree::discard_all(git),
        "checkout" => work_tree::checkout(site, git),
        "checkout-index" if git.call.has_short(&['f']) || git.call.has_any(&["--force"]) => work_tree::discard_all(git),
        "restore" => work_tree::restore(site, git),
        "switch" if git.call.has_short(&['f']) || git.call.has_any(&["--force", "--discard-changes"]) => {
            work_tree::discard_all(git)
        }
        "clean" => clean::clean(site, git),
        "rm" => work_tree::removed(site, git),
        "stash" => history::stash(git),
        "branch" => branch::deleted(git).or_else(|| branch::replaced(git)),
        "apply" => work_tree::reversed(site, git),
        "reflog" if git.call.has_any(&["-n", "--dry-run"]) => None,
        "reflog"
            if git.call.operands().first().is_some_and(|word| matches!(word.text().as_str(), "expire" | "delete")) =>
        {
            Some(history::held("it empties the reflog, the only way back to commits that no branch holds"))
        }
        "gc" | "prune" => history::prune(git),
        "filter-branch" | "filter-repo" if !git.call.has_any(&["--dry-run", "--analyze", "--help", "-h"]) => {
            Some(history::held("it rewrites the whole history of the repository"))
        }
        "update-ref" if git.call.has_short(&['d']) || git.call.has_any(&["--stdin"]) => {
            Some(history::held("it deletes a ref by hand; its commits may be held by nothing else"))
        }
        "worktree" => work_tree::worktree(site, git),
        "submodule" => return submodules::judge(site, git),
        "bisect" => return nested(git, "run"),
        "rebase" => {
            let code = git.call.option(&["-x", "--exec"]);
            return code.map_or_else(Findings::default, |code| Findings::of_code(code.to_code(), &git.call));
        }
        "config" | "commit" | "add" | "status" | "log" | "diff" | "show" | "fetch" | "pull" | "clone" | "init"
        | "merge" | "tag" | "ls-files" | "rev-parse" | "remote" | "blame" | "grep" | "mv" | "cherry-pick"
        | "revert" | "am" | "describe" | "cat-file" | "rev-list" | "shortlog" | "archive" | "notes" | "help"
        | "version" | "switch" | "reset" | "check-ignore" | "ls-remote" | "ls-tree" | "hash-object"
        | "sparse-checkout" => None,
        _ => return configured_alias(git),
    };
    hold.into()
}

/// A word that git does not know may be an alias of this repository.
fn configured_alias(git: &Git) -> Findings {
    let plain = git.verb.chars().all(|letter| letter.is_alphanumeric() || letter == '-');
    let repo = git.repo.as_ref().filter(|_| plain);
    let text = repo.and_then(|repo| repo.config(&format!("alias.{}", git.verb)));
    match text {
        // An alias that names itself would never end; git refuses it as well.
        Some(text) if text.split_whitespace().next() == Some(git.verb.as_str()) => Findings::default(),
        Some(text) => of_alias(&text, git),
        None if git.may_be_set("include") => Findings { commands: vec![unknown_command(git)], ..Findings::default() },
        None => Findings { commands: push_behind_unknown(git).into_iter().collect(), ..Findings::default() },
    }
}

/// A command that git runs: what stands behind the word.
fn nested(git: &Git, word: &str) -> Findings {
    let Some(at) = git.call.args.iter().position(|field| field.text() == word) else { return Findings::default() };
    let text = match git.call.args.get(at + 1..).unwrap_or_default() {
        [] => return Findings::default(),
        [code] => code.to_code(),
        words => Field::quoted(words),
    };
    Findings::of_code(text, &git.call)
}
