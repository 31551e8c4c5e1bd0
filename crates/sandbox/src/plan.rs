//! What the launcher tells its inner stage, and the bytes it travels as.
//!
//! The inner stage decides nothing: every path, limit and rule is in the plan. The encoding is private to one binary, so it has
//! no version; both ends are always the same build.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The whole task of one inner stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Confine and run.
    Sandbox(Box<SandboxPlan>),
    /// Run unconfined and keep hold of every descendant.
    Keeper(KeeperPlan),
}

/// A command with its surroundings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CommandPlan {
    pub(crate) argv: Vec<OsString>,
    /// `NAME=VALUE` strings.
    pub(crate) env: Vec<OsString>,
    pub(crate) cwd: PathBuf,
}

/// The task of a confined run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SandboxPlan {
    pub(crate) command: CommandPlan,
    pub(crate) steps: Vec<RootStep>,
    pub(crate) scratch_bytes: u64,
    pub(crate) scratch_inodes: u64,
    /// Kernel resource numbers and values.
    pub(crate) limits: Vec<(u64, u64)>,
    /// The processors that the tree is pinned to; none if it is not.
    pub(crate) processors: Vec<u64>,
    pub(crate) rules: Vec<Rule>,
    /// The system-call filter, put together by the launcher while the inner stage starts; see `layers::l08_seccomp`.
    pub(crate) filter: Vec<u8>,
    /// 1 if a missing Landlock means that nothing is run.
    pub(crate) landlock_required: u64,
    /// The host's socket and the port inside, if the network is bridged.
    pub(crate) bridge: Option<(PathBuf, u64)>,
    /// Loopback ports on which the launcher listens.
    pub(crate) ports: Vec<u64>,
    /// 1 if the command is the first of a tree that is held until the launcher ends it.
    pub(crate) held: u64,
}

/// One step of building the new root; paths are absolute as seen inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootStep {
    /// A folder of the skeleton.
    Dir { path: PathBuf },
    /// A symbolic link of the skeleton.
    Symlink { path: PathBuf, target: PathBuf },
    /// A small file of the skeleton.
    File { path: PathBuf, content: Vec<u8> },
    /// A small file of the host, copied to the same place; left out where it is missing or not small any more.
    Copy { path: PathBuf },
    /// A host path shown at the same place.
    Bind { path: PathBuf, access: Access },
    /// A host folder shown at another place.
    BindAs { source: PathBuf, path: PathBuf, access: Access },
    /// A folder on the private scratch file system.
    Scratch { path: PathBuf },
    /// The process file system of the new pid namespace.
    Proc { path: PathBuf },
    /// Pseudo-terminals that nobody outside sees; left out where the system does not give them.
    Terminals { path: PathBuf },
    /// The workspace with an overlay for writes.
    Overlay { path: PathBuf, upper: PathBuf, work: PathBuf, placeholders: Vec<(PathBuf, Kind)> },
    /// Made a mount point so that it cannot be renamed or removed.
    Pin { path: PathBuf },
    /// Made read-only with everything below.
    Protect { path: PathBuf },
    /// Covered by something unreadable.
    Mask { path: PathBuf },
}

/// What a mount allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// A device node: readable and writable, its inode unchangeable.
    Device,
    /// A device that is also steered, as a terminal is.
    Terminal,
}

/// What a placeholder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Dir,
    File,
}

/// A Landlock rule; paths that do not exist are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
}

/// The task of a keeper.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeeperPlan {
    pub(crate) command: CommandPlan,
    /// 1 if the keeper is pid 1 of a new pid namespace.
    pub(crate) own_namespace: u64,
    /// Paths that the tree sees read-only.
    pub(crate) read_only: Vec<PathBuf>,
    /// Folders that the tree sees empty and closed.
    pub(crate) hidden: Vec<PathBuf>,
    /// The processors that the tree is pinned to; none if it is not.
    pub(crate) processors: Vec<u64>,
}

