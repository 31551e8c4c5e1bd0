//! A real receiver: Phoenix (`pip install arize-phoenix`), where it is installed.

use crate::{Fixture, call, key};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tripwire_core::ledger::CallEnd;
use tripwire_secrets::Redactor;
use tripwire_session::ledger::LedgerBook;
use tripwire_telemetry::Source;
use tripwire_testing::{TestDir, skip};
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Its program is named by this variable.
const PROGRAM: &str = "TRIPWIRE_PHOENIX";

struct Phoenix {
    child: Child,
    address: String,
    _home: TestDir,
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string()
}

fn phoenix(program: &std::ffi::OsStr) -> Phoenix {
    let home = TestDir::new();
    let port = free_port();
    let child = Command::new(program)
        .arg("serve")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.path())
        .env("PHOENIX_WORKING_DIR", home.path())
        .env("PHOENIX_HOST", "127.0.0.1")
        .env("PHOENIX_PORT", &port)
        .env("PHOENIX_GRPC_PORT", free_port())
        .env("PHOENIX_TELEMETRY_ENABLED", "false")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let phoenix = Phoenix { child, address: format!("127.0.0.1:{port}"), _home: home };
    let deadline = Instant::now() + Duration::from_secs(120);
    while !get(&phoenix.address, "/healthz").is_some_and(|reply| reply.starts_with("HTTP/1.1 200")) {
        assert!(Instant::now() < deadline, "Phoenix does not begin to serve");
        std::thread::sleep(Duration::from_millis(200));
    }
    phoenix
}

fn get(address: &str, path: &str) -> Option<String> {
    let mut socket = TcpStream::connect(address).ok()?;
    socket.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    socket.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes()).ok()?;
    let mut reply = String::new();
    socket.read_to_string(&mut reply).ok()?;
    Some(reply)
}

#[test]
fn gate_8_phoenix_takes_the_spans_and_shows_them() {
    let Some(program) = std::env::var_os(PROGRAM) else {
        skip(&format!("{PROGRAM} names no Phoenix; `pip install arize-phoenix` gives one"));
        return;
    };
    let (fixture, phoenix) = (Fixture::new(), phoenix(&program));
    let mut book = LedgerBook::open(&fixture.layout).unwrap();
    let exporter = fixture.export(&phoenix.address, Redactor::default());
    exporter.follow(Source::Calls);
    let now = WallClock::from_epoch_ms(1_763_000_005_000);
    book.append_call(&call("claude-sonnet-4-5", key("ci"), CallEnd::Complete), now, 2_500).unwrap();
    drop(exporter);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let spans = get(&phoenix.address, "/v1/projects/default/spans").unwrap_or_default();
        if spans.contains("chat claude-sonnet-4-5") && spans.contains("gen_ai.usage.input_tokens") {
            break;
        }
        assert!(Instant::now() < deadline, "{spans}\n{}", fixture.said());
        std::thread::sleep(Duration::from_millis(300));
    }
}
