//! Claude Code's status line: what the client sends about its session, and our one line about it.

use crate::hooks::reply::HookError;
use serde::Deserialize;
use std::path::PathBuf;
use tripwire_core::chain::ChainView;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::HoldReason;
use tripwire_core::input::Mode;
use tripwire_core::units::{MicroUsd, Tokens};

/// What the client sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusInput {
    /// Its session.
    pub session: String,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The size of the model's window, where this version of the client tells it.
    pub window: Option<Tokens>,
}

#[derive(Deserialize)]
struct StatusWire {
    session_id: String,
    cwd: Option<PathBuf>,
    workspace: Option<StatusFolders>,
    context_window: Option<StatusWindow>,
}

#[derive(Deserialize)]
struct StatusFolders {
    project_dir: Option<PathBuf>,
    current_dir: Option<PathBuf>,
}

#[derive(Deserialize)]
struct StatusWindow {
    context_window_size: Option<u64>,
}

/// Reads what the client sends to its status line.
///
/// # Errors
/// When it is not JSON of the client's form.
pub fn read(bytes: &[u8]) -> Result<StatusInput, HookError> {
    let wire: StatusWire = serde_json::from_slice(bytes).map_err(|error| HookError { problem: error.to_string() })?;
    // The folder in which the client was started, as the hooks take it.
    let (project, current) = wire.workspace.map_or((None, None), |folders| (folders.project_dir, folders.current_dir));
    let cwd = project.or(wire.cwd).or(current);
    let cwd = cwd.ok_or_else(|| HookError { problem: "it names no folder".to_owned() })?;
    let window = wire.context_window.and_then(|window| window.context_window_size).filter(|size| *size > 0);
    Ok(StatusInput { session: wire.session_id, cwd, window: window.map(Tokens::new) })
}

/// The client whose status line it is, in our records.
pub const CLIENT: &str = super::settings::NAME;

/// The line: money, time, context, health, tests, holds.
#[must_use]
pub fn line(view: &ChainView, minutes: u64) -> String {
    let budget = view.budget_micro_usd.map(|budget| format!("/{}", dollars(budget, Cents::IfAny)));
    let money = format!("${}{}", dollars(view.spent.micro_usd, Cents::Always), budget.unwrap_or_default());
    let health = u64::from(view.health.millionths()) / 10_000;
    let health = format!("{}.{:02}", health / 100, health % 100);
    let hold = match (view.stopped, view.held) {
        (Some(_), _) => "STOPPED".to_owned(),
        (None, Some(hold)) => format!("1 held ({})", word(hold)),
        (None, None) => "0 held".to_owned(),
    };
    let mode = match view.guard {
        Mode::Armed => "",
        Mode::Observe => " | only observing",
    };
    let (context, tests) = (view.context_percent, tests(view.verdict));
    format!("{money} | {minutes} min | ctx {context}% | health {health} | {tests} | {hold}{mode}")
}

/// How an amount is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cents {
    Always,
    IfAny,
}

fn dollars(amount: MicroUsd, cents: Cents) -> String {
    let all = amount.get() / 10_000;
    if all == 0 && amount.get() > 0 {
        // Less than a cent is not nothing; the sign is before it already.
        return format!("0.{:06}", amount.get()).trim_end_matches('0').to_owned();
    }
    match cents {
        Cents::IfAny if all.is_multiple_of(100) => (all / 100).to_string(),
        Cents::IfAny | Cents::Always => format!("{}.{:02}", all / 100, all % 100),
    }
}

const fn tests(verdict: Verification) -> &'static str {
    match verdict {
        Verification::Verified => "tests VERIFIED",
        Verification::Stale => "tests STALE",
        Verification::Failed => "tests FAILED",
        Verification::Unverified => "tests UNVERIFIED",
        Verification::NothingToVerify => "no changes",
        Verification::Waived => "tests WAIVED",
        Verification::Undocumented => "docs MISSING",
    }
}

const fn word(hold: HoldReason) -> &'static str {
    match hold {
        HoldReason::Loop => "loop",
        HoldReason::NoProgress => "no progress",
        HoldReason::IterationCap => "iteration cap",
        HoldReason::SoftSuspend => "health",
        HoldReason::Money => "budget",
        HoldReason::Context => "context",
        HoldReason::GuardFailure => "guard broken",
        HoldReason::Converged => "converged",
        HoldReason::Paused => "paused",
        HoldReason::UnreadBlocker => "unread report",
        HoldReason::UnreadCheckpoint => "unread checkpoint",
    }
}

#[cfg(test)]
mod tests_of_the_line {
    use super::*;

    #[test]
    fn amounts_read_as_dollars() {
        let shown = |micro, cents| dollars(MicroUsd::new(micro), cents);
        assert_eq!(shown(1_845_000, Cents::Always), "1.84");
        assert_eq!(shown(5_000_000, Cents::IfAny), "5");
        assert_eq!(shown(2_500_000, Cents::IfAny), "2.50");
        assert_eq!(shown(0, Cents::Always), "0.00");
    }

    #[test]
    fn the_folder_and_the_window_are_found_in_old_and_new_forms() {
        let input = read(br#"{"session_id":"a","workspace":{"current_dir":"/w"},"cost":{"x":1}}"#).unwrap();
        assert_eq!((input.cwd, input.window), (PathBuf::from("/w"), None));
        let input = read(br#"{"session_id":"a","cwd":"/v","context_window":{"context_window_size":1000000}}"#).unwrap();
        assert_eq!((input.cwd, input.window), (PathBuf::from("/v"), Some(Tokens::new(1_000_000))));
        assert!(read(b"{}").is_err() && read(b"").is_err());
    }
}
