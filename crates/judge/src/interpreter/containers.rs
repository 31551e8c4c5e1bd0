//! What `docker run` and its like let a container see of this machine.

use crate::line::call::Call;
use crate::line::mounts::{Bind, Mounts};
use crate::site::Site;
use crate::world::Last;
use std::path::PathBuf;

/// What a container can do to this machine's files.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContainerView {
    /// Nothing.
    Nothing,
    /// It sees folders of the workspace and no others.
    Workspace(Mounts),
    /// It sees something else, or what it sees cannot be known.
    Others,
}

/// What the options of `docker run` let a container see.
pub(super) fn seen(site: &Site<'_>, options: &Call) -> ContainerView {
    if options.has_any(&["--volumes-from"]) {
        return ContainerView::Others;
    }
    let mut mounts = Mounts::default();
    let given = options.options(&["-v", "--volume", "--mount"]);
    for field in &given {
        let Some(text) = field.known() else { return ContainerView::Others };
        let Some((from, inside)) = bind(&text) else { continue };
        // A name without a slash is a volume, which may hold anybody's data.
        let path = if from.starts_with(['/', '.']) { site.state.absolute(from) } else { None };
        let real = path.map(|path| site.world.real(&path, Last::Followed));
        match real.filter(|path| path.starts_with(site.world.workspace())) {
            Some(path) => mounts.binds.push(Bind { here: path, inside: inside.trim_end_matches('/').to_owned() }),
            None => return ContainerView::Others,
        }
    }
    let folder = options.option(&["-w", "--workdir"]).and_then(|field| field.known());
    mounts.folder = folder.map(PathBuf::from).filter(|folder| folder.is_absolute());
    if mounts.binds.is_empty() { ContainerView::Nothing } else { ContainerView::Workspace(mounts) }
}

/// Both ends of a mount: `FROM:INSIDE[:…]` or `type=bind,source=FROM,target=INSIDE`; nothing for a folder of its own.
fn bind(text: &str) -> Option<(&str, &str)> {
    if !text.contains('=') {
        let (from, rest) = text.split_once(':')?;
        return Some((from, rest.split(':').next().unwrap_or(rest)));
    }
    let value = |names: &[&str]| {
        let parts = text.split(',').filter_map(|part| part.split_once('='));
        parts.filter(|(name, _)| names.contains(name)).map(|(_, value)| value).next()
    };
    if value(&["type"]) == Some("tmpfs") {
        return None;
    }
    Some((value(&["source", "src"]).unwrap_or_default(), value(&["target", "dst", "destination"]).unwrap_or_default()))
}
