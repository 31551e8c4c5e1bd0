//! The permissions of a workspace outside of a session: for checks, and for people who want to know.

use super::error::AuthorityError;
use super::identity::{Configuration, ConfigurationError};
use super::role::{self, Roles};
use super::{DEFAULT_POLICIES, Permissions, load, parse};
use std::borrow::Cow;
use tripwire_core::explain::Explain;
use tripwire_core::policy::Policy;
use tripwire_core::record::chain::Digest;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::Manifest;
use tripwire_workspace::policy_file::{self, PolicyFileError};

/// Why the permissions of a workspace cannot be known.
#[derive(Debug, thiserror::Error)]
pub enum CurrentError {
    /// The manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] PolicyFileError),
    /// The permissions cannot be used.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The configuration has no digest.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
}

impl Explain for CurrentError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Manifest(error) => error.hint(),
            Self::Authority(error) => error.hint(),
            Self::Configuration(error) => error.hint(),
        }
    }
}

/// The roles that a new session would have.
///
/// # Errors
/// When the manifest cannot be read or holds a role that cannot be.
pub fn roles(layout: &Layout) -> Result<Roles, CurrentError> {
    let file = layout.manifest();
    if file.symlink_metadata().is_err() {
        return Ok(role::built_in());
    }
    let manifest = Manifest::load(&file).map_err(PolicyFileError::from)?;
    Ok(role::of_manifest(&manifest)?)
}

/// The permissions that a new session would freeze; nothing is written.
///
/// # Errors
/// When they cannot be compiled.
pub fn permissions(layout: &Layout) -> Result<Permissions, CurrentError> {
    let (file, roles) = (layout.policy(), roles(layout)?);
    Ok(match file.symlink_metadata() {
        Ok(_) => load(&file, &roles)?,
        Err(_) => parse(&file, DEFAULT_POLICIES, &roles)?,
    })
}

/// The digest of the settings and permissions that a new session would freeze.
///
/// # Errors
/// When they cannot be read or compiled.
pub fn rules(layout: &Layout) -> Result<Option<Digest>, CurrentError> {
    rules_of(&policy_file::load_for(layout)?.policy, &permissions(layout)?)
}

/// The same of a policy and permissions that stand in no file yet.
///
/// # Errors
/// When they have no canonical form.
pub fn rules_of(policy: &Policy, permissions: &Permissions) -> Result<Option<Digest>, CurrentError> {
    Ok(Configuration::observe(policy, permissions, None)?.rules_digest())
}
