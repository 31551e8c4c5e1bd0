//! Cloud storage: buckets, and everything below a name in one.
//!
//! One object by its full name is everyday work. A bucket, all that is below a name, or what a comparison finds too much is
//! not, because nobody listed it.

use super::delete::targets::{self, Manner};
use crate::hold::{GuardRule, Hold};
use crate::line::call::Call;
use crate::line::command;
use crate::line::field::Field;
use crate::site::Site;

/// Judges a call of a client for cloud storage.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if is_on_this_machine(site, call) {
        return None;
    }
    let words = command::words(call);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let removes = match (call.name().as_str(), words.as_slice()) {
        ("aws", words) => amazon(call, words),
        ("gsutil", words) => google(call, words),
        ("gcloud", ["storage", rest @ ..] | ["alpha" | "beta", "storage", rest @ ..]) => match rest {
            ["rsync", ..] => call.has_any(&["--delete-unmatched-destination-objects"]),
            rest => google(call, rest),
        },
        ("az", ["storage", "blob" | "file" | "entity" | "message", "delete", ..]) => false,
        ("az", ["storage", "remove", ..] | ["storage", "fs", "directory", "delete", ..]) => true,
        ("az", ["storage", _, verb, ..]) => verb.starts_with("delete") || *verb == "remove",
        ("azcopy", ["remove" | "rm", ..]) => true,
        ("azcopy", ["sync", ..]) => is_on(call, "--delete-destination"),
        ("s3cmd" | "s4cmd" | "s5cmd" | "mc" | "mcli", ["rb", ..]) => true,
        ("s3cmd" | "s4cmd", ["del" | "rm", ..]) => many(call, &words),
        ("s5cmd" | "mc" | "mcli" | "b2", ["rm", ..]) => many(call, &words),
        ("s3cmd" | "s4cmd", ["sync", ..]) => call.has_any(&["--delete-removed"]),
        ("s5cmd", ["sync", ..]) => call.has_any(&["--delete"]),
        ("mc" | "mcli", ["mirror", ..]) => call.has_any(&["--remove"]),
        ("rclone", ["purge" | "delete" | "sync" | "rmdirs" | "cleanup", ..]) => true,
        ("b2", ["delete-bucket", ..] | ["bucket", "delete", ..]) => true,
        ("ossutil" | "ossutil64" | "coscli" | "obsutil", ["rm" | "rb" | "delete", ..]) => many(call, &words),
        ("wrangler", ["r2", "bucket", "delete", ..]) => true,
        _ => return None,
    };
    let trial = matches!((call.name().as_str(), words.first()), ("gsutil", Some(&"rsync"))) && call.has_short(&['n']);
    let only_shows = call.is_dry_run() || command::asks_for_help(call) || trial;
    let held = removes && !only_shows;
    if held && let Some(folder) = mirrored_here(call, &words) {
        return targets::judge(site, call.place, Manner::Recursive, &[folder]);
    }
    held.then(|| Hold::plain(GuardRule::Service, "it deletes a bucket, or everything below a name in one"))
}

/// The folder of this machine that a comparison makes like a bucket: what is too much is deleted here.
fn mirrored_here(call: &Call, words: &[&str]) -> Option<Field> {
    let compares = words.iter().take(3).any(|word| matches!(*word, "sync" | "rsync" | "mirror"));
    let target = call.operands().last().copied().filter(|_| compares)?;
    let text = target.text();
    // `remote:path` is somewhere else too.
    let is_here = !text.is_empty() && !text.contains(':') && !matches!(call.name().as_str(), "mc" | "mcli");
    is_here.then(|| target.clone())
}

/// Whether the client of Amazon's cloud speaks to a stand-in on this machine.
pub(super) fn is_on_this_machine(site: &Site<'_>, call: &Call) -> bool {
    if call.name() != "aws" {
        return false;
    }
    let option = call.option(&["--endpoint-url"]).and_then(|field| field.known());
    let variable = || call.variable("AWS_ENDPOINT_URL").or_else(|| site.state.variable("AWS_ENDPOINT_URL").known());
    let Some(address) = option.or_else(variable) else { return false };
    let host = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]" | "localstack")
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

fn amazon(call: &Call, words: &[&str]) -> bool {
    match words {
        ["s3", "rm", rest @ ..] => {
            call.has_any(&["--recursive"]) || rest.iter().any(|word| is_bucket(word) && call.has_any(&["--include"]))
        }
        ["s3", "rb", ..] => true,
        ["s3", "sync", ..] => call.has_any(&["--delete"]),
        _ => false,
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

/// Whether a switch with an optional value is on.
fn is_on(call: &Call, name: &str) -> bool {
    let value =
        |word: &String| word.strip_prefix(name).map(|value| !value.ends_with("false") && !value.ends_with("prompt"));
    call.words().iter().find_map(value).unwrap_or(false)
}
