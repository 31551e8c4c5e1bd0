//! Where `cp`, `mv`, `install`, `rsync` and `ln` put what they are given: the last name, or the same names in a folder.

use super::writing::{Writing, judge_path, written};
use crate::hold::Hold;
use crate::line::call::{Call, Place, operands};
use crate::line::field::Field;
use crate::site::Site;
use crate::world::{Last, Spot};
use std::path::{Path, PathBuf};

/// Most files of copied folders that are looked at.
const FILES_MAX: usize = 256;
/// Options that take a value which is no file.
const VALUES: [&str; 12] =
    ["-t", "--target-directory", "-S", "--suffix", "-m", "--mode", "-o", "--owner", "-g", "--group", "-e", "--exclude"];

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
    if call.place != Place::Here || destination.target.unknown().is_some() {
        return written(site, &destination.target, writing, call.place);
    }
    let paths = destination.paths(site);
    let is_target = matches!(paths.as_slice(), [only] if path_of(site, &destination.target).as_ref() == Some(only));
    if is_target {
        return written(site, &destination.target, writing, call.place);
    }
    paths.iter().find_map(|path| judge_path(site, &site.world.real(path, Last::Followed), writing))
}

impl Destination {
    /// The sources and the target of a call; none where one of them is missing.
    pub(super) fn of(call: &Call) -> Option<Self> {
        let is_rsync = call.name() == "rsync";
        let values: &[&str] =
            if is_rsync { &["-e", "--rsh", "--exclude", "--include", "--filter", "-f"] } else { &VALUES };
        let mut sources: Vec<Field> =
            operands(&call.args, values).into_iter().filter(|field| field.text() != "--").collect();
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
        let spots = site.world.spots(&self.target, site.state.cwd());
        let targets = spots.into_iter().filter_map(|spot| if let Spot::Path(path) = spot { Some(path) } else { None });
        let mut paths = Vec::new();
        for target in targets {
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
        for spot in site.world.spots(source, site.state.cwd()) {
            let Spot::Path(path) = spot else { continue };
            let target = match path.file_name().filter(|_| !contents) {
                Some(name) => folder.join(name),
                None => folder.to_owned(),
            };
            match self.takes {
                FolderPart::Name => paths.push(target),
                FolderPart::Tree | FolderPart::TreeOrContents => below(&path, target, paths),
            }
        }
    }
}

/// The files of a source, each at its new place.
fn below(source: &Path, target: PathBuf, paths: &mut Vec<PathBuf>) {
    if paths.len() >= FILES_MAX {
        return;
    }
    if source.is_dir() && !source.is_symlink() {
        for child in source.read_dir().into_iter().flatten().flatten() {
            below(&child.path(), target.join(child.file_name()), paths);
        }
    } else {
        paths.push(target);
    }
}

fn path_of(site: &Site<'_>, field: &Field) -> Option<PathBuf> {
    match site.world.spots(field, site.state.cwd()).as_slice() {
        [Spot::Path(path)] => Some(path.clone()),
        _ => None,
    }
}