impl Plan {
    /// The plan as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Out::default();
        match self {
            Self::Sandbox(plan) => {
                out.number(1);
                out.command(&plan.command);
                out.number(plan.steps.len() as u64);
                plan.steps.iter().for_each(|step| out.step(step));
                out.number(plan.scratch_bytes);
                out.number(plan.scratch_inodes);
                out.number(plan.limits.len() as u64);
                for (resource, value) in &plan.limits {
                    out.number(*resource);
                    out.number(*value);
                }
                out.numbers(&plan.processors);
                out.number(plan.rules.len() as u64);
                for rule in &plan.rules {
                    out.path(&rule.path);
                    out.number(access_code(rule.access));
                }
                out.bytes(&plan.filter);
                out.number(plan.landlock_required);
                match &plan.bridge {
                    Some((socket, port)) => {
                        out.number(1);
                        out.path(socket);
                        out.number(*port);
                    }
                    None => out.number(0),
                }
                out.numbers(&plan.ports);
                out.number(plan.held);
            }
            Self::Keeper(plan) => {
                out.number(2);
                out.command(&plan.command);
                out.number(plan.own_namespace);
                out.paths(&plan.read_only);
                out.paths(&plan.hidden);
                out.numbers(&plan.processors);
            }
        }
        out.0
    }

    /// The plan from bytes.
    pub(crate) fn decode(bytes: &[u8]) -> io::Result<Self> {
        let mut input = In(bytes);
        let plan = match input.number()? {
            1 => Self::Sandbox(Box::new(input.sandbox()?)),
            2 => Self::Keeper(KeeperPlan {
                command: input.command()?,
                own_namespace: input.number()?,
                read_only: input.list(In::path)?,
                hidden: input.list(In::path)?,
                processors: input.list(In::number)?,
            }),
            _ => return Err(malformed()),
        };
        if input.0.is_empty() { Ok(plan) } else { Err(malformed()) }
    }
}

fn access_code(access: Access) -> u64 {
    match access {
        Access::Read => 0,
        Access::Write => 1,
        Access::Device => 2,
        Access::Terminal => 3,
    }
}

#[derive(Default)]
struct Out(Vec<u8>);

impl Out {
    fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn path(&mut self, value: &Path) {
        self.bytes(value.as_os_str().as_bytes());
    }

    fn paths(&mut self, values: &[PathBuf]) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| self.path(value));
    }

    fn numbers(&mut self, values: &[u64]) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| self.number(*value));
    }

    fn strings(&mut self, values: &[OsString]) {
        self.number(values.len() as u64);
        values.iter().for_each(|value| self.bytes(value.as_bytes()));
    }

    fn command(&mut self, command: &CommandPlan) {
        self.strings(&command.argv);
        self.strings(&command.env);
        self.path(&command.cwd);
    }

    fn tagged(&mut self, tag: u64, path: &Path) {
        self.number(tag);
        self.path(path);
    }

    fn step(&mut self, step: &RootStep) {
        match step {
            RootStep::Dir { path } => self.tagged(1, path),
            RootStep::Symlink { path, target } => {
                self.tagged(2, path);
                self.path(target);
            }
            RootStep::File { path, content } => {
                self.tagged(3, path);
                self.bytes(content);
            }
            RootStep::Bind { path, access } => {
                self.tagged(4, path);
                self.number(access_code(*access));
            }
            RootStep::BindAs { source, path, access } => {
                self.tagged(5, path);
                self.path(source);
                self.number(access_code(*access));
            }
            RootStep::Scratch { path } => self.tagged(6, path),
            RootStep::Proc { path } => self.tagged(7, path),
            RootStep::Overlay { path, upper, work, placeholders } => {
                self.tagged(8, path);
                self.path(upper);
                self.path(work);
                self.number(placeholders.len() as u64);
                for (name, kind) in placeholders {
                    self.path(name);
                    self.number(match kind {
                        Kind::Dir => 0,
                        Kind::File => 1,
                    });
                }
            }
            RootStep::Pin { path } => self.tagged(9, path),
            RootStep::Protect { path } => self.tagged(10, path),
            RootStep::Mask { path } => self.tagged(11, path),
            RootStep::Copy { path } => self.tagged(12, path),
            RootStep::Terminals { path } => self.tagged(13, path),
        }
    }
}

struct In<'a>(&'a [u8]);

