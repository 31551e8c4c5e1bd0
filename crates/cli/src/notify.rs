//! What a person is told after a decision: on stderr, and by the command that the policy names.

use crate::print;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use tripwire_session::driver::{Driver, StepOutcome};
use tripwire_session::notify;

/// Notifies a person: on stderr, and by the policy's command, for which the decision does not wait.
pub(crate) fn notify(driver: &Driver, taken: &StepOutcome) {
    notify_with(driver, taken, print::say);
}

/// The same for a caller that keeps what it has to say.
pub(crate) fn notify_with(driver: &Driver, taken: &StepOutcome, say: impl Fn(&str)) {
    for notice in &taken.notices {
        say(&format!("note: {notice}"));
    }
    let command = driver.policy().notify.command.as_str();
    if command.trim().is_empty() {
        return;
    }
    for message in notify::messages(driver.session().as_str(), taken) {
        // This very program waits for the command and ends it in time, so that the decision need not.
        let started = std::env::current_exe().and_then(|program| {
            Command::new(program)
                .args([NOTIFY_VERB, "--", command, &message])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
        });
        if let Err(error) = started {
            say(&format!("note: the command `{command}` could not be started: {error}"));
        }
    }
}

/// The hidden verb that waits for a notification's command.
pub(crate) const NOTIFY_VERB: &str = "notify-and-wait";
