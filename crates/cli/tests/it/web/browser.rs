//! A real headless Chromium, driven over the DevTools protocol through a pair of pipes: no port, no other program.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything in the browser may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A browser with one page.
pub(super) struct Browser {
    child: Child,
    input: ChildStdin,
    heard: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// Errors, warnings and violations that the page reported.
    pub(super) complaints: Vec<String>,
    _profile: TempDir,
}

/// The program, if this machine has it; a run that demands it fails without.
pub(super) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        assert!(std::env::var_os("TRIPWIRE_BROWSER").is_none(), "no chromium here, and this run demands it");
        tripwire_testing::skip("no chromium here: the page is not tried in a browser");
    }
    found
}

impl Browser {
    pub(super) fn start(program: &Path) -> Self {
        let profile = tripwire_testing::folder();
        // The shell moves our two pipes to the descriptors 3 and 4, where the browser expects them.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--remote-debugging-pipe",
            ])
            .args(["--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, heard) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while output.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                bytes.pop();
                if let Ok(message) = serde_json::from_slice(&bytes)
                    && sender.send(message).is_err()
                {
                    return;
                }
                bytes.clear();
            }
        });
        let mut browser =
            Self { child, input, heard, next: 0, session: None, complaints: Vec::new(), _profile: profile };
        browser.attach();
        browser
    }

    /// Opens a page of its own and listens to what it complains about.
    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let wanted = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call("Target.attachToTarget", wanted);
        self.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Audits"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Calls a method and waits for its answer.
    pub(super) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let heard = self.heard.recv_timeout(left).unwrap_or_else(|error| panic!("{method}: {error}"));
            if heard["id"] == id {
                assert!(heard["error"].is_null(), "{method}: {heard}");
                return heard["result"].clone();
            }
            self.note(&heard);
        }
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.complaints.push(params["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if params["type"] == "error" => self.complaints.push(params["args"].to_string()),
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                self.complaints.push(params["entry"].to_string())
            }
            "Audits.issueAdded" if params["issue"]["code"] == "ContentSecurityPolicyIssue" => {
                self.complaints.push(params["issue"].to_string())
            }
            _ => {}
        }
    }

    pub(super) fn size(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 700});
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    pub(super) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
    }

    /// What the browser's own tracing saw while something was done.
    pub(super) fn traced(&mut self, categories: &[&str], act: impl FnOnce(&mut Self)) -> Vec<Value> {
        let config = json!({"includedCategories": categories, "excludedCategories": ["*"]});
        self.call("Tracing.start", json!({"transferMode": "ReportEvents", "traceConfig": config}));
        act(self);
        self.call("Tracing.end", json!({}));
        let mut events = Vec::new();
        loop {
            let heard = self.heard.recv_timeout(PATIENCE).expect("the end of the trace");
            match heard["method"].as_str() {
                Some("Tracing.dataCollected") => events.extend(heard["params"]["value"].as_array().unwrap().clone()),
                Some("Tracing.tracingComplete") => return events,
                _ => self.note(&heard),
            }
        }
    }

    /// What a script says.
    pub(super) fn ask(&mut self, script: &str) -> Value {
        let wanted = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", wanted);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until a script says yes.
    pub(super) fn until(&mut self, script: &str) {
        let until = Instant::now() + PATIENCE;
        let guarded = format!("(() => {{ try {{ return Boolean({script}); }} catch {{ return false; }} }})()");
        while self.ask(&guarded) != Value::Bool(true) {
            if Instant::now() > until {
                let text = self.ask("document.body.innerText");
                panic!("never: {script}\ncomplaints: {:?}\n{text}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(15));
        }
    }

    /// Presses a key down and lets it go.
    pub(super) fn key(&mut self, key: &str) {
        self.key_event("keyDown", key);
        self.key_event("keyUp", key);
    }

    pub(super) fn key_event(&mut self, kind: &str, key: &str) {
        let (code, number, text) = match key {
            "Enter" => ("Enter", 13, "\r"),
            "Escape" => ("Escape", 27, ""),
            "Tab" => ("Tab", 9, ""),
            " " => ("Space", 32, " "),
            letter => (letter, 0, letter),
        };
        let mut event = json!({"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number});
        if kind == "keyDown" && !text.is_empty() {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", event);
    }

    pub(super) fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Presses the mouse on an element for so long.
    pub(super) fn press(&mut self, selector: &str, hold: Duration) {
        let place = self.ask(&format!(
            "(() => {{ const box = document.querySelector({selector:?}).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        let mouse = |kind: &str| json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
        self.call("Input.dispatchMouseEvent", mouse("mouseMoved"));
        self.call("Input.dispatchMouseEvent", mouse("mousePressed"));
        std::thread::sleep(hold);
        self.call("Input.dispatchMouseEvent", mouse("mouseReleased"));
    }

    /// Keeps a picture where `TRIPWIRE_SCREENSHOTS` names a folder.
    pub(super) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("TRIPWIRE_SCREENSHOTS").map(PathBuf::from) else { return };
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = decoded(shot["data"].as_str().unwrap());
        std::fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let closing = json!({"id": 0, "method": "Browser.close"});
        self.input.write_all(format!("{closing}\0").as_bytes()).ok();
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until && self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Base64, as the protocol carries pictures.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let Some(value) = LETTERS.iter().position(|known| *known == letter) else { continue };
        bits = (bits << 6) | u32::try_from(value).unwrap();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap());
        }
    }
    bytes
}
