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
use crate::plan::{CommandPlan, KeeperPlan, Plan, env_entry};
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
    inner_exe: Option<PathBuf>,
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

    /// Another binary for the keeper than the running one. It must call [`crate::inner_main`] first; for tests.
    #[must_use]
    pub fn inner_exe(mut self, exe: &Path) -> Self {
        self.inner_exe = Some(exe.to_path_buf());
        self
    }

    /// Starts the command.
    ///
    /// # Errors
    /// If no keeper can be started or the program cannot be executed.
    pub fn start(self) -> Result<Tree, TreeError> {
        if self.argv.is_empty() {
            return Err(TreeError::NoCommand);
        }
        let group = Group::create(None).ok();
        match self.most {
            Containment::PidNamespace => {
                let started = self.try_start(group, Containment::PidNamespace);
                if matches!(started, Err(TreeError::Start { .. })) {
                    return self.try_start(Group::create(None).ok(), Containment::Subreaper);
                }
                started
            }
            Containment::Subreaper => self.try_start(group, Containment::Subreaper),
        }
    }

    fn try_start(&self, group: Option<Group>, containment: Containment) -> Result<Tree, TreeError> {
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
        let tree = Tree { started, control, group, containment, exit: None, ended: false };
        tree.begin(&self.plan(containment)?)
    }

    fn plan(&self, containment: Containment) -> Result<Plan, TreeError> {
        let at = |source| TreeError::Start { what: "find the current folder", source };
        let cwd = self.cwd.clone().map_or_else(std::env::current_dir, Ok).map_err(at)?;
        Ok(Plan::Keeper(KeeperPlan {
            command: CommandPlan { argv: self.argv.clone(), env: self.env.clone(), cwd },
            own_namespace: u64::from(containment == Containment::PidNamespace),
        }))
    }
}
