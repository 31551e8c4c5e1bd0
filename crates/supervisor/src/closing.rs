//! The end of a run: what the journal does not know yet, the person's own test command, and what the verdict rests on.

use crate::confinement::ConfinedCommand;
use crate::ending::Ending;
use crate::report::Proof;
use crate::run_context::RunContext;
use crate::transcript_audit::Shown;
use crate::verify::{self, TestBench, Verified};
use std::ffi::OsString;
use std::time::Instant;
use tripwire_core::chain::gate::dirty_bits::Verification;
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::input::{Fault, HumanAct, What};
use tripwire_core::label::Label;
use tripwire_sandbox::TreeSpec;
use tripwire_workspace::account;

/// What a run came to.
pub(crate) struct Closed {
    pub(crate) ending: Ending,
    pub(crate) verified: Option<Verified>,
    pub(crate) proof: Option<Proof>,
}

/// Journals how the run ended, proves the work where it is asked for, and writes the report of a blocked run. `shown` is
/// whether the client's transcript shows the test run that the verdict rests on; tests run until the deadline at most.
pub(crate) fn close(context: &RunContext<'_>, ending: Ending, shown: Shown, deadline: Option<Instant>) -> Closed {
    let mut ending = journal(context, doubted(context, ending, shown));
    let verified = verify(context, &mut ending, deadline);
    let proof = proof(context, &ending, verified, shown);
    if matches!(ending, Ending::Held(HoldReason::Loop | HoldReason::NoProgress))
        && let Err(error) = context.guard.report_blocker(&ending.words())
    {
        context.notifier.say(&format!("note: the blocker report is not written: {error}"));
    }
    Closed { ending, verified, proof }
}

/// A test run that the hook reported and the client's own transcript does not show proves nothing: whatever runs in the
/// client's tree can call its hook.
fn doubted(context: &RunContext<'_>, ending: Ending, shown: Shown) -> Ending {
    match (ending, shown) {
        (Ending::Done(Verification::Verified), Shown::No) => {
            context.notifier.say("tripwire: the client's own record does not show the test run that its hook reported");
            Ending::Done(Verification::Unverified)
        }
        (ending, Shown::Yes | Shown::No | Shown::Unknown) => ending,
    }
}

/// What a verdict of `VERIFIED` rests on.
fn proof(context: &RunContext<'_>, ending: &Ending, verified: Option<Verified>, shown: Shown) -> Option<Proof> {
    if !matches!(ending, Ending::Done(Verification::Verified)) {
        return None;
    }
    if let (Some(Verified::Passed), Some(command)) = (verified, &context.options.verify) {
        return Some(Proof::OwnRun { command: command.clone() });
    }
    let action = context.guard.pulse().proof?.action;
    Some(match shown {
        Shown::Yes => Proof::ClientRecord { action },
        Shown::No | Shown::Unknown => Proof::ClientWord { action },
    })
}

/// Takes into the journal what the engine does not know yet of the end.
fn journal(context: &RunContext<'_>, ending: Ending) -> Ending {
    let what = match &ending {
        Ending::GuardBroken(why) => {
            What::Fault(Fault { cause: Label::cut(why), fix: Label::cut("see `tripwire doctor` and `tripwire log`") })
        }
        // An interrupt of ours, of which the engine has not heard.
        Ending::Stopped(reason)
            if *reason == StopReason::StoppedByPerson && context.guard.pulse().stopped().is_none() =>
        {
            What::Human(HumanAct::Stop.signed(&account::current(), ""))
        }
        Ending::Done(_)
        | Ending::Stopped(_)
        | Ending::Held(_)
        | Ending::Parked(_)
        | Ending::StepCap
        | Ending::ClientCap(_)
        | Ending::ClientBudget(_)
        | Ending::ClientFailed(_)
        | Ending::NothingAsked => return ending,
    };
    match context.take(what) {
        Err(error) if !matches!(ending, Ending::GuardBroken(_)) => Ending::GuardBroken(error.to_string()),
        Ok(_) | Err(_) => ending,
    }
}

/// Runs the person's test command, if the agent came to its end, and lets the engine judge what it proves.
fn verify(context: &RunContext<'_>, ending: &mut Ending, deadline: Option<Instant>) -> Option<Verified> {
    let Ending::Done(verdict) = ending else { return None };
    let command = context.options.verify.as_deref()?;
    let words: Vec<OsString> = ["sh", "-c", command].iter().map(OsString::from).collect();
    let tree = context.tree(&ConfinedCommand {
        command: &words,
        programs: 1,
        env: &context.options.env,
        read_only: &context.read_only(&[]),
        port: None,
    });
    let run = |spec: TreeSpec| {
        let bench = TestBench { command, spec, stderr: context.options.stderr, until: deadline };
        verify::run(bench, context.notifier.as_ref()).map_err(|error| error.to_string())
    };
    let verified = tree.map_err(|error| error.to_string()).and_then(run).unwrap_or_else(|error| {
        context.notifier.say(&format!("tripwire: the test command could not be run: {error}"));
        Verified::Cut
    });
    let taken = context.take(verify::event(command, verified, context.bound_digest()));
    match taken.and_then(|_| context.take(verify::claim(context.bound_digest()))) {
        Ok(decision) => {
            let said = decision
                .effects
                .iter()
                .find_map(|effect| if let Effect::EndIteration(end) = effect { end.verdict } else { None });
            *verdict = proved(verified, said.unwrap_or_else(|| context.guard.pulse().view.verdict));
        }
        Err(error) => *ending = Ending::GuardBroken(error.to_string()),
    }
    Some(verified)
}

/// The verdict on the work once the person's own command has spoken. The engine knows of no change where an agent worked
/// by ways that it could not see; the command's word holds all the same.
const fn proved(verified: Verified, said: Verification) -> Verification {
    match (verified, said) {
        (
            Verified::Failed(_) | Verified::Cut,
            Verification::Verified
            | Verification::Stale
            | Verification::Failed
            | Verification::Unverified
            | Verification::NothingToVerify
            | Verification::Waived
            | Verification::Undocumented,
        ) => Verification::Failed,
        (Verified::Passed, Verification::NothingToVerify | Verification::Verified) => Verification::Verified,
        (Verified::Passed, Verification::Stale) => Verification::Stale,
        (Verified::Passed, Verification::Failed) => Verification::Failed,
        (Verified::Passed, Verification::Unverified) => Verification::Unverified,
        (Verified::Passed, Verification::Waived) => Verification::Waived,
        (Verified::Passed, Verification::Undocumented) => Verification::Undocumented,
    }
}
