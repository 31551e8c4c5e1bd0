//! When a session's journal is signed: often while it is short, then every so many records, and when it ends.
//!
//! Between two checkpoints someone who can rewrite the journal *and* `HEAD` could cut what is not signed yet. Signing at
//! the first record, at each doubling and then every [`EVERY`] records bounds that to half of a short session and to
//! [`EVERY`] records of a long one.

use crate::redaction::SecretSources;
use std::path::PathBuf;
use tripwire_core::decision::Decision;
use tripwire_core::effect::{Effect, ExitStatus};
use tripwire_journal::keys::KeyHome;
use tripwire_journal::storage::Storage;
use tripwire_journal::{JournalError, SessionPaths, Turn};
use tripwire_secrets::KnownSecret;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::session::SessionId;

/// Records between two checkpoints of a long session.
pub const EVERY: u64 = 256;

/// The person's side of a session: the key that signs its checkpoints and makes its placeholders, and the secrets that the
/// person's environment holds.
#[derive(Debug, Clone)]
pub struct Signing {
    home: KeyHome,
    workspace: PathBuf,
    environment: Vec<KnownSecret>,
}

impl Signing {
    /// Signs with the key of this home, which must lie outside this workspace.
    #[must_use]
    pub const fn new(home: KeyHome, workspace: PathBuf) -> Self {
        Self { home, workspace, environment: Vec::new() }
    }

    /// Knows these secrets of the environment, so that they reach no record.
    #[must_use]
    pub fn knowing(mut self, environment: Vec<KnownSecret>) -> Self {
        self.environment = environment;
        self
    }

    /// Adds what this knows to the sources of a session's redactor.
    pub(super) fn tell(&self, sources: &mut SecretSources) {
        sources.home = Some((self.home.clone(), self.workspace.clone()));
        sources.environment.clone_from(&self.environment);
        sources.root = Some(self.workspace.clone());
    }

    /// Where the keys are.
    pub(super) const fn home(&self) -> &KeyHome {
        &self.home
    }

    /// Whether the key ever vouched for a session of this name in this `.geometry` folder, be its journal there or gone.
    pub(super) fn has_signed(&self, layout: &Layout, session: &SessionId) -> bool {
        let paths = SessionPaths::new(layout.folder(), session);
        self.home.witness(&paths).symlink_metadata().is_ok()
    }

    /// Signs everything that stands in the journal and says how many records that is.
    pub(super) fn sign<S: Storage>(&self, turn: &mut Turn<'_, S>) -> Result<u64, JournalError> {
        let signer = self.home.signer(&self.workspace)?;
        let witness = self.home.witness(turn.journal().paths());
        Ok(turn.checkpoint(&signer, Some(&witness))?.size)
    }
}

/// Whether so many records ask for a checkpoint when so many are signed.
pub(super) const fn is_due(records: u64, signed: u64) -> bool {
    let doubled = signed.saturating_mul(2);
    let later = signed.saturating_add(EVERY);
    records > signed && records >= if doubled < later { doubled } else { later }
}

/// Whether a decision ends the session, or the work in it.
pub(super) fn ends(decision: &Decision) -> bool {
    decision.effects.iter().any(|effect| match effect {
        Effect::Stop(_) => true,
        Effect::EndIteration(end) => match end.exit_status {
            ExitStatus::Completed | ExitStatus::SystemError => true,
            ExitStatus::Interrupted | ExitStatus::Timeout | ExitStatus::MaxSteps => false,
        },
        Effect::Hold(_)
        | Effect::Kill
        | Effect::Inject(_)
        | Effect::Prompt(_)
        | Effect::Compact
        | Effect::WarnContext
        | Effect::AskAdvisor(_)
        | Effect::SwitchEngine(_)
        | Effect::WriteReport(_)
        | Effect::Notify(_)
        | Effect::WakeAt(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_4_checkpoints_are_dense_at_first_and_regular_later() {
        let (mut signed, mut sizes) = (0, Vec::new());
        for records in 1..=1_500 {
            if is_due(records, signed) {
                signed = records;
                sizes.push(records);
            }
        }
        assert_eq!(sizes, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1_024, 1_280]);
        assert!(!is_due(0, 0) && !is_due(5, 5));
    }
}
