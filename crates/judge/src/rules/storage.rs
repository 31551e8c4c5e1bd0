//! Cloud storage: buckets, and everything below a name in one.
//!
//! One object by its full name is everyday work. A bucket, all that is below a name, or what a comparison finds too much is
//! not, because nobody listed it.

use crate::hold::{GuardRule, Hold};
use crate::line::call::Call;

/// Judges a call of a client for cloud storage.
pub(super) fn judge(call: &Call) -> Option<Hold> {
    let words = call.plain_words();
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    let removes = match call.name().as_str() {
        "aws" => amazon(call, &plain),
        "gsutil" => google(call, &plain),
        "gcloud" | "gcloudx" => match behind(&plain, "storage") {
            Some(["rsync", ..]) => call.has_any(&["--delete-unmatched-destination-objects"]),
            Some(rest) => google(call, rest),
            None => false,
        },
        "az" => match behind(&plain, "storage") {
            Some([_, verb, ..]) => verb.starts_with("delete") || *verb == "remove",
            Some(["remove", ..]) => true,
            Some(_) | None => false,
        },
        "azcopy" => match plain.first() {
            Some(&"remove" | &"rm") => true,
            Some(&"sync") => is_on(call, "--delete-destination"),
            Some(_) | None => false,
        },
        "s3cmd" | "s4cmd" => match plain.first() {
            Some(&"rb") => true,
            Some(&"del" | &"rm") => many(call, &plain),
            Some(&"sync") => call.has_any(&["--delete-removed"]),
            Some(_) | None => false,
        },
        "s5cmd" => {
            plain.first() == Some(&"rb") || says(&plain, &["rm"]) && many(call, &plain) || {
                says(&plain, &["sync"]) && call.has_any(&["--delete"])
            }
        }
        "mc" | "mcli" => match plain.first() {
            Some(&"rb") => true,
            Some(&"rm") => many(call, &plain),
            Some(&"mirror") => call.has_any(&["--remove"]),
            Some(_) | None => false,
        },
        "rclone" => says(&plain, &["purge", "delete", "sync", "rmdirs", "cleanup"]),
        "b2" => {
            says(&plain, &["delete-bucket", "bucket"]) && says(&plain, &["delete-bucket", "delete"]) || {
                plain.first() == Some(&"rm") && many(call, &plain)
            }
        }
        "ossutil" | "ossutil64" | "coscli" | "obsutil" => says(&plain, &["rm", "rb", "delete"]) && many(call, &plain),
        "wrangler" => says(&plain, &["r2"]) && says(&plain, &["delete"]),
        _ => return None,
    };
    let trial = call.name() == "gsutil" && is_trial(call);
    let only_shows = call.is_dry_run() || call.asks_for_help() || trial;
    let held = removes && !only_shows;
    held.then(|| Hold::plain(GuardRule::Service, "it deletes a bucket, or everything below a name in one"))
}

fn says(plain: &[&str], wanted: &[&str]) -> bool {
    plain.iter().any(|word| wanted.contains(word))
}

/// The words behind one.
fn behind<'w>(plain: &'w [&'w str], word: &str) -> Option<&'w [&'w str]> {
    let at = plain.iter().position(|own| *own == word)?;
    plain.get(at + 1..)
}

/// Whether more is removed than one object that is named in full.
fn many(call: &Call, plain: &[&str]) -> bool {
    let names: Vec<&&str> = plain.iter().filter(|word| word.contains(['/', ':'])).collect();
    let pattern = |word: &&&str| word.contains(['*', '?', '[']) || word.ends_with('/') || is_bucket(word);
    call.has_short(&['r', 'R', 'a', 'I'])
        || call.has_any(&["--recursive", "--all-versions", "--versions", "--read-paths-from-stdin"])
        || names.iter().any(pattern)
        || names.len() > 2
}

/// Whether a name is that of a whole bucket: `gs://bucket`.
fn is_bucket(name: &str) -> bool {
    name.split_once("://").is_some_and(|(_, path)| !path.trim_end_matches('/').contains('/'))
}

fn amazon(call: &Call, plain: &[&str]) -> bool {
    match behind(plain, "s3") {
        Some(["rm", rest @ ..]) => {
            call.has_any(&["--recursive"]) || rest.iter().any(|word| is_bucket(word) && call.has_any(&["--include"]))
        }
        Some(["rb", ..]) => true,
        Some(["sync", ..]) => call.has_any(&["--delete"]),
        Some(_) | None => false,
    }
}

fn google(call: &Call, plain: &[&str]) -> bool {
    let rest: &[&str] = if plain.first() == Some(&"objects") { plain.get(1..).unwrap_or_default() } else { plain };
    match rest {
        ["rb", ..] | ["buckets", "delete", ..] => true,
        ["rm" | "delete", ..] => many(call, rest),
        ["rsync", ..] => call.has_short(&['d']),
        _ => false,
    }
}

/// `gsutil rsync -n` only shows.
fn is_trial(call: &Call) -> bool {
    call.has_short(&['n']) && call.plain_words().iter().any(|word| word == "rsync")
}

/// Whether a switch with an optional value is on.
fn is_on(call: &Call, name: &str) -> bool {
    let value =
        |word: &String| word.strip_prefix(name).map(|value| !value.ends_with("false") && !value.ends_with("prompt"));
    call.words().iter().find_map(value).unwrap_or(false)
}
