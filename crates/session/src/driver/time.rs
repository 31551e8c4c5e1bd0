//! When an input happened: the session's own time, and the inputs that carry it themselves.

use tripwire_core::chain::event::AgentEvent;
use tripwire_core::input::What;
use tripwire_core::units::RunMillis;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// An event carries its time itself; no other input does.
pub(super) fn stamped(what: What, at: RunMillis) -> What {
    match what {
        What::Event(event) => What::Event(AgentEvent { timestamp: at, ..event }),
        other @ (What::Request(_)
        | What::Result(_)
        | What::Tick
        | What::Human(_)
        | What::Advisor(_)
        | What::Review(_)
        | What::IterationStarted
        | What::WorkspaceMeasured(_)
        | What::ReportStands(_)
        | What::Claim(_)
        | What::Compacted(_)
        | What::Fault(_)
        | What::PolicyDrift(_)
        | What::EngineSwitched(_)
        | What::ToolsSeen(_)
        | What::ModelSpend(_)
        | What::SandboxHeld(_)) => other,
    }
}

/// Time since the session's start; a clock before it counts as the start, and the engine sees it stand still.
pub(super) fn since(start: WallClock, now: WallClock) -> RunMillis {
    RunMillis::new(now.epoch_ms().saturating_sub(start.epoch_ms()))
}
