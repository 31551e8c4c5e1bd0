//! What is asked for: one command, the paths it may touch, and its budgets.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::SpecError;
use crate::interrupt::Interrupt;

/// Names in the workspace that are always read-only, whether they exist or not: what another program would execute or obey.
pub const PROTECTED_NAMES: [&str; 14] = [
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/modules",
    ".geometry",
    ".claude",
    ".codex",
    ".gemini",
    ".mcp.json",
    ".vscode",
    "AGENTS.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
];

/// File names that are unreadable wherever they are in the workspace.
pub const HIDDEN_NAMES: [&str; 1] = [".env"];

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Bytes {
    /// So many mebibytes.
    #[must_use]
    pub const fn mebi(count: u64) -> Self {
        Self(count * 1024 * 1024)
    }
}

/// Processor time in thousandths of a processor: 1,500 is one and a half.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MilliCores(pub u64);

impl MilliCores {
    /// The processors that this needs at least.
    #[must_use]
    pub const fn whole(self) -> u64 {
        let whole = self.0.div_ceil(1_000);
        if whole == 0 { 1 } else { whole }
    }
}

impl std::fmt::Display for MilliCores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, part) = (self.0 / 1_000, self.0 % 1_000);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{part:03}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// What holds the processor time of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuHold {
    /// The scheduler's quota of a cgroup.
    Quota,
    /// The processors that the tree is pinned to; without the sandbox's filter a program could leave them.
    Pinned,
    /// Nothing: there is no limit.
    Free,
}

impl CpuHold {
    /// The hold without a cgroup.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(limit: Option<MilliCores>) -> Self {
        limit.map_or(Self::Free, |_| Self::Pinned)
    }

    /// What is said of it in a result.
    #[cfg(target_os = "linux")]
    pub(crate) fn describe(self, limit: Option<MilliCores>) -> Option<String> {
        let limit = limit?;
        match self {
            Self::Quota => Some(format!("{limit} processors by quota")),
            Self::Pinned => Some(format!("{limit} processors by pinning to {}", limit.whole())),
            Self::Free => None,
        }
    }
}

/// How missing layers are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// A missing layer means that nothing is run.
    #[default]
    Strict,
    /// For old kernels and for tools that need them: Landlock and the memory budget may be missing, unix sockets and
    /// debuggers work. Namespaces, the new root, the dropped capabilities and the system-call filter stay required.
    Compat,
}

impl Profile {
    /// The name used on the command line and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Compat => "compat",
        }
    }
}

/// The budgets of the whole tree, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Memory of all processes together.
    pub memory: Bytes,
    /// Processes and threads alive at once.
    pub processes: u64,
    /// Processor time; without a limit the tree may use all.
    pub cpu: Option<MilliCores>,
    /// The largest single file.
    pub file_size: Bytes,
    /// All files written, in the workspace and in the private `/tmp` together.
    pub disk: Bytes,
    /// Number of files written, in the same places.
    pub inodes: u64,
    /// Open files per process.
    pub open_files: u64,
    /// Bytes kept of each output stream.
    pub output: Bytes,
    /// Wall clock.
    pub time: Duration,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            memory: Bytes::mebi(512),
            processes: 256,
            cpu: None,
            file_size: Bytes::mebi(160),
            disk: Bytes::mebi(320),
            inodes: 12_000,
            open_files: 4_096,
            output: Bytes::mebi(1),
            time: Duration::from_secs(120),
        }
    }
}

impl Budgets {
    /// The budgets of a client's whole tree, which builds and tests and lives for hours: three quarters of the machine's memory,
    /// and as much of the rest as honest work does not meet.
    #[must_use]
    pub fn of_client() -> Self {
        let disk = Bytes::mebi(32 * 1024);
        Self {
            memory: Bytes(machine_memory().map_or(Bytes::mebi(4 * 1024).0, |bytes| bytes / 4 * 3)),
            processes: 4_096,
            cpu: None,
            file_size: disk,
            disk,
            inodes: 2_000_000,
            open_files: open_files_max(),
            output: Bytes::mebi(1),
            // Of the start alone: how long the tree lives is its caller's to say.
            time: Duration::from_secs(60),
        }
    }
}

#[cfg(target_os = "linux")]
fn machine_memory() -> Option<u64> {
    let info = rustix::system::sysinfo();
    info.totalram.checked_mul(u64::from(info.mem_unit))
}

#[cfg(not(target_os = "linux"))]
fn machine_memory() -> Option<u64> {
    None
}

/// As many as our own limit allows: nobody may raise it.
#[cfg(target_os = "linux")]
fn open_files_max() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.unwrap_or(65_536).min(65_536)
}

#[cfg(not(target_os = "linux"))]
fn open_files_max() -> u64 {
    4_096
}

/// Where staged writes are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageDir(pub PathBuf);

