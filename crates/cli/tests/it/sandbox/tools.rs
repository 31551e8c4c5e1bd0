//! Real tool chains inside the sandbox, and the doctor; as root and as an ordinary user.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sandbox::host::{Host, Who, everybody, has, marked, parse, say};
use serde_json::Value;

#[test]
fn box_3_twenty_runs_give_one_answer() {
    for who in everybody() {
        let host = Host::new(who);
        let run = || {
            let mut answer = host.exec("id; env | sort; ls -a; echo $$ $PPID; ps 2>/dev/null; for i in 3 1 2; do echo $i; done; echo err >&2; exit 3");
            answer["wall_ms"] = Value::Null;
            answer["receipt"]["took_ms"] = Value::Null;
            answer.to_string()
        };
        let first = run();
        assert!((1..20).all(|_| run() == first), "{who:?}: {first}");
    }
}

#[test]
fn a_commit_a_make_and_a_compiler_work() {
    if !has("gcc") || !has("make") {
        return;
    }
    for who in everybody() {
        let host = Host::new(who);
        let script = "printf 'int main(void){return 42;}' > m.c && printf 'm: m.c\\n\\tgcc -O2 -o m m.c\\n' > Makefile && make -s && ./m; echo $?; \
                      git add m.c Makefile && git -c user.name=a -c user.email=a@b commit -qm built && git log --oneline | wc -l && git gc -q && git fsck";
        let answer = host.exec_with(&["--timeout", "60"], script);
        assert_eq!(answer["stdout"], "42\n2\n", "{who:?}: {answer}");
    }
}

#[test]
fn box_3_terminals_of_its_own_are_there_where_they_were_asked_for_and_the_persons_never_is() {
    if !has("/usr/bin/python3") {
        return;
    }
    let script = "/usr/bin/python3 -c 'import os, pty; pty.spawn([\"sh\", \"-c\", \"test -t 0 && echo a terminal $(tty)\"])'; \
                  ls /dev/pts /dev/tty 2>/dev/null | tr '\\n' ' '";
    for who in everybody() {
        let host = Host::new(who);
        let (without, with) = (host.exec(script), host.exec_with(&["--pty"], script));
        let said = |answer: &Value| answer["stdout"].as_str().unwrap_or_default().to_owned();
        assert!(!said(&without).contains("a terminal"), "{who:?}: {without}");
        assert!(said(&with).contains("a terminal /dev/pts/0"), "{who:?}: {with}");
        assert!(!said(&with).contains("/dev/tty"), "{who:?}: {with}");
    }
}

#[test]
fn node_and_npm_run_tests() {
    if !has("node") || !has("npm") {
        return;
    }
    for who in everybody() {
        let host = Host::new(who);
        fs::write(host.ws().join("package.json"), r#"{"name":"x","version":"1.0.0","scripts":{"test":"node --test"}}"#)
            .expect("write");
        fs::write(
            host.ws().join("a.test.js"),
            "const t=require('node:test');const a=require('assert');t('sum',()=>a.equal(1+1,2));",
        )
        .expect("write");
        let answer = host.exec_with(&["--timeout", "100", "--memory", "1073741824"], "npm test --silent");
        assert!(
            answer["exit_code"] == 0 && answer["stdout"].as_str().unwrap_or_default().contains("pass 1"),
            "{who:?}: {answer}"
        );
    }
}

#[test]
fn python_runs_tests() {
    if !has("python3") {
        return;
    }
    for who in everybody() {
        let host = Host::new(who);
        fs::write(
            host.ws().join("test_sum.py"),
            "import unittest\nclass T(unittest.TestCase):\n  def test_sum(self): self.assertEqual(1+1,2)\n",
        )
        .expect("write");
        let works = |program: &&str| host.exec(&format!("{program} --version"))["exit_code"] == 0;
        let script = match ["pytest", "/usr/bin/python3 -m pytest"].iter().find(|program| works(program)) {
            Some(pytest) => format!("{pytest} -q test_sum.py"),
            None => {
                say("NOT MEASURED: pytest is not installed where the sandbox shows it, unittest stands in");
                "/usr/bin/python3 -m unittest -q test_sum".to_owned()
            }
        };
        let answer = host.exec_with(&["--timeout", "60"], &script);
        assert_eq!(answer["exit_code"], 0, "{who:?}: {answer}");
    }
}

#[test]
fn cargo_builds_and_tests_a_crate() {
    let Some(home) = std::env::var_os("HOME").map(std::path::PathBuf::from) else {
        return;
    };
    let rustup = std::env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), Into::into);
    let toolchains = fs::read_dir(rustup.join("toolchains")).ok().and_then(|mut list| list.next()).and_then(Result::ok);
    let Some(toolchain) = toolchains.map(|entry| entry.path()) else {
        say("NOT RUN: no rustup tool chain in the home folder, so cargo inside the sandbox is not measured");
        return;
    };
    for who in everybody() {
        let lent = Lent::to(who, &toolchain);
        let Some(toolchain) = lent.as_ref().map(Lent::path) else {
            say(
                "NOT RUN as an ordinary user: the tool chain is in a folder that only root can enter, and cannot be linked",
            );
            continue;
        };
        let host = Host::new(who);
        fs::create_dir_all(host.ws().join("k/src")).expect("a folder");
        fs::write(
            host.ws().join("k/Cargo.toml"),
            "[package]\nname=\"k\"\nversion=\"0.1.0\"\nedition=\"2021\"\n[workspace]\n",
        )
        .expect("write");
        fs::write(
            host.ws().join("k/src/lib.rs"),
            "pub fn two() -> u8 { 2 }\n#[test]\nfn works() { assert_eq!(two(), 2); }\n",
        )
        .expect("write");
        if who == Who::User && crate::sandbox::host::is_root() {
            assert!(
                std::process::Command::new("chown")
                    .args(["-R", "61234:61234"])
                    .arg(host.ws().join("k"))
                    .status()
                    .expect("chown")
                    .success()
            );
        }
        let tools = toolchain.display().to_string();
        let path = format!("PATH={tools}/bin:/usr/bin:/bin");
        let options = ["--timeout", "150", "--memory", "1500000000", "--read", &tools, "--env", &path];
        let answer = host.exec_with(&options, "cd k && cargo build -q --offline && cargo test -q --offline");
        assert_eq!(answer["exit_code"], 0, "{who:?}: {answer}");
    }
}

