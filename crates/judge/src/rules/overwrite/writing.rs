//! One file that is written: what is lost with what it held.

use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::call::Place;
use crate::line::field::Field;
use crate::losses;
use crate::rules::delete::targets::{self, Manner};
use crate::site::Site;
use crate::world::{Last, Spot, World, Zone};
use std::path::{Path, PathBuf};
use tripwire_core::limits::LOST_FILES_HELD;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// Everything in it goes, and nothing comes.
    Emptied,
    /// What was committed of it comes back over what was changed since.
    PutBack,
    /// Something else stands in it afterwards.
    Replaced,
    /// Something is added at its end.
    Appended,
}

/// Judges one written file.
pub(super) fn written(site: &Site<'_>, target: &Field, writing: Writing, place: Place) -> Option<Hold> {
    if place == Place::Remote {
        return elsewhere(site, target, writing);
    }
    if place != Place::Here {
        return None;
    }
    let cwd = site.state.cwd();
    if writing == Writing::Emptied
        && let Some(hold) = emptied(site, target)
    {
        return Some(hold);
    }
    if target.unknown().is_some() {
        return None;
    }
    let spots = site.world.spots(target, cwd);
    if writing == Writing::Emptied && spots.len() > 1 {
        // A pattern that empties many files hits what a pattern of `rm` hits.
        let hold = targets::judge(site, place, Manner::Files, std::slice::from_ref(target));
        if hold.is_some() {
            return hold;
        }
    }
    spots.into_iter().find_map(|spot| match spot {
        Spot::Path(path) if is_stream(&path) => None,
        Spot::Path(path) => {
            let path = site.world.real(&path, Last::Followed);
            judge_path(site, &path, writing)
        }
        Spot::Contents(_) | Spot::Unknown(..) => None,
    })
}

/// A file of another machine: a device, or a log that is emptied.
fn elsewhere(site: &Site<'_>, target: &Field, writing: Writing) -> Option<Hold> {
    let name = target.known().filter(|name| name.starts_with('/'))?;
    let path = Path::new(&name);
    if site.world.is_device(path) {
        return Some(Hold::plain(GuardRule::Disk, &format!("it writes over the device `{name}` of another machine")));
    }
    let emptied = writing == Writing::Emptied && World::belongs_to_system(path) && !path.starts_with("/dev");
    emptied.then(|| Hold::plain(GuardRule::Overwrite, &format!("it empties `{name}` on another machine")))
}

/// Files of the workspace that are emptied: what git does not know is lost as if it were deleted, and counts together
/// with that. A name of which a part is unknown is one file, unless it comes again and again.
fn emptied(site: &Site<'_>, target: &Field) -> Option<Hold> {
    let cwd = site.state.cwd();
    let partly = target.is_partly_unknown();
    if partly && !site.world.repeats() {
        return None;
    }
    let mut files = Vec::new();
    for spot in site.world.spots(target, cwd).into_iter().chain(site.world.alike(target, cwd)) {
        match spot {
            Spot::Path(path) => files.push(site.world.real(&path, Last::Followed)),
            Spot::Contents(folder) => {
                files.extend(folder.read_dir().into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())));
            }
            Spot::Unknown(..) => {}
        }
    }
    let mut lost = Effect::default();
    let mut unknown = Vec::new();
    let full = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
    // A search names the folder that it looks through, and means the files in it.
    let searched = |path: &Path| site.world.repeats() && path.is_dir();
    let own = |path: &PathBuf| {
        (full(path) || searched(path)) && !site.state.is_made(path) && site.world.zone(path) == Zone::Inside
    };
    for path in files.into_iter().filter(own) {
        let losses = losses::losses(site.world, &path);
        lost.targets.extend(losses.effect.targets);
        losses.unknown.iter().for_each(|file| lost.untracked.add(file));
        unknown.extend(losses.unknown);
    }
    let held = !unknown.is_empty() && site.world.sweep(&unknown) >= LOST_FILES_HELD;
    let reason = "it empties files that git does not know, which cannot be restored".to_owned();
    held.then(|| Hold::with(GuardRule::Overwrite, reason, lost))
}

/// The names of a process's own open files. What they lead to for the judge is not what they lead to for the command,
/// and the opening of that file was judged then. The folders on the way are followed already: `/dev/fd` and `/proc/self`
/// have become the folder of this process.
fn is_stream(path: &Path) -> bool {
    let is_standard =
        ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"].iter().any(|name| path == Path::new(name));
    let own = format!("/proc/{}", std::process::id());
    let is_own_descriptor =
        path.strip_prefix(own).is_ok_and(|rest| rest.parent().is_some_and(|folder| folder.ends_with("fd")));
    is_standard || is_own_descriptor || path.starts_with("/dev/fd")
}

/// Whether a path is one that the kernel makes. What lies in shared memory is a file like any other.
fn is_of_the_kernel(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

pub(super) fn judge_path(site: &Site<'_>, path: &Path, writing: Writing) -> Option<Hold> {
    let shown = path.display();
    if path == Path::new("/proc/sysrq-trigger") {
        return Some(Hold::plain(GuardRule::System, "it tells the kernel to restart, to stop or to kill"));
    }
    if site.world.is_device(path) {
        return Some(Hold::plain(GuardRule::Disk, &format!("it writes over the device `{shown}`")));
    }
    if writing == Writing::Appended {
        return None;
    }
    let full = path.symlink_metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
    match site.world.zone(path) {
        Zone::Git if is_history(path) => {
            Some(Hold::plain(GuardRule::Overwrite, &format!("it overwrites `{shown}`, which is git's own")))
        }
        Zone::System | Zone::Home | Zone::Outside if full && !is_of_the_kernel(path) => {
            let reason = format!("it overwrites `{shown}`, outside the workspace");
            let effect = losses::card(site.world, path);
            Some(Hold::with(GuardRule::Overwrite, reason, effect))
        }
        Zone::System if writing == Writing::Emptied && path.starts_with("/var/log") => {
            Some(Hold::plain(GuardRule::Overwrite, &format!("it empties the log `{shown}`")))
        }
        Zone::Inside if matches!(writing, Writing::Emptied | Writing::PutBack) && full => {
            let lost = losses::losses(site.world, path);
            let kept = lost.effect.uncommitted.is_empty() && lost.effect.secrets.is_empty();
            let reason = match writing {
                Writing::PutBack => format!("it puts a committed `{shown}` over changes that cannot be restored"),
                Writing::Emptied | Writing::Replaced | Writing::Appended => {
                    format!("it empties `{shown}`, which cannot be restored")
                }
            };
            (!kept).then(|| Hold::with(GuardRule::Overwrite, reason, lost.effect))
        }
        Zone::Git
        | Zone::System
        | Zone::Home
        | Zone::Outside
        | Zone::Inside
        | Zone::Guard
        | Zone::Workspace
        | Zone::Temporary
        | Zone::TemporaryRoot => None,
    }
}

/// The parts of `.git` that hold history; hooks, notes to git and messages are written every day.
fn is_history(path: &Path) -> bool {
    let after: Vec<String> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .skip_while(|part| part != ".git")
        .skip(1)
        .collect();
    let first = after.first().map(String::as_str).unwrap_or_default();
    matches!(first, "HEAD" | "index" | "packed-refs" | "refs" | "objects" | "logs" | "config" | "ORIG_HEAD")
}