/// Whether a command may write to its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkspaceAccess {
    /// It may only look.
    Read,
    /// It may write.
    #[default]
    Write,
}

/// Whether a command can open pseudo-terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminals {
    /// It cannot.
    #[default]
    None,
    /// It can, in an instance of its own that nobody outside sees; the caller's terminal is not among them.
    Own,
}

/// What a confined tree has around it beyond what a single command has; see [`Sandbox::for_tree`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeSurroundings {
    /// The home of its user: empty, private, gone with the tree; what is granted below it is shown.
    pub home: PathBuf,
    /// The name of its user.
    pub user: String,
    /// Loopback ports inside on which the caller listens from outside; at most two.
    pub ports: Vec<u16>,
    /// Files and folders below what is granted that the tree may only read.
    pub read_only: Vec<PathBuf>,
}

/// A confined command, ready to run.
#[derive(Debug, Clone)]
pub struct Sandbox {
    pub(crate) workspace: PathBuf,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing runs there"))]
    pub(crate) argv: Vec<OsString>,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) hide: Vec<PathBuf>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) budgets: Budgets,
    pub(crate) profile: Profile,
    pub(crate) stage: Option<PathBuf>,
    pub(crate) workspace_access: WorkspaceAccess,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing runs there"))]
    pub(crate) terminals: Terminals,
    pub(crate) bridge: Option<PathBuf>,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing runs there"))]
    pub(crate) tree: Option<TreeSurroundings>,
    pub(crate) inner_exe: Option<PathBuf>,
    pub(crate) interrupt: Interrupt,
}

impl Sandbox {
    /// A command confined to `workspace`, with the default budgets and the strict profile.
    ///
    /// # Errors
    /// If the workspace is not a folder, is the root of the file system, or no command is given.
    pub fn new<I, S>(workspace: &Path, argv: I) -> Result<Self, SpecError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let argv: Vec<OsString> = argv.into_iter().map(|arg| arg.as_ref().to_os_string()).collect();
        if argv.is_empty() {
            return Err(SpecError::NoCommand);
        }
        let workspace = canonical_dir(workspace)?;
        Ok(Self {
            workspace,
            argv,
            read: Vec::new(),
            write: Vec::new(),
            hide: Vec::new(),
            env: Vec::new(),
            budgets: Budgets::default(),
            profile: Profile::Strict,
            stage: None,
            workspace_access: WorkspaceAccess::Write,
            terminals: Terminals::None,
            bridge: None,
            tree: None,
            inner_exe: None,
            interrupt: Interrupt::default(),
        })
    }

    /// The command may also read below `path`.
    ///
    /// # Errors
    /// If the path does not exist or would open the whole file system.
    pub fn read(mut self, path: &Path) -> Result<Self, SpecError> {
        self.read.push(canonical_grant(path)?);
        Ok(self)
    }

    /// The command may also write below `path`.
    ///
    /// # Errors
    /// If the path does not exist or would open the whole file system.
    pub fn write(mut self, path: &Path) -> Result<Self, SpecError> {
        self.write.push(canonical_grant(path)?);
        Ok(self)
    }

    /// `path` (in the workspace if relative) is unreadable, with everything below it.
    ///
    /// # Errors
    /// If the path does not exist: hiding a misspelt name would protect nothing.
    pub fn hide(mut self, path: &Path) -> Result<Self, SpecError> {
        let absolute = self.workspace.join(path);
        let found =
            std::fs::canonicalize(&absolute).map_err(|source| SpecError::Path { path: absolute.clone(), source })?;
        self.hide.push(found);
        Ok(self)
    }

    /// One more variable in the otherwise fixed environment.
    ///
    /// # Errors
    /// If the name is empty or holds `=` or a zero byte, or the value a zero byte.
    pub fn env(mut self, name: &OsStr, value: &OsStr) -> Result<Self, SpecError> {
        let (name_bytes, value_bytes) = (name.as_encoded_bytes(), value.as_encoded_bytes());
        let bad =
            name_bytes.is_empty() || name_bytes.iter().any(|byte| matches!(byte, b'=' | 0)) || value_bytes.contains(&0);
        if bad {
            return Err(SpecError::Env { name: name.to_string_lossy().into_owned() });
        }
        self.env.push((name.to_os_string(), value.to_os_string()));
        Ok(self)
    }

    /// Other budgets than the default ones.
    #[must_use]
    pub fn budgets(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// How missing layers are treated.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Whether the command may write to the workspace; what is granted beside it stays writable.
    #[must_use]
    pub fn workspace_access(mut self, access: WorkspaceAccess) -> Self {
        self.workspace_access = access;
        self
    }

    /// Writes to the workspace go to this folder instead; see [`crate::Stage`].
    #[must_use]
    pub fn stage(mut self, dir: StageDir) -> Self {
        self.stage = Some(dir.0);
        self
    }

    /// Connections to a loopback port inside are carried to this listening unix socket on the host, and the usual `*_proxy`
    /// variables name that port. What listens there decides; this crate only carries bytes.
    ///
    /// # Errors
    /// If the socket has no path: an abstract name cannot be reached from another network namespace.
    pub fn bridge(mut self, socket: &std::os::unix::net::UnixListener) -> Result<Self, SpecError> {
        let address = socket.local_addr().map_err(|source| SpecError::Bridge { source })?;
        let path = address.as_pathname().ok_or(SpecError::BridgeUnnamed)?;
        self.bridge = Some(path.to_path_buf());
        Ok(self)
    }

    /// Whether the command can open pseudo-terminals of its own; a whole tree can anyway.
    #[must_use]
    pub fn terminals(mut self, terminals: Terminals) -> Self {
        self.terminals = terminals;
        self
    }

    /// The layers are for a whole tree that lives long, has streams and an environment of its caller's, and may use unix
    /// sockets and terminals of its own; see `TreeSpec::confined`.
    #[must_use]
    pub fn for_tree(mut self, surroundings: TreeSurroundings) -> Self {
        self.tree = Some(surroundings);
        self
    }

    /// Another binary for the inner stage than the running one. It must call [`crate::inner_main`] first; for tests.
    #[must_use]
    pub fn inner_exe(mut self, exe: &Path) -> Self {
        self.inner_exe = Some(exe.to_path_buf());
        self
    }

    /// Lets another thread end the run early.
    #[must_use]
    pub fn interrupt(mut self, interrupt: Interrupt) -> Self {
        self.interrupt = interrupt;
        self
    }
}