/// A tool chain that the one who runs the test can reach.
enum Lent {
    /// Where it is.
    InPlace(PathBuf),
    /// Linked file by file into a folder that everybody can enter; gone with the test.
    Linked(PathBuf),
}

impl Lent {
    fn to(who: Who, toolchain: &Path) -> Option<Self> {
        if who == Who::Root || !crate::sandbox::host::is_root() || reachable(toolchain) {
            return Some(Self::InPlace(toolchain.to_path_buf()));
        }
        let copy = std::env::temp_dir().join(format!("tw-toolchain-{}", std::process::id()));
        fs::create_dir_all(&copy).expect("a folder");
        let lent = Self::Linked(copy.clone());
        let mut link = std::process::Command::new("cp");
        link.arg("-al").args(["bin", "lib"].map(|part| toolchain.join(part))).arg(&copy);
        link.stderr(std::process::Stdio::null()).status().expect("cp").success().then_some(lent)
    }

    fn path(&self) -> &Path {
        match self {
            Self::InPlace(path) | Self::Linked(path) => path,
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        match self {
            Self::InPlace(_) => {}
            Self::Linked(path) => drop(fs::remove_dir_all(path)),
        }
    }
}

/// Whether somebody who is not root can enter every folder above.
fn reachable(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    path.ancestors().all(|dir| fs::metadata(dir).is_ok_and(|meta| meta.mode() & 0o005 == 0o005))
}

#[test]
fn box_4_a_large_archive_fits_when_the_budget_is_raised() {
    for who in everybody() {
        let host = Host::new(who);
        let script = "head -c 100M /dev/zero > f; ln f g; ln f h; ln f i; ln f j; tar --hard-dereference -cf all.tar f g h i j && stat -c %s all.tar";
        let answer = host.exec_with(&["--timeout", "100", "--disk", "900000000"], script);
        let size: u64 = answer["stdout"].as_str().unwrap_or_default().trim().parse().unwrap_or(0);
        assert!(size > 500_000_000, "{who:?}: {answer}");
        let refused = Host::new(who).exec_with(&["--timeout", "100"], "head -c 500M /dev/zero | tar cf big.tar --files-from /dev/null; head -c 500M /dev/zero > big && echo whole");
        assert!(!refused["stdout"].as_str().unwrap_or_default().contains("whole"), "{who:?}: {refused}");
    }
}

#[test]
fn box_2_without_user_namespaces_nothing_runs() {
    if !has("unshare") {
        return;
    }
    for who in everybody() {
        let host = Host::new(who);
        // The limit is per user namespace, so it is set in one of our own and the machine's stays as it is.
        let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
        let output = host
            .command("unshare")
            .args(["-U", "-r", "bash", "-c", script, "none"])
            .arg(host.binary())
            .args(["sandbox", "exec", "--json", "--workspace"])
            .arg(host.ws())
            .args(["--", "touch", "ran"])
            .output()
            .expect("unshare");
        let answer = parse(&output);
        assert_eq!(answer["ran"], false, "{who:?}: {answer}");
        // In a nested namespace root has no cgroup either; whichever wall is missing first is the one that is named.
        let named = answer["refused_by"].as_str().unwrap_or_default();
        assert!(["namespaces", "cgroup"].contains(&named), "{who:?}: {answer}");
        assert!(!host.ws().join("ran").exists());
    }
}

#[test]
fn box_2_the_doctor_names_every_layer() {
    for who in everybody() {
        let host = Host::new(who);
        let answer = parse(&host.verb(&["doctor", "sandbox", "--json"]));
        let layers = answer["layers"].as_array().expect("layers");
        assert_eq!(answer["works"], true, "{who:?}: {answer}");
        assert!(
            layers.len() >= 12 && layers.iter().all(|layer| layer["fix"].as_str().is_some_and(|fix| !fix.is_empty()))
        );
        let text = host.verb(&["doctor", "sandbox"]);
        assert!(text.status.success() && String::from_utf8_lossy(&text.stdout).lines().count() >= 12);
    }
}

#[test]
fn requests_that_make_no_sense_are_told_so() {
    let host = Host::new(everybody()[0]);
    let workspace = host.ws().display().to_string();
    for (line, code) in [
        ("--workspace /no/such/folder -- true", 2),
        ("--workspace /etc -- true", 2),
        ("--workspace WS", 2),
        ("--workspace WS --hide nothing-here -- true", 2),
        ("--workspace WS -- no-such-program", 2),
        ("--workspace WS --timeout 2 -- sleep 9", 8),
        ("--workspace WS -- false", 1),
    ] {
        let line = format!("sandbox exec {}", line.replace("WS", &workspace));
        let args: Vec<&str> = line.split(' ').collect();
        let output = host.verb(&args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(talk.contains("hint:") || talk.contains("Usage") || code == 1, "{args:?}: {talk}");
    }
}

/// How long a test waits for what a busy machine does late; what it waits for is there within milliseconds elsewhere.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

#[test]
fn ctrl_4_a_killed_launcher_leaves_no_process_and_the_next_start_sweeps() {
    for who in everybody() {
        let host = Host::new(who);
        let marker = format!("5{:06}", std::process::id());
        let mut child = host
            .command(host.binary())
            .args(["sandbox", "exec", "--json", "--timeout", "100", "--workspace"])
            .arg(host.ws())
            .args([
                "--",
                "bash",
                "-c",
                &format!(
                    "for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep {marker} &) ; sleep {marker} & done; sleep {marker}"
                ),
            ])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the binary");
        let start = std::time::Instant::now();
        while marked(&marker).len() < 19 && start.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(marked(&marker).len() >= 19, "{who:?}: {:?}", marked(&marker));
        child.kill().expect("SIGKILL");
        child.wait().expect("reaped");
        let start = std::time::Instant::now();
        while !marked(&marker).is_empty() && start.elapsed() < PATIENCE {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        say(&format!("{who:?}: launcher killed, everything gone after {} ms", start.elapsed().as_millis()));
        assert!(marked(&marker).is_empty(), "{who:?}: {:?}", marked(&marker));
        assert!(host.ws().join(".vscode").exists(), "{who:?}: the placeholder was left by the kill");
        let answer = host.exec("true");
        assert_eq!(answer["exit_code"], 0, "{who:?}: {answer}");
        assert!(!host.ws().join(".vscode").exists(), "{who:?}: the next start swept it");
        // A group whose processes the system has not let go of yet is taken by a later start.
        let start = std::time::Instant::now();
        while !left_groups(child.id()).is_empty() && start.elapsed() < PATIENCE {
            let answer = host.exec("true");
            assert_eq!(answer["exit_code"], 0, "{who:?}: {answer}");
        }
        assert!(left_groups(child.id()).is_empty(), "{who:?}: {:?}", left_groups(child.id()));
    }
}

/// cgroup folders of a launcher, wherever they are.
fn left_groups(pid: u32) -> Vec<String> {
    let find =
        std::process::Command::new("find").args(["/sys/fs/cgroup", "-name", &format!("tripwire-{pid}-*")]).output();
    find.map(|output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()).unwrap_or_default()
}
