//! `grep` and `rg` in front of `xargs`: which names of a listing pass, and which files hold a word.

use crate::line::call::{Call, rest_of};
use crate::line::field::{Field, fits};
use crate::line::stream::{Paths, Stream};
use crate::search::Search;
use crate::search::regex::{Syntax, patterns_within};
use crate::site::Site;
use std::path::Path;

/// Options that take a value.
const VALUES: [&str; 16] = [
    "-e",
    "--regexp",
    "-f",
    "--file",
    "-m",
    "-A",
    "-B",
    "-C",
    "-g",
    "--glob",
    "-t",
    "--type",
    "-T",
    "--include",
    "--exclude",
    "--exclude-dir",
];

/// What such a program writes, where it only picks names.
pub(super) fn of(site: &Site<'_>, call: &Call) -> Option<Stream> {
    let (_, operands) = rest_of(call.args.get(1..)?, &VALUES, 0);
    let given = call.options(&["-e", "--regexp"]);
    let (patterns, files) = match operands.split_first() {
        Some((first, files)) if given.is_empty() => (vec![first.clone()], files.to_vec()),
        Some(_) | None => (given, operands),
    };
    let patterns: Vec<String> = patterns.iter().map(Field::known).collect::<Option<_>>()?;
    let names_only = call.has_short(&['l']) || call.has_any(&["--files-with-matches"]);
    match (&call.stdin, files.is_empty(), names_only) {
        (Stream::Paths(paths), true, false) => picked(site, call, &patterns, paths),
        (_, _, true) => holding(site, call, &patterns, &files),
        _ => None,
    }
}

/// The names of a listing that fit.
fn picked(site: &Site<'_>, call: &Call, patterns: &[String], paths: &Paths) -> Option<Stream> {
    let changes_lines = call.has_short(&['o', 'c', 'q', 'n', 'L', 'f', 'w', 'x', 'P', 'b', 'z']);
    if changes_lines || call.words().iter().any(|word| word.starts_with("--") && word != "--") {
        return None;
    }
    let extended = call.has_short(&['E']) || matches!(call.name().as_str(), "egrep" | "rg");
    let syntax = if extended { Syntax::Extended } else { Syntax::Emacs };
    let any_case = call.has_short(&['i']);
    let written = |text: &str| if any_case { text.to_lowercase() } else { text.to_owned() };
    let mut wanted = Vec::new();
    for pattern in patterns {
        for pattern in patterns_within(&written(pattern), syntax)? {
            let mut field = Field::default();
            field.push_pattern(&pattern);
            wanted.push(field);
        }
    }
    let cwd = site.state.cwd();
    let fits_any = |name: &str| wanted.iter().any(|field| fits(&field.atoms, &written(name)));
    let passes = |path: &&String| {
        // A listing is kept with full names, and written with those that it was asked for.
        let short = cwd.and_then(|cwd| Path::new(path.as_str()).strip_prefix(cwd).ok()).map(Path::display);
        let name = short.map_or_else(|| (*path).clone(), |short| short.to_string());
        (fits_any(&name) || fits_any(&format!("./{name}"))) != call.has_short(&['v']) || path.ends_with('*')
    };
    Some(Stream::Paths(Paths(paths.0.iter().filter(passes).cloned().collect())))
}

/// The files that hold a word, as `grep -rl` lists them.
fn holding(site: &Site<'_>, call: &Call, patterns: &[String], files: &[Field]) -> Option<Stream> {
    let recursive = call.has_short(&['r', 'R']) || call.name() == "rg";
    let plain =
        |pattern: &String| !pattern.contains(['.', '*', '[', ']', '^', '$', '\\', '+', '?', '(', ')', '{', '|']);
    if !patterns.iter().all(plain) || call.has_short(&['v', 'i', 'w', 'x', 'L']) {
        return None;
    }
    let files = if files.is_empty() && recursive { vec![Field::of(".")] } else { files.to_vec() };
    let mut find = [vec![Field::of("find")], files, vec![Field::of("-type"), Field::of("f")]].concat();
    if !recursive {
        find.extend([Field::of("-maxdepth"), Field::of("0")]);
    }
    let listed = Search::read(&call.with_args(find)).listed(site);
    let holds = |path: &&String| {
        let contents = site.contents(Path::new(path.as_str()));
        contents.text().is_some_and(|text| patterns.iter().any(|pattern| text.contains(pattern)))
    };
    // Where there are too many to be read, or patterns among the names, nothing is known.
    let known = listed.len() <= FILES_MAX && !listed.iter().any(|path| path.ends_with('*'));
    known.then(|| Stream::Paths(Paths(listed.iter().filter(holds).cloned().collect())))
}

/// Most files that are read.
const FILES_MAX: usize = 256;
