//! What a confined run leaves behind: how it ended, what it printed, and which layers held it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::spec::Profile;

/// One wall of the sandbox, in the order in which the walls are put up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Memory and process budgets for the whole tree, and the handle that freezes and ends it.
    Cgroup,
    /// User, mount, pid, network, IPC, host-name and cgroup namespaces.
    Namespaces,
    /// The clean second start of our own binary: no inherited memory, environment or descriptor.
    Reexec,
    /// A new root that holds only what is allowed.
    Rootfs,
    /// Writes go to an overlay instead of the workspace.
    Stage,
    /// The bridge from the sandbox's loopback to the host's allow-list socket.
    Network,
    /// Per-process resource limits.
    Limits,
    /// All capabilities dropped for good.
    Privileges,
    /// The kernel's path rules, a second opinion on the new root.
    Landlock,
    /// The system-call filter.
    Seccomp,
    /// The reaping first process.
    Pid1,
    /// The command itself: it could not be started.
    Command,
    /// The look at the workspace after the run.
    Scan,
}

impl Layer {
    /// Every layer, in order.
    pub const ALL: [Self; 13] = [
        Self::Cgroup,
        Self::Namespaces,
        Self::Reexec,
        Self::Rootfs,
        Self::Stage,
        Self::Network,
        Self::Limits,
        Self::Privileges,
        Self::Landlock,
        Self::Seccomp,
        Self::Pid1,
        Self::Command,
        Self::Scan,
    ];

    /// The name used in results and by `doctor`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cgroup => "cgroup",
            Self::Namespaces => "namespaces",
            Self::Reexec => "reexec",
            Self::Rootfs => "rootfs",
            Self::Stage => "stage",
            Self::Network => "network",
            Self::Limits => "limits",
            Self::Privileges => "privileges",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Pid1 => "pid1",
            Self::Command => "command",
            Self::Scan => "scan",
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

/// How one layer stood during a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerState {
    /// It held; the text says how.
    On(String),
    /// An ordinary user cannot have it here; something weaker stood in, named by the text.
    Replaced(String),
    /// Profile `compat` went on without it, or with a weaker form.
    Relaxed(String),
    /// Not asked for.
    Off,
    /// It could not be put on: nothing was run.
    Missing(String),
}

/// The state of each layer that was reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layers(BTreeMap<Layer, LayerState>);

impl Layers {
    /// The layers in their order with their states.
    pub fn iter(&self) -> impl Iterator<Item = (Layer, &LayerState)> {
        self.0.iter().map(|(layer, state)| (*layer, state))
    }

    /// The state of one layer, if the run came that far.
    #[must_use]
    pub fn get(&self, layer: Layer) -> Option<&LayerState> {
        self.0.get(&layer)
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only the Linux launcher fills it"))]
    pub(crate) fn set(&mut self, layer: Layer, state: LayerState) {
        self.0.insert(layer, state);
    }

    /// Forgets what was promised for this layer and those after it.
    #[cfg(target_os = "linux")]
    pub(crate) fn keep_before(&mut self, layer: Layer) {
        self.0.retain(|known, _| *known < layer);
    }
}

/// What a look at the workspace found after a confined tree had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planted {
    /// What was planted, and what was done with it.
    pub findings: Vec<Finding>,
    /// What could not be looked at.
    pub unseen: Option<String>,
}

/// What came of a request to run a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The command ran, confined by every layer listed.
    Ran(Report),
    /// Nothing was run.
    NotRun(NotRun),
}

/// Why nothing was run: the layer that is missing and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// The layer that could not be put on.
    pub layer: Layer,
    /// What failed, in one line.
    pub cause: String,
    /// What a person can do about it.
    pub hint: String,
    /// The layers that were reached.
    pub layers: Layers,
    /// The profile that was asked for.
    pub profile: Profile,
}

/// A finished run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How the command ended.
    pub end: End,
    /// What it wrote to its standard output.
    pub stdout: Captured,
    /// What it wrote to its standard error.
    pub stderr: Captured,
    /// From the start of the first layer to the end of the last process.
    pub wall: Duration,
    /// Every layer and how it stood.
    pub layers: Layers,
    /// The end of the process tree.
    pub receipt: Receipt,
    /// Planted files found after the run, and what was done with them.
    pub findings: Vec<Finding>,
    /// Processes that the kernel ended because the memory budget was spent.
    pub memory_kills: u64,
    /// The profile that was asked for; `Compat` is never the default.
    pub profile: Profile,
    /// Where the staged writes are, if they were staged.
    pub stage: Option<PathBuf>,
}

