//! Options as their programs read them: GNU's programs take every beginning of a long option that fits no other, and
//! the rules only know the whole names. git's own options are written out where git is judged.

use crate::line::call::Call;
use crate::line::field::Field;

/// A program with the long options it knows.
type Known = (&'static str, &'static [&'static str]);

const PROGRAMS: [Known; 12] = [
    (
        "rm",
        &["dir", "force", "help", "interactive", "no-preserve-root", "one-file-system", "preserve-root", "recursive"],
    ),
    ("chmod", OWNERS),
    ("chown", OWNERS),
    ("chgrp", OWNERS),
    ("cp", COPIES),
    ("mv", COPIES),
    ("install", COPIES),
    (
        "ln",
        &["backup", "directory", "force", "interactive", "logical", "no-dereference", "symbolic", "target-directory"],
    ),
    ("truncate", &["io-blocks", "no-create", "reference", "size", "help", "version"]),
    ("shred", &["force", "iterations", "random-source", "size", "exact", "zero", "remove", "verbose", "help"]),
    ("tee", &["append", "ignore-interrupts", "output-error", "help", "version"]),
    ("tar", &["remove-files", "to-command", "checkpoint", "checkpoint-action", "use-compress-program"]),
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
/// The same call with its options written out.
pub(super) fn written_out(call: &Call) -> Option<Call> {
    let name = call.name();
    let (_, names) = PROGRAMS.iter().find(|(own, _)| *own == name.trim_start_matches('g') || *own == name)?;
    Some(call.with_args(expanded(&call.args, names)))
}

/// The same arguments with their long options by their whole names.
fn expanded(args: &[Field], names: &[&str]) -> Vec<Field> {
    let options = args.iter().take_while(|field| field.text() != "--").count();
    let one = |(at, field): (usize, &Field)| match field.text().strip_prefix("--") {
        Some(long) if at < options => long_option(field, long, names),
        Some(_) | None => field.clone(),
    };
    args.iter().enumerate().map(one).collect()
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
