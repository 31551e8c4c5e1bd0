//! What a stop ended: every supervised client and every loop of our own in the workspace, each with its receipt.

use crate::order_error::OrderError;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tripwire_core::counted::counted;
use tripwire_session::driver::views;
use tripwire_session::supervised::{self, StopReceipt, Supervisor, Waited};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::loop_lock::LoopLock;
use tripwire_workspace::session::SessionId;

/// How long a supervisor may take to end its client.
const RECEIPT_WITHIN: Duration = Duration::from_secs(20);
/// The time between two looks at a loop that is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What runs in a workspace before it gets the order to stop: it may be over before the next look.
#[derive(Debug)]
pub(crate) struct RunningSessions {
    supervised: Vec<SessionId>,
    own_loops: Vec<SessionId>,
}

/// What a stop ended.
#[derive(Debug)]
pub(crate) struct StopReport {
    /// In words, a line each.
    pub(crate) lines: Vec<String>,
    /// The receipt of each supervised run, with its session.
    pub(crate) receipts: Vec<(String, StopReceipt)>,
    /// Whether nothing is left that should not be.
    pub(crate) holds: bool,
}

impl StopReport {
    fn say(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }
}

impl RunningSessions {
    /// Looks at all sessions of the workspace.
    pub(crate) fn find(layout: &Layout) -> Result<Self, OrderError> {
        let mut running = Self { supervised: Vec::new(), own_loops: Vec::new() };
        for session in views::sessions(layout)? {
            let supervisor = supervised::look(layout, &session)?.map_or(Supervisor::Gone, |seen| seen.supervisor);
            if supervisor == Supervisor::Alive {
                running.supervised.push(session);
            } else if LoopLock::is_held(layout, &session) {
                running.own_loops.push(session);
            }
        }
        Ok(running)
    }

    /// Waits for the receipts. `named` is the session that the order is
    /// journaled in: its run may have begun after the look.
    pub(crate) fn wait(mut self, layout: &Layout, named: Option<&SessionId>) -> Result<StopReport, OrderError> {
        let mut said = StopReport { lines: Vec::new(), receipts: Vec::new(), holds: true };
        let until = Instant::now() + RECEIPT_WITHIN;
        let several = self.supervised.len() > 1;
        if let Some(named) = named.filter(|named| !self.supervised.contains(named)) {
            let began = supervised::wait(layout, named, Supervisor::Gone, Duration::ZERO)?;
            if began != Waited::NotSupervised {
                self.supervised.push(named.clone());
            }
        }
        for session in &self.supervised {
            let left = until.saturating_duration_since(Instant::now());
            let of = if several { format!(" of {session}") } else { String::new() };
            match supervised::wait(layout, session, Supervisor::Alive, left)? {
                Waited::Ended(end) => {
                    let receipt = end.receipt;
                    let (ended, left) = (counted(receipt.ended, "process"), counted(receipt.survivors, "survivor"));
                    said.say(&format!("receipt{of}: {ended} ended, {left}, {} ms", receipt.took_ms));
                    said.receipts.push((session.to_string(), receipt));
                    said.holds &= receipt.survivors == 0;
                }
                Waited::Lost | Waited::NotSupervised => {
                    said.say(&format!(
                        "the supervisor{of} went away without a receipt; its client's processes went with it"
                    ));
                    said.holds = false;
                }
                Waited::Late => {
                    said.say(&format!("no receipt{of} came: the supervised client may still run"));
                    said.holds = false;
                }
            }
        }
        for session in &self.own_loops {
            let ended = is_loop_over(layout, session, until);
            said.say(match ended {
                true => "our own loop is ended, and the command that it ran with it",
                false => "our own loop has not ended yet: see `tripwire status`",
            });
            said.holds &= ended;
        }
        match (self.supervised.len(), self.own_loops.len()) {
            (0, 0) => said.say(
                "no supervised process: a client that runs on its own is refused at its next step, and not killed",
            ),
            (0, _) => {}
            (1, _) => {
                said.say(
                    "that run is over for good; `tripwire resume` takes the order back, so that a new one may begin",
                );
            }
            (_, _) => {
                said.say(
                    "these runs are over for good; `tripwire resume` takes the order back, so that new ones may begin",
                );
            }
        }
        Ok(said)
    }
}

/// Waits for our own loop to leave, and says whether it has.
fn is_loop_over(layout: &Layout, session: &SessionId, until: Instant) -> bool {
    while LoopLock::is_held(layout, session) {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

/// All receipts together, for a script that wants one number.
#[must_use]
pub fn total(receipts: &[(String, StopReceipt)]) -> Option<StopReceipt> {
    let (_, first) = receipts.first()?;
    Some(receipts.iter().skip(1).fold(*first, |sum, (_, one)| StopReceipt {
        ended: sum.ended.saturating_add(one.ended),
        survivors: sum.survivors.saturating_add(one.survivors),
        // They ended side by side: the longest is how long it took.
        took_ms: sum.took_ms.max(one.took_ms),
    }))
}

/// Each receipt with its session.
#[must_use]
pub fn listed(receipts: &[(String, StopReceipt)]) -> Value {
    let listed = receipts.iter().map(|(session, receipt)| {
        let StopReceipt { ended, survivors, took_ms } = receipt;
        json!({"session": session, "ended": ended, "survivors": survivors, "took_ms": took_ms})
    });
    Value::Array(listed.collect())
}
