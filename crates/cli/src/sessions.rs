//! Sessions at a glance, as the command line prints them: their colour and their exit code.

use crate::exit::Exit;
use crate::print::style::Tone;
use std::path::{Path, PathBuf};
use tripwire_console::summary;
pub(crate) use tripwire_console::summary::{SessionSummary, Standing, of_workspace};

/// What a standing is about, for colour.
pub(crate) const fn tone(standing: &Standing) -> Option<Tone> {
    match standing {
        Standing::Running | Standing::Active => Some(Tone::Good),
        Standing::Held(_) => Some(Tone::Warning),
        Standing::Stopped(_) | Standing::Broken(_) => Some(Tone::Bad),
        Standing::Idle | Standing::Ended(_) | Standing::Unread => None,
    }
}

/// The exit code that a standing asks for.
pub(crate) const fn exit(standing: &Standing) -> Exit {
    match standing {
        Standing::Running
        | Standing::Active
        | Standing::Idle
        | Standing::Ended(_)
        | Standing::Stopped(_)
        | Standing::Unread => Exit::Done,
        Standing::Held(_) => Exit::Held,
        Standing::Broken(_) => Exit::DoesNotHold,
    }
}

/// A path as people write it: the home as `~`.
pub(crate) fn short_path(path: &Path) -> String {
    summary::short_path(path, std::env::var_os("HOME").map(PathBuf::from).as_deref())
}
