//! A real terminal for a test: a pty with the view on it, and what an emulator shows of it.

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::tcgetattr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The longest that anything here may take on a loaded machine.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A program on a terminal of its own.
pub(crate) struct PtyScreen {
    pty: Arc<pty_process::blocking::Pty>,
    /// The other end stays open, so that what the program left there can be looked at.
    other_end: OwnedFd,
    child: Child,
    emulator: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
    before: String,
}

/// What a terminal was told to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TerminalModes {
    /// What `stty -g` shows.
    pub(crate) settings: String,
    /// What is switched on: the other screen, a hidden cursor, marks around pasted text, the mouse.
    pub(crate) on: Vec<&'static str>,
}

impl PtyScreen {
    /// Starts a program on a new terminal of this size.
    pub(crate) fn start(command: Command, columns: u16, rows: u16) -> Self {
        let (pty, pts) = pty_process::blocking::open().unwrap();
        pty.resize(pty_process::Size::new(rows, columns)).unwrap();
        let name = rustix::pty::ptsname(&pty, Vec::new()).unwrap();
        let other_end = open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let before = format!("{:?}", tcgetattr(&other_end).unwrap());
        let child = pty_process::blocking::Command::from(command).spawn(pts).unwrap();
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let raw: Arc<Mutex<Vec<u8>>> = Arc::default();
        let pty = Arc::new(pty);
        let (reader, shown, kept) = (Arc::clone(&pty), Arc::clone(&emulator), Arc::clone(&raw));
        std::thread::spawn(move || {
            let mut room = [0; 16 * 1_024];
            while let Ok(count) = (&*reader).read(&mut room) {
                if count == 0 {
                    return;
                }
                shown.lock().unwrap().process(&room[..count]);
                kept.lock().unwrap().extend_from_slice(&room[..count]);
            }
        });
        Self { pty, other_end, child, emulator, raw, before }
    }

    /// The terminal's settings before the program began.
    pub(crate) fn before(&self) -> TerminalModes {
        TerminalModes { settings: self.before.clone(), on: Vec::new() }
    }

    /// What the terminal is told to do now; the settings are what `stty -g` shows.
    pub(crate) fn modes(&self) -> TerminalModes {
        let emulator = self.emulator.lock().unwrap();
        let screen = emulator.screen();
        let modes = [
            ("other screen", screen.alternate_screen()),
            ("hidden cursor", screen.hide_cursor()),
            ("paste marks", screen.bracketed_paste()),
            ("mouse", screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None),
        ];
        TerminalModes {
            settings: format!("{:?}", tcgetattr(&self.other_end).unwrap()),
            on: modes.into_iter().filter_map(|(name, is_on)| is_on.then_some(name)).collect(),
        }
    }

    /// What a person sees.
    pub(crate) fn contents(&self) -> String {
        self.emulator.lock().unwrap().screen().contents()
    }

    /// Every byte that was written to the terminal.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw.lock().unwrap()).into_owned()
    }

    pub(crate) fn press(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Closes a text with Esc, and waits until that was seen: what follows at once would be taken for a key with Alt.
    pub(crate) fn close(&self) {
        self.wait_for("Esc closes");
        self.press("\u{1b}");
        self.wait_until("the lists alone", |shown| !shown.contains("Esc closes"));
    }

    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |shown| shown.contains(text));
    }

    pub(crate) fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !holds(&self.contents()) {
            assert!(begun.elapsed() < TIME_MAX, "no `{what}` on the screen:\n{}", self.contents());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.emulator.lock().unwrap().screen_mut().set_size(rows, columns);
        self.pty.resize(pty_process::Size::new(rows, columns)).unwrap();
    }

    /// The process that was started.
    pub(crate) fn keeper(&self) -> u32 {
        self.child.id()
    }

    /// The process that draws: the only child of the first.
    pub(crate) fn drawer(&self) -> u32 {
        let own = self.child.id().to_string();
        let is_child = |id: &u32| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, rest)| rest.split_whitespace().nth(1) == Some(&own))
        };
        let processes =
            fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let children: Vec<u32> = processes.filter(is_child).collect();
        assert_eq!(children.len(), 1, "{children:?}");
        children[0]
    }

    /// Waits until the program has ended and everything that it wrote was seen.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < TIME_MAX, "it does not end:\n{}", self.contents());
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut seen = usize::MAX;
        while seen != self.raw.lock().unwrap().len() {
            seen = self.raw.lock().unwrap().len();
            std::thread::sleep(Duration::from_millis(100));
        }
        status
    }

    pub(crate) fn kill(&self, process: u32, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(process).unwrap()).unwrap(), signal).unwrap();
    }
}

impl Drop for PtyScreen {
    fn drop(&mut self) {
        // A test that failed leaves no view behind: the one that draws ends with the one above it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The processor time that a process has used, in clock ticks.
pub(crate) fn ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}