impl Report {
    /// What may still be armed in the workspace: planted files that could not be made harmless, or places that could not be
    /// looked at. A caller must not take such a run for a good one.
    #[must_use]
    pub fn left_armed(&self) -> Vec<String> {
        let armed = self.findings.iter().filter(|finding| finding.fate == FindingFate::StillArmed);
        let mut left: Vec<String> =
            armed.map(|finding| format!("`{}` {}", finding.path.display(), finding.action)).collect();
        if let Some(LayerState::Missing(unseen)) = self.layers.get(Layer::Scan) {
            left.push(unseen.clone());
        }
        left
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It exited by itself with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled(u8),
    /// The time was over and the tree was ended.
    TimedOut,
    /// Somebody raised the run's [`crate::Interrupt`] and the tree was ended.
    Interrupted,
    /// A budget of the whole tree was spent and the tree was ended.
    OverBudget(Budget),
}

/// A budget for which a command is ended: by the launcher, or by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Memory of all processes together.
    Memory,
    /// Bytes of all files written.
    Disk,
    /// Number of files written.
    Inodes,
    /// Bytes of one file.
    FileSize,
}

impl Budget {
    /// The name used in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Inodes => "inodes",
            Self::FileSize => "file-size",
        }
    }
}

/// One captured stream: the first bytes up to the cap, and the true count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The bytes kept.
    pub bytes: Vec<u8>,
    /// How many bytes were written in truth.
    pub total: u64,
}

impl Captured {
    /// Whether bytes beyond the cap were dropped.
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

/// Proof that a process tree is gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Processes that were alive when the end began and are gone now.
    pub ended: u64,
    /// Processes that are still alive; anything but 0 is a failure.
    pub survivors: u64,
    /// From the decision to the last process gone.
    pub took: Duration,
}

/// Something that a command planted in the workspace for others to trip over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// Where, relative to the workspace.
    pub path: PathBuf,
    /// What was done with it.
    pub action: String,
    /// Whether that made it harmless.
    pub fate: FindingFate,
}

/// What became of a planted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingFate {
    /// It can do nothing any more.
    Disarmed,
    /// It could not be changed: to use it is to run it.
    StillArmed,
}

/// The kinds of planted files that the scan after a run looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// A new executable hook in a git repository below the workspace.
    GitHook,
    /// A new git configuration that names a program to run.
    GitConfig,
    /// A set-user-id or set-group-id file.
    SetId,
    /// A new file of the workspace that clients obey, such as instructions; it is named and left.
    ClientFile,
}

impl FindingKind {
    /// The name used in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHook => "git_hook",
            Self::GitConfig => "git_config",
            Self::SetId => "set_id",
            Self::ClientFile => "client_file",
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn report(scan: LayerState, fate: FindingFate) -> Report {
        let mut layers = Layers::default();
        layers.set(Layer::Scan, scan);
        let finding =
            Finding { kind: FindingKind::GitHook, path: "r/.git/hooks/x".into(), action: "tried".to_owned(), fate };
        Report {
            end: End::Exited(0),
            stdout: Captured::default(),
            stderr: Captured::default(),
            wall: Duration::ZERO,
            layers,
            receipt: Receipt::default(),
            findings: vec![finding],
            memory_kills: 0,
            profile: Profile::Strict,
            stage: None,
        }
    }

    #[test]
    fn box_1_what_stays_armed_or_unseen_is_named() {
        let seen = || LayerState::On("1 findings".to_owned());
        assert!(report(seen(), FindingFate::Disarmed).left_armed().is_empty());
        assert_eq!(report(seen(), FindingFate::StillArmed).left_armed(), ["`r/.git/hooks/x` tried"]);
        let unseen = LayerState::Missing("too deep".to_owned());
        assert_eq!(report(unseen, FindingFate::Disarmed).left_armed(), ["too deep"]);
    }
}
