//! What a run came to, for a person and for machines.

use crate::ending::Ending;
use crate::verify::Verified;
use serde::Serialize;
use std::time::Duration;
use tripwire_core::chain::ChainView;
use tripwire_gateway::run_mode::RunTotals;
use tripwire_session::driver::RecentFinding;
use tripwire_session::supervised::StopReceipt;

/// What a run came to.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// Our session.
    pub session: String,
    /// The clients that worked, in order.
    pub clients: Vec<&'static str>,
    /// The client's own command that goes on with its conversation.
    pub client_resume: Option<String>,
    /// How it ended.
    pub ending: Ending,
    /// What the last worker said at its end, where its output was kept.
    pub text: Option<String>,
    /// What the test command said, if there was one and it ran.
    pub verified: Option<Verified>,
    /// What a verdict of `VERIFIED` rests on.
    pub proof: Option<Proof>,
    /// The session at a glance.
    pub view: ChainView,
    /// The newest findings.
    pub findings: Vec<RecentFinding>,
    /// The proof that nothing is left, summed over all workers.
    pub receipt: StopReceipt,
    /// From start to end.
    pub took: Duration,
    /// Restarts with the briefing.
    pub restarts: u32,
    /// Changes of the engine.
    pub switches: Vec<EngineSwitch>,
    /// What held the processes together.
    pub containment: &'static str,
    /// What the client's processes were kept from.
    pub isolation: Isolation,
    /// What passed the gateway; none where the person wanted none.
    pub gateway: Option<GatewayReport>,
}

/// What the processes of a client were kept from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Nothing: this system keeps no path from them.
    None,
    /// They saw `.geometry/` read-only and no key of ours.
    Shielded,
    /// Their whole tree ran in the sandbox.
    Sandboxed,
}

/// What passed the gateway of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayReport {
    /// How far it saw the run's model calls.
    pub state: GatewayState,
    /// What passed.
    pub totals: RunTotals,
    /// Why calls of a worker went past it.
    pub around: Vec<String>,
}

impl GatewayReport {
    /// Whether the budget held for every call.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.state == GatewayState::On && self.totals.unpriced == 0
    }

    /// Whether the provider's keys were kept from the client; nothing without a call.
    #[must_use]
    pub const fn is_brokered(&self) -> Option<bool> {
        if self.totals.calls == 0 && self.totals.own_credentials == 0 {
            return None;
        }
        Some(self.totals.own_credentials == 0)
    }
}

/// How far the gateway saw a run's model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayState {
    /// All of them.
    On,
    /// Not those of a client that cannot be told of it.
    Around,
    /// A client that was told of it spent past it.
    Bypassed,
}

/// What a verdict of `VERIFIED` rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Proof {
    /// The person's own test command, run by us.
    OwnRun {
        /// The command.
        command: String,
    },
    /// A test run that the client's hook reported and its own record shows. It was not run by us.
    ClientRecord {
        /// What was run, in short.
        action: String,
    },
    /// A test run that the client's hook reported; nothing else shows it.
    ClientWord {
        /// What was run, in short.
        action: String,
    },
}

impl Proof {
    /// In words for a person.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::OwnRun { command } => format!("`{command}`, run by tripwire at the end"),
            Self::ClientRecord { action } => {
                format!("{action}, as the client reported and recorded it; `--verify` has tripwire run it itself")
            }
            Self::ClientWord { action } => {
                format!("{action}, by the client's word alone; `--verify` has tripwire run it itself")
            }
        }
    }
}

/// A change of the engine: announced, journaled, never silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineSwitch {
    /// The client that worked before.
    pub from: &'static str,
    /// The client that works from then on.
    pub to: &'static str,
    /// Why.
    pub reason: String,
}
