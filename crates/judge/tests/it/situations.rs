//! Workspaces in the states that the lines name, built as real repositories with a real remote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tripwire_core::policy::Policy;
use tripwire_judge::{Facts, Judge};

/// A workspace, a home and a neighbour below one temporary folder.
pub(crate) struct Situation {
    folder: tempfile::TempDir,
}

impl Situation {
    /// Builds the state of this name.
    pub(crate) fn new(state: &str) -> Self {
        let here = Self { folder: tempfile::tempdir().unwrap() };
        for (file, text) in
            [("home/notes.txt", "n"), ("home/.ssh/id", "k"), ("home/projects/p", "p"), ("other/o.txt", "o")]
        {
            here.write(file, text);
        }
        fs::create_dir_all(here.path("ws")).unwrap();
        match state {
            "plain" => here.plain(),
            "unborn" => here.unborn(),
            _ => {
                here.repository();
                here.become_state(state);
            }
        }
        here
    }

    /// Brings the usual repository into a state.
    fn become_state(&self, state: &str) {
        let here = self;
        match state {
            "clean" => {}
            "dirty" => {
                here.write("ws/src/lib.rs", "fn a() {}\nchanged\n");
                here.write("ws/notes.txt", "n");
                here.write("ws/scratch/work.py", "w");
            }
            "feature" => {
                here.git(&["checkout", "-q", "feature/x"]);
                here.git(&["branch", "-q", "-u", "origin/feature/x"]);
            }
            "trap" => {
                here.git(&["checkout", "-q", "-b", "topic"]);
                here.git(&["branch", "-q", "-u", "origin/main"]);
            }
            "stash" => {
                here.write("ws/README.md", "other");
                here.git(&["stash", "-q"]);
                here.git(&["checkout", "-q", "-b", "lonely"]);
                here.write("ws/l", "l");
                here.git(&["add", "l"]);
                here.git(&["commit", "-qm", "lonely"]);
                here.git(&["checkout", "-q", "main"]);
            }
            "lonely" => here.git(&["checkout", "-q", "-b", "own"]),
            "detached" => here.git(&["checkout", "-q", "--detach"]),
            "rebase" => {
                here.git(&["checkout", "-q", "-b", "topic"]);
                here.git(&["-c", "sequence.editor=sed -i s/^pick/edit/", "rebase", "-q", "-i", "HEAD~1"]);
            }
            "fork" => {
                here.git(&["init", "-q", "--bare", "-b", "main", "../upstream.git"]);
                here.git(&["remote", "add", "upstream", "../upstream.git"]);
                here.git(&["push", "-q", "upstream", "main"]);
                here.git(&["fetch", "-q", "upstream"]);
                here.git(&["checkout", "-q", "-b", "topic"]);
                here.git(&["branch", "-q", "-u", "upstream/main"]);
            }
            "nested" => here.nested(),
            "conflict" | "resolved" => here.conflict(state),
            "new" => {
                for file in ["notes/a.md", "notes/b.md", "notes/c.md", "new.py"] {
                    here.write(&format!("ws/{file}"), "n");
                }
            }
            "modules" => here.modules(),
            "heap" => here.heap(),
            "lists" => here.lists(),
            other => panic!("no state `{other}`"),
        }
    }

    /// A repository without a commit.
    fn unborn(&self) {
        self.write("ws/src/a.rs", "a");
        self.write("ws/target/x", "x");
        self.git(&["init", "-q", "-b", "main", "."]);
    }

    /// A repository inside the workspace, with a commit that was never pushed and a change that was never committed.
    fn nested(&self) {
        let inner = self.path("ws/vendor/lib");
        self.write("ws/vendor/lib/lib.c", "int a;\n");
        git_in(&inner, &["init", "-q", "-b", "main", "."]);
        git_in(&inner, &["add", "-A"]);
        git_in(&inner, &["commit", "-qm", "inner"]);
        self.write("ws/vendor/lib/lib.c", "int b;\n");
        self.write("ws/vendor/lib/new.c", "int c;\n");
    }

    /// A merge that stopped at a conflict, untouched or with a line of somebody's own in the middle of it.
    fn conflict(&self, state: &str) {
        self.git(&["checkout", "-q", "-b", "side"]);
        self.write("ws/src/lib.rs", "fn side() {}\n");
        self.git(&["commit", "-qam", "side"]);
        self.git(&["checkout", "-q", "main"]);
        self.write("ws/src/lib.rs", "fn ours() {}\n");
        self.git(&["commit", "-qam", "ours"]);
        let stopped = git_output(&self.path("ws"), &["merge", "-q", "side"]);
        assert!(!stopped.status.success(), "there must be a conflict");
        if state == "resolved" {
            let marked = fs::read_to_string(self.path("ws/src/lib.rs")).unwrap();
            self.write("ws/src/lib.rs", &marked.replace("fn ours() {}", "fn both() {}"));
        }
    }

