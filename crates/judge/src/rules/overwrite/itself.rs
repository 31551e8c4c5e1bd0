//! What a redirection puts into its file, by the command whose output it is.
//!
//! The shell empties the file before the command begins: one that reads the same file reads nothing.

use super::writing::Writing;
use crate::line::call::{Call, Redirection};
use crate::line::field::Field;
use crate::site::Site;
use crate::world::Last;
use std::path::{Path, PathBuf};

/// Programs that read the files that they are given, and write what they make of them to their output.
const READERS: [&str; 38] = [
    "awk", "base64", "bat", "cat", "column", "comm", "cut", "diff", "expand", "fmt", "fold", "gawk", "grep", "egrep",
    "fgrep", "gsed", "head", "iconv", "jq", "join", "mawk", "nl", "paste", "pr", "rev", "rg", "sed", "shuf", "sort",
    "strings", "tac", "tail", "tsort", "unexpand", "uniq", "xxd", "xmllint", "yq",
];

/// How the target of a redirection is written.
pub(super) fn written_by(site: &Site<'_>, redirection: &Redirection<'_>, call: &Call) -> Writing {
    let target = || path_of(site, redirection.target);
    if writes_nothing(call) || target().is_some_and(|target| reads(site, redirection, call, &target)) {
        Writing::Emptied
    } else if call.name() == "git" && target().is_some_and(|target| shows_committed(site, call, &target)) {
        Writing::PutBack
    } else {
        Writing::Replaced
    }
}

/// Commands that write nothing: their redirection only empties.
fn writes_nothing(call: &Call) -> bool {
    let words = call.words();
    match call.name().as_str() {
        ":" | "true" => true,
        "cat" => words == ["/dev/null"] || (words.is_empty() && call.stdin.text() == Some("")),
        "echo" => words.iter().all(|word| word.is_empty() || word == "-n"),
        "printf" => words == [""],
        _ => false,
    }
}

/// Whether a command reads the file that its output goes to.
fn reads(site: &Site<'_>, redirection: &Redirection<'_>, call: &Call, target: &Path) -> bool {
    let same = |field: &Field| path_of(site, field).as_deref() == Some(target);
    redirection.reads.iter().any(same)
        || READERS.contains(&call.name().as_str()) && call.operands().into_iter().any(same)
}

/// `git show HEAD:FILE > FILE`: whether a committed version of the same file is written.
fn shows_committed(site: &Site<'_>, call: &Call, target: &Path) -> bool {
    let words = call.words();
    let shows = words.iter().any(|word| matches!(word.as_str(), "show" | "cat-file"));
    let names = |word: &String| {
        let (_, path) = word.split_once(':')?;
        let name = path.trim_start_matches("./");
        // From the root of the repository, or from where the command runs.
        let here = site.state.absolute(name).map(|path| site.world.real(&path, Last::Followed));
        Some(!name.is_empty() && (here.as_deref() == Some(target) || target.ends_with(name)))
    };
    shows && words.iter().filter_map(names).any(|same| same)
}

/// The one file that a word names, with links followed.
fn path_of(site: &Site<'_>, field: &Field) -> Option<PathBuf> {
    match site.paths_of(field).as_slice() {
        [path] => Some(site.world.real(path, Last::Followed)),
        _ => None,
    }
}
