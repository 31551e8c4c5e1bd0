//! Small repositories for the checks' own tests.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::workspace::Workspace;

/// A root manifest that declares nothing, for tests about something else.
const BARE_ROOT: (&str, &str) = ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n");

/// Exactly these files, nothing added.
pub(crate) fn workspace(files: &[(&str, &str)]) -> Workspace {
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    Workspace::new(files)
}

/// These files in a workspace with a bare root manifest.
pub(crate) fn member_files(files: &[(&str, &str)]) -> Workspace {
    let mut all = vec![BARE_ROOT];
    all.extend_from_slice(files);
    let ws = workspace(&all);
    assert!(ws.broken.is_empty(), "fixture is broken: {:?}", ws.broken);
    ws
}

/// One production file at `crates/a/src/lib.rs`.
pub(crate) fn library(text: &str) -> Workspace {
    member_files(&[("crates/a/src/lib.rs", text)])
}

/// What a check prints about a workspace.
pub(crate) fn printed(ws: &Workspace, check: impl Fn(&Workspace, &mut Vec<Finding>)) -> Vec<String> {
    let mut findings = Vec::new();
    check(ws, &mut findings);
    findings.iter().map(ToString::to_string).collect()
}
