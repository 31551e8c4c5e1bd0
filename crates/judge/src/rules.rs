//! The rules, by one line: *what nobody gets back, and the run may not lose*.
//!
//! Each file holds one family. A call belongs to at most a few; the first that holds it names the reason.

mod code;
mod database;
mod delete;
mod disk;
mod git;
mod git_branch;
mod git_clean;
mod git_modules;
mod git_options;
mod git_past;
mod git_paths;
mod git_programs;
mod literal;
mod overwrite;
mod pathspec;
mod powershell;
mod push;
mod service;
mod sql;
mod system;
mod value;

use super::call::Call;
use super::hold::Hold;
use super::walk::Walker;

pub(super) use self::database::generated as generated_sql;
pub(crate) use self::git::note_unknown_push;

/// Judges one call.
pub(super) fn judge(walker: &mut Walker<'_>, call: &Call) -> Option<Hold> {
    delete::judge(walker, call)
        .or_else(|| git::judge(walker, call))
        .or_else(|| overwrite::judge(walker, call))
        .or_else(|| disk::judge(walker, call))
        .or_else(|| database::judge(walker, call))
        .or_else(|| service::judge(call))
        .or_else(|| system::judge(walker, call))
        .or_else(|| code::judge(walker, call))
        .or_else(|| powershell::judge(walker, call))
}
