//! What a command leaves behind for those after it: folders it made, files it wrote, what it moved and deleted.

use super::call::Call;
use super::stream::Stream;
use super::walk::Walker;
use super::wrappers::rest_of;
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

impl Walker<'_> {
    /// Remembers what later commands of the line may build on.
    pub(super) fn remember(&mut self, call: &Call) {
        match call.name().as_str() {
            "mkdir" | "touch" => {
                let paths = self.named(call);
                self.state.made.extend(paths);
            }
            "tee" => {
                for path in self.named(call) {
                    self.state.files.insert(path, call.stdin.clone());
                }
            }
            "curl" | "wget" | "aria2c" => self.remember_download(call),
            "cp" | "mv" => self.remember_copy(call),
            "ln" if call.has_short(&['s']) || call.has_any(&["--symbolic"]) => {
                if let [from, to] = self.named(call).as_slice() {
                    let into = to.is_dir().then(|| from.file_name()).flatten();
                    let to = into.map_or_else(|| to.clone(), |name| to.join(name));
                    self.state.links.push((from.clone(), to));
                }
            }
            "rm" | "rmdir" | "unlink" => {
                let paths = self.named(call);
                self.state.removed.extend(paths);
            }
            "git" | "gh" => self.remember_clone(call),
            "zip" if call.has_short(&['m']) || call.has_any(&["--move"]) => {
                let paths = self.named(call);
                if let Some((archive, sources)) = paths.split_first() {
                    sources.iter().for_each(|source| self.state.note_move(source, archive));
                }
            }
            _ => {}
        }
    }

    /// The paths that a call names, where they are known.
    fn named(&self, call: &Call) -> Vec<PathBuf> {
        call.operands().iter().filter_map(|field| self.state.absolute(&field.known()?)).collect()
    }

    fn remember_download(&mut self, call: &Call) {
        let options: &[&str] = match call.name().as_str() {
            "curl" => &["-o", "--output"],
            "wget" => &["-O", "--output-document"],
            _ => &["-o", "--out"],
        };
        let url = call.operands().into_iter().find_map(|field| field.known().filter(|text| text.contains('/')));
        let last = url.and_then(|url| url.rsplit('/').next().map(str::to_owned));
        let remote = call.name() != "curl" || call.has_short(&['O']) || call.has_any(&["--remote-name"]);
        let file = call.option(options).and_then(|field| field.known()).or_else(|| last.filter(|_| remote));
        if let Some(path) = file.filter(|name| name != "-").and_then(|name| self.state.absolute(&name)) {
            self.state.files.insert(path, Stream::Downloaded);
        }
    }

    /// `cp` and `mv`: known contents go along, a copy is something that the line made, and what was moved is found again.
    fn remember_copy(&mut self, call: &Call) {
        let paths = self.named(call);
        if let [from, to] = paths.as_slice()
            && let Some(stream) = self.state.files.get(from).cloned()
        {
            self.state.files.insert(to.clone(), stream);
        }
        let (target, sources) = match call.option(&["-t", "--target-directory"]).and_then(|field| field.known()) {
            Some(folder) => {
                let Some(folder) = self.state.absolute(&folder) else { return };
                (folder.clone(), paths.into_iter().filter(|path| *path != folder).collect())
            }
            None => match paths.split_last() {
                Some((target, sources)) => (target.clone(), sources.to_vec()),
                None => return,
            },
        };
        let into = call.option(&["-t", "--target-directory"]).is_some()
            || sources.len() > 1
            || (target.is_dir() && !self.state.removed.contains(&target))
            || self.state.made.contains(&target);
        for source in &sources {
            let to = match source.file_name().filter(|_| into) {
                Some(name) => target.join(name),
                None => target.clone(),
            };
            if call.name() == "mv" {
                self.state.note_move(source, &to);
            } else {
                self.state.made.insert(to);
            }
        }
    }

    /// `git clone`, `git init` and `gh repo clone`: a folder that was not there is made.
    fn remember_clone(&mut self, call: &Call) {
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
        if let Some(path) = self.state.absolute(&folder).filter(|path| is_new(path)) {
            self.state.made.insert(path);
        }
    }
}

/// Whether nothing is there yet, or an empty folder.
fn is_new(path: &Path) -> bool {
    match path.read_dir() {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !path.exists(),
    }
}
