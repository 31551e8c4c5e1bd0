//! The proof behind a session: its decisions taken again and, for our own loop, its transcript made again without model or
//! tools.

use crate::error::Problem;
use serde_json::{Value, json};
use tripwire_core::counted::counted;
use tripwire_core::record::parity::CountedDigest;
use tripwire_journal::Journal;
use tripwire_journal::storage::Disk;
use tripwire_session::driver::open_existing;
use tripwire_session::replay::{self, Replayed};
use tripwire_session::transcript::{self, Compared, FileState};
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// Decisions and transcript of a session, both recomputed.
#[derive(Debug)]
pub(crate) struct AgentParity {
    replayed: Replayed,
    compared: Option<Compared>,
}

impl AgentParity {
    /// Runs a session of our own loop again.
    pub(crate) fn of(workspace: &Workspace, session: &str) -> Result<Self, Problem> {
        let session = SessionId::parse(session)?;
        let journal = open_existing(workspace.layout(), &session)?;
        let wrong = |error| Problem::in_file(format!("`{session}`"), error);
        let replayed = replay::session(&journal).map_err(wrong)?;
        Ok(Self { replayed, compared: compare(&journal, workspace.layout(), &session)? })
    }

    /// Both in one line.
    pub(crate) fn words(&self) -> String {
        let line = parity_line(&self.replayed.recomputed.events, &self.replayed.recomputed.decisions);
        let equal = if self.replayed.is_equal() { "equal" } else { "NOT EQUAL" };
        match &self.compared {
            Some(compared) => format!("{line} · {equal} · {}", in_words(compared)),
            None => format!("{line} · {equal}"),
        }
    }

    /// Both as JSON.
    pub(crate) fn json(&self) -> Value {
        let recomputed = &self.replayed.recomputed;
        json!({
            "events": recomputed.events.count, "eventsSha256": recomputed.events.sha256.to_string(),
            "decisions": recomputed.decisions.count, "decisionsSha256": recomputed.decisions.sha256.to_string(),
            "equal": self.replayed.is_equal(), "transcript": self.compared.as_ref().map(as_json),
        })
    }
}

/// Runs the loop again, where the session is one of ours.
pub(crate) fn compare(
    journal: &Journal<Disk>,
    layout: &Layout,
    session: &SessionId,
) -> Result<Option<Compared>, Problem> {
    Ok(transcript::compare(journal, layout, session)?)
}

/// Whether nothing speaks against the transcript; one that was not kept differs from nothing.
pub(crate) const fn holds(compared: &Compared) -> bool {
    match compared.file {
        FileState::Equal | FileState::Missing => true,
        FileState::Differs(_) => false,
    }
}

/// The comparison in words.
pub(crate) fn in_words(compared: &Compared) -> String {
    let Compared { lines, sha256, file } = compared;
    let how = match file {
        FileState::Equal => "equal".to_owned(),
        FileState::Missing => "no file to compare with".to_owned(),
        FileState::Differs(line) => format!("differs first in line {line}"),
    };
    format!("transcript {} sha256 {sha256} · {how}", counted(*lines, "line"))
}

/// The comparison as JSON.
pub(crate) fn as_json(compared: &Compared) -> Value {
    let difference = match compared.file {
        FileState::Differs(line) => Some(line),
        FileState::Equal | FileState::Missing => None,
    };
    json!({
        "lines": compared.lines, "sha256": compared.sha256.to_string(),
        "equal": compared.file == FileState::Equal, "firstDifference": difference,
    })
}

/// Both parity hashes in one line.
pub(crate) fn parity_line(events: &CountedDigest, decisions: &CountedDigest) -> String {
    format!(
        "events {} sha256 {} · decisions {} sha256 {}",
        events.count, events.sha256, decisions.count, decisions.sha256
    )
}
