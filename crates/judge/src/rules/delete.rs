//! Deleting: `rm`, `unlink`, `shred`, `find -delete`, `rsync --delete`, moving a home away.

use crate::call::{Call, Place};
use crate::effect::Effect;
use crate::field::Field;
use crate::find::{Action, Search};
use crate::hold::{FloorRule, Hold};
use crate::losses::{self, Losses};
use crate::walk::Walker;
use crate::world::{Last, Spot, Zone};
use std::path::{Path, PathBuf};

/// How a deletion goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Folders with everything in them.
    Recursive,
    /// Single files.
    Files,
}

/// Plain `rm` of files that git does not know is everyday work; a pattern that hits this many is not.
const UNKNOWN_FILES_MAX: usize = 3;

/// Judges a call that may delete.
pub(super) fn judge(walker: &mut Walker<'_>, call: &Call) -> Option<Hold> {
    match call.name().as_str() {
        "rm" | "grm" => {
            let recursive = call.has_short(&['r', 'R']) || call.has_any(&["--recursive"]);
            let manner = if recursive { Manner::Recursive } else { Manner::Files };
            fields(walker, call.place, manner, &owned(call.operands()))
        }
        "unlink" | "shred" | "srm" | "wipe" => fields(walker, call.place, Manner::Files, &owned(call.operands())),
        "rimraf" | "del-cli" | "trash-empty" => fields(walker, call.place, Manner::Recursive, &owned(call.operands())),
        "find" | "gfind" => find(walker, call),
        "rsync" => rsync(walker, call),
        "mv" => moved(walker, call),
        "tar" | "gtar" | "bsdtar" if call.has_any(&["--remove-files"]) => archived(walker, call),
        "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" => permissions(walker, call),
        _ => None,
    }
}

fn owned(fields: Vec<&Field>) -> Vec<Field> {
    fields.into_iter().cloned().collect()
}

/// Judges a deletion of what these arguments name.
pub(crate) fn fields(walker: &Walker<'_>, place: Place, manner: Manner, targets: &[Field]) -> Option<Hold> {
    match place {
        Place::Container => return None,
        Place::Remote => return remote(manner, targets),
        Place::Mounted => {
            return match walker.state.mounts.outside(targets, walker.state.cwd()) {
                Some(targets) => fields(walker, Place::Here, manner, &targets),
                None => remote(manner, targets),
            };
        }
        Place::Here => {}
    }
    let cwds: Vec<Option<PathBuf>> = match walker.state.cwds.as_slice() {
        [] => vec![None],
        cwds => cwds.iter().cloned().map(Some).collect(),
    };
    for cwd in cwds {
        let inside = cwd
            .as_ref()
            .is_some_and(|cwd| walker.world.real(cwd, Last::Followed).starts_with(walker.world.workspace()));
        let mut spots = Vec::new();
        for field in targets {
            let climbs = inside && !field.shown().starts_with(['/', '$']);
            let way = if climbs { Way::FromInside } else { Way::Named };
            spots.extend(walker.world.spots(field, cwd.as_deref()).into_iter().map(|spot| (spot, way)));
        }
        let hold = judge_spots(walker, manner, &spots);
        if hold.is_some() {
            return hold;
        }
    }
    None
}

/// Another machine: every file there is somebody's, except what is temporary by its name.
fn remote(manner: Manner, targets: &[Field]) -> Option<Hold> {
    let temporary = |field: &Field| {
        let text = field.text();
        ["/tmp/", "/var/tmp/"]
            .iter()
            .any(|folder| text.strip_prefix(folder).is_some_and(|rest| !rest.is_empty() && rest != "*"))
    };
    if manner == Manner::Files || targets.iter().all(temporary) {
        return None;
    }
    let shown: Vec<String> = targets.iter().map(Field::shown).collect();
    let reason = format!("it deletes `{}` on another machine or through a mounted folder", shown.join(" "));
    Some(Hold::plain(FloorRule::DeleteOutside, &reason))
}

