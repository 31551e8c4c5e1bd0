//! A provider that says what a test tells it to, a gateway before it, and a client that speaks plain HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tripwire_core::record::chain::Digest;
use tripwire_testing::TestDir;

/// The token that the tests' client presents, and the key that only the gateway knows.
pub(super) const TOKEN: &str = "tw-0123456789abcdef-token";
pub(super) const PROVIDER_KEY: &str = "sk-provider-secret-4711";

/// A request as the provider saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What a provider does with a request: it writes to the socket what it likes.
type Script = dyn Fn(&Seen, &mut TcpStream) + Send + Sync;

pub(crate) struct Provider {
    pub(crate) address: String,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
}

impl Provider {
    pub(crate) fn new(script: impl Fn(&Seen, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, script): (_, Arc<Script>) = (Arc::clone(&seen), Arc::new(script));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (kept, script) = (Arc::clone(&kept), Arc::clone(&script));
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(socket.try_clone().unwrap());
                    let mut socket = socket;
                    while let Some(request) = read_request(&mut reader) {
                        kept.lock().unwrap().push(request.clone());
                        script(&request, &mut socket);
                    }
                });
            }
        });
        Self { address, seen }
    }

    pub(crate) fn requests(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Seen {
        self.seen.lock().unwrap().last().unwrap().clone()
    }
}

pub(crate) fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head.get(before..)? == "\r\n" {
            return Some(head);
        }
    }
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

pub(crate) fn read_request(reader: &mut impl BufRead) -> Option<Seen> {
    let head = read_head(reader)?;
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { head, body: String::from_utf8_lossy(&body).into_owned() })
}

/// A whole reply in one go.
pub(crate) fn say(socket: &mut TcpStream, status: &str, content_type: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n", body.len());
    let _gone = socket.write_all(&[head.as_bytes(), body].concat());
}

/// A message of Anthropic's with these figures.
pub(super) fn message(input: u64, output: u64) -> String {
    format!(
        r#"{{"type":"message","model":"claude-sonnet-4-5-20250929","content":[{{"type":"text","text":"Done."}}],"usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
    )
}

/// The beginning of an event stream with chunks.
pub(crate) fn begin_stream(socket: &mut TcpStream) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let _gone = socket.write_all(head.as_bytes());
}

/// One chunk; whether the other side still listens.
pub(crate) fn chunk(socket: &mut TcpStream, text: &str) -> bool {
    socket.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).is_ok()
}

/// The gateway, running.
pub(super) struct Gateway {
    pub(super) dir: TestDir,
    pub(super) address: String,
    child: Child,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(super) fn tripwire() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tripwire"));
    command.env_clear().env("PROVIDER_KEY", PROVIDER_KEY).env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin");
    command
}

/// A configuration with one provider of each API and one key.
pub(super) fn config(provider: &Provider, key: &str) -> String {
    let provider = |api: &str, base: &str| {
        format!(
            "[[provider]]\nname = \"{api}\"\napi = \"{api}\"\nbase_url = \"http://{}{base}\"\nkey_env = \"PROVIDER_KEY\"\n",
            provider.address
        )
    };
    format!(
        "{}{}{}[[key]]\nname = \"ci\"\ntoken_sha256 = \"{}\"\n{key}\n",
        provider("anthropic", ""),
        provider("openai", "/v1"),
        provider("gemini", ""),
        Digest::of(TOKEN.as_bytes())
    )
}

impl Gateway {
    pub(super) fn start(config: &str) -> Self {
        let dir = TestDir::new();
        std::fs::create_dir(dir.path().join("w")).unwrap();
        Self::start_in(dir, config)
    }

    pub(super) fn start_in(dir: TestDir, config: &str) -> Self {
        Self::start_with(dir, config, &[])
    }

    /// A gateway in this folder, with more variables in its environment.
    pub(super) fn start_with(dir: TestDir, config: &str, variables: &[(&str, &str)]) -> Self {
        let file = dir.path().join("gateway.toml");
        std::fs::write(&file, config).unwrap();
        let log = std::fs::File::create(dir.path().join("stderr")).unwrap();
        let mut child = tripwire()
            .args(["gateway", "--json", "--listen", "127.0.0.1:0", "--config"])
            .arg(&file)
            .arg("--workspace")
            .arg(dir.path().join("w"))
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| {
            panic!("{line:?}: {}", std::fs::read_to_string(dir.path().join("stderr")).unwrap());
        });
        assert_eq!(ready["pid"], child.id());
        let address = ready["listening"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self { dir, address, child }
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.dir.path().join("w")
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn stderr(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("stderr")).unwrap()
    }

    /// A verb of the command about the gateway's workspace.
    pub(super) fn verb(&self, arguments: &[&str]) -> Output {
        tripwire().args(arguments).arg("--workspace").arg(self.workspace()).output().unwrap()
    }

    pub(super) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let output = self.verb(&[arguments, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// What was spent so far, in micro-dollars.
    pub(super) fn spent(&self) -> u64 {
        self.json(&["gateway", "usage"])["micro_usd"].as_u64().unwrap()
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Kills it, and gives the folder for the next one.
    pub(super) fn kill(mut self) -> TestDir {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        std::mem::replace(&mut self.dir, TestDir::new())
    }

    pub(super) fn wait(&mut self) -> std::process::ExitStatus {
        let mut ended = None;
        until("it ends", || {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }

    pub(super) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    }

    /// Sends a request with the token and reads the whole reply.
    pub(super) fn post(&self, path: &str, body: &str) -> Reply {
        self.send("POST", path, &format!("x-api-key: {TOKEN}\r\n"), body)
    }

    pub(super) fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        let mut socket = self.connect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        socket.write_all(request.as_bytes()).unwrap();
        Reply::read(&mut socket)
    }
}

/// A reply as the client saw it.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether it came to its end.
    pub(crate) is_whole: bool,
}

impl Reply {
    pub(crate) fn read(socket: &mut TcpStream) -> Self {
        let mut reader = BufReader::new(socket);
        let head = read_head(&mut reader).unwrap_or_default();
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let mut raw = Vec::new();
        let ended = reader.read_to_end(&mut raw).is_ok();
        if header(&head, "transfer-encoding").is_some() {
            let (body, is_whole) = dechunked(&raw);
            return Self { status, head, body, is_whole };
        }
        let length = header(&head, "content-length").and_then(|length| length.parse().ok());
        let is_whole = ended && length.is_none_or(|length: usize| raw.len() == length);
        Self { status, head, body: String::from_utf8_lossy(&raw).into_owned(), is_whole }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) fn dechunked(mut raw: &[u8]) -> (String, bool) {
    let mut body = Vec::new();
    while let Some(end) = raw.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&raw[..end]), 16).unwrap();
        if size == 0 {
            return (String::from_utf8_lossy(&body).into_owned(), true);
        }
        let Some(piece) = raw.get(end + 2..end + 2 + size) else { break };
        body.extend_from_slice(piece);
        raw = raw.get(end + 4 + size..).unwrap_or_default();
    }
    (String::from_utf8_lossy(&body).into_owned(), false)
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Every file below a folder, in one text: what must never be in any of them is looked for there.
pub(super) fn everything(folder: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.push_str(&everything(&path));
        } else {
            all.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()));
        }
    }
    all
}
