//! What is known about the surroundings of a command before it is judged.

use crate::roots::SharedLooks;
use std::path::PathBuf;
use std::time::SystemTime;
use tripwire_core::policy::{OnOutside, OnPublish, Policy};
use tripwire_shell::glob::Glob;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// What the door that asks knows about the surroundings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// The folder that the run may work in.
    pub workspace: PathBuf,
    /// The folder in which the command would start.
    pub cwd: PathBuf,
    /// The home of the user who runs it.
    pub home: Option<PathBuf>,
    /// The user's name.
    pub user: Option<String>,
    /// The system's temporary folders.
    pub temporary: Vec<PathBuf>,
    /// Patterns of the branches that the policy protects (`identity.protected_branches`).
    pub protected: Vec<String>,
    /// The guard's own program.
    pub program: Option<PathBuf>,
    /// What the policy says about publishing.
    pub publish: OnPublish,
    /// Patterns of the hosts to which publishing passes (`judge.publish_hosts`).
    pub publish_hosts: Vec<String>,
    /// What the policy says about text from outside.
    pub outside: OnOutside,
    /// When the session began: what was born later is the run's own.
    pub began: Option<SystemTime>,
    /// What copies of these facts look up once for all of them.
    pub looks: SharedLooks,
}

impl Facts {
    /// The facts of this process: its home, its user, its temporary folders; and the branches that the policy protects.
    #[must_use]
    pub fn here(workspace: PathBuf, cwd: PathBuf, policy: &Policy) -> Self {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let folders = text("TMPDIR").into_iter().chain(["/tmp", "/var/tmp", "/dev/shm"].map(str::to_owned));
        Self {
            workspace,
            cwd,
            home: text("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            user: text("USER").or_else(|| text("LOGNAME")),
            temporary: folders.map(PathBuf::from).filter(|folder| folder.is_absolute()).collect(),
            program: std::env::current_exe().ok(),
            ..Self::default()
        }
        .under(policy)
    }

    /// The same facts under another policy.
    #[must_use]
    pub fn under(self, policy: &Policy) -> Self {
        Self {
            protected: protected_branches(policy),
            publish: policy.judge.publish,
            publish_hosts: policy.judge.publish_hosts.iter().map(str::to_owned).collect(),
            outside: policy.judge.outside,
            ..self
        }
    }

    /// The same facts for a command of this session: what was born after its journal is the run's own.
    #[must_use]
    pub fn in_session(self, layout: &Layout, session: &SessionId) -> Self {
        let first = layout.first_segment(session);
        let began = first.metadata().and_then(|metadata| metadata.created()).ok();
        Self { began, ..self }
    }

    /// Whether the policy protects a branch.
    pub(crate) fn protects(&self, branch: &str) -> bool {
        self.protected.iter().any(|pattern| Glob::of(pattern).fits(branch))
    }
}

/// The patterns of the branches that a policy protects.
fn protected_branches(policy: &Policy) -> Vec<String> {
    policy.identity.protected_branches.iter().map(str::to_owned).collect()
}