/// How a path was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Seen from a folder of the workspace: if it leads out, it leads to a neighbour and not to something temporary.
    FromInside,
    /// By its full name.
    Named,
}

fn judge_spots(walker: &Walker<'_>, manner: Manner, spots: &[(Spot, Way)]) -> Option<Hold> {
    let mut work = Losses::default();
    let mut whole = false;
    for (spot, way) in spots {
        let path = match spot {
            Spot::Path(path) | Spot::Contents(path) => path,
            Spot::Unknown(shown, end) => match (manner, end) {
                (Manner::Files, _) => continue,
                (Manner::Recursive, Some(end)) if demanded_or_product(shown, end) => continue,
                (Manner::Recursive, _) => return Some(unknown_target(shown)),
            },
        };
        let below = matches!(spot, Spot::Contents(_)).then(|| path.join("*"));
        for origin in walker.state.origins(below.as_deref().unwrap_or(path)) {
            let origin = if below.is_some() && origin.ends_with("*") { parent_of(&origin) } else { origin };
            // What the line moved here is lost here.
            match walker.world.zone(&origin) {
                Zone::Inside => {
                    add(&mut work, losses::losses(walker.world, &origin));
                    whole |= origin.is_dir();
                }
                Zone::Temporary | Zone::TemporaryRoot => {}
                zone @ (Zone::System | Zone::Home | Zone::Git | Zone::Guard | Zone::Workspace | Zone::Outside) => {
                    return Some(of_zone(walker, zone, &origin));
                }
            }
        }
        if walker.state.is_made(path) {
            continue;
        }
        match walker.world.zone(path) {
            Zone::Inside => add(&mut work, losses::losses(walker.world, path)),
            Zone::Temporary if *way == Way::FromInside || owned_elsewhere(walker, path) => {
                return Some(of_zone(walker, Zone::Outside, path));
            }
            Zone::Temporary => {}
            Zone::Git if is_passing_lock(path) => {}
            Zone::Guard if manner == Manner::Files => {}
            zone @ (Zone::System | Zone::Home | Zone::Workspace | Zone::TemporaryRoot) => {
                // `rm` without `-r` refuses folders; a pattern there still hits their files.
                let only_folder = manner == Manner::Files && matches!(spot, Spot::Path(path) if path.is_dir());
                if !only_folder {
                    return Some(of_zone(walker, zone, path));
                }
            }
            zone @ (Zone::Git | Zone::Guard | Zone::Outside) => return Some(of_zone(walker, zone, path)),
        }
    }
    let unknown = work.effect.untracked.count;
    let swept = walker.swept.get().map_or(unknown, |before| before + unknown);
    if walker.swept.get().is_some() {
        walker.swept.set(Some(swept));
    }
    let few = manner == Manner::Files && !whole && swept < UNKNOWN_FILES_MAX;
    if few {
        work.effect.untracked = crate::effect::Names::default();
    }
    if work.is_empty() {
        return None;
    }
    let reason = format!("it deletes {} that nobody gets back", work.words());
    Some(Hold::with(FloorRule::DeleteWork, reason, work.effect))
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
    Hold::plain(FloorRule::DeleteUnknown, &reason)
}

/// Something temporary that holds a repository with work found nowhere else.
fn owned_elsewhere(walker: &Walker<'_>, path: &Path) -> bool {
    let mut effect = Effect::default();
    losses::busy_repositories(walker.world, path, &mut effect);
    !effect.repositories.is_empty()
}

/// Lock files inside `.git` that a crashed git leaves behind.
fn is_passing_lock(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "lock")
}

