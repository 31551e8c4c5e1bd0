//! Catching up with what other processes journaled: from their state file where it fits, else record by record.

use super::dir::SessionDir;
use super::error::DriverError;
use super::state::{SessionState, StateFile};
use crate::body::ReadBody;
use tripwire_core::chain::Step;
use tripwire_core::decision::Decision;
use tripwire_core::input::Input;
use tripwire_journal::storage::Storage;
use tripwire_journal::{Journal, Turn};

/// Inputs of other processes with what was decided on them, oldest first.
pub(super) type Followed = Vec<(Input, Decision)>;

/// Takes the state file if it fits the journal and knows more.
fn adopt<S: Storage>(journal: &Journal<S>, dir: SessionDir<'_>, state: &mut SessionState) -> Result<(), DriverError> {
    if let Some(newer) = stored(journal, dir, state.known)? {
        *state = newer;
    }
    Ok(())
}

/// What the state file says, if it fits the journal and knows more than this many records.
pub(super) fn stored<S: Storage>(
    journal: &Journal<S>,
    dir: SessionDir<'_>,
    known: u64,
) -> Result<Option<SessionState>, DriverError> {
    let Some(file) = StateFile::load(dir)?.filter(|file| file.records > known) else { return Ok(None) };
    let at_place = |place: tripwire_journal::Place| place.tail_hash() == file.hash;
    let fits = file.records <= journal.records() && journal.find(file.records).is_ok_and(at_place);
    Ok(if fits { file.state(dir)? } else { None })
}

/// Takes in what other processes have journaled since: from their state file, which also says what they have seen of the
/// control files (else their own writes would look like a person's), and the rest by stepping over the records.
pub(super) fn catch_up<S: Storage>(
    turn: &Turn<'_, S>,
    dir: SessionDir<'_>,
    state: &mut SessionState,
    mut followed: Option<&mut Followed>,
) -> Result<(), DriverError> {
    const PAGE: usize = 512;
    if state.known >= turn.records() {
        return Ok(());
    }
    // A state file would hide the decisions from a caller that follows them.
    if followed.is_none() {
        adopt(turn.journal(), dir, state)?;
    }
    let mut place = turn.journal().find(state.known)?;
    while state.known < turn.records() {
        let page = turn.journal().read(place, PAGE)?;
        if page.records.is_empty() {
            break;
        }
        for record in &page.records {
            let wrong = |problem: String| DriverError::Record { index: record.index, problem };
            let body: ReadBody<'_> = serde_json::from_str(&record.body).map_err(|error| wrong(error.to_string()))?;
            if let Some(input) = body.input {
                let input: Input = serde_json::from_str(input.get()).map_err(|error| wrong(error.to_string()))?;
                // The process that journaled it carried the effects out; only the state follows.
                let step: Step = state.chain.step(&input);
                state.memo.note(&input, &step.decision);
                if let Some(followed) = &mut followed {
                    followed.push((input, step.decision));
                }
            }
            state.known = record.index + 1;
        }
        place = page.next;
    }
    Ok(())
}
