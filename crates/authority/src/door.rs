//! The doors' question: which permissions an action needs, and whether the role has them.
//!
//! Every door (driver, hooks, own loop, memory, sandbox) asks here and hands the answer to the engine as a fact; the
//! engine alone refuses. An action may need several permissions; the first that is missing is the one that is named.

use super::attribute::Attribute;
use super::error::{AuthorityError, AuthorityProblem};
use super::table::{Permissions, Who};
use std::path::Path;
use tripwire_core::input::{Authority, Grant, IdentityFact, Permission};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_fs::links::followed;
use tripwire_observe::{Doing, Nature};

/// Whether something else keeps the action from writing where it must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// It runs in the sandbox, whose mounts follow [`Permissions::writing`].
    Sandboxed,
    /// Nothing confines it: what it could do counts.
    Open,
}

/// Where an action would happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Surroundings<'a> {
    /// The workspace's folder.
    pub root: &'a Path,
    /// What confines it.
    pub confinement: Confinement,
}

/// What a role may write to in the workspace, for the caller that mounts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// The workspace is writable.
    Workspace,
    /// The workspace is read-only; scratch folders outside of it stay writable.
    Nothing,
}

/// One thing that an action needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The permission.
    pub permission: Permission,
    /// The resource that it is about.
    pub resource: String,
}

impl Need {
    /// A permission for a resource.
    #[must_use]
    pub fn new(permission: Permission, resource: &str) -> Self {
        Self { permission, resource: resource.to_owned() }
    }
}

impl Permissions {
    /// The facts of authority for these needs: the first that is missing, else the last of them.
    #[must_use]
    pub fn authority(&self, who: Who<'_>, needs: &[Need], identity: Option<IdentityFact>) -> Authority {
        let missing = needs.iter().find(|need| self.grant(who, need.permission, &need.resource) == Grant::Denied);
        let known = self.attributes(who.role).is_some();
        let (permission, grant) = match (missing, needs.last()) {
            (Some(need), _) => (need.permission, Grant::Denied),
            (None, Some(need)) if known => (need.permission, Grant::Granted),
            // Nothing is needed, or no role asks: an unknown role gets nothing even then.
            (None, Some(_) | None) => (Permission::CanExecuteTasks, if known { Grant::Granted } else { Grant::Denied }),
        };
        Authority { grant, identity, permission, role: Label::cut(who.role) }
    }

    /// What a role may write to in the workspace. Without `can_edit_source` nothing of it may be written, because a
    /// mount cannot tell sources from other files of the workspace.
    #[must_use]
    pub fn writing(&self, who: Who<'_>) -> Writing {
        let has = |permission| self.grant(who, permission, ".") == Grant::Granted;
        if has(Permission::Write) && has(Permission::CanEditSource) { Writing::Workspace } else { Writing::Nothing }
    }

    /// Whether a role must stop once its work has converged.
    #[must_use]
    pub fn stops_on_convergence(&self, who: Who<'_>) -> bool {
        self.grant(who, Permission::ContinueAfterConvergence, ".") == Grant::Denied
    }

    /// Checks that a role exists before a session runs under it; `file` is where roles are defined.
    ///
    /// # Errors
    /// When it is not defined.
    pub fn require_role(&self, role: &str, file: &Path) -> Result<(), AuthorityError> {
        if self.attributes(role).is_some() {
            return Ok(());
        }
        let known = self.roles().map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ");
        let problem = AuthorityProblem::UnknownRole { role: role.to_owned(), known };
        Err(AuthorityError::new(file, None, problem))
    }

    /// Whether a role has an attribute.
    #[must_use]
    pub fn has(&self, role: &str, attribute: Attribute) -> bool {
        self.attributes(role).is_some_and(|attributes| attributes.contains(&attribute))
    }
}

