//! The folder of one run: our socket, our own program, and the client's settings for this run only.
//!
//! It lies outside the workspace and is closed to other people. Its inner folder is read-only for the client's processes,
//! so that an agent can neither change the hooks nor replace the program that they call. It goes away with the run; what a
//! killed supervisor leaves is swept by the next run.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The folder; dropping it removes it.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    program: PathBuf,
    /// Locked as long as the run lives: what is not locked may be swept.
    held: File,
}

/// Names that are tried before giving up; each holds the process id, so one is nearly always free.
const TRIES_MAX: u32 = 64;
/// The longest path of a socket that every system takes.
const SOCKET_BYTES_MAX: usize = 100;
const INNER: &str = "guard";
const PREFIX: &str = "tripwire-";
/// A younger folder may be one that is being made and is not locked yet.
const SWEPT_AGE_MIN: Duration = Duration::from_secs(60);
/// Trials of a program that a child forked meanwhile has open for writing, and the time between two.
const BUSY_TRIES_MAX: u32 = 100;
const BUSY_STEP: Duration = Duration::from_millis(2);

impl RunFolder {
    /// Makes the folder below the first base that will do, and puts our program into it.
    pub(crate) fn make(bases: &[PathBuf], program: &Path) -> io::Result<Self> {
        let mut refused = io::Error::from(io::ErrorKind::NotFound);
        for base in bases {
            match Self::make_below(base, program) {
                Ok(folder) if folder.socket().as_os_str().len() <= SOCKET_BYTES_MAX => return Ok(folder),
                Ok(_) => refused = io::ErrorKind::InvalidFilename.into(),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    fn make_below(base: &Path, program: &Path) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Mounts are found without following links, so the real path is the one that counts.
        let base = base.canonicalize()?;
        sweep(&base);
        let mut made = Err(io::Error::from(io::ErrorKind::AlreadyExists));
        for _ in 0..TRIES_MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
            made = DirBuilder::new().mode(0o700).create(&path).map(|()| path);
            if !matches!(&made, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        let path = made?;
        let held = File::open(&path).and_then(|held| held.lock().map(|()| held))?;
        let mut folder = Self { path, program: program.to_owned(), held };
        DirBuilder::new().mode(0o700).create(folder.inner())?;
        let own = folder.inner().join("tripwire");
        // A link costs nothing and outlives a rebuild of the original; another disk or another owner needs a copy.
        if fs::hard_link(program, &own).is_err() {
            fs::copy(program, &own)?;
        }
        if starts(&own) {
            folder.program = own;
        }
        Ok(folder)
    }

    /// The folder itself, which the client's processes may write to.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The part that the client's processes may only read.
    pub(crate) fn inner(&self) -> PathBuf {
        self.path.join(INNER)
    }

    /// Where the supervisor listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.inner().join("socket")
    }

    /// The program that hooks call.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }
}

/// Whether a program can be run from where it lies: temporary folders may forbid it.
fn starts(program: &Path) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    for _ in 0..BUSY_TRIES_MAX {
        match command.status() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::sleep(BUSY_STEP),
            ended => return ended.is_ok_and(|status| status.success()),
        }
    }
    false
}

/// Removes the folders of this user's runs whose supervisor was killed. What cannot be looked at or removed stays.
fn sweep(base: &Path) {
    let me = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let ours = entry.metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == me && is_old(&meta));
        if ours && name.to_str().is_some_and(is_run) && path.join(INNER).is_dir() && is_left(&path) {
            drop(fs::remove_dir_all(&path));
        }
    }
}

/// Whether a name is `tripwire-PROCESS-NUMBER`.
fn is_run(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(process, number)| process.parse::<u32>().is_ok() && number.parse::<u32>().is_ok())
}

fn is_old(meta: &fs::Metadata) -> bool {
    meta.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= SWEPT_AGE_MIN))
}

/// Whether no supervisor holds a folder any more.
fn is_left(path: &Path) -> bool {
    File::open(path).is_ok_and(|folder| folder.try_lock().is_ok())
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed holds no secret and is swept by a later run.
        drop(fs::remove_dir_all(&self.path));
        self.held.unlock().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_folder_is_closed_to_others_holds_the_program_and_goes_away() {
        let base = tempfile::tempdir().unwrap();
        let program = base.path().join("original");
        fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let bases = [base.path().join("none"), base.path().to_owned()];
        let one = RunFolder::make(&bases, &program).unwrap();
        let two = RunFolder::make(&bases, &program).unwrap();
        assert_ne!(one.path(), two.path());
        assert_eq!(fs::metadata(one.path()).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(one.program().starts_with(one.inner()) && one.program().exists());
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && two.path().exists());
    }

    #[test]
    fn what_a_killed_supervisor_left_is_swept_and_the_folders_of_living_runs_stay() {
        let base = tempfile::tempdir().unwrap();
        let bases = [base.path().to_owned()];
        let program = base.path().join("original");
        fs::write(&program, "not a program").unwrap();
        let made = |name: &str| {
            let path = base.path().join(name);
            fs::create_dir_all(path.join(INNER)).unwrap();
            path
        };
        let grow_old = |path: &Path| {
            let then = std::time::SystemTime::now() - SWEPT_AGE_MIN * 2;
            File::open(path).unwrap().set_modified(then).unwrap();
        };
        let (left, young, others) = (made("tripwire-4194305-0"), made("tripwire-4194305-1"), made("tripwire-notes-1"));
        let living = RunFolder::make(&bases, &program).unwrap();
        for path in [&left, &others, &living.path] {
            grow_old(path);
        }
        let next = RunFolder::make(&bases, &program).unwrap();
        assert!(!left.exists(), "its supervisor is gone");
        assert!(young.exists(), "it may be in the making");
        assert!(others.exists(), "it is no run's");
        assert!(living.path().exists() && next.path().exists());
    }

    #[test]
    fn a_program_that_cannot_run_there_is_called_where_it_is_and_a_long_path_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let program = base.path().join("original");
        fs::write(&program, "not a program").unwrap();
        assert_eq!(RunFolder::make(&[base.path().to_owned()], &program).unwrap().program(), program);
        let deep = base.path().join("x".repeat(90));
        fs::create_dir(&deep).unwrap();
        assert!(RunFolder::make(std::slice::from_ref(&deep), &program).is_err());
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 0, "nothing is left behind");
    }
}
