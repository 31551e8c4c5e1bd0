//! Four ways to get the journal wrong. Three live in the disk that it trusts, one in the rule by which it reads lines,
//! so none of them needs a switch in the journal itself.

use std::io;

use super::super::line::{self, Line, LineFault, Tail};
use crate::storage::Storage;
use crate::storage::simulated::SimulatedDisk;
use crate::test_disk::DiskChange;

/// What is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutant {
    None,
    SyncRemoved,
    CutTooMuch,
    ChainUnchecked,
    SyncRetried,
}

impl DiskChange for Mutant {
    fn truncated_size(&self, size: u64) -> u64 {
        match self {
            Self::CutTooMuch => size.saturating_sub(1),
            Self::None | Self::SyncRemoved | Self::ChainUnchecked | Self::SyncRetried => size,
        }
    }

    fn sync(&self, disk: &SimulatedDisk, file: &<SimulatedDisk as Storage>::File) -> io::Result<()> {
        match self {
            Self::SyncRemoved => Ok(()),
            Self::SyncRetried => disk.sync(file).or_else(|_error| disk.sync(file)),
            Self::None | Self::CutTooMuch | Self::ChainUnchecked => disk.sync(file),
        }
    }
}

/// The fourth mutant: it believes every line that looks like one.
pub(super) fn unchecked<'text>(bytes: &'text [u8], _tail: &Tail) -> Result<Line<'text>, LineFault> {
    let text = std::str::from_utf8(bytes).map_err(|_error| LineFault::NotText)?;
    let parts = line::take_apart(text).ok_or(LineFault::Shape)?;
    Ok(Line {
        body: parts.body,
        hash: parts.hash.parse().map_err(|_error| LineFault::Shape)?,
        index: parts.index,
        previous: parts.previous.parse().map_err(|_error| LineFault::Shape)?,
        times: parts.times,
    })
}
