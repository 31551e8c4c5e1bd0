//! Overwriting: redirections, `tee`, `truncate`, `cp`, `dd` onto what nobody gets back.
//!
//! Writing new content into a file of the workspace is everyday work and passes, also when the file is dirty. Emptying
//! a file with uncommitted changes does not, nor does overwriting git's own files, files outside, or a device.

mod in_place;

use super::delete::targets::{self, Manner};
use crate::effect::Effect;
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place, Redirection};
use crate::line::field::Field;
use crate::losses;
use crate::site::Site;
use crate::world::{Last, Spot, World, Zone};
use std::path::{Path, PathBuf};
use tripwire_core::limits::LOST_FILES_HELD;
use tripwire_shell::RedirectKind;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// Everything in it goes, and nothing comes.
    Emptied,
    /// Something else stands in it afterwards.
    Replaced,
    /// Something is added at its end.
    Appended,
}

/// Judges a redirection of output.
pub(crate) fn redirected(site: &Site<'_>, redirection: &Redirection<'_>) -> Option<Hold> {
    let writing = match redirection.kind {
        RedirectKind::Append | RedirectKind::ReadWrite => Writing::Appended,
        RedirectKind::Write | RedirectKind::Duplicate => redirection.call.map_or(Writing::Emptied, emptied_by),
        RedirectKind::Read | RedirectKind::HereDocument(_) | RedirectKind::HereString => return None,
    };
    written(site, redirection.target, writing, redirection.place)
}

/// Commands that write nothing: their redirection only empties.
fn emptied_by(call: &Call) -> Writing {
    let words = call.words();
    let nothing = match call.name().as_str() {
        ":" | "true" => true,
        "cat" => words == ["/dev/null"],
        "echo" => words.iter().all(|word| word.is_empty() || word == "-n"),
        "printf" => words == [""],
        _ => false,
    };
    if nothing { Writing::Emptied } else { Writing::Replaced }
}

/// Judges one written file.
fn written(site: &Site<'_>, target: &Field, writing: Writing, place: Place) -> Option<Hold> {
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
/// and whoever opened that file was judged then. The folders on the way are followed already: `/dev/fd` and `/proc/self`
/// have become the folder of this process.
fn is_stream(path: &Path) -> bool {
    let is_standard =
        ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"].iter().any(|name| path == Path::new(name));
    let own = format!("/proc/{}", std::process::id());
    let is_own_descriptor =
        path.strip_prefix(own).is_ok_and(|rest| rest.parent().is_some_and(|folder| folder.ends_with("fd")));
    is_standard || is_own_descriptor || path.starts_with("/dev/fd")
}

fn judge_path(site: &Site<'_>, path: &Path, writing: Writing) -> Option<Hold> {
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
        Zone::System | Zone::Home | Zone::Outside
            if full && !path.starts_with("/proc") && !path.starts_with("/dev") =>
        {
            let reason = format!("it overwrites `{shown}`, outside the workspace");
            let effect = losses::card(site.world, path);
            Some(Hold::with(GuardRule::Overwrite, reason, effect))
        }
        Zone::System if writing == Writing::Emptied && path.starts_with("/var/log") => {
            Some(Hold::plain(GuardRule::Overwrite, &format!("it empties the log `{shown}`")))
        }
        Zone::Inside if writing == Writing::Emptied && full => {
            let lost = losses::losses(site.world, path);
            let kept = lost.effect.uncommitted.is_empty() && lost.effect.secrets.is_empty();
            let reason = format!("it empties `{shown}`, which cannot be restored");
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

/// Judges a call that may overwrite.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let each =
        |fields: Vec<&Field>, writing| fields.into_iter().find_map(|field| written(site, field, writing, call.place));
    match call.name().as_str() {
        "tee" => {
            let appended = call.has_short(&['a']) || call.has_any(&["--append"]);
            let nothing = call.stdin.text() == Some("");
            let writing = match (appended, nothing) {
                (true, _) => Writing::Appended,
                (false, true) => Writing::Emptied,
                (false, false) => Writing::Replaced,
            };
            each(call.operands(), writing)
        }
        "sed" | "gsed" | "perl" | "gawk" | "awk" | "ex" | "vim" | "nvim" | "vi" => {
            in_place::emptied(call).iter().find_map(|field| written(site, field, Writing::Emptied, call.place))
        }
        "truncate" => {
            let size = call.option(&["-s", "--size"]);
            let grows = size.as_ref().is_some_and(|size| size.text().starts_with(['+', '>', '%', '/']));
            let files = call.operands().into_iter().filter(|field| size.as_ref() != Some(*field)).collect();
            each(files, if grows { Writing::Appended } else { Writing::Emptied })
        }
        "cp" | "install" => {
            let operands = call.operands();
            let (target, sources) = operands.split_last()?;
            let nothing = sources.iter().all(|field| field.text() == "/dev/null");
            let backed =
                call.has_short(&['b', 'n', 'i']) || call.has_any(&["--backup", "--no-clobber", "--interactive"]);
            let writing = match (nothing, backed) {
                (_, true) => Writing::Appended,
                (true, false) => Writing::Emptied,
                (false, false) => Writing::Replaced,
            };
            if sources.is_empty() { None } else { written(site, target, writing, call.place) }
        }
        "mv" => {
            let operands = call.operands();
            let (target, sources) = operands.split_last()?;
            let backed =
                call.has_short(&['b', 'n', 'i']) || call.has_any(&["--backup", "--no-clobber", "--interactive"]);
            let replaces = !sources.is_empty() && !backed && call.option(&["-t", "--target-directory"]).is_none();
            if replaces { written(site, target, Writing::Replaced, call.place) } else { None }
        }
        "curl" => each(call.options(&["-o", "--output"]).iter().collect(), Writing::Replaced),
        "wget" => each(call.options(&["-O", "--output-document"]).iter().collect(), Writing::Replaced),
        "ln" if call.has_short(&['f']) || call.has_any(&["--force"]) => link(site, call),
        "dd" => {
            let target = call.args.iter().find(|field| field.text().starts_with("of="))?;
            let nothing = call.words().iter().any(|word| matches!(word.as_str(), "if=/dev/null" | "if=/dev/zero"));
            let writing = if nothing { Writing::Emptied } else { Writing::Replaced };
            written(site, &target.without_prefix("of=".len()), writing, call.place)
        }
        _ => None,
    }
}

/// A link that takes the place of whatever has its name.
fn link(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if call.place != Place::Here || call.has_short(&['b', 'i']) || call.has_any(&["--backup", "--interactive"]) {
        return None;
    }
    let operands = call.operands();
    let folder = call.option(&["-t", "--target-directory"]);
    let (name, sources) = match (&folder, operands.split_last()) {
        (Some(folder), _) => (folder, operands.as_slice()),
        (None, Some((name, sources))) if !sources.is_empty() => (*name, sources),
        (None, _) => return None,
    };
    let spots = site.world.spots(name, site.state.cwd());
    let paths = spots.into_iter().filter_map(|spot| if let Spot::Path(path) = spot { Some(path) } else { None });
    paths
        .flat_map(|path| {
            let into = |field: &&Field| Some(path.join(Path::new(&field.known()?).file_name()?));
            // A folder, or a link to one that is followed, gets the links into it.
            if path.is_dir() { sources.iter().filter_map(into).collect() } else { vec![path] }
        })
        // A link that is replaced loses nothing but itself.
        .filter(|path| !path.is_symlink())
        .find_map(|path| judge_path(site, &site.world.real(&path, Last::Followed), Writing::Replaced))
}
