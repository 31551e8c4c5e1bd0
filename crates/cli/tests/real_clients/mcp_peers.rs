//! The protocol's own pieces, unmodified: the Python SDK and the Inspector as clients, server-everything and server-filesystem as
//! servers. What a client gets through the guard is what it gets without it, message by message, over both transports.

use crate::support::clients::folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TRIPWIRE: &str = env!("CARGO_BIN_EXE_tripwire");
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real_clients/mcp_peers/client.py");
/// The longest that one client may take on a loaded machine.
const TIME_MAX: Duration = Duration::from_secs(240);

/// The pieces, where they are installed, and a workspace.
struct Peers {
    pieces: PathBuf,
    work: tempfile::TempDir,
}

/// A program that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Peers {
    /// The pieces, if all are installed; says loudly if not.
    fn find() -> Option<Self> {
        let pieces = folder()?.join("mcp");
        for piece in ["venv/bin/python", "node_modules/@modelcontextprotocol/server-everything/dist/index.js"] {
            if !pieces.join(piece).exists() {
                tripwire_testing::skip(&format!(
                    "`{piece}` is not below `{}`; `.ci/run` installs it",
                    pieces.display()
                ));
                return None;
            }
        }
        let work = tempfile::tempdir().unwrap();
        for name in ["work/.geometry", "home", "files"] {
            fs::create_dir_all(work.path().join(name)).unwrap();
        }
        let manifest = "gate:\n  max_tool_calls_per_minute: 20000\n  tool_call_warning_threshold: 20000\n";
        fs::write(work.path().join("work/.geometry/MANIFEST.yaml"), manifest).unwrap();
        Some(Self { pieces, work })
    }

    fn package(&self, name: &str) -> String {
        self.pieces.join("node_modules/@modelcontextprotocol").join(name).display().to_string()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("work")).env_clear().env("HOME", self.path("home"));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
        command
    }

    /// What a client printed.
    fn said(&self, program: &str, words: &[String]) -> Vec<String> {
        let said = fs::File::create(self.path("said")).unwrap();
        let errors = fs::File::create(self.path("errors")).unwrap();
        let mut child = Running(self.command(program).args(words).stdout(said).stderr(errors).spawn().unwrap());
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.0.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < TIME_MAX, "{words:?} takes too long");
            std::thread::sleep(Duration::from_millis(50));
        };
        let text = fs::read_to_string(self.path("said")).unwrap();
        assert!(status.success(), "{words:?}: {status}: {text}{}", fs::read_to_string(self.path("errors")).unwrap());
        text.lines().map(ToOwned::to_owned).collect()
    }

    /// What the SDK got of a server.
    fn sdk(&self, what: &str, place: &[&str]) -> Vec<String> {
        let python = self.pieces.join("venv/bin/python").display().to_string();
        self.said(&python, &words(&[&[CLIENT, what], place].concat()))
    }

    /// What the Inspector shows of a server.
    fn inspector(&self, place: &[&str], method: &[&str]) -> Vec<String> {
        let cli = format!("{}/clients/launcher/build/index.js", self.package("inspector"));
        if !Path::new(&cli).exists() {
            tripwire_testing::skip("the Inspector is not installed; `.ci/run` installs it");
            return Vec::new();
        }
        self.said("node", &words(&[&[cli.as_str(), "--cli"], place, method].concat()))
    }

    /// server-everything over HTTP, and the guard before it, with their addresses.
    fn over_http(&self) -> (Running, Running, String, String) {
        // The server wants to be told its port; another program may take it meanwhile, and then this fails.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let everything = format!("{}/dist/index.js", self.package("server-everything"));
        let mut server = self.command("node");
        server.args([everything.as_str(), "streamableHttp"]).env("PORT", port.to_string());
        let server = Running(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < TIME_MAX, "the server does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        let plain = format!("http://127.0.0.1:{port}/mcp");
        let mut guard = self.command(TRIPWIRE);
        guard.args(["mcp", "--name", "everything", "--json", "--listen", "127.0.0.1:0", "--url", &plain]);
        let errors = fs::File::create(self.path("guard-errors")).unwrap();
        let mut guard = Running(guard.stdout(Stdio::piped()).stderr(errors).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(guard.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        let guarded = ready["listening"].as_str().unwrap().to_owned();
        (server, guard, plain, guarded)
    }

    fn verify(&self) {
        for verb in ["verify", "replay"] {
            let output = self.command(TRIPWIRE).arg(verb).output().unwrap();
            assert!(output.status.success(), "{verb}: {output:?}");
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Compares line by line, and says where two runs differ first.
fn same(plain: &[String], guarded: &[String]) {
    assert!(!plain.is_empty());
    for (one, other) in plain.iter().zip(guarded) {
        assert_eq!(one, other);
    }
    assert_eq!(plain.len(), guarded.len());
}

/// The steps, and what was heard beside them without repetitions: what a server says before a client listens is lost over HTTP.
fn over_http(lines: &[String]) -> (Vec<String>, BTreeSet<String>) {
    let (heard, steps): (Vec<String>, Vec<String>) =
        lines.iter().cloned().partition(|line| line.starts_with("{\"heard\""));
    let all = heard.iter().flat_map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["heard"].as_array().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
    });
    (steps, all.filter(|message| !message.contains("list_changed")).collect())
}

#[test]
#[ignore = "needs the protocol's own pieces, which `.ci/run` installs"]
fn mcp_4_official_clients_and_servers_see_the_same_over_stdio() {
    let Some(peers) = Peers::find() else { return };
    let everything = format!("{}/dist/index.js", peers.package("server-everything"));
    let plain = ["stdio", "node", &everything, "stdio"];
    let guarded = ["stdio", TRIPWIRE, "mcp", "--name", "everything", "--", "node", &everything, "stdio"];
    same(&peers.sdk("everything", &plain), &peers.sdk("everything", &guarded));

    let files = format!("{}/dist/index.js", peers.package("server-filesystem"));
    let folder = peers.path("files").display().to_string();
    let plain_files = ["stdio", "node", &files, &folder];
    let guarded_files = ["stdio", TRIPWIRE, "mcp", "--name", "files", "--", "node", &files, &folder];
    let one = peers.sdk("files", &plain_files);
    fs::remove_file(peers.path("files/moved.txt")).ok();
    same(&one, &peers.sdk("files", &guarded_files));

    // The Inspector keeps `--` for itself: a script starts the guard for it.
    let script = peers.path("guarded").display().to_string();
    let line = format!("#!/bin/sh\nexec {TRIPWIRE} mcp --name inspected -- node {everything} stdio\n");
    tripwire_testing::write_program(Path::new(&script), &line).unwrap();
    for method in [
        &["--method", "tools/list"][..],
        &["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"],
        &["--method", "prompts/list"],
        &["--method", "resources/templates/list"],
    ] {
        // The tools of a client that can do less are those of another server.
        let shown = peers.inspector(&["node", &everything, "stdio"], method);
        assert_eq!(shown, peers.inspector(&[&script], method), "{method:?}");
    }
    peers.verify();
}

#[test]
#[ignore = "needs the protocol's own pieces, which `.ci/run` installs"]
fn mcp_5_official_clients_and_servers_see_the_same_over_http() {
    let Some(peers) = Peers::find() else { return };
    let (_server, guard, plain, guarded) = peers.over_http();
    let one = over_http(&peers.sdk("everything", &["http", &plain]));
    let other = over_http(&peers.sdk("everything", &["http", &guarded]));
    same(&one.0, &other.0);
    assert_eq!(one.1, other.1);
    for method in [
        &["--method", "prompts/list"][..],
        &["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"],
    ] {
        let shown = peers.inspector(&[&plain], method);
        assert_eq!(shown, peers.inspector(&[&guarded], method), "{method:?}");
    }
    // A client on standard streams gets the same of the same address.
    let piped = ["stdio", TRIPWIRE, "mcp", "--name", "piped", "--stdio", "--url", &plain];
    let piped = over_http(&peers.sdk("everything", &piped));
    same(&one.0, &piped.0);
    assert_eq!(one.1, piped.1);
    drop(guard);
    peers.verify();
}

#[test]
#[ignore = "needs the protocol's own pieces, which `.ci/run` installs"]
fn mcp_5_a_thousand_calls_at_once_of_the_official_client_are_all_answered() {
    let Some(peers) = Peers::find() else { return };
    let everything = format!("{}/dist/index.js", peers.package("server-everything"));
    let (_server, guard, _, guarded) = peers.over_http();
    let stdio = ["stdio", TRIPWIRE, "mcp", "--name", "many", "--", "node", &everything, "stdio"];
    for place in [&stdio[..], &["http", &guarded]] {
        let said = peers.sdk("parallel", place);
        assert_eq!(said.last().map(String::as_str), Some("{\"calls\": 1000, \"right\": 1000}"), "{place:?}");
    }
    drop(guard);
    peers.verify();
}
