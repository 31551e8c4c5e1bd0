//! Systems other than Linux: everything compiles, nothing runs, and every answer says so.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use crate::error::TreeError;
use crate::outcome::{Budget, Layer, Layers, NotRun, Outcome, Planted, Receipt};
use crate::spec::{CpuHold, MilliCores, Sandbox};

const NOT_YET: &str = "the sandbox is not supported yet on this system";
const HINT: &str = "use Linux 5.19 or newer, for instance in a virtual machine";

/// There is no inner stage here.
#[must_use]
pub fn inner_main() -> Option<u8> {
    None
}

/// Nothing is said for anybody here: a client's own limit is the only one.
pub mod last_word {
    /// See the Linux version.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    pub struct LastWord {
        /// To standard output.
        pub stdout: Vec<u8>,
        /// To standard error.
        pub stderr: Vec<u8>,
        /// The exit code.
        pub exit_code: u8,
    }

    impl LastWord {
        /// Leaves nothing.
        ///
        /// # Errors
        /// Never.
        pub fn leave(self, _within: std::time::Duration) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// Takes nothing back.
    pub fn take_back() {}
}

/// Here nothing can refuse a program its children: what it might start has to be switched off by its own settings.
pub fn childless(_command: &mut std::process::Command) {}

impl Sandbox {
    /// Runs nothing on this system and says so.
    #[must_use]
    pub fn run(&self) -> Outcome {
        Outcome::NotRun(NotRun {
            layer: Layer::Namespaces,
            cause: NOT_YET.to_owned(),
            hint: HINT.to_owned(),
            layers: Layers::default(),
            profile: self.profile,
        })
    }
}

/// How one layer stands on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerHealth {
    /// It cannot be put on.
    Missing,
}

impl LayerHealth {
    /// The word that `doctor` prints.
    #[must_use]
    pub fn name(self) -> &'static str {
        "missing"
    }
}

/// One line of the doctor's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerCheck {
    /// The layer.
    pub layer: Layer,
    /// How it stands.
    pub health: LayerHealth,
    /// What was seen.
    pub detail: String,
    /// What it means.
    pub meaning: &'static str,
    /// How to fix it.
    pub fix: &'static str,
}

/// Every layer is missing here.
#[must_use]
pub fn doctor(_scratch: &Path, _inner_exe: Option<&Path>) -> Vec<LayerCheck> {
    let check = |layer: &Layer| LayerCheck {
        layer: *layer,
        health: LayerHealth::Missing,
        detail: NOT_YET.to_owned(),
        meaning: "nothing is run",
        fix: HINT,
    };
    Layer::ALL.iter().map(check).collect()
}

/// What holds a tree together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// A pid namespace.
    PidNamespace,
    /// A subreaper.
    Subreaper,
}

impl Containment {
    /// The name used in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PidNamespace => "pid_namespace",
            Self::Subreaper => "subreaper",
        }
    }
}

/// Whether the tree's view of some paths is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shield {
    /// It is.
    Up,
    /// It is not.
    Down,
}

/// Interrupts are left as they are here.
pub mod interrupts {
    /// Changes nothing.
    ///
    /// # Errors
    /// Never.
    pub fn watch() -> std::io::Result<()> {
        Ok(())
    }

    /// Nothing is ever noted.
    #[must_use]
    pub fn asked() -> Option<i32> {
        None
    }
}

/// Where a standard stream goes.
#[derive(Debug)]
pub enum TreeStdio {
    /// The launcher's own.
    Inherit,
    /// Nothing.
    Null,
    /// A pipe or file of the caller.
    Fd(OwnedFd),
}

/// How a tree's command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeExit {
    /// It exited by itself with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled(u8),
}

/// A command that cannot be started here.
#[derive(Debug)]
pub struct TreeSpec;

impl TreeSpec {
    /// See the Linux version.
    pub fn new<I, S>(_argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Self
    }

    /// See the Linux version.
    #[must_use]
    pub fn cwd(self, _cwd: &Path) -> Self {
        self
    }

    /// See the Linux version.
    #[must_use]
    pub fn env<'a>(self, _env: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Self {
        self
    }

    /// See the Linux version.
    #[must_use]
    pub fn stdio(self, _stdin: TreeStdio, _stdout: TreeStdio, _stderr: TreeStdio) -> Self {
        self
    }

    /// See the Linux version.
    #[must_use]
    pub fn read_only(self, _path: &Path) -> Self {
        self
    }

    /// See the Linux version.
    #[must_use]
    pub fn hidden(self, _path: &Path) -> Self {
        self
    }

    /// See the Linux version.
    #[must_use]
    pub fn at_most(self, _most: Containment) -> Self {
        self
    }

    /// See the Linux version.
    #[must_use]
    pub fn cpu(self, _limit: Option<MilliCores>) -> Self {
        self
    }

    /// See the Linux version.
    #[must_use]
    pub fn confined(self, _sandbox: Sandbox) -> Self {
        self
    }

    /// Always refuses.
    ///
    /// # Errors
    /// Always: there is no support yet.
    pub fn start(self) -> Result<Tree, TreeError> {
        Err(TreeError::Unsupported)
    }
}

/// A tree; none can exist here.
#[derive(Debug)]
pub enum Tree {}

impl Tree {
    /// See the Linux version.
    ///
    /// # Errors
    /// Never: no tree can exist here.
    pub fn wait(&mut self, _at_most: Duration) -> Result<Option<TreeExit>, TreeError> {
        match *self {}
    }

    /// See the Linux version.
    ///
    /// # Errors
    /// Never: no tree can exist here.
    pub fn freeze(&self) -> Result<(), TreeError> {
        match *self {}
    }

    /// See the Linux version.
    ///
    /// # Errors
    /// Never: no tree can exist here.
    pub fn thaw(&self) -> Result<(), TreeError> {
        match *self {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn containment(&self) -> Containment {
        match *self {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn shield(&self) -> Shield {
        match *self {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn count(&self) -> usize {
        match *self {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn cpu(&self) -> CpuHold {
        match *self {}
    }

    /// See the Linux version.
    #[must_use]
    pub fn is_confined(&self) -> bool {
        match *self {}
    }

    /// See the Linux version.
    pub fn listeners(&mut self) -> Vec<TcpListener> {
        match *self {}
    }

    /// See the Linux version.
    pub fn spent(&mut self) -> Option<Budget> {
        match *self {}
    }

    /// See the Linux version.
    pub fn planted(&mut self) -> Planted {
        match *self {}
    }

    /// See the Linux version.
    pub fn interrupt(&self) {
        match *self {}
    }

    /// See the Linux version.
    pub fn kill(&mut self) -> Receipt {
        match *self {}
    }
}
