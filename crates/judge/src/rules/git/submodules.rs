//! Submodules: repositories of their own, whose changes the outer one does not hold.

use super::command::Git;
use super::pathspec::Pathspecs;
use crate::effect::Effect;
use crate::findings::{Findings, Run, RunCode};
use crate::hold::{GuardRule, Hold};
use crate::line::call::operands;
use crate::line::field::Field;
use crate::repository::Repo;
use crate::site::Site;
use std::path::PathBuf;

/// Deepest nesting of submodules that is followed.
const DEPTH_MAX: usize = 4;
/// Options of `git submodule` that take a value.
const VALUES: [&str; 7] = ["--depth", "--jobs", "-j", "--reference", "--filter", "-b", "--branch"];

/// What a command takes from a submodule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    /// The changes of its tracked files.
    Changes,
    /// Everything in its folder.
    Everything,
}

/// Judges `git submodule`.
pub(super) fn judge(site: &Site<'_>, git: &Git) -> Findings {
    let forced = git.call.has_short(&['f']) || git.call.has_any(&["--force"]);
    let words = operands(&git.call.args, &VALUES);
    let Some((verb, named)) = words.split_first() else { return Findings::default() };
    match verb.text().as_str() {
        "foreach" => Findings { runs: foreach(site, git).into_iter().collect(), ..Findings::default() },
        "update" if forced => lost(&chosen(site, git, named), Taking::Changes).into(),
        "deinit" if forced => lost(&chosen(site, git, named), Taking::Everything).into(),
        _ => Findings::default(),
    }
}

/// The submodules that a command names; nothing named means all.
fn chosen(site: &Site<'_>, git: &Git, fields: &[Field]) -> Vec<Repo> {
    named(git, &Pathspecs::read(site, git, &fields.iter().collect::<Vec<_>>()))
}

/// The submodules among what a command names, with those inside of them.
pub(super) fn named(git: &Git, specs: &Pathspecs) -> Vec<Repo> {
    let Some(repo) = &git.repo else { return Vec::new() };
    let mut found: Vec<Repo> = repo.submodules().into_iter().filter(|module| specs.may_take(module.root())).collect();
    found.extend(found.iter().flat_map(|module| inside(module, DEPTH_MAX)).collect::<Vec<_>>());
    found
}

fn inside(repo: &Repo, depth: usize) -> Vec<Repo> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let mut found = repo.submodules();
    found.extend(found.iter().flat_map(|module| inside(module, depth)).collect::<Vec<_>>());
    found
}

/// What would be lost with these submodules.
pub(super) fn lost(modules: &[Repo], taking: Taking) -> Option<Hold> {
    let mut effect = Effect::default();
    for module in modules {
        let busy = module.status().is_none_or(|status| {
            !status.dirty().is_empty() || (taking == Taking::Everything && !status.untracked.is_empty())
        });
        if busy {
            effect.repositories.add(module.root());
        }
    }
    let reason = "it throws away changes in a submodule that no commit holds".to_owned();
    (!effect.is_empty()).then(|| Hold::with(GuardRule::DiscardChanges, reason, effect))
}

/// `git submodule foreach`: the command runs in the folder of each.
fn foreach(site: &Site<'_>, git: &Git) -> Option<Run> {
    let at = git.call.args.iter().position(|field| field.text() == "foreach")?;
    let option = |field: &&Field| field.text().starts_with('-');
    let code: Vec<Field> = git.call.args.iter().skip(at + 1).skip_while(option).cloned().collect();
    let text = match code.as_slice() {
        [] => return None,
        [code] => code.to_code(),
        words => Field::quoted(words),
    };
    let deep = git.call.has_any(&["--recursive"]);
    let modules = git.repo.as_ref().map(|repo| inside(repo, if deep { DEPTH_MAX } else { 1 })).unwrap_or_default();
    let mut folders: Vec<PathBuf> = modules.iter().map(|module| module.root().to_owned()).collect();
    if folders.is_empty() {
        // Nothing runs then; what it would do outside of a submodule is still looked at, from a folder without files.
        folders.push(site.world.temporary_folder().join("tripwire-no-submodule"));
    }
    let (stdin, place) = (git.call.stdin.clone(), git.call.place);
    Some(Run::Code(RunCode { text, stdin, place, folders: Some(folders) }))
}