fn canonical_dir(path: &Path) -> Result<PathBuf, SpecError> {
    let found = std::fs::canonicalize(path).map_err(|source| SpecError::Path { path: path.to_path_buf(), source })?;
    if !found.is_dir() {
        return Err(SpecError::NotAFolder { path: found });
    }
    refuse_wide(&found)?;
    Ok(found)
}

fn canonical_grant(path: &Path) -> Result<PathBuf, SpecError> {
    let found = std::fs::canonicalize(path).map_err(|source| SpecError::Path { path: path.to_path_buf(), source })?;
    refuse_wide(&found)?;
    Ok(found)
}

/// Paths that would hand over the kernel's or every user's files are refused rather than granted.
fn refuse_wide(path: &Path) -> Result<(), SpecError> {
    const WIDE: [&str; 12] =
        ["/", "/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/run"];
    const BELOW: [&str; 4] = ["/proc", "/sys", "/dev", "/boot"];
    // Anybody may make a folder in shared memory: one below it is as narrow as one below `/tmp`.
    const SHARED_MEMORY: &str = "/dev/shm";
    let is = |name: &&str| path == Path::new(name);
    let is_in_memory = path.starts_with(SHARED_MEMORY) && !is(&SHARED_MEMORY);
    let is_of_the_system = BELOW.iter().any(|name| path.starts_with(name)) && !is_in_memory;
    if WIDE.iter().any(is) || is_of_the_system {
        return Err(SpecError::TooWide { path: path.to_path_buf() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_1_a_workspace_that_is_the_whole_system_is_refused() {
        for path in ["/", "/etc", "/usr", "/proc/self", "/dev/shm"] {
            let error = Sandbox::new(Path::new(path), ["true"]).expect_err(path);
            assert!(matches!(error, SpecError::TooWide { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn box_1_an_ordinary_folder_is_accepted() {
        let dir = std::env::temp_dir();
        assert!(Sandbox::new(&dir, ["true"]).is_ok());
    }

    #[test]
    fn processors_are_written_as_people_write_them() {
        for (milli, text, whole) in
            [(1_000, "1", 1), (1_500, "1.5", 2), (50, "0.05", 1), (0, "0", 1), (2_001, "2.001", 3)]
        {
            assert_eq!((MilliCores(milli).to_string().as_str(), MilliCores(milli).whole()), (text, whole));
        }
    }

    #[test]
    fn box_1_an_empty_command_and_a_missing_hidden_path_are_refused() {
        let dir = std::env::temp_dir();
        assert!(matches!(Sandbox::new(&dir, Vec::<&str>::new()), Err(SpecError::NoCommand)));
        let spec = Sandbox::new(&dir, ["true"]).expect("a temporary folder");
        assert!(matches!(spec.hide(Path::new("no-such-name-here")), Err(SpecError::Path { .. })));
    }

    #[test]
    fn box_3_a_variable_name_with_an_equals_sign_is_refused() {
        let spec = Sandbox::new(&std::env::temp_dir(), ["true"]).expect("a temporary folder");
        assert!(spec.clone().env(OsStr::new("A=B"), OsStr::new("x")).is_err());
        assert!(spec.env(OsStr::new("A_B"), OsStr::new("x=y")).is_ok());
    }
}
