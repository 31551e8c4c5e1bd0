//! A policy from files in the manifest's form, with the place each value came from: the person's own settings first, then
//! the workspace's manifest, which overrides them.

use crate::geometry::layout::Layout;
use crate::geometry::manifest::{Manifest, ManifestError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tripwire_core::explain::Explain;
use tripwire_core::policy::{Policy, PolicyError};

/// Why a policy file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A setting is wrong.
    #[error("`{}` line {line}: {error}", file.display())]
    Setting {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        error: PolicyError,
    },
    /// A value of one workspace stands in the settings for all.
    #[error("`{}` line {line}: `{path}` belongs to one workspace, not to your settings for all", file.display())]
    OfWorkspace {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The path.
        path: String,
    },
    /// The settings contradict each other.
    #[error("`{}`: {error}", file.display())]
    Relation {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        error: PolicyError,
    },
}

impl Explain for PolicyFileError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Manifest(error) => error.hint(),
            Self::OfWorkspace { .. } => "write it into `.geometry/MANIFEST.yaml` of that workspace".into(),
            Self::Setting { file, line, .. } => format!("correct line {line} of {}", file.display()).into(),
            Self::Relation { file, .. } => format!("correct one of the two values in {}", file.display()).into(),
        }
    }
}

/// A policy with the lines that set it.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The policy.
    pub policy: Policy,
    /// Dotted path to the place that set it.
    pub lines: BTreeMap<String, SettingPlace>,
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingPlace {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
}

/// Reads a policy file.
///
/// # Errors
/// When the file cannot be read or a setting is unknown, wrong or contradicts another: nothing is guessed.
pub fn load(file: &Path) -> Result<Loaded, PolicyFileError> {
    let mut loaded = Loaded::default();
    loaded.read(&Manifest::load(file)?)?;
    loaded.check(file)?;
    Ok(loaded)
}

/// The policy that a session of this workspace would begin with: the defaults, the person's own settings, the manifest; as
/// far as they are there. Nothing is made.
///
/// # Errors
/// See [`load`].
pub fn load_for(layout: &Layout) -> Result<Loaded, PolicyFileError> {
    let file = layout.manifest();
    let manifest = if is_there(&file) { Some(Manifest::load(&file)?) } else { None };
    load_under(layout, manifest.as_ref())
}

/// The same with another manifest than the one of the workspace.
///
/// # Errors
/// See [`load`].
pub fn load_under(layout: &Layout, manifest: Option<&Manifest>) -> Result<Loaded, PolicyFileError> {
    let mut loaded = Loaded::default();
    if let Some(file) = layout.user_settings().filter(|file| is_there(file)) {
        let settings = Manifest::load(file)?;
        let own: Vec<String> = settings.settings().into_iter().map(|scalar| scalar.path).collect();
        let of_workspace = |path: &str| is_carried_elsewhere(path) || !own.iter().any(|known| known == path);
        if let Some(wrong) = settings.scalars().into_iter().find(|scalar| of_workspace(&scalar.path)) {
            return Err(PolicyFileError::OfWorkspace { file: file.to_owned(), line: wrong.line, path: wrong.path });
        }
        loaded.read(&settings)?;
        loaded.check(file)?;
    }
    if let Some(manifest) = manifest {
        loaded.read(manifest)?;
        loaded.check(manifest.file())?;
    }
    Ok(loaded)
}

/// Whether each value of a manifest is one that its setting may have. Whether they contradict each other depends on the person's own
/// settings too, and is looked at when a session begins.
///
/// # Errors
/// When one is not.
pub fn check_values(manifest: &Manifest) -> Result<(), PolicyFileError> {
    Loaded::default().read(manifest)
}

/// Whether anything has this name: what cannot be read is not passed over.
fn is_there(file: &Path) -> bool {
    !matches!(file.symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

impl Loaded {
    /// The place that set a row of the policy, if a file did. The limits of all tools are one row: the first of them counts.
    #[must_use]
    pub fn place_of(&self, row: &str) -> Option<&SettingPlace> {
        let limits = || self.lines.iter().find(|(path, _)| row == TOOL_LIMITS && tool_limit(path).is_some());
        self.lines.get(row).or_else(|| limits().map(|(_, place)| place))
    }

    /// Sets what a file says.
    fn read(&mut self, manifest: &Manifest) -> Result<(), PolicyFileError> {
        for (path, (text, line)) in joined(manifest) {
            if is_carried_elsewhere(&path) || (path == "identity.workflow_binding" && text == "null") {
                continue;
            }
            let file = || manifest.file().to_owned();
            let set = match tool_limit(&path) {
                Some((tool, key)) => self.policy.set_tool_limit(tool, key, &text),
                None => self.policy.set(&path, &text),
            };
            set.map_err(|error| PolicyFileError::Setting { file: file(), line, error })?;
            self.lines.insert(path, SettingPlace { file: file(), line });
        }
        Ok(())
    }

    fn check(&self, file: &Path) -> Result<(), PolicyFileError> {
        self.policy.check().map_err(|error| PolicyFileError::Relation { file: file.to_owned(), error })
    }
}

/// Settings by path; the items of a list (`key[0]`, `key[1]`) are joined with commas, as the policy carries them.
fn joined(manifest: &Manifest) -> BTreeMap<String, (String, u64)> {
    let mut settings: BTreeMap<String, (String, u64)> = BTreeMap::new();
    for scalar in manifest.settings() {
        let (path, item) = match scalar.path.split_once('[') {
            Some((path, _)) => (path.to_owned(), true),
            None => (scalar.path, false),
        };
        settings
            .entry(path)
            .and_modify(|(text, _)| {
                if item {
                    text.push(',');
                    text.push_str(&scalar.text);
                }
            })
            .or_insert_with(|| (scalar.text.clone(), scalar.line));
    }
    settings
}

/// The row of the policy that holds the limits of all tools.
const TOOL_LIMITS: &str = "tools.limits";

/// The tool and the key of a limit that is nested below `tools`.
fn tool_limit(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("tools.")?.rsplit_once('.')
}

/// Keys that are no thresholds of the engine: identity facts, and roles, which are compiled with the permissions.
fn is_carried_elsewhere(path: &str) -> bool {
    let others = ["engines.", "roles.", "fleet."];
    path == "identity.agent_checksum" || others.iter().any(|section| path.starts_with(section))
}
