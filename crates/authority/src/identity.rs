//! Identity: a checksum over everything that makes an agent what it is, a signed list of the configurations that people
//! vouch for, and the operations that only such an agent may do (IDENT-1).

pub mod configuration;
pub mod critical;
pub mod gold;

pub use configuration::{Configuration, ConfigurationError, Part};
pub use gold::{Gold, GoldEntry, GoldError};

use serde::{Deserialize, Serialize};
use tripwire_core::input::IdentityFact;
use tripwire_core::policy::Policy;
use tripwire_journal::keys::KeyHome;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::Manifest;

/// The identity of a session, frozen in its first record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FrozenIdentity {
    /// `sha256:` over the parts.
    pub agent_checksum: String,
    /// Roles that may do critical operations.
    pub authorized_roles: Vec<String>,
    /// The configuration, part by part.
    pub parts: Configuration,
    /// What the manifest said that the checksum must be, if it said anything.
    #[serde(default)]
    pub pinned: Option<String>,
    /// The parts that the program itself holds, so that no file can change them.
    #[serde(default)]
    pub own: Configuration,
    /// The caller's correlation id, else the session's id.
    pub workflow_binding: String,
}

impl FrozenIdentity {
    /// What is known of the agent when a role asks for a critical operation. Whatever cannot be known is not trusted.
    #[must_use]
    pub fn fact(&self, role: &str, policy: &Policy, layout: &Layout, home: Option<&KeyHome>) -> IdentityFact {
        let Some(home) = home else { return IdentityFact::ListUnsigned };
        let gold = match Gold::load(layout, &home.trusted().unwrap_or_default()) {
            Ok(gold) => gold,
            Err(_) => return IdentityFact::ListUnsigned,
        };
        if gold.find(&self.agent_checksum).is_none() || !self.still_holds(policy, layout) {
            return IdentityFact::UnknownChecksum;
        }
        if !self.is_bound(layout) {
            return IdentityFact::OtherWorkflow;
        }
        if self.authorized_roles.iter().any(|known| known == role) {
            IdentityFact::Trusted
        } else {
            IdentityFact::RoleNotAuthorized
        }
    }

    /// Whether the configuration on disk is still the frozen one, and the one that the manifest names.
    fn still_holds(&self, policy: &Policy, layout: &Layout) -> bool {
        let pinned = self.pinned.as_ref().is_none_or(|pinned| *pinned == self.agent_checksum);
        pinned && self.now(policy, layout).is_ok_and(|now| now == self.parts)
    }

    /// Whether the manifest names the workflow that the session was begun for, or none. One that cannot be read names another.
    fn is_bound(&self, layout: &Layout) -> bool {
        let manifest = Manifest::load(&layout.manifest());
        manifest.is_ok_and(|manifest| {
            let named = manifest.identity().workflow_binding.as_deref();
            named.is_none_or(|named| named.is_empty() || named == self.workflow_binding)
        })
    }

    /// The configuration as it is now: files are read again, the frozen parts and the program's own stay.
    ///
    /// # Errors
    /// When a file of the configuration cannot be read.
    pub fn now(&self, policy: &Policy, layout: &Layout) -> Result<Configuration, ConfigurationError> {
        let mut now = self.parts.clone();
        now.read_files(policy, layout.workspace())?;
        for (part, digest) in self.own.iter() {
            now.set(part, Some(digest));
        }
        Ok(now)
    }
}
