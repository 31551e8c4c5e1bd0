//! What a deletion would hit, wherever it stands: a command, a search, code of another language.

use crate::effect::Names;
use crate::hold::{GuardRule, Hold};
use crate::line::call::Place;
use crate::line::field::Field;
use crate::losses::{self, Losses};
use crate::site::Site;
use crate::world::{Last, Spot, World, Zone};
use std::path::{Path, PathBuf};
use tripwire_core::limits::LOST_FILES_HELD;

/// How a deletion goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Folders with everything in them, or so that nothing can bring it back.
    Recursive,
    /// Single files.
    Files,
}

/// Judges a deletion of what these arguments name. What is certain tells more than what is doubtful, wherever it stands.
pub(crate) fn judge(site: &Site<'_>, place: Place, manner: Manner, targets: &[Field]) -> Option<Hold> {
    match place {
        Place::Container => return None,
        Place::Remote => return remote(manner, targets),
        Place::Mounted => {
            return match site.state.mounts.outside(targets, site.state.cwd()) {
                Some(targets) => judge(site, Place::Here, manner, &targets),
                None => remote(manner, targets),
            };
        }
        Place::Here => {}
    }
    let mut doubtful = None;
    for cwd in site.folders() {
        let inside =
            cwd.as_ref().is_some_and(|cwd| site.world.real(cwd, Last::Followed).starts_with(site.world.workspace()));
        let mut spots = Vec::new();
        for field in targets {
            let climbs = inside && !field.shown().starts_with(['/', '$']);
            let way = if climbs { Way::FromInside } else { Way::Named };
            // One file of an unknown name is one file; again and again it may be each of them.
            let one = manner == Manner::Files && field.is_partly_unknown() && !site.world.repeats();
            let way = if one { Way::OneOfMany } else { way };
            let own = site.world.spots(field, cwd.as_deref());
            let made = own.iter().any(|spot| matches!(spot, Spot::Path(path) if site.state.is_made(path)));
            let alike = if one || made { Vec::new() } else { site.world.alike(field, cwd.as_deref()) };
            spots.extend(own.into_iter().chain(alike).map(|spot| (spot, way)));
        }
        match judge_spots(site, manner, &spots) {
            Some(hold) if hold.rule.is_certain() => return Some(hold),
            hold => doubtful = doubtful.or(hold),
        }
    }
    doubtful
}

/// Another machine: every file there is somebody's, except what is temporary by its name.
fn remote(manner: Manner, targets: &[Field]) -> Option<Hold> {
    let temporary = |field: &Field| {
        let text = field.text();
        ["/tmp/", "/var/tmp/"]
            .iter()
            .any(|folder| text.strip_prefix(folder).is_some_and(|rest| !rest.is_empty() && rest != "*"))
    };
    let system = |field: &Field| field.text().starts_with('/') && World::belongs_to_system(Path::new(&field.text()));
    let hit = |field: &Field| !temporary(field) && (manner == Manner::Recursive || system(field));
    if !targets.iter().any(hit) {
        return None;
    }
    let shown: Vec<String> = targets.iter().map(Field::shown).collect();
    let reason = format!("it deletes `{}` on another machine or through a mounted folder", shown.join(" "));
    Some(Hold::plain(GuardRule::DeleteOutside, &reason))
}

/// How a path was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Seen from a folder of the workspace: if it leads out, it leads to a neighbour and not to something temporary.
    FromInside,
    /// By its full name.
    Named,
    /// One file, of whose name a part is unknown.
    OneOfMany,
}

