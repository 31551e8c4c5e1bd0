//! Critical operations need a checksum on the signed list and an authorized role (IDENT-1).

use crate::enforcement::{EnforcementError, PermissionDeniedError, Remedy};
use crate::input::{Authority, IdentityFact};
use crate::label::Label;

/// Checks the identity facts, where the operation is critical.
pub(crate) fn check(authority: &Authority) -> Result<(), EnforcementError> {
    let (missing, remedy) = match authority.identity {
        None | Some(IdentityFact::Trusted) => return Ok(()),
        Some(IdentityFact::UnknownChecksum) => ("an agent checksum on the gold-standard list", Remedy::Trust),
        Some(IdentityFact::ListUnsigned) => {
            ("a gold-standard list that `tripwire identity verify` accepts", Remedy::Trust)
        }
        Some(IdentityFact::RoleNotAuthorized) => ("a role among `identity.authorized_roles`", Remedy::Authorize),
        Some(IdentityFact::OtherWorkflow) => {
            ("a session of the workflow in `identity.workflow_binding`", Remedy::Begin)
        }
    };
    Err(EnforcementError::PermissionDenied(PermissionDeniedError {
        permission: Label::cut(missing),
        remedy,
        role: authority.role.clone(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{Grant, Permission};

    fn authority(identity: Option<IdentityFact>) -> Authority {
        Authority { grant: Grant::Granted, identity, permission: Permission::CanEditSource, role: Label::cut("worker") }
    }

    #[test]
    fn ident_1_an_unknown_checksum_or_role_is_refused() {
        for fact in [
            IdentityFact::UnknownChecksum,
            IdentityFact::ListUnsigned,
            IdentityFact::RoleNotAuthorized,
            IdentityFact::OtherWorkflow,
        ] {
            assert!(check(&authority(Some(fact))).is_err(), "{fact:?}");
        }
    }

    #[test]
    fn ident_1_a_trusted_identity_and_an_ordinary_operation_pass() {
        assert!(check(&authority(Some(IdentityFact::Trusted))).is_ok());
        assert!(check(&authority(None)).is_ok());
    }
}