/// What a call needs.
#[must_use]
pub fn needs(tool: &str, nature: &Nature, policy: &Policy, at: Surroundings<'_>) -> Vec<Need> {
    let mut needs = vec![Need::new(Permission::CanExecuteTasks, tool)];
    let edit = |needs: &mut Vec<Need>, path: &str| {
        needs.push(Need::new(Permission::Write, path));
        if is_source(path, policy) {
            needs.push(Need::new(Permission::CanEditSource, path));
        }
    };
    match (nature.doing, at.confinement) {
        (Doing::Looks, _) | (Doing::Runs | Doing::RunsAndEdits, Confinement::Sandboxed) => {}
        // Which files a command or an unknown tool changes is not known, so it counts for the whole workspace.
        (Doing::Runs | Doing::Unknown, Confinement::Open) => needs.push(Need::new(Permission::Write, ".")),
        (Doing::RunsAndEdits, Confinement::Open) => edit(&mut needs, "."),
        (Doing::Edits, _) if nature.targets.is_empty() => edit(&mut needs, "."),
        (Doing::Edits, _) => nature.targets.iter().for_each(|path| edit(&mut needs, &real(at.root, path))),
        (Doing::Unknown, Confinement::Sandboxed) => needs.push(Need::new(Permission::Write, ".")),
    }
    needs
}

/// Whether a path is in one of the source folders. The workspace as a whole holds them.
fn is_source(path: &str, policy: &Policy) -> bool {
    let outside = path.starts_with('/') || path.starts_with("..");
    let mut folders = policy.identity.source_dirs.iter();
    let within = |folder: &str| {
        let folder = folder.trim_start_matches("./").trim_end_matches('/');
        folder == "." || folder.is_empty() || path == "." || Path::new(path).starts_with(folder)
    };
    !outside && folders.any(within)
}

/// Where a path leads once its links are followed, relative to the workspace where it is inside. What does not exist
/// yet keeps its name below the part that does.
pub(super) fn real(root: &Path, path: &str) -> String {
    let Some(whole) = followed(&root.join(path)) else { return path.to_owned() };
    let below = |root: &Path| whole.strip_prefix(root).ok().map(Path::to_path_buf);
    // The workspace's own name may hold links.
    let inside = below(root).or_else(|| below(&followed(root)?)).unwrap_or_else(|| whole.clone());
    if inside.as_os_str().is_empty() { ".".to_owned() } else { inside.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nature(doing: Doing, targets: &[&str]) -> Nature {
        Nature { doing, targets: targets.iter().map(|path| (*path).to_owned()).collect() }
    }

    fn listed(doing: Doing, targets: &[&str], confinement: Confinement) -> Vec<String> {
        let mut policy = Policy::default();
        policy.set("identity.source_dirs", "src").unwrap();
        let needs =
            needs("t", &nature(doing, targets), &policy, Surroundings { root: Path::new("/nonexistent"), confinement });
        needs
            .iter()
            .map(|need| format!("{} {}", super::super::compile::action(need.permission), need.resource))
            .collect()
    }

    #[test]
    fn perm_1_an_action_needs_what_it_could_do_where_it_is() {
        let open = Confinement::Open;
        assert_eq!(listed(Doing::Looks, &["src/a"], open), ["can_execute_tasks t"]);
        assert_eq!(listed(Doing::Edits, &["notes"], open), ["can_execute_tasks t", "write notes"]);
        let edits = listed(Doing::Edits, &["src/a", "b"], open);
        assert_eq!(edits, ["can_execute_tasks t", "write src/a", "can_edit_source src/a", "write b"]);
        assert_eq!(listed(Doing::Edits, &[], open).last().unwrap(), "can_edit_source .", "an unnamed file may be any");
        assert_eq!(listed(Doing::Runs, &[], open), ["can_execute_tasks t", "write ."]);
        assert_eq!(listed(Doing::RunsAndEdits, &[], open).last().unwrap(), "can_edit_source .");
        assert_eq!(listed(Doing::RunsAndEdits, &[], Confinement::Sandboxed), ["can_execute_tasks t"]);
        assert_eq!(listed(Doing::Unknown, &[], Confinement::Sandboxed).last().unwrap(), "write .");
    }

    #[test]
    fn perm_1_a_link_is_judged_by_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("docs")).unwrap();
        std::os::unix::fs::symlink("docs", folder.path().join("way")).unwrap();
        assert_eq!(real(folder.path(), "way/new/file"), "docs/new/file");
        assert_eq!(real(folder.path(), "."), ".");
        std::os::unix::fs::symlink("/", folder.path().join("out")).unwrap();
        assert_eq!(real(folder.path(), "out/etc"), "/etc");
        std::os::unix::fs::symlink("/nonexistent/new", folder.path().join("dangling")).unwrap();
        assert_eq!(real(folder.path(), "dangling"), "/nonexistent/new", "writing there makes that file");
        let linked = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path(), linked.path().join("ws")).unwrap();
        assert_eq!(real(&linked.path().join("ws"), "way/a"), "docs/a");
    }
}