fn add(work: &mut Losses, more: Losses) {
    let Losses { effect, unanswered } = more;
    work.effect.targets.extend(effect.targets);
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
fn of_zone(walker: &Walker<'_>, zone: Zone, path: &Path) -> Hold {
    let shown = path.display();
    let (rule, reason) = match zone {
        Zone::System => (FloorRule::DeleteSystem, format!("it deletes `{shown}`, which belongs to the system")),
        Zone::Home => (FloorRule::DeleteHome, format!("it deletes `{shown}`, which is or holds a home")),
        Zone::Git => (FloorRule::DeleteGit, format!("it deletes `{shown}`: the history of a repository")),
        Zone::Guard => (FloorRule::DeleteGit, format!("it deletes `{shown}`: the guard's own records")),
        Zone::Workspace => (FloorRule::DeleteWorkspace, format!("it deletes the workspace `{shown}` itself")),
        Zone::TemporaryRoot => {
            (FloorRule::DeleteOutside, format!("it deletes everything in `{shown}`, also what others put there"))
        }
        Zone::Outside | Zone::Inside | Zone::Temporary => {
            (FloorRule::DeleteOutside, format!("it deletes `{shown}`, outside the workspace"))
        }
    };
    let mut effect = Effect { targets: vec![losses::count(walker.world, path)], ..Effect::default() };
    losses::busy_repositories(walker.world, path, &mut effect);
    Hold::with(rule, reason, effect)
}

fn find(walker: &mut Walker<'_>, call: &Call) -> Option<Hold> {
    let search = Search::read(call);
    for (number, action) in search.actions.iter().enumerate() {
        if *action == Action::List {
            continue;
        }
        let hits: Vec<Field> = search.hits(walker, number).iter().map(|hit| hit_field(hit)).collect();
        // What a search finds was named by nobody: its `rm` is judged like its `-delete`.
        let deletes = match action {
            Action::List => false,
            Action::Delete => true,
            Action::Execute(command) => {
                command.first().is_some_and(|program| matches!(program.text().as_str(), "rm" | "unlink" | "shred"))
            }
        };
        if deletes {
            let hold = fields(walker, call.place, Manner::Recursive, &hits);
            if hold.is_some() {
                return hold;
            }
        }
        if let Action::Execute(command) = action {
            execute(walker, call, command, &hits);
        }
    }
    None
}

/// Runs a search's command on what it found.
fn execute(walker: &mut Walker<'_>, call: &Call, command: &[Field], hits: &[Field]) {
    let sample: Vec<Field> = hits.iter().take(256).cloned().collect();
    let one_by_one = command.iter().any(|field| field.text() != "{}" && field.text().contains("{}"));
    let calls: Vec<Vec<Field>> = if one_by_one {
        sample.iter().map(|hit| command.iter().map(|field| crate::invoke::fill(field, "{}", hit)).collect()).collect()
    } else {
        vec![
            command
                .iter()
                .flat_map(|field| if field.text() == "{}" { sample.clone() } else { vec![field.clone()] })
                .collect(),
        ]
    };
    if sample.is_empty() {
        // Nothing is found now; what it would run is read all the same, for those who ask what the line may run.
        walker.only_read(|walker| walker.invoke_program(&call.with_args(command.to_vec())));
        return;
    }
    for args in calls {
        let _written = walker.invoke_program(&call.with_args(args));
    }
}

/// A name that was found; one that ends in `/*` is everything in a folder.
fn hit_field(hit: &str) -> Field {
    let mut field = Field::of(hit.strip_suffix("/*").map_or(hit, |_| hit.strip_suffix('*').unwrap_or(hit)));
    if hit.ends_with("/*") {
        field.push_pattern("*");
    }
    field
}

fn rsync(walker: &Walker<'_>, call: &Call) -> Option<Hold> {
    let deletes = call.words().iter().any(|word| word.starts_with("--del") || word == "--remove-source-files");
    if !deletes || call.has_any(&["--dry-run"]) || call.has_short(&['n']) {
        return None;
    }
    let operands = call.operands();
    let target = operands.last().filter(|_| operands.len() > 1)?;
    if target.text().contains(':') {
        let reason = format!("it deletes what differs at `{}`, on another machine", target.shown());
        return Some(Hold::plain(FloorRule::DeleteOutside, &reason));
    }
    fields(walker, call.place, Manner::Recursive, &[(*target).clone()])
}

/// `tar --remove-files`: what it packs is gone afterwards. Into nothing it is deleted; from outside it is taken away.
fn archived(walker: &Walker<'_>, call: &Call) -> Option<Hold> {
    let archive = call.option(&["-f", "--file"]).map(|field| field.text());
    let nowhere = archive.as_deref().is_none_or(|archive| matches!(archive, "-" | "/dev/null"));
    let packed: Vec<Field> = owned(call.operands())
        .into_iter()
        .filter(|field| Some(field.text()) != archive && !is_letters_of_tar(call, field))
        .collect();
    let near = |field: &Field| {
        let spots = walker.world.spots(field, walker.state.cwd());
        spots.iter().all(|spot| match spot {
            Spot::Path(path) | Spot::Contents(path) => {
                matches!(walker.world.zone(path), Zone::Inside | Zone::Temporary)
            }
            Spot::Unknown(..) => true,
        })
    };
    if !nowhere && packed.iter().all(near) {
        return None;
    }
    fields(walker, call.place, Manner::Recursive, &packed)
}

/// Whether a word is the letters of `tar czf`, which need no dash.
fn is_letters_of_tar(call: &Call, field: &Field) -> bool {
    call.args.get(1) == Some(field) && field.text().chars().all(char::is_alphabetic)
}

/// Moving away what others stand on, or into nothing.
fn moved(walker: &Walker<'_>, call: &Call) -> Option<Hold> {
    let operands = call.operands();
    let named = call.option(&["-t", "--target-directory"]);
    let (target, sources) = match (&named, operands.split_last()) {
        (Some(target), _) => (target.clone(), operands.as_slice()),
        (None, Some((target, sources))) => ((*target).clone(), sources),
        (None, None) => return None,
    };
    if target.text() == "/dev/null" {
        return fields(walker, call.place, Manner::Recursive, &owned(sources.to_vec()));
    }
    if call.place != Place::Here {
        return None;
    }
    for source in sources {
        for spot in walker.world.spots(source, walker.state.cwd()) {
            let (Spot::Path(path) | Spot::Contents(path)) = spot else { continue };
            let zone = walker.world.zone(&path);
            let catastrophic = match zone {
                Zone::System | Zone::Home | Zone::Workspace | Zone::Guard => true,
                Zone::Git => path.file_name().is_some_and(|name| name == ".git"),
                Zone::Inside | Zone::Temporary | Zone::TemporaryRoot | Zone::Outside => false,
            };
            if catastrophic {
                let mut hold = of_zone(walker, zone, &path);
                hold.reason = hold.reason.replace("it deletes", "it moves away");
                return Some(hold);
            }
        }
    }
    None
}

/// Owners and modes of a whole system or home cannot be put back.
fn permissions(walker: &Walker<'_>, call: &Call) -> Option<Hold> {
    if !(call.has_short(&['R']) || call.has_any(&["--recursive"]))
        || matches!(call.place, Place::Container | Place::Mounted)
    {
        return None;
    }
    let skip = usize::from(call.option(&["--reference"]).is_none());
    for field in call.operands().into_iter().skip(skip) {
        let cwd = walker.state.cwd();
        for spot in walker.world.spots(field, cwd) {
            let path = match spot {
                Spot::Path(path) | Spot::Contents(path) => path,
                Spot::Unknown(shown, _) => {
                    let reason = format!(
                        "what `{shown}` stands for cannot be known, and its modes or owners cannot be put back"
                    );
                    return Some(Hold::plain(FloorRule::Permissions, &reason));
                }
            };
            let zone = walker.world.zone(&path);
            let root = path == walker.world.workspace();
            if matches!(zone, Zone::System | Zone::Home | Zone::Outside | Zone::TemporaryRoot)
                || (zone == Zone::Workspace && !root)
            {
                let reason = format!(
                    "it changes modes or owners of everything in `{}`, which nobody can put back",
                    path.display()
                );
                let effect = Effect { targets: vec![losses::count(walker.world, &path)], ..Effect::default() };
                return Some(Hold::with(FloorRule::Permissions, reason, effect));
            }
        }
    }
    None
}
