//! The rules, by one line: *what cannot be got back, and the run may not lose*.
//!
//! Each file holds one family, named after what it guards. A call belongs to at most a few; the first that holds it names
//! the reason. A rule takes facts and gives findings: it runs nothing and follows nothing, that is the interpreter's part.

mod code;
mod database;
mod delete;
mod disk;
mod git;
mod overwrite;
mod permissions;
mod service;
mod system;

pub(crate) use self::database::generated as generated_sql;
pub(crate) use self::git::{note_effects as note_git_effects, unknown_push};
pub(crate) use self::overwrite::redirected as judge_redirection;

use crate::findings::Findings;
use crate::line::call::Call;
use crate::site::Site;

/// A family of rules.
type Family = fn(&Site<'_>, &Call) -> Findings;

const FAMILIES: [Family; 10] = [
    delete::judge,
    |site, call| permissions::judge(site, call).into(),
    git::judge,
    |site, call| overwrite::judge(site, call).into(),
    |site, call| disk::judge(site, call).into(),
    |site, call| database::judge(site, call).into(),
    |_, call| service::judge(call).into(),
    |_, call| system::judge(call).into(),
    code::judge,
    |site, call| code::powershell::judge(site, call).into(),
];

/// Judges one call.
pub(crate) fn judge(site: &Site<'_>, call: &Call) -> Findings {
    let mut findings = Findings::default();
    for family in FAMILIES {
        findings.extend(family(site, call));
        if findings.hold.is_some() {
            break;
        }
    }
    findings
}
