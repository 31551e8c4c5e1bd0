//! `grep` and `rg` in front of `xargs`: which names of a listing pass, and which files hold a word.

use crate::line::call::{Call, operands};
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
    let operands = operands(&call.args, &VALUES);
    let given = call.options(&["-e", "--regexp"]);
    let (patterns, files) = match operands.split_first() {
        Some((first, files)) if given.is_empty() => (vec![first.clone()], files.to_vec()),
        Some(_) | None => (given, operands),
    };
    let patterns: Vec<String> = patterns.iter().map(Field::known).collect::<Option<_>>()?;
    if patterns.is_empty() {
        return None;
    }
    let names_only = call.has_short(&['l']) || call.has_any(&["--files-with-matches"]);
    let list = match files.as_slice() {
        [] => call.stdin.clone(),
        [file] => site.state.absolute(&file.known()?).map_or(Stream::Unknown, |path| site.listed_in(&path)),
        _ => Stream::Unknown,
    };
    match (list, names_only) {
        (_, true) => holding(site, call, &patterns, &files),
        (Stream::Paths(paths), false) => picked(site, call, &patterns, &paths),
        _ => None,
    }
}

/// The names of a listing that fit.
fn picked(site: &Site<'_>, call: &Call, patterns: &[String], paths: &Paths) -> Option<Stream> {
    let changes_lines = call.has_short(&['o', 'c', 'q', 'n', 'L', 'f', 'w', 'x', 'F', 'P', 'S', 'b', 'z']);
    if changes_lines || call.name() == "fgrep" || has_other_long(call, &[]) {
        return None;
    }
    let extended = call.has_short(&['E']) || matches!(call.name().as_str(), "egrep" | "rg");
    let syntax = if extended { Syntax::Extended } else { Syntax::Emacs };
    let any_case = call.has_short(&['i']);
    let written = |text: &str| if any_case { text.to_lowercase() } else { text.to_owned() };
    let mut wanted = Vec::new();
    for pattern in patterns {
        wanted.extend(patterns_within(&written(pattern), syntax)?);
    }
    let inverted = call.has_short(&['v']);
    // All that `ls` lists here: what passes is what the same patterns fit.
    if paths.0 == ["*"] && !inverted {
        return (!any_case).then_some(Stream::Paths(Paths(wanted)));
    }
    let wanted: Vec<Field> = wanted.iter().map(|pattern| Field::of_pattern(pattern)).collect();
    let cwd = site.state.cwd();
    let fits_any = |name: &str| wanted.iter().any(|field| fits(&field.atoms, &written(name)));
    let passes = |path: &&String| {
        // A listing is kept with full names, and written with those that it was asked for.
        let short = cwd.and_then(|cwd| Path::new(path.as_str()).strip_prefix(cwd).ok()).map(Path::display);
        let name = short.map_or_else(|| (*path).clone(), |short| short.to_string());
        let fitting = fits_any(&name) || fits_any(&format!("./{name}"));
        let chosen = if inverted { !fitting } else { fitting || fits_any(path) };
        chosen || path.ends_with('*')
    };
    Some(Stream::Paths(Paths(paths.0.iter().filter(passes).cloned().collect())))
}

/// Whether there are long options other than these.
fn has_other_long(call: &Call, known: &[&str]) -> bool {
    call.words().iter().take_while(|word| *word != "--").any(|word| {
        let name = word.split('=').next().unwrap_or_default();
        name.starts_with("--") && !known.contains(&name)
    })
}

/// The files that hold a word, as `grep -rl` lists them.
fn holding(site: &Site<'_>, call: &Call, patterns: &[String], files: &[Field]) -> Option<Stream> {
    let recursive = call.has_short(&['r', 'R']) || call.has_any(&["--recursive"]) || call.name() == "rg";
    let plain =
        |pattern: &String| !pattern.contains(['.', '*', '[', ']', '^', '$', '\\', '+', '?', '(', ')', '{', '|']);
    let widens = call.has_short(&['v', 'i', 'w', 'x', 'L', 'f', 'S']) || has_other_long(call, &FOLLOWED);
    if !patterns.iter().all(plain) || widens {
        return None;
    }
    let files = if files.is_empty() && recursive { vec![Field::of(".")] } else { files.to_vec() };
    let mut find = [vec![Field::of("find")], files, vec![Field::of("-type"), Field::of("f")]].concat();
    if !recursive {
        find.extend([Field::of("-maxdepth"), Field::of("0")]);
    }
    let listed = Search::read(&call.with_args(find)).listed(site);
    // Where there are too many to be read, patterns among the names, or files that are no short text, nothing is known.
    if listed.len() > FILES_MAX || listed.iter().any(|path| path.ends_with('*')) {
        return None;
    }
    let mut found = Vec::new();
    for path in listed {
        let contents = site.contents(Path::new(&path));
        let text = contents.text()?;
        if patterns.iter().any(|pattern| text.contains(pattern)) {
            found.push(path);
        }
    }
    Some(Stream::Paths(Paths(found)))
}

/// Long options with which `grep -l` lists no more than without them.
const FOLLOWED: [&str; 9] = [
    "--files-with-matches",
    "--recursive",
    "--regexp",
    "--include",
    "--exclude",
    "--exclude-dir",
    "--glob",
    "--type",
    "--null",
];

/// Most files that are read.
const FILES_MAX: usize = 256;
