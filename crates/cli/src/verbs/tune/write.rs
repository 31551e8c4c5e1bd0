//! Where a change is written: this workspace's manifest, or the person's own settings for all workspaces.

use super::offer::Offer;
use crate::error::Problem;
use std::path::PathBuf;
use tripwire_core::policy::Policy;
use tripwire_fs::file;
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::manifest::store;
use tripwire_workspace::geometry::manifest::{Manifest, template};
use tripwire_workspace::geometry::yaml_edit::{Edit, NewValue};
use tripwire_workspace::policy_file::{self, PolicyFileError};

/// A file of settings that is changed.
#[derive(Debug)]
pub(super) struct SettingsTarget {
    file: PathBuf,
    reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Here,
    Everywhere,
}

/// What was written.
#[derive(Debug)]
pub(super) struct Written {
    /// The file.
    pub(super) file: PathBuf,
    /// The setting as it stands there.
    pub(super) line: String,
    /// Whether it stood there already.
    pub(super) unchanged: bool,
}

/// The head of a person's own settings.
const HEAD: &str =
    "# Your settings for all workspaces, in the form of MANIFEST.yaml; a workspace's own manifest overrides them.\n";

impl SettingsTarget {
    /// This workspace's manifest.
    pub(super) fn here(workspace: &Workspace) -> Option<Self> {
        Some(Self { file: workspace.layout().manifest(), reach: Reach::Here })
    }

    /// The person's own settings; none without a home.
    pub(super) fn everywhere(workspace: &Workspace) -> Option<Self> {
        Some(Self { file: workspace.layout().user_settings()?.to_owned(), reach: Reach::Everywhere })
    }

    /// Writes an offer over what the file sets itself; what another file sets is not copied into it, but for lists: the
    /// workspace's list replaces the person's, so that it has to hold it.
    pub(super) fn write(&self, offer: &Offer) -> Result<Written, Problem> {
        match self.reach {
            Reach::Here => template::write_if_missing(&self.file)?,
            Reach::Everywhere if self.file.symlink_metadata().is_err() => {
                if let Some(folder) = self.file.parent() {
                    file::make_folder(folder)?;
                }
                file::replace(&self.file, HEAD.as_bytes())?;
            }
            Reach::Everywhere => {}
        }
        let read = Manifest::load(&self.file).map_err(PolicyFileError::from)?;
        let base = self.base()?;
        let value = offer.value(&base);
        let new = match (offer.is_list(), value.parse::<u64>()) {
            (true, _) => NewValue::Texts(value.split(',').map(str::to_owned).collect()),
            (false, Ok(number)) => NewValue::Number(number),
            (false, Err(_)) => NewValue::Text(value.clone()),
        };
        let before = read.text().to_owned();
        let after = store::update(&read, &[Edit::new(offer.path(), new)])?;
        // What would be refused at the next start must not stay.
        if let Err(error) = policy_file::load(&self.file) {
            file::replace(&self.file, before.as_bytes())?;
            return Err(error.into());
        }
        let line = format!("{}: {}", offer.path(), shown(offer, &value));
        Ok(Written { file: self.file.clone(), line, unchanged: after.text() == before })
    }

    /// The policy over which a list is written: for the workspace the person's own settings count too.
    fn base(&self) -> Result<Policy, Problem> {
        let own = policy_file::load(&self.file)?;
        Ok(match self.reach {
            Reach::Everywhere => own.policy,
            Reach::Here => match self.layered()? {
                Some(policy) => policy,
                None => own.policy,
            },
        })
    }

    fn layered(&self) -> Result<Option<Policy>, Problem> {
        let Some(folder) = self.file.parent() else { return Ok(None) };
        let layout = tripwire_workspace::geometry::layout::Layout::at(folder)
            .with_user_settings(crate::workspace::places().user_settings());
        Ok(Some(policy_file::load_for(&layout)?.policy))
    }

    /// Whether this workspace's manifest sets the same itself, so that the person's own settings do not count here.
    pub(super) fn is_overridden(&self, offer: &Offer, workspace: &Workspace) -> bool {
        let here = || policy_file::load(&workspace.layout().manifest());
        self.reach == Reach::Everywhere && here().is_ok_and(|loaded| loaded.lines.contains_key(offer.path()))
    }
}

fn shown(offer: &Offer, value: &str) -> String {
    if !offer.is_list() {
        return value.to_owned();
    }
    let items: Vec<String> = value.split(',').map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", items.join(", "))
}
