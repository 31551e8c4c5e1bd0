//! `STOP` and `PAUSE` as a person or a command writes them: the presence is the order, the contents only explain it.

use crate::account;
use crate::geometry::layout::Layout;
use crate::geometry::wall_clock::WallClock;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tripwire_fs::file::{self, Draft, FileError, FileMode, Published, Removed};

/// An order that a person may give by a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End everything.
    Stop,
    /// Keep the state and wait.
    Pause,
}

impl Order {
    /// The file that is the order.
    #[must_use]
    pub fn path(self, layout: &Layout) -> PathBuf {
        match self {
            Self::Stop => layout.stop(),
            Self::Pause => layout.pause(),
        }
    }

    /// Gives the order. One that is there already keeps its author's words.
    pub fn give(self, layout: &Layout, note: &Note) -> Result<Given, FileError> {
        let mut draft = Draft::new(&self.path(layout), FileMode::PRIVATE)?;
        draft.write(note.text().as_bytes())?;
        match draft.publish_new()? {
            Published::New => Ok(Given::Now),
            Published::AlreadyThere => Ok(Given::Before),
        }
    }

    /// Takes the order back.
    pub fn withdraw(self, layout: &Layout) -> Result<Removed, FileError> {
        file::remove(&self.path(layout))
    }
}

/// Whether an order is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// It was given now.
    Now,
    /// It stood there before.
    Before,
}

/// Who gave an order, when and why; all may be missing, because `touch` is enough.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Note {
    /// Who.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub who: Option<String>,
    /// When, as it was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl Note {
    /// A full note.
    #[must_use]
    pub fn new(who: &str, at: WallClock, reason: &str) -> Self {
        let some = |text: &str| Some(clean(text)).filter(|text| !text.is_empty());
        Self { who: some(who), at: Some(at.to_string()), reason: some(reason) }
    }

    /// The contents of the file.
    fn text(&self) -> String {
        [("who", &self.who), ("at", &self.at), ("reason", &self.reason)]
            .into_iter()
            .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}: {value}\n")))
            .collect()
    }

    /// Reads what an order's file says. Nothing can go wrong: whatever the file holds, the order is in force. Who gave it is
    /// the account that owns the file; what the file says of it can be anything.
    pub(super) fn read(path: &Path) -> Self {
        let bytes = file::read_bounded(path, NOTE_BYTES_MAX).unwrap_or_default();
        let mut note = Self::default();
        for line in String::from_utf8_lossy(&bytes).lines().map(clean).filter(|line| !line.is_empty()) {
            let (slot, value) = match line.split_once(": ") {
                Some(("who", value)) => (&mut note.who, value.to_owned()),
                Some(("at", value)) => (&mut note.at, value.to_owned()),
                Some(("reason", value)) => (&mut note.reason, value.to_owned()),
                Some(_) | None => (&mut note.reason, line),
            };
            slot.get_or_insert(value);
        }
        note.who = match (account::owner_of(path), note.who) {
            (Some(owner), Some(said)) if said != owner => Some(format!("{owner} (signed as {said})")),
            (Some(owner), _) => Some(owner),
            (None, said) => said,
        };
        note
    }
}

/// One line without control characters, bounded.
fn clean(text: &str) -> String {
    let flat: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(LINE_CHARS_MAX).collect();
    flat.trim().to_owned()
}

/// Most of an order's file that is read.
const NOTE_BYTES_MAX: u64 = 64 * 1024;
/// Most of one line that is kept.
const LINE_CHARS_MAX: usize = 500;
