//! The rules, by one line: *what cannot be got back, and the run may not lose*.
//!
//! Each file holds one family, named after what it guards. A call belongs to at most a few; the first that holds it names
//! the reason. A rule takes facts and gives findings: it runs nothing and follows nothing, that is the interpreter's part.

mod code;
mod database;
mod delete;
mod disk;
mod git;
mod http;
mod overwrite;
mod permissions;
mod publish;
mod service;
mod storage;
mod system;
mod verbs;

pub(crate) use self::database::generated as generated_sql;
pub(crate) use self::git::{note_effects as note_git_effects, unknown_push};
pub(crate) use self::overwrite::redirected as judge_redirection;

use crate::findings::Findings;
use crate::line::call::Call;
use crate::line::command;
use crate::site::Site;

/// A family of rules; the one about publishing comes last, because what is destroyed weighs more.
type Family = fn(&Site<'_>, &Call) -> Findings;

const FAMILIES: [Family; 13] = [
    delete::judge,
    |site, call| permissions::judge(site, call).into(),
    git::judge,
    |site, call| overwrite::judge(site, call).into(),
    |site, call| disk::judge(site, call).into(),
    database::judge,
    |site, call| service::judge(site, call).into(),
    |site, call| storage::judge(site, call).into(),
    |site, call| system::judge(site, call).into(),
    code::judge,
    code::powershell::judge,
    |site, call| http::judge(site, call).into(),
    |site, call| publish::judge(site, call).into(),
];

/// The families that read verbs behind options.
const VERBS: [Family; 4] = [
    database::judge_tool,
    |site, call| service::judge(site, call).into(),
    |site, call| storage::judge(site, call).into(),
    |site, call| publish::judge(site, call).into(),
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
    if findings.hold.is_none()
        && let Some(other) = command::other_reading(call)
    {
        findings.hold = VERBS.iter().find_map(|family| family(site, &other).hold);
    }
    findings
}
