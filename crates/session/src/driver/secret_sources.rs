//! Where the secrets of a session are known from, and what is redacted by them.

use super::error::DriverError;
use super::sign::Signing;
use crate::redaction::{self, SecretSources};
use std::path::Path;
use tripwire_core::policy::Policy;
use tripwire_secrets::Redactor;
use tripwire_workspace::geometry::layout::Layout;

/// The redactor for what is stored beside the sessions of a workspace.
///
/// # Errors
/// When the workspace's own secrets cannot be read: then nothing may be stored.
pub fn workspace_redactor(
    layout: &Layout,
    signing: Option<&Signing>,
    policy: &Policy,
) -> Result<Redactor, DriverError> {
    Ok(sources(layout, "", signing, policy).redactor()?)
}

/// Refuses a policy that holds a secret, as the beginning of a session does; makes nothing.
///
/// # Errors
/// When it holds one, or the workspace's own secrets cannot be read.
pub fn check_secrets(layout: &Layout, signing: Option<&Signing>, policy: &Policy) -> Result<(), DriverError> {
    // Nothing is replaced here, so no key for placeholders is needed.
    let sources = SecretSources { home: None, ..sources(layout, "", signing, policy) };
    Ok(redaction::check_policy(policy, &sources.redactor()?)?)
}

/// Where the secrets of a session are known from.
pub(super) fn sources(layout: &Layout, session: &str, signing: Option<&Signing>, policy: &Policy) -> SecretSources {
    let mut sources = SecretSources {
        root: layout.workspace().map(Path::to_owned),
        session: session.to_owned(),
        allowed: policy.secrets.allow.list().clone(),
        ..SecretSources::default()
    };
    if let Some(signing) = signing {
        signing.tell(&mut sources);
    }
    sources
}
