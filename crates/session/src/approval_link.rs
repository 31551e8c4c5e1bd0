//! A link by which a person who is elsewhere answers one question, a held command or a spent budget: signed, for a while, once.
//!
//! Its signature is all the authority it has, so it is bound to exactly what is asked: the workspace, the session, the command or
//! the budget by its digest. Reading it changes nothing; it is spent by the answer, in the person's own state folder.

use crate::approvals;
use crate::driver::Driver;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;
use tripwire_core::chain::gate::floor::HeldCommand;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_fs::file::{self, Draft, FileError, FileMode, Published};
use tripwire_journal::JournalError;
use tripwire_journal::keys::KeyHome;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::session::SessionId;

/// How long a link can be used.
pub const VALID_FOR: Duration = Duration::from_secs(60 * 60);
/// More letters than any link has.
const TOKEN_BYTES_MAX: usize = 1_024;
/// Spent links that are looked at for old ones, each time one is spent.
const SWEPT_MAX: usize = 1_024;

/// What a link asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalLink {
    /// The digest of the path of the workspace's `.geometry/`.
    pub workspace: Digest,
    /// The session that asks.
    pub session: SessionId,
    /// What is asked, and by what a person names it.
    pub subject: LinkSubject,
    /// When the link ends, in milliseconds since 1970.
    pub ends_ms: u64,
}

/// What a person is asked by a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSubject {
    /// The code of a held command, or `budget-SESSION`.
    pub id: String,
    /// A command with its folder and its workspace, or a budget with its limit, as they were when the question came up.
    pub digest: Digest,
}

impl LinkSubject {
    /// A held command.
    #[must_use]
    pub fn of_command(held: &HeldCommand) -> Self {
        Self { id: held.code.to_string(), digest: held.digest }
    }

    /// The budget of a session, where it is used up.
    #[must_use]
    pub fn of_budget(driver: &Driver) -> Option<Self> {
        approvals::of_budget(driver).map(|approval| Self { id: approval.id, digest: approval.digest })
    }
}

/// Why a link is not one.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// It was not made here, or was changed.
    #[error("this link was not made here, or was changed")]
    NotOurs,
    /// Its time is over.
    #[error("this link has expired")]
    Expired,
    /// It was used before.
    #[error("this link was used before; a link answers once")]
    Spent,
    /// The key cannot be used.
    #[error(transparent)]
    Key(#[from] JournalError),
    /// That it was used cannot be noted, so it is not used.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for LinkError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotOurs | Self::Expired | Self::Spent => "see what waits with `tripwire approvals`".into(),
            Self::Key(error) => error.hint(),
            Self::File(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::NotOurs | Self::Expired | Self::Spent => ExitClass::Refused,
            Self::Key(error) => error.exit_class(),
            Self::File(error) => error.exit_class(),
        }
    }
}

/// Who makes and reads the links of one workspace.
#[derive(Debug)]
pub struct LinkKey {
    seed: [u8; 32],
    workspace: Digest,
    spent: PathBuf,
}

impl LinkKey {
    /// The key of this person for a workspace; it must not lie inside of it.
    ///
    /// # Errors
    /// When it does, or cannot be read.
    pub fn of(home: &KeyHome, layout: &Layout) -> Result<Self, LinkError> {
        let folder = layout.folder();
        // Where the state does not lie in the workspace, neither does the key.
        let guarded = folder.parent().filter(|_| folder.ends_with(".geometry")).unwrap_or(folder);
        let seed = home.link_seed(guarded)?;
        let [keys, _] = home.folders();
        Ok(Self { seed, workspace: Self::digest_of(layout), spent: keys.join("spent-links") })
    }

    /// How a workspace is named in a link: its path is nobody's business there.
    #[must_use]
    pub fn digest_of(layout: &Layout) -> Digest {
        Digest::of(layout.folder().as_os_str().as_encoded_bytes())
    }

    /// The link for a question, as it stands behind the address of the page.
    #[must_use]
    pub fn link(&self, session: &SessionId, asked: &LinkSubject, now: WallClock) -> String {
        let valid_ms = u64::try_from(VALID_FOR.as_millis()).unwrap_or(u64::MAX);
        let ends_ms = now.epoch_ms().saturating_add(valid_ms);
        let body = format!("{}.{session}.{}.{}.{ends_ms}", self.workspace, asked.id, asked.digest);
        let signature = hex(&self.mac(&body).finalize().into_bytes());
        format!("{body}.{signature}")
    }