impl In<'_> {
    fn number(&mut self) -> io::Result<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>().ok_or_else(malformed)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*head))
    }

    fn count(&mut self) -> io::Result<usize> {
        usize::try_from(self.number()?).map_err(|_| malformed())
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let length = self.count()?;
        let (head, rest) = self.0.split_at_checked(length).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(head.to_vec())
    }

    fn string(&mut self) -> io::Result<OsString> {
        Ok(OsString::from_vec(self.bytes()?))
    }

    fn path(&mut self) -> io::Result<PathBuf> {
        Ok(PathBuf::from(self.string()?))
    }

    fn list<T>(&mut self, item: impl Fn(&mut Self) -> io::Result<T>) -> io::Result<Vec<T>> {
        let count = self.count()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn command(&mut self) -> io::Result<CommandPlan> {
        Ok(CommandPlan { argv: self.list(Self::string)?, env: self.list(Self::string)?, cwd: self.path()? })
    }

    fn access(&mut self) -> io::Result<Access> {
        match self.number()? {
            0 => Ok(Access::Read),
            1 => Ok(Access::Write),
            2 => Ok(Access::Device),
            3 => Ok(Access::Terminal),
            _ => Err(malformed()),
        }
    }

    fn placeholder(&mut self) -> io::Result<(PathBuf, Kind)> {
        let path = self.path()?;
        match self.number()? {
            0 => Ok((path, Kind::Dir)),
            1 => Ok((path, Kind::File)),
            _ => Err(malformed()),
        }
    }

    fn step(&mut self) -> io::Result<RootStep> {
        let tag = self.number()?;
        let path = self.path()?;
        match tag {
            1 => Ok(RootStep::Dir { path }),
            2 => Ok(RootStep::Symlink { path, target: self.path()? }),
            3 => Ok(RootStep::File { path, content: self.bytes()? }),
            4 => Ok(RootStep::Bind { path, access: self.access()? }),
            5 => Ok(RootStep::BindAs { path, source: self.path()?, access: self.access()? }),
            6 => Ok(RootStep::Scratch { path }),
            7 => Ok(RootStep::Proc { path }),
            8 => Ok(RootStep::Overlay {
                path,
                upper: self.path()?,
                work: self.path()?,
                placeholders: self.list(Self::placeholder)?,
            }),
            9 => Ok(RootStep::Pin { path }),
            10 => Ok(RootStep::Protect { path }),
            11 => Ok(RootStep::Mask { path }),
            12 => Ok(RootStep::Copy { path }),
            13 => Ok(RootStep::Terminals { path }),
            _ => Err(malformed()),
        }
    }

    fn sandbox(&mut self) -> io::Result<SandboxPlan> {
        Ok(SandboxPlan {
            command: self.command()?,
            steps: self.list(Self::step)?,
            scratch_bytes: self.number()?,
            scratch_inodes: self.number()?,
            limits: self.list(|input| Ok((input.number()?, input.number()?)))?,
            processors: self.list(Self::number)?,
            rules: self.list(|input| Ok(Rule { path: input.path()?, access: input.access()? }))?,
            filter: self.bytes()?,
            landlock_required: self.number()?,
            bridge: match self.number()? {
                0 => None,
                1 => Some((self.path()?, self.number()?)),
                _ => return Err(malformed()),
            },
            ports: self.list(Self::number)?,
            held: self.number()?,
        })
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "malformed plan")
}

/// `NAME=VALUE` as one string.
pub(crate) fn env_entry(name: &OsStr, value: &OsStr) -> OsString {
    let mut entry = name.to_os_string();
    entry.push("=");
    entry.push(value);
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> SandboxPlan {
        let path = || PathBuf::from("/w/\u{fc}");
        SandboxPlan {
            command: CommandPlan {
                argv: vec!["sh".into(), OsString::from_vec(vec![0xff, 0xfe])],
                env: vec!["A=B".into()],
                cwd: path(),
            },
            steps: vec![
                RootStep::Dir { path: path() },
                RootStep::Symlink { path: path(), target: "usr/bin".into() },
                RootStep::File { path: path(), content: vec![1, 2] },
                RootStep::Bind { path: path(), access: Access::Write },
                RootStep::BindAs { source: "/s".into(), path: path(), access: Access::Device },
                RootStep::Scratch { path: path() },
                RootStep::Proc { path: path() },
                RootStep::Overlay {
                    path: path(),
                    upper: "/u".into(),
                    work: "/k".into(),
                    placeholders: vec![("a".into(), Kind::Dir), ("b".into(), Kind::File)],
                },
                RootStep::Pin { path: path() },
                RootStep::Protect { path: path() },
                RootStep::Mask { path: path() },
                RootStep::Copy { path: path() },
                RootStep::Terminals { path: path() },
                RootStep::BindAs { source: "/dev/tty".into(), path: path(), access: Access::Terminal },
            ],
            scratch_bytes: 3,
            scratch_inodes: 4,
            limits: vec![(1, 2)],
            processors: vec![1, 0],
            rules: vec![Rule { path: path(), access: Access::Read }],
            filter: vec![5, 0, 7],
            landlock_required: 1,
            bridge: Some(("/sock".into(), 3128)),
            ports: vec![8080],
            held: 1,
        }
    }

    #[test]
    fn a_plan_survives_the_way_to_the_inner_stage() {
        let plan = Plan::Sandbox(Box::new(sample()));
        assert_eq!(Plan::decode(&plan.encode()).expect("decodes"), plan);
        let keeper = Plan::Keeper(KeeperPlan {
            command: sample().command,
            own_namespace: 1,
            read_only: vec!["/w/.geometry".into()],
            hidden: vec!["/h".into(), "/k".into()],
            processors: vec![3],
        });
        assert_eq!(Plan::decode(&keeper.encode()).expect("decodes"), keeper);
    }

    #[test]
    fn a_plan_that_was_cut_or_padded_is_refused() {
        let bytes = Plan::Sandbox(Box::new(sample())).encode();
        for end in 0..bytes.len() {
            assert!(Plan::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(Plan::decode(&longer).is_err());
    }
}
