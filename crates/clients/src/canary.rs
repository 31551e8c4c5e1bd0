//! Canaries: the real clients on this machine, run under the guard, or with our hooks alone, against a scripted model, to see
//! whether a deny and a stop really hold.
//!
//! Nothing of the person's is touched: the home, the workspace and the keys are made up for the run and thrown away, the
//! environment is empty but for the search path, and the model is on loopback inside this process.

mod error;
mod model;
mod trial;
mod wire;

use crate::check_result::CheckResult;
use crate::client::Client;
use crate::install::Found;
pub use error::CanaryError;
use error::at;
use model::ScriptedModel;
use std::path::Path;
pub use trial::Guard;
use trial::{Trial, TrialResult};
use wire::ModelTurn;

/// How often the loop would go on if it were not stopped.
const LOOP_CALLS: usize = 12;
/// The call, and the model request, by which a loop must be over.
const LOOP_CALLS_MAX: usize = 6;
/// The exit code of a run that was stopped for a loop.
const LOOP_EXIT: i32 = 7;

/// Sends the canaries of one client through its tool paths; `program` is our own.
///
/// # Errors
/// When the model or the throw-away folders cannot be made.
pub fn send(found: &Found, program: &Path, guard: Guard) -> Result<Vec<CheckResult>, CanaryError> {
    let mut checks = denied(found, program, guard)?;
    checks.push(stopped(found, program, guard)?);
    Ok(checks)
}

/// The name of a canary's check.
fn check_id(found: &Found, guard: Guard, canary: &str) -> String {
    let path = match guard {
        Guard::Run => "live",
        Guard::InstalledHooks => "live-hooks",
    };
    format!("{}.{path}.{canary}", found.client.name())
}

/// Whether a deny holds: a harmless call first, which shows that the path works, then one that must be refused.
fn denied(found: &Found, program: &Path, guard: Guard) -> Result<Vec<CheckResult>, CanaryError> {
    let trial = Trial::make(found, program)?;
    // The settings of another client than the one that runs: its own it may protect itself.
    let other = Client::ALL.into_iter().rev().find(|other| *other != found.client).unwrap_or(found.client);
    let form = other.adapter().settings;
    let settings = &format!("{}/{}", form.home.folder, form.file);
    let edit = |name: &str| ModelTurn::Edit { path: trial.workspace().join(name), text: "canary".to_owned() };
    let turns = vec![
        ModelTurn::Shell("touch shell-allowed".to_owned()),
        ModelTurn::Shell("touch shell-denied; rm -rf .geometry".to_owned()),
        edit("edit-allowed"),
        edit(settings),
    ];
    let count = turns.len() + 1;
    let model = ScriptedModel::begin(turns).map_err(at("open a loopback port"))?;
    let ran = trial.run(guard, &model)?;
    let path = |tool: &str, allowed: &str, denied: &str| {
        let id = check_id(found, guard, tool);
        let is_there = |name: &str| trial.workspace().join(name).exists();
        let seen =
            PathSeen { worked: is_there(allowed), slipped: is_there(denied), asked: model.asked(), turns: count };
        verdict(&id, &seen, &ran)
    };
    Ok(vec![path("shell", "shell-allowed", "shell-denied"), path("edit", "edit-allowed", settings)])
}

/// What was seen of one tool path.
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that was seen or not")]
struct PathSeen {
    /// The harmless call ran.
    worked: bool,
    /// The denied one did.
    slipped: bool,
    /// How often the model was asked, and how many turns it had.
    asked: usize,
    turns: usize,
}

fn verdict(id: &str, seen: &PathSeen, ran: &TrialResult) -> CheckResult {
    let PathSeen { worked, slipped, asked, turns } = seen;
    match (worked, slipped) {
        (_, true) => CheckResult::broken(
            id,
            "a call that the guard denied was run all the same",
            "run this client only with `tripwire run`, and report the version of both",
        ),
        (false, false) => CheckResult::broken(
            id,
            format!("not proved: a harmless call did not run either ({asked} of {turns} requests; {})", ran.summary()),
            "start the client by hand and see that it works",
        ),
        (true, false) => {
            CheckResult::kept(id, format!("a harmless call ran, a denied one did not ({asked} model requests)"))
        }
    }
}

/// Whether a stop holds: the same call again and again must be over soon, and under `tripwire run` with no process left.
fn stopped(found: &Found, program: &Path, guard: Guard) -> Result<CheckResult, CanaryError> {
    let trial = Trial::make(found, program)?;
    let ticks = trial.ticks();
    let call = format!("echo tick >> {}; echo tick", ticks.display());
    let model = ScriptedModel::begin(vec![ModelTurn::Shell(call); LOOP_CALLS]).map_err(at("open a loopback port"))?;
    let ran = trial.run(guard, &model)?;
    let id = check_id(found, guard, "stop");
    let calls = std::fs::read_to_string(&ticks).unwrap_or_default().lines().count();
    let asked = model.asked();
    let is_in_time = match guard {
        Guard::Run => {
            ran.exit_code == Some(LOOP_EXIT) && ran.survivors == Some(0) && (1..=LOOP_CALLS_MAX).contains(&asked)
        }
        // Not every client's turn can be ended by a hook: what counts is that no further call runs.
        Guard::InstalledHooks => true,
    };
    Ok(if is_in_time && (1..=LOOP_CALLS_MAX).contains(&calls) {
        let left = match guard {
            Guard::Run => ", no process was left",
            Guard::InstalledHooks => "",
        };
        CheckResult::kept(
            &id,
            format!("a loop was ended: {calls} of {LOOP_CALLS} calls ran ({asked} model requests){left}"),
        )
    } else {
        let proof = format!(
            "a loop was not ended as it must be: {calls} of {LOOP_CALLS} calls ran ({asked} model requests), {}",
            ran.summary()
        );
        CheckResult::broken(&id, proof, "run `tripwire doctor` without `--live` first, and report the version of both")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_result::CheckState;

    #[test]
    fn a_deny_is_proved_only_if_the_path_works_and_nothing_slips_through() {
        let ran = TrialResult { exit_code: Some(0), survivors: Some(0), last_line: String::new(), in_time: true };
        let rows =
            [(true, false, CheckState::Kept), (false, false, CheckState::Broken), (true, true, CheckState::Broken)];
        for (worked, slipped, state) in rows.into_iter().chain([(false, true, CheckState::Broken)]) {
            let seen = PathSeen { worked, slipped, asked: 5, turns: 5 };
            assert_eq!(verdict("x", &seen, &ran).state, state, "{worked} {slipped}");
        }
    }
}
