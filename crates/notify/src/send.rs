//! The ways by which a message reaches a person: a command, a signed webhook, ntfy, a Slack-compatible webhook, the desktop.

use crate::recent::{Passage, Recent};
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tripwire_core::policy::{Notify, Switch};
use tripwire_fs::file;
use tripwire_session::notify::{self, Notice};
use tripwire_workspace::clock;
use ureq::Agent;

/// The longest that one way may take.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The longest address or key.
const VALUE_BYTES_MAX: u64 = 8 << 10;

/// What the sending process is told.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The ways.
    pub ways: Ways,
    /// The message.
    pub notice: Notice,
    /// The person's state folder, where it is noted what was sent.
    pub state: Option<PathBuf>,
}

/// The ways that a policy names; an empty text is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ways {
    command: String,
    webhook: String,
    webhook_key: String,
    ntfy: String,
    slack: String,
    desktop: Switch,
}

/// Why a way did not work.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The command could not be run.
    #[error("the command: {0}")]
    Command(#[from] std::io::Error),
    /// An address or a key is not where the setting says.
    #[error("`{0}` names a variable or a file that cannot be read")]
    NoValue(String),
    /// A server could not be reached, or refused.
    #[error("{way}: {error}")]
    Http {
        /// The setting.
        way: &'static str,
        /// Why.
        error: Box<ureq::Error>,
    },
    /// A webhook without a key.
    #[error("`notify.webhook` needs `notify.webhook_key`: an unsigned message could come from anybody")]
    NoKey,
}

impl Ways {
    /// The ways that a policy names, if it names any.
    #[must_use]
    pub fn of(policy: &Notify) -> Option<Self> {
        let ways = Self {
            command: policy.command.as_str().trim().to_owned(),
            webhook: policy.webhook.as_str().trim().to_owned(),
            webhook_key: policy.webhook_key.as_str().trim().to_owned(),
            ntfy: policy.ntfy.as_str().trim().to_owned(),
            slack: policy.slack.as_str().trim().to_owned(),
            desktop: policy.desktop,
        };
        let is_any = [&ways.command, &ways.webhook, &ways.ntfy, &ways.slack].iter().any(|way| !way.is_empty());
        (is_any || ways.desktop == Switch::On).then_some(ways)
    }

    /// Sends a message every way; each that fails is told, and keeps none of the others back.
    #[must_use]
    pub fn send(&self, notice: &Notice) -> Vec<SendError> {
        let mut failed = Vec::new();
        if !self.command.is_empty() {
            failed.extend(self.run_command(notice).err());
        }
        if !self.webhook.is_empty() {
            failed.extend(self.post_webhook(notice).err());
        }
        if !self.ntfy.is_empty() {
            failed.extend(self.post_ntfy(notice).err());
        }
        if !self.slack.is_empty() {
            failed.extend(self.post_slack(notice).err());
        }
        if self.desktop == Switch::On {
            failed.extend(show(notice).err());
        }
        failed
    }

    fn run_command(&self, notice: &Notice) -> Result<(), SendError> {
        notify::run(&self.command, &notice.with_link(), notify::TIME_MAX)?;
        Ok(())
    }

    /// The body is signed with its time, so that nobody can send it again later.
    fn post_webhook(&self, notice: &Notice) -> Result<(), SendError> {
        if self.webhook_key.is_empty() {
            return Err(SendError::NoKey);
        }
        let (url, key) = (value(&self.webhook)?, value(&self.webhook_key)?);
        let at_ms = clock::now().epoch_ms();
        let body = json!({
            "kind": notice.kind.name(), "session": notice.session, "text": notice.text, "at": clock::now().to_string(),
            "link": notice.link,
        });
        let body = body.to_string();
        let headers = [
            ("content-type", "application/json".to_owned()),
            ("x-tripwire-timestamp", at_ms.to_string()),
            ("x-tripwire-signature", format!("sha256={}", signature(key.as_bytes(), at_ms, &body))),
        ];
        post("notify.webhook", &url, &headers, &body)
    }