    /// Folders and files that git does not know and whose names are counted, beside ones that it does.
    fn heap(&self) {
        for file in ["mod1/a.rs", "mod2/b.rs", "-rf", "keep1.txt", "keep2.txt", "keep3.txt"] {
            self.write(&format!("ws/{file}"), "tracked\n");
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "heap"]);
        for number in 1..4 {
            self.write(&format!("ws/part{number}/work.txt"), "w\n");
            self.write(&format!("ws/out-2024-0{number}-01/log.md"), "l\n");
        }
        for number in 1..7 {
            self.write(&format!("ws/d/f{number}"), "f\n");
        }
        self.write("ws/7/a.md", "a\n");
        self.write("ws/n", "1\n");
        self.write("ws/names", "f1\nf2\nf3\nf4\n");
    }

    /// Files that list names: of tracked files, of build products, of work that git does not know, of files elsewhere.
    fn lists(&self) {
        self.write("ws/tracked.lst", "docs/guide.md\nREADME.md\n");
        self.write("ws/product.lst", "target/debug/x\nnode_modules/a/index.js\n");
        self.write("ws/work.lst", "d/f1\nd/f2\nd/f3\nd/f4\n");
        self.write("ws/dirs.lst", "d\npart1\n");
        self.write("ws/outside.lst", "/etc/passwd\n/etc/hostname\n");
        self.write("ws/VERSION", "1.2.3\n");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "lists"]);
        for number in 1..5 {
            self.write(&format!("ws/d/f{number}"), "f\n");
            self.write(&format!("ws/part{number}/work.txt"), "w\n");
        }
    }

    /// A submodule with a change and a file that nothing else holds.
    fn modules(&self) {
        let inner = self.path("other/part");
        self.write("other/part/src/p.rs", "p\n");
        git_in(&inner, &["init", "-q", "-b", "main", "."]);
        git_in(&inner, &["add", "-A"]);
        git_in(&inner, &["commit", "-qm", "part"]);
        let from = inner.display().to_string();
        self.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"]);
        self.git(&["commit", "-qm", "sub"]);
        self.write("ws/sub/src/p.rs", "changed\n");
        self.write("ws/sub/extra.rs", "e");
    }

    fn plain(&self) {
        self.write("ws/work/a.txt", "a");
        self.write("ws/build/x.o", "b");
        for number in 1..5 {
            self.write(&format!("ws/f{number}.txt"), "f");
        }
    }

    fn repository(&self) {
        for (file, text) in [
            ("src/lib.rs", "fn a() {}\n"),
            ("README.md", "r\n"),
            ("docs/guide.md", "g\n"),
            (".gitignore", "target/\nnode_modules/\n.env\ndata/\n*.log\ndisk.img\napp.db\n"),
            ("drop.sql", "DROP TABLE t;\n"),
            ("target/debug/x", "t"),
            ("node_modules/a/index.js", "j"),
            (".env", "S=1"),
            ("app.db", "d"),
        ] {
            self.write(&format!("ws/{file}"), text);
        }
        std::os::unix::fs::symlink("../other", self.path("ws/link")).unwrap();
        self.git(&["init", "-q", "--bare", "-b", "trunk", "../origin.git"]);
        self.git(&["init", "-q", "-b", "main", "."]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "one"]);
        self.write("ws/docs/guide.md", "g\nmore\n");
        self.git(&["commit", "-qam", "two"]);
        self.git(&["remote", "add", "origin", "../origin.git"]);
        self.git(&["branch", "feature/x"]);
        self.git(&["push", "-q", "-u", "origin", "main", "feature/x"]);
        self.git(&["push", "-q", "origin", "main:trunk", "main:release/9"]);
        self.git(&["remote", "set-head", "origin", "trunk"]);
        self.git(&["fetch", "-q"]);
    }

    /// A path of the situation.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file with its folders.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs git in the workspace, with no configuration but the repository's.
    pub(crate) fn git(&self, arguments: &[&str]) {
        git_in(&self.path("ws"), arguments);
    }

    /// What a door would know here.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            workspace: self.path("ws"),
            cwd: self.path("ws"),
            home: Some(self.path("home")),
            user: Some("me".to_owned()),
            temporary: vec!["/tmp".into(), "/var/tmp".into(), std::env::temp_dir()],
            protected: Facts::here(self.path("ws"), self.path("ws"), &Policy::default()).protected,
            ..Facts::default()
        }
    }

    /// A judge in the workspace.
    pub(crate) fn judge(&self) -> Judge {
        Judge::new(self.facts())
    }
}

/// Runs git in a folder.
pub(crate) fn git_in(folder: &Path, arguments: &[&str]) {
    let output = git_output(folder, arguments);
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn git_output(folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", "/nonexistent")])
        .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
        .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
