//! Options as their programs read them: GNU's programs and git take every beginning of a long option that fits no
//! other, and short options that are joined. The rules only know the whole names.

use super::call::Call;
use super::field::Field;

/// A program, or a verb of git, with the long options it knows and the short ones that take no value.
type Known = (&'static str, &'static [&'static str], &'static str);

const PROGRAMS: [Known; 12] = [
    (
        "rm",
        &["dir", "force", "help", "interactive", "no-preserve-root", "one-file-system", "preserve-root", "recursive"],
        "",
    ),
    ("chmod", OWNERS, ""),
    ("chown", OWNERS, ""),
    ("chgrp", OWNERS, ""),
    ("cp", COPIES, ""),
    ("mv", COPIES, ""),
    ("install", COPIES, ""),
    (
        "ln",
        &["backup", "directory", "force", "interactive", "logical", "no-dereference", "symbolic", "target-directory"],
        "",
    ),
    ("truncate", &["io-blocks", "no-create", "reference", "size", "help", "version"], ""),
    ("shred", &["force", "iterations", "random-source", "size", "exact", "zero", "remove", "verbose", "help"], ""),
    ("tee", &["append", "ignore-interrupts", "output-error", "help", "version"], ""),
    ("tar", &["remove-files", "to-command", "checkpoint", "checkpoint-action", "use-compress-program"], ""),
];
const OWNERS: &[&str] = &[
    "changes",
    "quiet",
    "silent",
    "verbose",
    "dereference",
    "no-dereference",
    "from",
    "no-preserve-root",
    "preserve-root",
    "reference",
    "recursive",
    "help",
    "version",
];
const COPIES: &[&str] = &[
    "archive",
    "attributes-only",
    "backup",
    "copy-contents",
    "force",
    "interactive",
    "link",
    "dereference",
    "no-clobber",
    "no-dereference",
    "preserve",
    "parents",
    "recursive",
    "reflink",
    "remove-destination",
    "sparse",
    "strip-trailing-slashes",
    "symbolic-link",
    "suffix",
    "target-directory",
    "no-target-directory",
    "update",
    "verbose",
    "one-file-system",
    "help",
    "version",
];
const VERBS: [Known; 11] = [
    (
        "push",
        &[
            "verbose",
            "quiet",
            "repo",
            "all",
            "branches",
            "mirror",
            "delete",
            "tags",
            "dry-run",
            "porcelain",
            "force",
            "force-with-lease",
            "force-if-includes",
            "recurse-submodules",
            "thin",
            "receive-pack",
            "exec",
            "set-upstream",
            "progress",
            "prune",
            "verify",
            "no-verify",
            "follow-tags",
            "signed",
            "atomic",
            "push-option",
            "ipv4",
            "ipv6",
        ],
        "nfdquv",
    ),
    (
        "reset",
        &[
            "quiet",
            "refresh",
            "mixed",
            "soft",
            "hard",
            "merge",
            "keep",
            "recurse-submodules",
            "patch",
            "intent-to-add",
            "pathspec-from-file",
            "pathspec-file-nul",
        ],
        "qpN",
    ),
    (
        "checkout",
        &[
            "quiet",
            "guess",
            "overlay",
            "progress",
            "merge",
            "conflict",
            "force",
            "ours",
            "theirs",
            "patch",
            "overwrite-ignore",
            "ignore-skip-worktree-bits",
            "ignore-other-worktrees",
            "recurse-submodules",
            "detach",
            "track",
            "orphan",
            "pathspec-from-file",
            "pathspec-file-nul",
        ],
        "fqpm",
    ),
    (
        "switch",
        &[
            "quiet",
            "create",
            "force-create",
            "guess",
            "progress",
            "merge",
            "conflict",
            "force",
            "overwrite-ignore",
            "ignore-other-worktrees",
            "recurse-submodules",
            "detach",
            "track",
            "orphan",
            "discard-changes",
        ],
        "fqm",
    ),
    (
        "restore",
        &[
            "source",
            "staged",
            "worktree",
            "ignore-unmerged",
            "overlay",
            "quiet",
            "recurse-submodules",
            "progress",
            "merge",
            "conflict",
            "ours",
            "theirs",
            "patch",
            "pathspec-from-file",
            "pathspec-file-nul",
        ],
        "SWqpm",
    ),
    ("clean", &["quiet", "dry-run", "force", "interactive", "exclude"], "fdxXnqi"),
    (
        "branch",
        &[
            "verbose",
            "quiet",
            "track",
            "set-upstream-to",
            "unset-upstream",
            "color",
            "remotes",
            "contains",
            "no-contains",
            "abbrev",
            "all",
            "delete",
            "move",
            "copy",
            "list",
            "show-current",
            "create-reflog",
            "edit-description",
            "force",
            "merged",
            "no-merged",
            "column",
            "sort",
            "points-at",
            "ignore-case",
            "recurse-submodules",
            "format",
        ],
        "dDfmMcCralqvi",
    ),
    ("rm", &["dry-run", "quiet", "cached", "force", "ignore-unmatch", "sparse", "pathspec-from-file"], "nqfr"),
    (
        "ls-files",
        &[
            "cached",
            "deleted",
            "modified",
            "others",
            "ignored",
            "stage",
            "directory",
            "unmerged",
            "killed",
            "exclude-standard",
            "exclude",
            "exclude-from",
            "error-unmatch",
            "full-name",
            "recurse-submodules",
            "eol",
        ],
        "zcdmoiskutvf",
    ),
    ("stash", &["all", "include-untracked", "keep-index", "patch", "quiet", "staged", "message"], "aukpqS"),
    ("worktree", &["force", "detach", "checkout", "lock", "quiet", "track", "guess-remote", "orphan"], "fdq"),
];
/// Options of git itself that take a value.
const GIT_VALUES: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"];

/// The same call with its options written out.
pub(super) fn written_out(call: &Call) -> Option<Call> {
    let name = call.name();
    if name == "git" {
        return of_git(call);
    }
    let known = PROGRAMS.iter().find(|(own, ..)| *own == name.trim_start_matches('g') || *own == name)?;
    Some(call.with_args(expanded(&call.args, 1, known)))
}

/// git: its own options come first. A variable there that nobody knows may be empty, and then the verb is the next word.
fn of_git(call: &Call) -> Option<Call> {
    let mut args = call.args.clone();
    let mut at = 1;
    while let Some(field) = args.get(at) {
        let text = field.text();
        if GIT_VALUES.contains(&text.as_str()) {
            at += 2;
        } else if text.is_empty() && field.unknown().is_some() && args.len() > at + 1 {
            args.remove(at);
        } else if text.starts_with('-') {
            at += 1;
        } else {
            break;
        }
    }
    let verb = args.get(at)?.text();
    let args = match VERBS.iter().find(|(own, ..)| *own == verb) {
        Some(known) => expanded(&args, at + 1, known),
        None => args,
    };
    Some(call.with_args(args))
}

fn expanded(args: &[Field], from: usize, known: &Known) -> Vec<Field> {
    let mut out: Vec<Field> = args.iter().take(from).cloned().collect();
    let mut rest = args.iter().skip(from);
    for field in rest.by_ref() {
        let text = field.text();
        if text == "--" {
            out.push(field.clone());
            break;
        }
        match text.strip_prefix("--") {
            Some(long) => out.push(long_option(field, long, known.1)),
            None => out.extend(short_options(field, &text, known.2)),
        }
    }
    out.extend(rest.cloned());
    out
}

/// A long option by its whole name, where it is the beginning of only one.
fn long_option(field: &Field, long: &str, names: &[&str]) -> Field {
    let name = long.split('=').next().unwrap_or(long);
    let mut fitting = names.iter().filter(|known| known.starts_with(name));
    let (first, second) = (fitting.next(), fitting.next());
    match (first, second) {
        (Some(whole), None) if !name.is_empty() && *whole != name => {
            let mut written = Field::of(&format!("--{whole}"));
            written.atoms.extend(field.without_prefix("--".len() + name.len()).atoms);
            written
        }
        _ => field.clone(),
    }
}

/// Joined short options one by one, where none of them takes a value.
fn short_options(field: &Field, text: &str, letters: &str) -> Vec<Field> {
    let joined = text.strip_prefix('-').filter(|joined| {
        joined.len() > 1 && field.unknown().is_none() && joined.chars().all(|letter| letters.contains(letter))
    });
    match joined {
        Some(joined) => joined.chars().map(|letter| Field::of(&format!("-{letter}"))).collect(),
        None => vec![field.clone()],
    }
}