    fn post_ntfy(&self, notice: &Notice) -> Result<(), SendError> {
        let headers = [("title", format!("tripwire: {}", notice.kind.name())), ("tags", "rotating_light".to_owned())];
        // What opens when the message is tapped: the page that asks, never the answer itself.
        let click = notice.link.iter().map(|link| ("click", link.clone()));
        let headers: Vec<_> = headers.into_iter().chain(click).collect();
        post("notify.ntfy", &value(&self.ntfy)?, &headers, &notice.text)
    }

    fn post_slack(&self, notice: &Notice) -> Result<(), SendError> {
        let headers = [("content-type", "application/json".to_owned())];
        post("notify.slack", &value(&self.slack)?, &headers, &json!({"text": notice.with_link()}).to_string())
    }
}

impl Order {
    /// Sends the message, unless it was sent a moment ago or too many were.
    #[must_use]
    pub fn carry_out(mut self) -> Vec<SendError> {
        let recent = self.state.as_deref().map(|state| Recent::of_session(state, &self.notice.session));
        let now_ms = clock::now().epoch_ms();
        match recent.map_or(Passage::Send { left_out: 0 }, |recent| recent.pass(&self.notice.text, now_ms)) {
            Passage::Send { left_out: 0 } => {}
            Passage::Send { left_out } => {
                self.notice.text.push_str(&format!(" ({left_out} messages before this one were left out)"));
            }
            Passage::Same | Passage::TooMany => return Vec::new(),
        }
        self.ways.send(&self.notice)
    }
}

/// The HMAC-SHA-256 of the time, a full stop and the body, in hexadecimal digits.
fn signature(key: &[u8], at_ms: u64, body: &str) -> String {
    // A key of any length is one for this construction, so there is nothing to fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    mac.update(format!("{at_ms}.{body}").as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value that stands in the policy itself, in a variable, or in a file.
fn value(text: &str) -> Result<String, SendError> {
    let none = || SendError::NoValue(text.to_owned());
    if let Some(name) = text.strip_prefix("env:") {
        return std::env::var(name).map_err(|_| none());
    }
    let Some(path) = text.strip_prefix("file:") else { return Ok(text.to_owned()) };
    let bytes = file::read_bounded(&home_in(path), VALUE_BYTES_MAX).map_err(|_| none())?;
    Ok(String::from_utf8(bytes).map_err(|_| none())?.trim().to_owned())
}

/// A path whose `~` is the person's home.
fn home_in(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(path),
    }
}

fn post(way: &'static str, url: &str, headers: &[(&str, String)], body: &str) -> Result<(), SendError> {
    let agent: Agent = Agent::config_builder().timeout_global(Some(TIME_MAX)).max_redirects(0).build().into();
    let request = headers.iter().fold(agent.post(url), |request, (name, value)| request.header(*name, value.as_str()));
    request.send(body).map(drop).map_err(|error| SendError::Http { way, error: Box::new(error) })
}

/// Shows a message on the desktop.
fn show(notice: &Notice) -> Result<(), SendError> {
    notify::run("notify-send --app-name=tripwire tripwire", &notice.with_link(), notify::TIME_MAX)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_one_of_the_construction() {
        // HMAC-SHA-256 of "1700000000000.{}" under "key", as `openssl dgst -sha256 -hmac key` prints it.
        let known = "36a72f4525d3323bd0f238fe82098164fb77b1e42288ff8e07b074c686178ad3";
        assert_eq!(signature(b"key", 1_700_000_000_000, "{}"), known);
        assert_ne!(signature(b"key", 1_700_000_000_001, "{}"), known, "another time");
        assert_ne!(signature(b"kez", 1_700_000_000_000, "{}"), known, "another key");
    }

    #[test]
    fn a_value_stands_in_the_policy_or_in_a_file_and_one_that_is_not_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("url");
        std::fs::write(&path, "https://chat.example/x\n").unwrap();
        assert_eq!(value(&format!("file:{}", path.display())).unwrap(), "https://chat.example/x");
        assert_eq!(value("https://a.example").unwrap(), "https://a.example");
        assert!(value("file:/no/such").is_err() && value("env:TRIPWIRE_NO_SUCH").is_err());
    }
}
