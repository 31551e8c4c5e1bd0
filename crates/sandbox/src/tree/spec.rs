//! What a tree is started from.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::error::TreeError;
use crate::plan::{CommandPlan, KeeperPlan, env_entry};
use crate::spec::{MilliCores, Sandbox};

/// What holds a tree together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// A pid namespace: the kernel ends every descendant with its first process.
    PidNamespace,
    /// Orphans come back to the keeper, which ends them one by one.
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

/// Where a standard stream goes.
#[derive(Debug)]
pub enum TreeStdio {
    /// The launcher's own.
    Inherit,
    /// Nothing to read, nothing kept.
    Null,
    /// A pipe or file of the caller.
    Fd(OwnedFd),
}

/// A command to be started as a tree.
#[derive(Debug)]
pub struct TreeSpec {
    pub(super) argv: Vec<OsString>,
    pub(super) env: Vec<OsString>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) stdio: [TreeStdio; 3],
    pub(super) most: Containment,
    pub(super) read_only: Vec<PathBuf>,
    pub(super) hidden: Vec<PathBuf>,
    pub(super) inner_exe: Option<PathBuf>,
    pub(super) cpu: Option<MilliCores>,
    pub(super) sandbox: Option<Sandbox>,
}

/// Whether the tree's view of some paths is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shield {
    /// What was asked to be read-only is, and what was asked to be hidden is.
    Up,
    /// The system does not allow it, or nothing was asked for: the tree sees what the launcher sees.
    Down,
}

impl TreeSpec {
    /// A command with the launcher's environment, folder and standard streams.
    pub fn new<I, S>(argv: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        Self {
            argv: argv.into_iter().map(|arg| arg.as_ref().to_os_string()).collect(),
            env: std::env::vars_os().map(|(name, value)| env_entry(&name, &value)).collect(),
            cwd: None,
            stdio: [TreeStdio::Inherit, TreeStdio::Inherit, TreeStdio::Inherit],
            most: Containment::PidNamespace,
            read_only: Vec::new(),
            hidden: Vec::new(),
            inner_exe: None,
            cpu: None,
            sandbox: None,
        }
    }

    /// Another folder than the launcher's.
    #[must_use]
    pub fn cwd(mut self, cwd: &Path) -> Self {
        self.cwd = Some(cwd.to_path_buf());
        self
    }

    /// This environment and nothing else.
    #[must_use]
    pub fn env<'a>(mut self, env: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Self {
        self.env = env.into_iter().map(|(name, value)| env_entry(name, value)).collect();
        self
    }

    /// Standard input, output and error.
    #[must_use]
    pub fn stdio(mut self, stdin: TreeStdio, stdout: TreeStdio, stderr: TreeStdio) -> Self {
        self.stdio = [stdin, stdout, stderr];
        self
    }

    /// At most this containment: `Subreaper` for programs that must not run in a namespace (`sudo` does not work in one).
    #[must_use]
    pub fn at_most(mut self, most: Containment) -> Self {
        self.most = most;
        self
    }

    /// Shows an absolute path without links read-only to the tree, where the system allows it; [`crate::Tree::shield`] tells.
    #[must_use]
    pub fn read_only(mut self, path: &Path) -> Self {
        self.read_only.push(path.to_path_buf());
        self
    }

    /// Shows an absolute folder without links empty and closed to the tree, where the system allows it.
    #[must_use]
    pub fn hidden(mut self, path: &Path) -> Self {
        self.hidden.push(path.to_path_buf());
        self
    }

    /// At most this processor time, where the system allows it; [`crate::Tree::cpu`] tells.
    #[must_use]
    pub fn cpu(mut self, limit: Option<MilliCores>) -> Self {
        self.cpu = limit;
        self
    }

    /// Inside the layers of a sandbox that was made [for a tree](Sandbox::for_tree): its command and environment are those
    /// given here, and what cannot be confined is not started.
    #[must_use]
    pub fn confined(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Another binary for the keeper than the running one. It must call [`crate::inner_main`] first; for tests.
    #[must_use]
    pub fn inner_exe(mut self, exe: &Path) -> Self {
        self.inner_exe = Some(exe.to_path_buf());
        self
    }

    /// What the keeper is sent.
    pub(super) fn plan(&self, containment: Containment, shield: Shield) -> Result<KeeperPlan, TreeError> {
        let at = |source| TreeError::Start { what: "find the current folder", source };
        let cwd = self.cwd.clone().map_or_else(std::env::current_dir, Ok).map_err(at)?;
        let shown = |paths: &[PathBuf]| match shield {
            Shield::Up => paths.to_vec(),
            Shield::Down => Vec::new(),
        };
        Ok(KeeperPlan {
            command: CommandPlan { argv: self.argv.clone(), env: self.env.clone(), cwd },
            own_namespace: u64::from(containment == Containment::PidNamespace),
            read_only: shown(&self.read_only),
            hidden: shown(&self.hidden),
            processors: Vec::new(),
        })
    }
}
