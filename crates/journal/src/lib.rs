//! The journal: the truth of a session, as an append-only file that survives crashes and shows every change.
//!
//! An append is one write under the session's lock, synced before anything with consequences. [`Journal::open`] reads
//! `HEAD` and the bytes behind it, never the whole journal; [`verify::verify`] reads everything. A torn tail is cut and
//! the next record says so; anything else that does not verify is damage and is refused with the first bad index.
//! Several processes may append to one session: each looks at what the others wrote when it has
//! taken the lock.
//!
//! ```
//! use std::borrow::Cow;
//! use std::collections::BTreeMap;
//! use tripwire_journal::storage::Disk;
//! use tripwire_journal::verify::{Trust, verify};
//! use tripwire_journal::wall_clock::WallClock;
//! use tripwire_journal::{Batch, Durability, Entry, Journal, Options, SessionId, SessionPaths};
//!
//! let folder = tempfile::tempdir()?;
//! let session = SessionId::first(WallClock::from_epoch_ms(0));
//! let paths = SessionPaths::new(folder.path(), &session);
//! let mut journal = Journal::open(Disk, paths, Options::default())?;
//! let entry = Entry { body: Cow::Borrowed(r#"{"n":1}"#), durations_ms: BTreeMap::new(), wall_ms: 5 };
//! journal.append(&Batch { entries: vec![entry], durability: Durability::Synced, after: None })?;
//!
//! let report = verify(&Disk, journal.paths(), &Trust::default())?;
//! assert!(report.holds() && report.records == 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
pub mod blob;
pub mod bundle;
pub mod checkpoint;
pub mod error;
mod follow;
mod grown;
mod head;
mod journal;
pub mod keys;
mod limits;
pub mod line;
mod look;
mod merkle;
pub mod names;
pub mod note;
mod paths;
pub mod payload;
mod read;
mod recover;
mod restore;
mod segment;
pub mod session_id;
pub mod storage;
mod turn;
pub mod verify;
pub mod wall_clock;

pub use batch::{Ack, Append, Batch, Durability, Entry, Fenced, Options};
pub use error::{Damage, DamageCause, JournalError};
pub use follow::Follower;
pub use head::Place;
pub use journal::Journal;
pub use line::{Cut, LineFault, Tail, Times};
pub use paths::SessionPaths;
pub use read::{Page, Record};
pub use restore::restore;
pub use session_id::SessionId;
pub use turn::Turn;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod test_disk;
