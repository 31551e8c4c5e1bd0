//! Owners and modes of a whole system or home: they cannot be put back.

use crate::hold::{GuardRule, Hold};
use crate::line::call::{Call, Place};
use crate::losses;
use crate::site::Site;
use crate::world::{Spot, Zone};

/// Judges a call that may change owners or modes of everything in a folder.
pub(super) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if !matches!(call.name().as_str(), "chmod" | "chown" | "chgrp" | "setfacl" | "chattr") {
        return None;
    }
    if !(call.has_short(&['R']) || call.has_any(&["--recursive"]))
        || matches!(call.place, Place::Container | Place::Mounted)
    {
        return None;
    }
    let skip = usize::from(call.option(&["--reference"]).is_none() && call.name() != "setfacl");
    for field in call.operands().into_iter().skip(skip) {
        let cwd = site.state.cwd();
        for spot in site.world.spots(field, cwd) {
            let path = match spot {
                Spot::Path(path) | Spot::Contents(path) => path,
                Spot::Unknown(shown, _) => {
                    let reason = format!(
                        "what `{shown}` stands for cannot be known, and its modes or owners cannot be put back"
                    );
                    return Some(Hold::plain(GuardRule::Permissions, &reason));
                }
            };
            let zone = site.world.zone(&path);
            let root = path == site.world.workspace();
            if matches!(zone, Zone::System | Zone::Home | Zone::Outside | Zone::TemporaryRoot)
                || (zone == Zone::Workspace && !root)
            {
                let reason = format!(
                    "it changes modes or owners of everything in `{}`, which nobody can put back",
                    path.display()
                );
                let effect = losses::card(site.world, &path);
                return Some(Hold::with(GuardRule::Permissions, reason, effect));
            }
        }
    }
    None
}