    /// Reads a link; nothing is changed by it.
    ///
    /// # Errors
    /// When it is not ours, expired, or was used.
    pub fn read(&self, token: &str, now: WallClock) -> Result<ApprovalLink, LinkError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(LinkError::NotOurs);
        }
        let (body, signature) = token.rsplit_once('.').ok_or(LinkError::NotOurs)?;
        let signature = unhex(signature).ok_or(LinkError::NotOurs)?;
        // In a time that does not depend on where they differ.
        self.mac(body).verify_slice(&signature).map_err(|_| LinkError::NotOurs)?;
        let link = parsed(body).filter(|link| link.workspace == self.workspace).ok_or(LinkError::NotOurs)?;
        if now.epoch_ms() >= link.ends_ms {
            return Err(LinkError::Expired);
        }
        if self.mark(token).symlink_metadata().is_ok() {
            return Err(LinkError::Spent);
        }
        Ok(link)
    }

    /// Spends a link that was read. Of two at the same time one is told that it was used before.
    ///
    /// # Errors
    /// When it was used before, or that cannot be noted.
    pub fn spend(&self, token: &str, now: WallClock) -> Result<(), LinkError> {
        file::make_folder(&self.spent)?;
        self.sweep(now);
        let mut draft = Draft::new(&self.mark(token), FileMode::PRIVATE)?;
        draft.write(format!("{now}\n").as_bytes())?;
        match draft.publish_new()? {
            Published::New => Ok(()),
            Published::AlreadyThere => Err(LinkError::Spent),
        }
    }

    /// Marks of links that have expired say nothing any more.
    fn sweep(&self, now: WallClock) {
        let marks = std::fs::read_dir(&self.spent).into_iter().flatten().filter_map(Result::ok);
        for mark in marks.take(SWEPT_MAX) {
            let written = mark.metadata().and_then(|metadata| metadata.modified()).ok();
            let age = written.and_then(|written| {
                let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
                Duration::from_millis(now.epoch_ms()).checked_sub(since)
            });
            if age.is_some_and(|age| age > 2 * VALID_FOR) {
                // Another process may have been quicker.
                std::fs::remove_file(mark.path()).ok();
            }
        }
    }

    fn mark(&self, token: &str) -> PathBuf {
        self.spent.join(Digest::of(token.as_bytes()).to_string())
    }

    fn mac(&self, body: &str) -> Hmac<Sha256> {
        // A shorter key is filled up with zeros by the construction itself; so made, there is no length that could be wrong.
        let mut block = [0_u8; 64];
        block.iter_mut().zip(self.seed).for_each(|(to, from)| *to = from);
        let mut mac = <Hmac<Sha256> as hmac::digest::KeyInit>::new(&block.into());
        mac.update(body.as_bytes());
        mac
    }
}

fn parsed(body: &str) -> Option<ApprovalLink> {
    let mut parts = body.split('.');
    let link = ApprovalLink {
        workspace: parts.next()?.parse().ok()?,
        session: SessionId::parse(parts.next()?).ok()?,
        subject: LinkSubject { id: parts.next()?.to_owned(), digest: parts.next()?.parse().ok()? },
        ends_ms: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(link)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::label::Label;
    use tripwire_core::units::{EventIndex, RunMillis};

    const NOW: WallClock = WallClock::from_epoch_ms(1_772_292_600_000);
    const SESSION: &str = "auto-2026-02-28-153000";

    fn held(command: &str) -> HeldCommand {
        HeldCommand {
            code: Label::cut("K7Q2-9F"),
            digest: Digest::of(command.as_bytes()),
            reason: Label::cut("it would delete data"),
            rule: Label::cut("FLOOR-2"),
            asked: EventIndex::new(4),
            since: RunMillis::new(10),
            answer: None,
        }
    }

    fn layout(folder: &tempfile::TempDir, name: &str) -> Layout {
        let geometry = folder.path().join(name).join(".geometry");
        std::fs::create_dir_all(&geometry).unwrap();
        Layout::at(&geometry)
    }

    fn made() -> (tempfile::TempDir, LinkKey, String) {
        let folder = tempfile::tempdir().unwrap();
        let key = LinkKey::of(&KeyHome::at(folder.path().join("state")), &layout(&folder, "work")).unwrap();
        let token = key.link(&SessionId::parse(SESSION).unwrap(), &LinkSubject::of_command(&held("rm -rf data")), NOW);
        (folder, key, token)
    }

    #[test]
    fn approval_link_is_read_any_number_of_times_and_spent_once() {
        let (_folder, key, token) = made();
        for _ in 0..3 {
            let link = key.read(&token, NOW).unwrap();
            assert_eq!(link.subject, LinkSubject { id: "K7Q2-9F".to_owned(), digest: Digest::of(b"rm -rf data") });
        }
        key.spend(&token, NOW).unwrap();
        assert!(matches!(key.read(&token, NOW), Err(LinkError::Spent)));
        assert!(matches!(key.spend(&token, NOW), Err(LinkError::Spent)));
    }

    #[test]
    fn approval_link_ends_and_any_change_of_it_is_refused() {
        let (folder, key, token) = made();
        let later = WallClock::from_epoch_ms(NOW.epoch_ms() + 3_600_000);
        assert!(matches!(key.read(&token, later), Err(LinkError::Expired)));
        let last_moment = WallClock::from_epoch_ms(later.epoch_ms() - 1);
        assert!(key.read(&token, last_moment).is_ok());
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(matches!(key.read(&changed, NOW), Err(LinkError::NotOurs)), "{changed}");
        }
        let other = layout(&folder, "other");
        let home = KeyHome::at(folder.path().join("state"));
        assert!(matches!(LinkKey::of(&home, &other).unwrap().read(&token, NOW), Err(LinkError::NotOurs)), "elsewhere");
        let stranger = KeyHome::at(folder.path().join("another-state"));
        let stranger = LinkKey::of(&stranger, &layout(&folder, "work")).unwrap();
        assert!(matches!(stranger.read(&token, NOW), Err(LinkError::NotOurs)), "another person");
        for broken in ["", ".", "a.b", &"x".repeat(5_000), &format!("{token}."), &format!("{token}00")] {
            assert!(matches!(key.read(broken, NOW), Err(LinkError::NotOurs)), "{broken}");
        }
    }

    #[test]
    fn approval_link_key_inside_the_workspace_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = KeyHome::at(folder.path().join("work/state"));
        assert!(matches!(LinkKey::of(&home, &layout(&folder, "work")), Err(LinkError::Key(_))));
    }
}
