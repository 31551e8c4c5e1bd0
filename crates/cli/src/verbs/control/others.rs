//! The other sessions of a workspace: what a person says without naming a session is for all of them.

use crate::notify;
use crate::person::Reason;
use crate::sessions::{self, SessionSummary};
use crate::workspace;
use tripwire_core::input::{HumanAct, What};
use tripwire_session::driver::{Driver, DriverError};
use tripwire_session::ended;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::control::ControlFile;
use tripwire_workspace::session::SessionId;

/// Sessions that are looked at, and how long ago they may have been heard of.
const LOOKED_AT_MAX: usize = 32;
const LATELY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Lets every session but one go on, as far as a person's word does that; says what became of those that waited.
pub(super) fn resume(
    workspace: &Workspace,
    but: Option<&SessionId>,
    reason: &Reason,
    removed: &[ControlFile],
) -> Vec<String> {
    let since = clock::now().epoch_ms().saturating_sub(LATELY_MS);
    let sessions = sessions::of_workspace(workspace, LOOKED_AT_MAX).into_iter();
    let others = sessions.filter(|other| Some(&other.id) != but && other.heard_ms >= since && other.standing.waits());
    others.filter_map(|other| resume_one(workspace, &other, reason, removed)).collect()
}

fn resume_one(
    workspace: &Workspace,
    other: &SessionSummary,
    reason: &Reason,
    removed: &[ControlFile],
) -> Option<String> {
    let go_on = || -> Result<Driver, DriverError> {
        let driver = Driver::resume(workspace.layout(), &other.id)?.signed_by(workspace::signing(workspace));
        let mut driver = driver.after_removal(reason.removed(removed.to_vec()));
        let take = |driver: &mut Driver, what: What| -> Result<(), DriverError> {
            let taken = driver.take_now(what, clock::now)?;
            notify::notify(driver, &taken);
            Ok(())
        };
        take(&mut driver, What::Tick)?;
        let view = driver.view();
        let cleared = |hold| ended::cleared_by(hold) == "tripwire resume";
        if view.stopped.is_none() && view.held.is_some_and(cleared) {
            take(&mut driver, reason.sign(HumanAct::Resume))?;
        }
        Ok(driver)
    };
    let id = &other.id;
    Some(match go_on() {
        Ok(driver) => match (driver.view().stopped, driver.view().held) {
            (None, None) => format!("{id} goes on at its next step too"),
            (None, Some(hold)) => {
                format!("{id} still waits: {}; `{} --session {id}`", hold.in_short(), ended::cleared_by(hold))
            }
            // What ended by itself is started again one by one.
            (Some(_), _) => return None,
        },
        Err(error) => format!("{id} could not be told: {error}"),
    })
}
