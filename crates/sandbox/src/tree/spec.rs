//! What a tree is started from.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use super::{Containment, Tree, TreeStdio};
use crate::control::Channel;
use crate::error::TreeError;
use crate::layers::l01_cgroup::Group;
use crate::layers::l02_namespaces::{Launch, World, launch};
use crate::plan::{CommandPlan, KeeperPlan, env_entry};
use crate::run::inner_exe;
use crate::sys;

/// A command to be started as a tree.
#[derive(Debug)]
pub struct TreeSpec {
    argv: Vec<OsString>,
    env: Vec<OsString>,
    cwd: Option<PathBuf>,
    stdio: [TreeStdio; 3],
    most: Containment,
    read_only: Vec<PathBuf>,
    hidden: Vec<PathBuf>,
    inner_exe: Option<PathBuf>,
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

    /// Shows an absolute path without links read-only to the tree, where the system allows it; [`Tree::shield`] tells.
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

    /// Another binary for the keeper than the running one. It must call [`crate::inner_main`] first; for tests.
    #[must_use]
    pub fn inner_exe(mut self, exe: &Path) -> Self {
        self.inner_exe = Some(exe.to_path_buf());
        self
    }

    /// Starts the command.
    ///
    /// # Errors
    /// If no keeper can be started, the working folder cannot be entered or the program cannot be executed.
    pub fn start(self) -> Result<Tree, TreeError> {
        if self.argv.is_empty() {
            return Err(TreeError::NoCommand);
        }
        // The best first; only a system that refuses gets less, and the tree says what it has.
        let wishes = [
            (Containment::PidNamespace, Shield::Up),
            (Containment::PidNamespace, Shield::Down),
            (Containment::Subreaper, Shield::Down),
        ];
        let shielded = !self.read_only.is_empty() || !self.hidden.is_empty();
        let mut refused = TreeError::Unsupported;
        for (containment, shield) in wishes {
            let wanted = containment == Containment::Subreaper || self.most == Containment::PidNamespace;
            if !wanted || (shield == Shield::Up && !shielded) {
                continue;
            }
            refused = match self.try_start(Group::create(None).ok(), containment, shield) {
                Ok(tree) => return Ok(tree),
                Err(error) => error,
            };
            if !matches!(refused, TreeError::Start { .. }) {
                break; // The command itself cannot be run: less containment does not help.
            }
        }
        Err(refused)
    }

    fn try_start(&self, group: Option<Group>, containment: Containment, shield: Shield) -> Result<Tree, TreeError> {
        let at = |what: &'static str| move |source: io::Error| TreeError::Start { what, source };
        let (control, control_in) = Channel::pair().map_err(at("make the control channel"))?;
        let exe = inner_exe(self.inner_exe.as_deref()).map_err(at("open our own binary"))?;
        let null =
            std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").map_err(at("open `/dev/null`"))?;
        let stream = |index: usize, fallback: i32| match self.stdio.get(index) {
            Some(TreeStdio::Null) => null.as_fd(),
            Some(TreeStdio::Fd(fd)) => fd.as_fd(),
            Some(TreeStdio::Inherit) | None => sys::stdio(fallback),
        };
        let world = match containment {
            Containment::PidNamespace => World::Held,
            Containment::Subreaper => World::Bare,
        };
        if containment == Containment::Subreaper {
            // If the keeper itself is killed, its orphans come to us.
            sys::become_subreaper().map_err(at("become a subreaper"))?;
        }
        let started = launch(&Launch {
            world,
            group: group.as_ref(),
            exe: exe.as_fd(),
            stdin: stream(0, 0),
            stdout: stream(1, 1),
            stderr: stream(2, 2),
            control: control_in.as_fd(),
        })
        .map_err(at("start the keeper"))?;
        drop(control_in);
        let tree = Tree { started, control, group, containment, shield, exit: None, ended: false };
        tree.begin(self.plan(containment, shield)?)
    }

    fn plan(&self, containment: Containment, shield: Shield) -> Result<KeeperPlan, TreeError> {
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
        })
    }
}
