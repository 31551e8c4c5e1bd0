//! What a command leaves behind for those after it: folders it made, files it wrote, what it moved and deleted.

use crate::line::call::{Call, rest_of};
use crate::line::state::State;
use crate::line::stream::Stream;
use std::path::{Path, PathBuf};

/// Options of `git clone` that take a value.
const CLONE_VALUES: [&str; 18] = [
    "--depth",
    "-b",
    "--branch",
    "-o",
    "--origin",
    "--reference",
    "-c",
    "--config",
    "--separate-git-dir",
    "-j",
    "--jobs",
    "--filter",
    "--template",
    "-u",
    "--upload-pack",
    "--shallow-since",
    "--shallow-exclude",
    "--server-option",
];

/// Remembers what later commands of the line may build on.
pub(super) fn remember(state: &mut State, call: &Call) {
    match call.name().as_str() {
        "mkdir" | "touch" => {
            let paths = named(state, call);
            state.made.extend(paths);
        }
        "tee" => {
            for path in named(state, call) {
                state.files.insert(path, call.stdin.clone());
            }
        }
        "curl" | "wget" | "aria2c" => remember_download(state, call),
        "cp" | "mv" => remember_copy(state, call),
        "ln" if call.has_short(&['s']) || call.has_any(&["--symbolic"]) => {
            if let [from, to] = named(state, call).as_slice() {
                let into = to.is_dir().then(|| from.file_name()).flatten();
                let to = into.map_or_else(|| to.clone(), |name| to.join(name));
                state.links.push((from.clone(), to));
            }
        }
        "rm" | "rmdir" | "unlink" => {
            let paths = named(state, call);
            state.removed.extend(paths);
        }
        "git" | "gh" => remember_clone(state, call),
        "zip" if call.has_short(&['m']) || call.has_any(&["--move"]) => {
            let paths = named(state, call);
            if let Some((archive, sources)) = paths.split_first() {
                sources.iter().for_each(|source| state.note_move(source, archive));
            }
        }
        _ => {}
    }
}

/// The paths that a call names, where they are known.
fn named(state: &State, call: &Call) -> Vec<PathBuf> {
    call.operands().iter().filter_map(|field| state.absolute(&field.known()?)).collect()
}

fn remember_download(state: &mut State, call: &Call) {
    let options: &[&str] = match call.name().as_str() {
        "curl" => &["-o", "--output"],
        "wget" => &["-O", "--output-document"],
        _ => &["-o", "--out"],
    };
    let url = call.operands().into_iter().find_map(|field| field.known().filter(|text| text.contains('/')));
    let last = url.and_then(|url| url.rsplit('/').next().map(str::to_owned));
    let remote = call.name() != "curl" || call.has_short(&['O']) || call.has_any(&["--remote-name"]);
    let file = call.option(options).and_then(|field| field.known()).or_else(|| last.filter(|_| remote));
    if let Some(path) = file.filter(|name| name != "-").and_then(|name| state.absolute(&name)) {
        state.files.insert(path, Stream::Downloaded);
    }
}

/// `cp` and `mv`: known contents go along, a copy is something that the line made, and what was moved is found again.
fn remember_copy(state: &mut State, call: &Call) {
    let paths = named(state, call);
    if let [from, to] = paths.as_slice()
        && let Some(stream) = state.files.get(from).cloned()
    {
        state.files.insert(to.clone(), stream);
    }
    let (target, sources) = match call.option(&["-t", "--target-directory"]).and_then(|field| field.known()) {
        Some(folder) => {
            let Some(folder) = state.absolute(&folder) else { return };
            (folder.clone(), paths.into_iter().filter(|path| *path != folder).collect())
        }
        None => match paths.split_last() {
            Some((target, sources)) => (target.clone(), sources.to_vec()),
            None => return,
        },
    };
    let into = call.option(&["-t", "--target-directory"]).is_some()
        || sources.len() > 1
        || (target.is_dir() && !state.removed.contains(&target))
        || state.made.contains(&target);
    for source in &sources {
        let to = match source.file_name().filter(|_| into) {
            Some(name) => target.join(name),
            None => target.clone(),
        };
        if call.name() == "mv" {
            state.note_move(source, &to);
        } else {
            state.made.insert(to);
        }
    }
}

/// `git clone`, `git init` and `gh repo clone`: a folder that was not there is made.
fn remember_clone(state: &mut State, call: &Call) {
    let words = call.words();
    let Some(at) = words.iter().position(|word| matches!(word.as_str(), "clone" | "init")) else { return };
    let fields: Vec<_> = call.args.iter().skip(at + 2).cloned().collect();
    let mut operands = Vec::new();
    let mut left = fields.as_slice();
    while !left.is_empty() {
        let (_, rest) = rest_of(left, &CLONE_VALUES, 0);
        let Some((first, more)) = rest.split_first() else { break };
        operands.push(first.known());
        left = left.get(left.len() - more.len()..).unwrap_or_default();
    }
    let is_clone = words.get(at).is_some_and(|word| word == "clone");
    let folder = match (is_clone, operands.as_slice()) {
        (true, [_, Some(folder), ..]) | (false, [Some(folder), ..]) => folder.clone(),
        (true, [Some(url)]) => {
            let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
            last.strip_suffix(".git").unwrap_or(last).to_owned()
        }
        (true | false, _) => ".git".to_owned(),
    };
    if let Some(path) = state.absolute(&folder).filter(|path| is_new(path)) {
        state.made.insert(path);
    }
}

/// Whether nothing is there yet, or an empty folder.
fn is_new(path: &Path) -> bool {
    match path.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !path.exists(),
    }
}