fn judge_spots(site: &Site<'_>, manner: Manner, spots: &[(Spot, Way)]) -> Option<Hold> {
    let mut work = Losses::default();
    let mut whole = false;
    let mut doubtful = None;
    for (spot, way) in spots {
        let path = match spot {
            Spot::Path(path) | Spot::Contents(path) => path,
            Spot::Unknown(shown, end) => match (manner, end) {
                (Manner::Files, _) => continue,
                (Manner::Recursive, Some(end)) if demanded_or_product(shown, end) => continue,
                (Manner::Recursive, _) => {
                    doubtful.get_or_insert_with(|| unknown_target(shown));
                    continue;
                }
            },
        };
        let below = matches!(spot, Spot::Contents(_)).then(|| path.join("*"));
        for origin in site.state.origins(below.as_deref().unwrap_or(path)) {
            let origin = if below.is_some() && origin.ends_with("*") { parent_of(&origin) } else { origin };
            // What the line moved here is lost here.
            match site.world.zone(&origin) {
                Zone::Inside => {
                    add(&mut work, losses::losses(site.world, &origin));
                    whole |= origin.is_dir();
                }
                Zone::Temporary | Zone::TemporaryRoot => {}
                zone @ (Zone::System | Zone::Home | Zone::Git | Zone::Guard | Zone::Workspace | Zone::Outside) => {
                    return Some(of_zone(site, zone, &origin));
                }
            }
        }
        if site.state.is_made(path) {
            continue;
        }
        match site.world.zone(path) {
            Zone::Inside if *way == Way::OneOfMany => {}
            Zone::Inside => add(&mut work, losses::losses(site.world, path)),
            Zone::Temporary if *way == Way::FromInside || losses::holds_busy_repository(site.world, path) => {
                return Some(of_zone(site, Zone::Outside, path));
            }
            Zone::Temporary => {}
            Zone::Git if is_passing_lock(path) => {}
            Zone::Guard if manner == Manner::Files => {}
            zone @ (Zone::System | Zone::Home | Zone::Workspace | Zone::TemporaryRoot) => {
                // `rm` without `-r` refuses folders; a pattern there still hits their files.
                let only_folder = manner == Manner::Files && matches!(spot, Spot::Path(path) if path.is_dir());
                if !only_folder {
                    return Some(of_zone(site, zone, path));
                }
            }
            zone @ (Zone::Git | Zone::Guard | Zone::Outside) => return Some(of_zone(site, zone, path)),
        }
    }
    let swept = if manner == Manner::Files { site.world.sweep(&work.unknown) } else { work.unknown.len() };
    let few = manner == Manner::Files && !whole && swept < LOST_FILES_HELD;
    if few {
        work.effect.untracked = Names::default();
    }
    if work.is_empty() {
        return doubtful;
    }
    let reason = format!("it deletes {} that cannot be restored", work.words());
    Some(Hold::with(GuardRule::DeleteWork, reason, work.effect))
}

/// The folder whose contents are meant.
fn parent_of(path: &Path) -> PathBuf {
    path.parent().map_or_else(|| path.to_owned(), Path::to_owned)
}

/// `${X:?}/name` stops when it is empty, and a build product is one wherever it lies.
fn demanded_or_product(shown: &str, end: &str) -> bool {
    shown.starts_with("${") || losses::is_product_name(Path::new(end))
}

fn unknown_target(shown: &str) -> Hold {
    let reason = format!("what `{shown}` stands for cannot be known before it runs; it may be everything");
    Hold::plain(GuardRule::DeleteUnknown, &reason)
}

/// Lock files inside `.git` that a crashed git leaves behind.
fn is_passing_lock(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "lock")
}

fn add(work: &mut Losses, more: Losses) {
    let Losses { effect, unknown, unanswered } = more;
    work.effect.targets.extend(effect.targets);
    work.unknown.extend(unknown);
    for (mine, theirs) in [
        (&mut work.effect.uncommitted, effect.uncommitted),
        (&mut work.effect.untracked, effect.untracked),
        (&mut work.effect.secrets, effect.secrets),
        (&mut work.effect.repositories, effect.repositories),
    ] {
        mine.count += theirs.count;
        mine.first.extend(theirs.first);
        mine.first.truncate(5);
    }
    work.unanswered = work.unanswered.take().or(unanswered);
}

/// A hold because of where the path is.
pub(super) fn of_zone(site: &Site<'_>, zone: Zone, path: &Path) -> Hold {
    let shown = path.display();
    let (rule, reason) = match zone {
        Zone::System => (GuardRule::DeleteSystem, format!("it deletes `{shown}`, which belongs to the system")),
        Zone::Home => (GuardRule::DeleteHome, format!("it deletes `{shown}`, which is or holds a home")),
        Zone::Git => (GuardRule::DeleteGit, format!("it deletes `{shown}`: the history of a repository")),
        Zone::Guard => (GuardRule::DeleteGit, format!("it deletes `{shown}`: the guard's own records")),
        Zone::Workspace => (GuardRule::DeleteWorkspace, format!("it deletes the workspace `{shown}` itself")),
        Zone::TemporaryRoot => {
            (GuardRule::DeleteOutside, format!("it deletes everything in `{shown}`, also what others put there"))
        }
        Zone::Outside | Zone::Inside | Zone::Temporary => {
            (GuardRule::DeleteOutside, format!("it deletes `{shown}`, outside the workspace"))
        }
    };
    Hold::with(rule, reason, losses::card(site.world, path))
}
