//! The session that acts of people and roles go into where none is named: the newest, or a new one.

use crate::driver::{Driver, DriverError, Signing, views};
use tripwire_authority::identity::Configuration;
use tripwire_core::policy::Policy;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;

/// The newest session of a workspace, or a new one for this role.
///
/// # Errors
/// When it cannot be opened or begun.
pub fn newest_or_new(layout: &Layout, signing: Option<Signing>, role: Option<&str>) -> Result<Driver, DriverError> {
    match views::newest(layout)? {
        Some(session) => Ok(Driver::resume(layout, &session)?.signed_by(signing)),
        None => {
            let change = |policy: &mut Policy| policy.set_role(role);
            Driver::begin_signed(layout, signing, clock::now(), Configuration::default(), change)
        }
    }
}
