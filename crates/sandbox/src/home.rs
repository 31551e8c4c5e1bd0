//! What a workspace must not show when it contains the home of its user: our own state and settings, and the keys of a person.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::layer::LayerError;
use crate::outcome::Layer;

/// Keys and passwords that programs keep in a home. Elsewhere they are out of reach because nothing shows the home.
const SECRETS: [&str; 18] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gcloud",
    ".config/gh",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".password-store",
    ".local/share/keyrings",
    ".pgpass",
];

/// What is hidden below the roots that are shown; `writable` are those of them that a command may write to.
pub(crate) fn hidden(shown: &[&PathBuf], writable: &[&PathBuf]) -> Result<Vec<PathBuf>, LayerError> {
    hidden_in(
        std::env::var_os("HOME").map(PathBuf::from),
        ["XDG_STATE_HOME", "XDG_CONFIG_HOME"].into_iter().filter_map(std::env::var_os).map(PathBuf::from).collect(),
        |path| {
            let below = |roots: &[&PathBuf]| roots.iter().any(|root| path.starts_with(root));
            (below(shown), below(writable))
        },
    )
}

/// Where a path is: below something that is shown, below something that can be written to.
fn hidden_in(
    home: Option<PathBuf>,
    given: Vec<PathBuf>,
    place: impl Fn(&Path) -> (bool, bool),
) -> Result<Vec<PathBuf>, LayerError> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = home.filter(absolute).and_then(|home| fs::canonicalize(home).ok());
    let mut hidden = Vec::new();
    // What lies in it is obeyed: staged changes, and plans for taking them back; the person's own settings. Who could write
    // there could write anywhere.
    let mut states: Vec<PathBuf> = given.into_iter().filter(absolute).collect();
    states.extend(home.iter().flat_map(|home| [home.join(".local/state"), home.join(".config")]));
    if states.is_empty() {
        states.push(std::env::temp_dir());
    }
    for state in states {
        let Some(state) = real(&state) else { continue };
        let own = state.join("tripwire");
        let (shown, writable) = place(&own);
        if writable {
            make(&own).map_err(|error| {
                let what = format!("make `{}`, which is hidden from the command", own.display());
                LayerError::new(Layer::Rootfs, error.raw_os_error().unwrap_or(0), what)
            })?;
        }
        if shown && own.exists() {
            hidden.push(own);
        }
    }
    if let Some(home) = home {
        let secrets = SECRETS.iter().map(|name| home.join(name)).filter(|path| place(path).0);
        // A link is hidden where it leads.
        let real = secrets.filter_map(|path| fs::canonicalize(path).ok()).filter(|path| place(path).0);
        hidden.extend(real);
    }
    Ok(hidden)
}

/// The path with its existing part resolved.
fn real(path: &Path) -> Option<PathBuf> {
    let existing = path.ancestors().find(|part| part.exists())?;
    let rest = path.strip_prefix(existing).ok()?;
    fs::canonicalize(existing).ok().map(|found| if rest == Path::new("") { found } else { found.join(rest) })
}

fn make(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // Only a folder can be hidden as a whole, and only where it really is.
    if fs::symlink_metadata(path)?.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn home() -> Scratch {
        let home = Scratch::new();
        fs::create_dir(home.join(".ssh")).expect("a folder");
        home
    }

    #[test]
    fn box_1_below_a_workspace_with_the_home_state_and_keys_are_hidden() {
        let home = home();
        let found = hidden_in(Some(home.clone()), Vec::new(), |path| {
            (path.starts_with(home.path()), path.starts_with(home.path()))
        });
        assert_eq!(
            found.expect("hides"),
            [home.join(".local/state/tripwire"), home.join(".config/tripwire"), home.join(".ssh")]
        );
        assert!(home.join(".local/state/tripwire").is_dir(), "it is made, so that nobody inside can make it");
    }

    #[test]
    fn box_1_a_home_that_is_not_shown_is_left_alone() {
        let home = home();
        let found = hidden_in(Some(home.clone()), vec![home.join("state")], |_| (false, false));
        assert!(found.expect("hides").is_empty());
        assert!(!home.join(".local").exists() && !home.join("state").exists());
    }
}
