//! Editors that change files where they are: a script that leaves nothing of them empties them.

use crate::line::call::{Call, rest_of};
use crate::line::field::Field;

/// Scripts of `sed` that delete every line, or all that is on it.
const DELETES_ALL: [&str; 12] =
    ["d", "1,$d", "0,$d", "$!d;d", "/.*/d", "/^/d", "/$/d", "//d", "s/.*//", "s/.*//g", "s/^.*$//", "1,$ d"];

/// The files that a call empties.
pub(super) fn emptied(call: &Call) -> Vec<Field> {
    match call.name().as_str() {
        "sed" | "gsed" => sed(call),
        "perl" => perl(call),
        "awk" | "gawk" => awk(call),
        _ => editor(call),
    }
}

fn sed(call: &Call) -> Vec<Field> {
    let in_place = call.words().iter().any(|word| {
        word.starts_with("--in-place") || (word.starts_with('-') && !word.starts_with("--") && word.contains('i'))
    });
    let scripts = call.options(&["-e", "--expression"]);
    let (_, rest) = rest_of(call.args.get(1..).unwrap_or_default(), &["-e", "--expression", "-f", "--file", "-l"], 0);
    let (script, files) = match (scripts.as_slice(), rest.split_first()) {
        ([], Some((script, files))) => (script.text(), files.to_vec()),
        ([], None) => return Vec::new(),
        (scripts, _) => (scripts.iter().map(Field::text).collect::<Vec<_>>().join(";"), rest),
    };
    let script = script.trim();
    // A quiet `sed` that prints nothing writes nothing.
    let quiet = call.has_any(&["--quiet", "--silent"])
        || call.words().iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('n'));
    let commands: String = script.split('/').step_by(2).collect();
    let silent = quiet && !script.contains("s/") && !commands.contains(['p', 'w', 'i', 'a', 'c', 'r', 'P', 'W']);
    if in_place && (DELETES_ALL.contains(&script) || silent) { files } else { Vec::new() }
}

fn perl(call: &Call) -> Vec<Field> {
    let options: String =
        call.words().iter().filter(|word| word.starts_with('-') && !word.starts_with("--")).cloned().collect();
    let code = call.options(&["-e", "-E", "-pe", "-ne", "-pie", "-nie"]).iter().map(Field::text).collect::<String>();
    let code = code.trim().trim_end_matches(';').replace(' ', "");
    let prints = options.contains('p');
    let nothing = match prints {
        true => {
            matches!(code.as_str(), "$_=\"\"" | "$_=''" | "undef$_" | "$_=undef" | "s/.*//s" | "s/.*//gs" | "s/.*//")
        }
        false => !code.contains("print") && !code.contains("say"),
    };
    if !options.contains('i') || !(prints || options.contains('n')) || !nothing {
        return Vec::new();
    }
    rest_of(call.args.get(1..).unwrap_or_default(), &["-e", "-E", "-pe", "-ne", "-pie", "-nie"], 0).1
}

fn awk(call: &Call) -> Vec<Field> {
    let in_place = call.options(&["-i", "--include"]).iter().any(|value| value.text() == "inplace");
    let (_, rest) = rest_of(call.args.get(1..).unwrap_or_default(), &["-i", "--include", "-F", "-v"], 0);
    match rest.split_first() {
        Some((code, files)) if in_place && matches!(code.text().trim(), "" | "0" | "{}" | "{next}") => files.to_vec(),
        Some(_) | None => Vec::new(),
    }
}

/// `ex -sc '%d|x' file`, `vim -c '%d' -c wq file`
fn editor(call: &Call) -> Vec<Field> {
    let given = call.options(&["-c", "--cmd", "-sc"]);
    let deletes = given.iter().any(|field| {
        let text = field.text();
        let command = text.trim_start_matches(':');
        ["%d", "1,$d", "%delete"].iter().any(|start| {
            command.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(['|', ' ', '_']))
        })
    });
    if !deletes {
        return Vec::new();
    }
    rest_of(call.args.get(1..).unwrap_or_default(), &["-c", "--cmd", "-sc"], 0).1
}
