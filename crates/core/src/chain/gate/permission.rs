//! Roles and permissions: an action without them, or with a role that lacks one, is refused (PERM-1).

use crate::enforcement::{EnforcementError, PermissionDeniedError, Remedy};
use crate::input::{Authority, Grant, Permission};
use crate::label::Label;
use crate::rules::Rule;

/// Checks the facts of authority that came with a request.
pub(crate) fn check(authority: Option<&Authority>) -> Result<&Authority, EnforcementError> {
    let Some(authority) = authority else {
        return Err(denied("none", Permission::CanExecuteTasks.name(), Remedy::Role));
    };
    match authority.grant {
        Grant::Granted => Ok(authority),
        Grant::Denied => {
            let remedy = if rule(Some(authority)) == Rule::Reach { Remedy::Person } else { Remedy::Role };
            Err(denied(authority.role.as_str(), authority.permission.name(), remedy))
        }
    }
}

/// The rule that a missing permission breaks: the guard itself is out of every agent's reach (CTRL-3).
pub(crate) fn rule(authority: Option<&Authority>) -> Rule {
    match authority.map(|authority| authority.permission) {
        Some(Permission::ControlTheGuard) => Rule::Reach,
        Some(
            Permission::CanExecuteTasks
            | Permission::CanEditSource
            | Permission::Write
            | Permission::CanAccessPrivateMemories
            | Permission::CanWriteMemories
            | Permission::ContinueAfterConvergence
            | Permission::Reach
            | Permission::Read,
        )
        | None => Rule::Permission,
    }
}

fn denied(role: &str, permission: &str, remedy: Remedy) -> EnforcementError {
    EnforcementError::PermissionDenied(PermissionDeniedError {
        permission: Label::cut(permission),
        remedy,
        role: Label::cut(role),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn authority(grant: Grant) -> Authority {
        Authority { grant, identity: None, permission: Permission::CanEditSource, role: Label::cut("tester") }
    }

    #[test]
    fn perm_1_a_missing_permission_names_role_and_permission() {
        let error = check(Some(&authority(Grant::Denied))).unwrap_err().to_string();
        assert!(error.contains("`tester`") && error.contains("`can_edit_source`"), "{error}");
        assert!(check(None).unwrap_err().to_string().contains("`can_execute_tasks`"));
    }

    #[test]
    fn perm_1_a_granted_permission_passes() {
        assert!(check(Some(&authority(Grant::Granted))).is_ok());
    }
}
