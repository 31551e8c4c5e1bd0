//! The folder of one run: our socket, our own program, and the client's settings for this run only.
//!
//! It lies outside the workspace and is closed to other people. Its inner folder is read-only for the client's processes,
//! so that an agent can neither change the hooks nor replace the program that they call. It goes away with the run.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder; dropping it removes it.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    program: PathBuf,
}

/// Names that are tried before giving up; each holds the process id, so one is nearly always free.
const TRIES_MAX: u32 = 64;
/// The longest path of a socket that every system takes.
const SOCKET_BYTES_MAX: usize = 100;
const INNER: &str = "guard";

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
        let mut made = Err(io::Error::from(io::ErrorKind::AlreadyExists));
        for _ in 0..TRIES_MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("tripwire-{}-{number}", std::process::id()));
            made = DirBuilder::new().mode(0o700).create(&path).map(|()| path);
            if !matches!(&made, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        let mut folder = Self { path: made?, program: program.to_owned() };
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
    command.status().is_ok_and(|status| status.success())
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // What cannot be removed holds no secret, and a folder of temporary files is swept by the system.
        drop(fs::remove_dir_all(&self.path));
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
