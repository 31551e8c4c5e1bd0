//! Whether a session has ended, when and how: from the record of its supervisor, the transcript of our own loop, or the
//! engine's own stop. With hooks alone nobody tells us that a client has gone, so such a session is never called ended.

use crate::driver::Driver;
use crate::geometry::layout::Layout;
use crate::geometry::wall_clock::WallClock;
use crate::supervised::{self, Supervisor};
use crate::transcript;
use serde::Serialize;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::StopReason;
use tripwire_core::run::ending::Ending;

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
    // A record that cannot be read is told as a broken guard elsewhere; here it says nothing.
    if let Ok(Some(seen)) = supervised::look(layout, session) {
        let end = seen.record.end.filter(|_| seen.supervisor == Supervisor::Gone)?;
        let at = end.at.unwrap_or(heard);
        return Some(Ended { at, how: end.how, verdict: view.verdict, goes_on_with: None });
    }
    if let Some(ending) = transcript::ending(layout, session) {
        let verdict = if let Ending::Completed { verdict } = &ending { *verdict } else { view.verdict };
        let first = if matches!(ending, Ending::Stopped { .. }) { "tripwire resume && " } else { "" };
        let goes_on_with = ending.can_go_on().then(|| format!("{first}tripwire agent --resume {session}"));
        return Some(Ended { at: heard, how: ending.explain(), verdict, goes_on_with });
    }
    let reason = view.stopped?;
    let command = match reason {
        StopReason::StoppedByPerson => "tripwire resume",
        StopReason::SystemError
        | StopReason::InfiniteLoop
        | StopReason::HardStop
        | StopReason::Runaway
        | StopReason::WallClock => "tripwire resume --restart",
    };
    let goes_on_with = Some(command.to_owned());
    Some(Ended { at: heard, how: reason.explain().to_owned(), verdict: view.verdict, goes_on_with })
}
