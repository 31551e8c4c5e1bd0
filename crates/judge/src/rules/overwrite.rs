//! Overwriting: redirections, `tee`, `truncate`, `cp`, `dd` onto what nobody gets back.
//!
//! Writing new content into a file of the workspace is everyday work and passes, also when the file is dirty. Emptying
//! a file with uncommitted changes does not, nor does overwriting git's own files, files outside, or a device.

mod destination;
mod in_place;
mod itself;
mod writing;

use self::writing::{Writing, judge_path, written};
use crate::hold::Hold;
use crate::line::call::{Call, Place, Redirection};
use crate::line::field::Field;
use crate::line::stream::Stream;
use crate::site::Site;
use crate::world::Last;
use tripwire_shell::RedirectKind;

/// Judges a redirection of output.
pub(crate) fn redirected(site: &Site<'_>, redirection: &Redirection<'_>) -> Option<Hold> {
    let writing = match redirection.kind {
        RedirectKind::Append | RedirectKind::ReadWrite => Writing::Appended,
        RedirectKind::Write | RedirectKind::Duplicate => {
            redirection.call.map_or(Writing::Emptied, |call| itself::written_by(site, redirection, call))
        }
        RedirectKind::Read | RedirectKind::HereDocument(_) | RedirectKind::HereString => return None,
    };
    written(site, redirection.target, writing, redirection.place)
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
        "cp" | "gcp" | "install" | "mv" | "gmv" | "rsync" => destination::judge(site, call),
        "openssl" => each(call.options(&["-out"]).iter().collect(), Writing::Replaced),
        // It asks before it writes over a key; an answer that is piped in is no answer of a person.
        "ssh-keygen" if call.stdin != Stream::Closed && !call.has_short(&['l', 'y', 'R', 'F', 'Y']) => {
            each(call.options(&["-f"]).iter().collect(), Writing::Replaced)
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
    destination::Destination::of(call)?
        .paths(site)
        .into_iter()
        // A link that is replaced loses nothing but itself.
        .filter(|path| !path.is_symlink())
        .find_map(|path| judge_path(site, &site.world.real(&path, Last::Followed), Writing::Replaced))
}
