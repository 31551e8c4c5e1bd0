//! What a person is told after a decision: on stderr, and by the ways that the policy names.
//!
//! Nothing here holds up a decision: this very program is started once more as a process of its own, which gets the message on its
//! standard input, sends it every way within a bound, and ends.

use crate::print;
use crate::workspace;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use tripwire_core::policy::Policy;
use tripwire_notify::{Order, Ways};
use tripwire_session::approval_link::{LinkKey, LinkSubject};
use tripwire_session::driver::{Driver, StepOutcome};
use tripwire_session::notify::{self, Notice, NoticeKind};
use tripwire_workspace::clock;

/// Notifies a person: on stderr, and by the policy's ways, for which the decision does not wait.
pub(crate) fn notify(driver: &Driver, taken: &StepOutcome) {
    notify_with(driver, taken, print::say);
}

/// The same for a caller that keeps what it has to say.
pub(crate) fn notify_with(driver: &Driver, taken: &StepOutcome, say: impl Fn(&str)) {
    for notice in &taken.notices {
        say(&format!("note: {notice}"));
    }
    if let Some(call) = notify::held_call(taken).filter(|_| !taken.notices.is_empty()) {
        say(&format!("note: the held command: `{call}`"));
    }
    let Some(ways) = Ways::of(&driver.policy().notify) else { return };
    for mut notice in notify::notices(driver.session().as_str(), taken) {
        notice.link = link(driver, &notice, &say);
        start(&ways, notice, &say);
    }
}

/// The address at which a person answers what a message is about, a held command or a spent budget, where the policy says under
/// which address the page is exposed.
fn link(driver: &Driver, notice: &Notice, say: &dyn Fn(&str)) -> Option<String> {
    let base = driver.policy().notify.link_base.as_str().trim().trim_end_matches('/');
    if base.is_empty() {
        return None;
    }
    let view = driver.view();
    let held = view.waiting.iter().find(|held| held.answer.is_none() && notice.text.contains(held.code.as_str()));
    let asked = match (held, notice.kind) {
        (Some(held), _) => LinkSubject::of_command(held),
        (None, NoticeKind::Held) => LinkSubject::of_budget(driver)?,
        (None, NoticeKind::Stopped | NoticeKind::Asked | NoticeKind::Finished) => return None,
    };
    match LinkKey::of(&workspace::key_home()?, driver.layout()) {
        Ok(key) => Some(format!("{base}/link/{}", key.link(driver.session(), &asked, clock::now()))),
        Err(error) => {
            say(&format!("note: the message carries no link: {error}"));
            None
        }
    }
}

/// Tells that a run has ended.
pub(crate) fn finished(policy: &Policy, session: &str, text: &str) {
    let Some(ways) = Ways::of(&policy.notify) else { return };
    start(&ways, Notice::new(NoticeKind::Finished, session, &format!("tripwire {session}: {text}")), &print::say);
}

/// Starts the process that sends a message.
fn start(ways: &Ways, notice: Notice, say: &dyn Fn(&str)) {
    let order = Order { ways: ways.clone(), notice, state: workspace::state_home() };
    let started = std::env::current_exe().and_then(|program| {
        let text = serde_json::to_vec(&order)?;
        let mut child = Command::new(program)
            .arg(NOTIFY_VERB)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        // It fits into the pipe, so nobody waits for its reader.
        child.stdin.take().map_or(Ok(()), |mut input| input.write_all(&text))
    });
    if let Err(error) = started {
        say(&format!("note: the notification failed: {error}"));
    }
}

/// The hidden verb that sends a message and waits until it is sent.
pub(crate) const NOTIFY_VERB: &str = "notify-and-wait";
