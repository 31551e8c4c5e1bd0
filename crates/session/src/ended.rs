//! Whether a session has ended, when and how: from the record of its supervisor, the transcript of our own loop, or the
//! engine's own stop. With hooks alone the end of a client is not reported, so such a session is never called ended.

use crate::driver::Driver;
use crate::supervised::{self, Supervisor};
use crate::transcript;
use serde::Serialize;
use tripwire_authority::identity::Part;
use tripwire_core::chain::ChainView;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::{HoldReason, StopReason};
use tripwire_core::run::ending::Ending;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::loop_lock::LoopLock;

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// When, or when it was last heard of.
    #[serde(serialize_with = "stamp")]
    pub at: WallClock,
    /// In a few words.
    pub how: String,
    /// What is proved about the work.
    pub verdict: Verification,
    /// The command that clears what holds it still; none if nothing does.
    pub clear_first: Option<String>,
    /// The command with which this same session goes on; none if it is over for good.
    pub goes_on_with: Option<String>,
}

fn stamp<S: serde::Serializer>(at: &WallClock, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(at)
}

/// How a session ended, if it has.
#[must_use]
pub fn look(layout: &Layout, driver: &Driver) -> Option<Ended> {
    let (session, view) = (driver.session(), driver.view());
    let heard = WallClock::from_epoch_ms(driver.start().epoch_ms().saturating_add(view.now.get()));
    let over = |at, how| Ended { at, how, verdict: view.verdict, clear_first: None, goes_on_with: None };
    // A record that cannot be read is told as a broken guard elsewhere; here it says nothing.
    if let Ok(Some(seen)) = supervised::look(layout, session) {
        let end = seen.record.end.filter(|_| seen.supervisor == Supervisor::Gone)?;
        return Some(over(end.at.unwrap_or(heard), end.how));
    }
    if let Some(ending) = transcript::ending(layout, session) {
        let verdict = if let Ending::Completed { verdict } = &ending { *verdict } else { view.verdict };
        let ended = Ended { verdict, ..over(heard, ending.explain()) };
        let goes_on_with = Some(format!("tripwire agent --resume {session}"));
        let restarted = matches!(ending, Ending::Stopped { .. }) && view.stopped.is_none();
        let clear_first = if ending.can_go_on() || restarted { clears(layout, &view) } else { Some(RESTART) };
        let clear_first = clear_first.map(|command| format!("{command} --session {session}"));
        let again = ending.can_go_on() || ending.can_be_restarted();
        return Some(if again { Ended { clear_first, goes_on_with, ..ended } } else { ended });
    }
    let interrupted = is_own_loop(driver) && !LoopLock::is_held(layout, session);
    if interrupted {
        let how = INTERRUPTED.to_owned();
        let clear_first = clears(layout, &view).map(|command| format!("{command} --session {session}"));
        let goes_on_with = Some(format!("tripwire agent --resume {session}"));
        return Some(Ended { clear_first, goes_on_with, ..over(heard, how) });
    }
    let reason = view.stopped?;
    let command = match reason {
        StopReason::StoppedByPerson => "tripwire resume",
        StopReason::SystemError
        | StopReason::InfiniteLoop
        | StopReason::HardStop
        | StopReason::Runaway
        | StopReason::Refusals
        | StopReason::WallClock => RESTART,
    };
    let how = reason.in_short().to_owned();
    Some(Ended { goes_on_with: Some(command.to_owned()), ..over(heard, how) })
}

/// The command that opens a session again that ended by itself.
const RESTART: &str = "tripwire resume --restart";

/// Whether a person's restart can open a session again: one of our own loop that is not done, or one of a client that is not
/// supervised. A supervised client's processes are gone.
#[must_use]
pub fn can_be_restarted(layout: &Layout, driver: &Driver) -> bool {
    let supervised = supervised::look(layout, driver.session()).is_ok_and(|seen| seen.is_some());
    match transcript::ending(layout, driver.session()) {
        Some(ending) => ending.can_be_restarted(),
        None => !supervised && driver.view().stopped.is_some(),
    }
}

/// How a loop ended whose process disappeared.
pub const INTERRUPTED: &str = "interrupted: its process is gone";

/// Whether a session is one of our own loop: only that freezes a prompt.
#[must_use]
pub fn is_own_loop(driver: &Driver) -> bool {
    driver.frozen().identity.as_ref().is_some_and(|identity| identity.own.get(Part::Prompt).is_some())
}

/// The command that clears what keeps a session from going on, if anything does.
fn clears(layout: &Layout, view: &ChainView) -> Option<&'static str> {
    let stands = |path: std::path::PathBuf| path.symlink_metadata().is_ok();
    match (view.stopped, view.held) {
        (Some(StopReason::StoppedByPerson), _) => Some("tripwire resume"),
        (Some(_), _) => Some(RESTART),
        (None, Some(hold)) => Some(cleared_by(hold)),
        (None, None) if stands(layout.checkpoint()) => Some(cleared_by(HoldReason::IterationCap)),
        (None, None) => None,
    }
}

/// The command with which a person clears a hold.
#[must_use]
pub const fn cleared_by(hold: HoldReason) -> &'static str {
    match hold {
        HoldReason::NoProgress | HoldReason::UnreadBlocker => "tripwire ack blocker",
        HoldReason::IterationCap | HoldReason::UnreadCheckpoint => "tripwire ack checkpoint",
        HoldReason::Money => "tripwire resume --raise-budget 5usd",
        HoldReason::Loop
        | HoldReason::SoftSuspend
        | HoldReason::Context
        | HoldReason::GuardFailure
        | HoldReason::Converged
        | HoldReason::Paused => "tripwire resume",
    }
}
