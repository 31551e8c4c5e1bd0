//! Folders for tests: fresh, removed afterwards, and, where the machine allows it, tiny or read-only for real.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where Linux keeps files in memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// What has to be free there.
const ROOM: u64 = 1024 * 1024 * 1024;

/// The folder in which tests make theirs: in memory where programs can be started from there and there is room, because tests
/// write and sync tens of thousands of small files; elsewhere, and where `TMPDIR` names one, the system's temporary folder.
fn place() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let in_memory = std::env::var_os("TMPDIR").is_none() && has_room(Path::new(SHARED_MEMORY));
        let folder = if in_memory { PathBuf::from(SHARED_MEMORY) } else { std::env::temp_dir() };
        folder.canonicalize().unwrap()
    })
}

fn has_room(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
        && rustix::fs::statvfs(folder).is_ok_and(|disk| {
            disk.f_bavail.saturating_mul(disk.f_frsize) >= ROOM
                && !disk.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC)
        })
}

/// A fresh folder for one test that nobody else may enter.
///
/// # Panics
/// When it cannot be made.
#[must_use]
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(place()).unwrap()
}

/// A folder of one test that every user may enter.
#[derive(Debug)]
pub struct TestDir(PathBuf);

impl TestDir {
    /// A fresh one.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("tripwire-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = place().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes everybody's right to write in it.
    ///
    /// # Panics
    /// When that fails.
    pub fn read_only(&self) {
        std::fs::set_permissions(&self.0, std::fs::Permissions::from_mode(0o555)).unwrap();
    }
}

impl Default for TestDir {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        std::fs::set_permissions(&self.0, std::fs::Permissions::from_mode(0o755)).ok();
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A mounted file system of one mebibyte, unmounted when dropped.
#[derive(Debug)]
pub struct TinyDisk(TestDir);

impl TinyDisk {
    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(self.path()).status().ok();
    }
}

/// A tiny disk, or nothing with a loud word about what was not tested.
#[must_use]
pub fn tiny_disk() -> Option<TinyDisk> {
    let dir = TestDir::new();
    let mounted = rustix::process::geteuid().is_root()
        && Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(dir.path())
            .status()
            .is_ok_and(|status| status.success());
    if !mounted {
        skip("mounting a small tmpfs needs root: the full disk was not tested");
        return None;
    }
    Some(TinyDisk(dir))
}

/// Says on standard error that a test could not run here, so that a skipped test is never silent.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
pub fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

/// Runs a test's body without root's power to write everywhere: as root it runs this test again as another user.
///
/// # Panics
/// When the test fails as that user, or `test` does not name one.
pub fn as_ordinary_user(test: &str, body: impl FnOnce()) {
    if !rustix::process::geteuid().is_root() {
        return body();
    }
    let outcome = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .uid(65_534)
        .gid(65_534)
        .current_dir("/")
        .env("TMPDIR", "/tmp")
        .output();
    match outcome {
        Err(cause) => skip(&format!("{test}: the test binary cannot be run as another user: {cause}")),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
            assert!(said.contains("1 passed"), "`{test}` does not name a test: {said}");
        }
    }
}
