//! A policy from a file in the manifest's form, with the place each value came from.

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
            Self::Setting { .. } | Self::Relation { .. } => "list all settings with `tripwire policy show`".into(),
        }
    }
}

/// A policy with the lines that set it.
#[derive(Debug)]
pub struct Loaded {
    /// The policy.
    pub policy: Policy,
    /// Dotted path to the line of the file that set it.
    pub lines: BTreeMap<String, u64>,
}

/// Reads a policy file.
///
/// # Errors
/// When the file cannot be read or a setting is unknown, wrong or contradicts another: nothing is guessed.
pub fn load(file: &Path) -> Result<Loaded, PolicyFileError> {
    let manifest = Manifest::load(file)?;
    let mut policy = Policy::default();
    let mut lines = BTreeMap::new();
    for (path, (text, line)) in joined(&manifest) {
        if is_carried_elsewhere(&path) || (path == "identity.workflow_binding" && text == "null") {
            continue;
        }
        let wrong = |error| PolicyFileError::Setting { file: file.to_owned(), line, error };
        policy.set(&path, &text).map_err(wrong)?;
        lines.insert(path, line);
    }
    policy.check().map_err(|error| PolicyFileError::Relation { file: file.to_owned(), error })?;
    Ok(Loaded { policy, lines })
}

/// The policy that a session would begin with: the file's, or the defaults where there is none yet. Nothing is made.
///
/// # Errors
/// See [`load`].
pub fn load_or_default(file: &Path) -> Result<Policy, PolicyFileError> {
    match file.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Policy::default()),
        Ok(_) | Err(_) => Ok(load(file)?.policy),
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

/// Keys that are no thresholds of the engine: identity facts, and roles, which are compiled with the permissions.
fn is_carried_elsewhere(path: &str) -> bool {
    path == "identity.agent_checksum" || path.starts_with("engines.") || path.starts_with("roles.")
}
