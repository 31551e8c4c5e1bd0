//! A person with a home, a repository and a search path of their own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Where the person works; removed with the value.
pub(crate) struct Person(tempfile::TempDir);

impl Person {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work/.git", "bin"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("work/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn home(&self, name: &str) -> PathBuf {
        self.path("home").join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tripwire"));
        command.args(arguments).current_dir(self.work()).env_clear();
        command.env("HOME", self.path("home")).env("PATH", self.path("bin")).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a verb that must succeed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}
