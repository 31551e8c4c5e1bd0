//! Telling a person: the frozen policy's `notify.command`, run with the message as its last argument.
//!
//! The command never holds up a decision: the process that decided starts a process that waits for it and ends it after
//! [`TIME_MAX`]. Its environment is cleaned, its output thrown away, and what it does with the message is its own affair.

use crate::driver::StepOutcome;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tripwire_core::decision::Decision;
use tripwire_core::effect::Effect;
use tripwire_core::enforcement::EnforcementError;
use tripwire_core::label;

/// The longest that a command may run.
pub const TIME_MAX: Duration = Duration::from_secs(5);
/// The longest message, in characters.
const MESSAGE_CHARS_MAX: usize = 1_000;
/// As much of a call as a message names.
const CALL_BYTES_MAX: usize = 300;
/// How often a running command is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What a command needs to reach a person's desktop or mail, and nothing else.
const KEPT: [&str; 8] =
    ["PATH", "HOME", "LANG", "USER", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

/// Something that a person is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// What it is about.
    pub kind: NoticeKind,
    /// The session.
    pub session: String,
    /// The message.
    pub text: String,
    /// The address at which a person answers, where there is one.
    #[serde(default)]
    pub link: Option<String>,
}

/// What a person is told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoticeKind {
    /// The session is held.
    Held,
    /// It is stopped.
    Stopped,
    /// A call waits for an answer, or something else that a person should know.
    Asked,
    /// A run has ended.
    Finished,
}

impl NoticeKind {
    /// Its name for people and programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Stopped => "stopped",
            Self::Asked => "asked",
            Self::Finished => "finished",
        }
    }
}

impl Notice {
    /// A message about a session.
    #[must_use]
    pub fn new(kind: NoticeKind, session: &str, text: &str) -> Self {
        let text = text.chars().take(MESSAGE_CHARS_MAX).collect();
        Self { kind, session: session.to_owned(), text, link: None }
    }

    /// The message, and behind it the address at which a person answers.
    #[must_use]
    pub fn with_link(&self) -> String {
        match &self.link {
            Some(link) => format!("{} (answer: {link} )", self.text),
            None => self.text.clone(),
        }
    }
}

/// What a turn has to tell a person: one message for each decision that holds, stops or notifies.
#[must_use]
pub fn notices(session: &str, taken: &StepOutcome) -> Vec<Notice> {
    let before = taken.before.iter().filter_map(|decision| notice(session, decision, None));
    before.chain(notice(session, &taken.decision, held_call(taken).as_deref())).collect()
}

/// The call that waits for a person's word, as it was journaled.
#[must_use]
pub fn held_call(taken: &StepOutcome) -> Option<Cow<'_, str>> {
    match (&taken.decision.safety.error, taken.what.action()) {
        (Some(EnforcementError::FloorHeld(_)), Some(action)) => Some(action.named()),
        (Some(_) | None, _) => None,
    }
}

fn notice(session: &str, decision: &Decision, call: Option<&str>) -> Option<Notice> {
    let told: Vec<(NoticeKind, &str)> = decision
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Hold(reason) => Some((NoticeKind::Held, reason.explain())),
            Effect::Stop(reason) => Some((NoticeKind::Stopped, reason.explain())),
            Effect::Notify(text) => Some((NoticeKind::Asked, text.as_str())),
            Effect::Kill
            | Effect::Inject(_)
            | Effect::Prompt(_)
            | Effect::Compact
            | Effect::WarnContext
            | Effect::AskAdvisor(_)
            | Effect::SwitchEngine(_)
            | Effect::WriteReport(_)
            | Effect::EndIteration(_)
            | Effect::WakeAt(_) => None,
        })
        .collect();
    let (kind, _) = *told.first()?;
    let words: Vec<&str> = told.iter().map(|(_, words)| *words).collect();
    let call = call.map(|call| format!("; the command: `{}`", label::cut(call, CALL_BYTES_MAX))).unwrap_or_default();
    let text = format!("tripwire {session}: {}{call} (`tripwire why {}`)", words.join("; "), decision.i.get());
    Some(Notice::new(kind, session, &text))
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotifyEnd {
    /// By itself.
    ByItself,
    /// It was killed, with everything that it started and that stayed in its process group.
    Killed,
}

/// Runs a command to its end or to the limit.
///
/// # Errors
/// When it is empty or cannot be started.
pub fn run(command: &str, message: &str, limit: Duration) -> io::Result<NotifyEnd> {
    let mut words = command.split_whitespace();
    let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
    let kept = KEPT.into_iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
    let mut child = Command::new(program)
        .args(words)
        .arg(message)
        .env_clear()
        .envs(kept)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if child.try_wait()?.is_some() {
            return Ok(NotifyEnd::ByItself);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        // It may have ended by itself a moment ago; then there is nothing to kill, and waiting says so.
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    }
    child.wait()?;
    Ok(NotifyEnd::Killed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    use tripwire_testing::TestDir;

    /// A script by its shell: a file that was just written cannot be executed while a child that another test forked has it open.
    fn script(dir: &TestDir, text: &str) -> String {
        let path = dir.path().join("tell");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        format!("/bin/sh {}", path.display())
    }

    #[test]
    fn the_message_is_the_last_argument_whatever_is_in_it() {
        let dir = TestDir::new();
        let out = dir.path().join("out");
        let command = format!("{} {}", script(&dir, "printf '%s' \"$3\" > \"$1\""), out.display());
        let message = "held; $(touch x) `id` \"quoted\"";
        assert_eq!(run(&format!("{command} two"), message, TIME_MAX).unwrap(), NotifyEnd::ByItself);
        assert_eq!(std::fs::read_to_string(out).unwrap(), message);
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_with_what_it_started() {
        let dir = TestDir::new();
        let begun = Instant::now();
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let command = script(&dir, &format!("sleep 60 > {} & sleep 60", pipe.display()));
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut reader = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(pipe).unwrap();
        assert_eq!(run(&command, "m", Duration::from_millis(500)).unwrap(), NotifyEnd::Killed);
        // The pipe ends with the last process that has it open.
        while reader.read(&mut [0]).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "its child did not go with it");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    #[test]
    fn nothing_to_run_and_nothing_there_are_errors() {
        assert!(run("  ", "m", TIME_MAX).is_err());
        assert!(run("/nonexistent/tell", "m", TIME_MAX).is_err());
    }
}
