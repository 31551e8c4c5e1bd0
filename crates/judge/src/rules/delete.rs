//! Deleting: `rm`, `unlink`, `shred`, `find -delete`, `rsync --delete`, moving a home away.

mod find;
pub(super) mod targets;

use self::targets::{Manner, of_zone};
use crate::findings::Findings;
use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place};
use crate::line::field::Field;
use crate::site::Site;
use crate::world::{Spot, Zone};

/// Judges a call that may delete.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Findings {
    let hold = match call.name().as_str() {
        "rm" | "grm" => {
            let recursive = call.has_short(&['r', 'R']) || call.has_any(&["--recursive"]);
            let manner = if recursive { Manner::Recursive } else { Manner::Files };
            targets::judge(site, call.place, manner, &owned(call.operands()))
        }
        "unlink" => targets::judge(site, call.place, Manner::Files, &owned(call.operands())),
        "shred" | "srm" | "wipe" | "gshred" => erased(site, call),
        // They read patterns themselves.
        "rimraf" | "del-cli" | "trash-empty" => {
            let patterns: Vec<Field> = call.operands().into_iter().map(Field::to_pattern).collect();
            targets::judge(site, call.place, Manner::Recursive, &patterns)
        }
        "find" | "gfind" => return find::judge(site, call),
        "rsync" => rsync(site, call),
        "mv" => moved(site, call),
        "tar" | "gtar" | "bsdtar" if call.has_any(&["--remove-files"]) => archived(site, call),
        _ => None,
    };
    hold.into()
}

fn owned(fields: Vec<&Field>) -> Vec<Field> {
    fields.into_iter().cloned().collect()
}

/// `shred` and its like: what they were told to erase no tool brings back, so that a single file counts.
fn erased(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if call.has_any(&["--help", "--version"]) {
        return None;
    }
    let values = ["-n", "--iterations", "-s", "--size", "--random-source"];
    let mut files = Vec::new();
    let mut args = call.args.iter().skip(1);
    while let Some(field) = args.next() {
        let text = field.text();
        if text == "--" {
            files.extend(args.cloned());
            break;
        }
        if values.contains(&text.as_str()) {
            args.next();
        } else if !text.starts_with('-') {
            files.push(field.clone());
        }
    }
    targets::judge(site, call.place, Manner::Recursive, &files)
}

fn rsync(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let is_deletion =
        |word: &String| word == "--del" || word.starts_with("--delete") || word == "--remove-source-files";
    let deletes = call.words().iter().any(is_deletion);
    if !deletes || call.has_any(&["--dry-run"]) || call.has_short(&['n']) {
        return None;
    }
    let operands = call.operands();
    let target = operands.last().filter(|_| operands.len() > 1)?;
    if target.text().contains(':') {
        let reason = format!("it deletes what differs at `{}`, on another machine", target.shown());
        return Some(Hold::plain(GuardRule::DeleteOutside, &reason));
    }
    targets::judge(site, call.place, Manner::Recursive, &[(*target).clone()])
}

/// `tar --remove-files`: what it packs is gone afterwards. Into nothing it is deleted; from outside it is taken away.
fn archived(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let letters = call.args.get(1).filter(|field| is_letters_of_tar(call, field) && field.text().contains('f'));
    let archive = call.option(&["-f", "--file"]).or_else(|| letters.and(call.args.get(2)).cloned());
    let archive = archive.map(|field| field.text());
    let nowhere = archive.as_deref().is_none_or(|archive| matches!(archive, "-" | "/dev/null"));
    let packed: Vec<Field> = owned(call.operands())
        .into_iter()
        .filter(|field| Some(field.text()) != archive && !is_letters_of_tar(call, field))
        .collect();
    let near = |field: &Field| {
        let spots = site.world.spots(field, site.state.cwd());
        spots.iter().all(|spot| match spot {
            Spot::Path(path) | Spot::Contents(path) => {
                matches!(site.world.zone(path), Zone::Inside | Zone::Temporary)
            }
            Spot::Unknown(..) => true,
        })
    };
    if !nowhere && packed.iter().all(near) {
        return None;
    }
    targets::judge(site, call.place, Manner::Recursive, &packed)
}

/// Whether a word is the letters of `tar czf`, which need no dash.
fn is_letters_of_tar(call: &Call, field: &Field) -> bool {
    call.args.get(1) == Some(field) && field.text().chars().all(char::is_alphabetic)
}

/// Moving away what others stand on, or into nothing.
fn moved(site: &Site<'_>, call: &Call) -> Option<Hold> {
    let operands = call.operands();
    let named = call.option(&["-t", "--target-directory"]);
    let (target, sources) = match (&named, operands.split_last()) {
        (Some(target), _) => (target.clone(), operands.as_slice()),
        (None, Some((target, sources))) => ((*target).clone(), sources),
        (None, None) => return None,
    };
    if target.text() == "/dev/null" {
        return targets::judge(site, call.place, Manner::Recursive, &owned(sources.to_vec()));
    }
    if call.place != Place::Here {
        return None;
    }
    for source in sources {
        for spot in site.world.spots(source, site.state.cwd()) {
            let (Spot::Path(path) | Spot::Contents(path)) = spot else { continue };
            let zone = site.world.zone(&path);
            let catastrophic = match zone {
                Zone::System | Zone::Home | Zone::Workspace | Zone::Guard => true,
                Zone::Git => path.file_name().is_some_and(|name| name == ".git"),
                Zone::Inside | Zone::Temporary | Zone::TemporaryRoot | Zone::Outside => false,
            };
            if catastrophic {
                let mut hold = of_zone(site, zone, &path);
                hold.reason = hold.reason.replace("it deletes", "it moves away");
                return Some(hold);
            }
        }
    }
    None
}
