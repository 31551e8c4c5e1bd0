//! Where `cp`, `mv`, `install`, `rsync` and `ln` put what they are given: the last name, or the same names in a folder.

use super::writing::{Writing, judge_path, written};
use crate::hold::Hold;
use crate::line::call::{Call, Place, operands};
use crate::line::field::Field;
use crate::site::Site;
use crate::world::{Budget, Last};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Most entries of copied folders that are looked at.
const ENTRIES_MAX: usize = 4_096;
/// Options that take a value which is no file.
const VALUES: [&str; 10] =
    ["-t", "--target-directory", "-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group"];
/// The same of `rsync`.
const RSYNC_VALUES: [&str; 6] = ["-e", "--rsh", "--exclude", "--include", "--filter", "-f"];

/// What is put where.
pub(super) struct Destination {
    sources: Vec<Field>,
    target: Field,
    kind: TargetKind,
    takes: FolderPart,
}

/// What is taken of a source that is a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderPart {
    /// The folder under its name: it is moved, linked, or passed over.
    Name,
    /// All files in it.
    Tree,
    /// The same; with a slash behind its name the folder itself is left out.
    TreeOrContents,
}

/// What the target may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    /// A folder where it is one, else a file.
    Any,
    /// A file, also where a folder has its name (`-T`).
    File,
}

/// Judges a call that copies or moves.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let keeps = ["--backup", "--no-clobber", "--interactive", "--ignore-existing", "--dry-run", "--help"];
    let letters: &[char] = match call.name().as_str() {
        "install" => &['b', 'd'],
        "rsync" => &['b', 'n'],
        _ => &['b', 'n', 'i'],
    };
    if call.has_any(&keeps) || call.has_short(letters) {
        return None;
    }
    let destination = Destination::of(call)?;
    let nothing = destination.sources.iter().all(|field| field.text() == "/dev/null");
    let writing = if nothing { Writing::Emptied } else { Writing::Replaced };
    let in_folder = || {
        let mut paths = destination.paths(site).into_iter();
        paths.find_map(|path| judge_path(site, &site.world.real(&path, Last::Followed), writing))
    };
    // What is put into a folder leaves the folder what it was.
    let is_folder = call.place == Place::Here && site.paths_of(&destination.target).iter().any(|path| path.is_dir());
    if is_folder { in_folder() } else { written(site, &destination.target, writing, call.place) }
}

impl Destination {
    /// The sources and the target of a call; none where one of them is missing.
    pub(super) fn of(call: &Call) -> Option<Self> {
        let is_rsync = call.name() == "rsync";
        let mut sources = operands(&call.args, if is_rsync { &RSYNC_VALUES } else { &VALUES });
        let folder = if is_rsync { None } else { call.option(&["-t", "--target-directory"]) };
        let target = match folder {
            Some(folder) => folder,
            None => sources.pop()?,
        };
        if sources.is_empty() || (is_rsync && target.text().contains(':')) {
            return None;
        }
        let is_file = call.has_any(&["-T", "--no-target-directory"]);
        let takes = match call.name().as_str() {
            "rsync" => FolderPart::TreeOrContents,
            "cp" | "gcp" => FolderPart::Tree,
            _ => FolderPart::Name,
        };
        Some(Self { sources, target, kind: if is_file { TargetKind::File } else { TargetKind::Any }, takes })
    }

    /// The files that would have new contents.
    pub(super) fn paths(&self, site: &Site<'_>) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for target in site.paths_of(&self.target) {
            // A folder, or a link to one that is followed, gets them into it.
            if self.kind == TargetKind::File || !target.is_dir() {
                paths.push(target);
                continue;
            }
            for source in &self.sources {
                self.landed(site, source, &target, &mut paths);
            }
        }
        paths
    }

    /// Where one source ends up in a folder.
    fn landed(&self, site: &Site<'_>, source: &Field, folder: &Path, paths: &mut Vec<PathBuf>) {
        let Some(text) = source.known() else { return };
        let slash = self.takes == FolderPart::TreeOrContents && text.ends_with('/');
        let contents = slash || text.ends_with("/.") || text == ".";
        for path in site.paths_of(source) {
            let target = match path.file_name().filter(|_| !contents) {
                Some(name) => folder.join(name),
                None => folder.to_owned(),
            };
            match self.takes {
                FolderPart::Name => paths.push(target),
                FolderPart::Tree | FolderPart::TreeOrContents => below(site, path, target, paths),
            }
        }
    }
}

/// The files of a source, each at its new place. What is not there yet is new with all that comes into it.
fn below(site: &Site<'_>, source: PathBuf, target: PathBuf, paths: &mut Vec<PathBuf>) {
    let mut todo = vec![(source, target)];
    let mut entries = 0_usize;
    while let Some((source, target)) = todo.pop() {
        entries += 1;
        if entries > ENTRIES_MAX || site.world.look_once() == Budget::Spent {
            return;
        }
        if source.is_dir() && !source.is_symlink() && target.is_dir() {
            let children = source.read_dir().into_iter().flatten().flatten();
            let mut names: Vec<OsString> = children.map(|child| child.file_name()).collect();
            names.sort();
            todo.extend(names.iter().rev().map(|name| (source.join(name), target.join(name))));
        } else {
            paths.push(target);
        }
    }
}
