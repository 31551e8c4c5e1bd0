//! Decisions for a person: one line for what the agent did and the answer, and below it the reasons and what follows.

use crate::print;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::counted::counted;
use tripwire_core::decision::{ActivityMode, Decision, Finding, Level};
use tripwire_core::effect::{Effect, Sameness};
use tripwire_core::input::{HumanAct, Input, Report, What};
use tripwire_core::visible::visible;

/// Columns for what the agent did; longer texts are cut in the middle, so that a line fits a terminal.
const WHAT_COLUMNS: usize = 38;
/// The indent of everything that belongs to the line above.
const INDENT: &str = "                ";
/// The indent of a reason's further lines.
const HANGING: &str = "                   ";

/// The line above the first decision.
pub(crate) const HEAD: &str = "event    time   what the agent did                      answer";

/// Tells one decision.
pub(crate) fn decision(input: &Input, decision: &Decision) -> Vec<String> {
    let safety = &decision.safety;
    let answer = match (safety.allowed, safety.veto_reason) {
        (true, _) if decision.sent_back().is_some() => "sent back".to_owned(),
        (true, _) => "allowed".to_owned(),
        (false, Some(veto)) => format!("REFUSED  {}", name(&veto)),
        (false, None) => "REFUSED".to_owned(),
    };
    let mode = match decision.activity.mode {
        ActivityMode::Working => "",
        ActivityMode::Idle => "  (idle)",
        ActivityMode::Looping => "  (looping)",
        ActivityMode::Runaway => "  (runaway)",
    };
    let (at, done) = (clock(input.at.get()), shortened(&done(&input.what)));
    let mut lines = vec![format!("{:>5} {at:>7}   {done:<WHAT_COLUMNS$}  {answer}{mode}", decision.i)];
    if !safety.allowed {
        lines.extend(wrapped(&format!("why: {} [{}]", safety.reason, safety.rule.id())));
    }
    lines.extend(decision.findings.iter().flat_map(|found| wrapped(&finding(found, decision))));
    lines.extend(decision.effects.iter().flat_map(|caused| wrapped(&format!("-> {}", effect(caused)))));
    lines
}

/// A text below the line it belongs to.
fn wrapped(text: &str) -> Vec<String> {
    print::wrap(text, INDENT, HANGING)
}

/// The sum of a run: how much was refused, how far up the ladder it went, and how to learn more.
#[derive(Debug, Default)]
pub(crate) struct DecisionSummary {
    inputs: u64,
    refused: u64,
    strictest: Option<(Level, &'static str)>,
}

impl DecisionSummary {
    /// Takes in one decision.
    pub(crate) fn add(&mut self, decision: &Decision) {
        self.inputs += 1;
        self.refused += u64::from(!decision.safety.allowed);
        for found in &decision.findings {
            if self.strictest.is_none_or(|(level, _)| level < found.level) {
                self.strictest = Some((found.level, found.rule.id()));
            }
        }
    }

    /// The last line.
    pub(crate) fn line(&self) -> String {
        let Self { inputs, refused, strictest } = self;
        let told = match strictest {
            None => "nothing was noticed".to_owned(),
            Some((level, rule)) => {
                format!("the strictest level was {}; `tripwire explain {rule}` tells why", name(level))
            }
        };
        format!("{}, {} allowed, {refused} refused; {told}", counted(*inputs, "input"), inputs - refused)
    }
}

/// Minutes and seconds, and hours where there are any.
fn clock(ms: u64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// What an input tells of.
fn done(what: &What) -> String {
    match what {
        What::Event(AgentEvent { action: Some(action), .. }) => action.named().into_owned(),
        What::Event(event) => format!(
            "{}, {}",
            counted(event.budget_tokens().get(), "token"),
            counted(event.tool_calls.get(), "tool call")
        ),
        What::Request(request) => format!("asks: {}", request.action.named()),
        What::Result(result) => format!("result: {}", name(&result.status)),
        What::Tick => "(time passes)".to_owned(),
        What::Human(act) => match act.unsigned() {
            (act, None) => format!("a person: {}", human(act)),
            (act, Some(by)) => format!("a person: {}, {by}", human(act)),
        },
        What::Advisor(_) => "the advisor answers".to_owned(),
        What::Review(review) => format!("a reviewer: {}", name(&review.verdict)),
        What::IterationStarted => "an iteration begins".to_owned(),
        What::WorkspaceMeasured(_) => "the workspace was measured".to_owned(),
        What::ReportStands(report) => format!("an unread report exists: {}", name(report)),
        What::Claim(_) => "says that it is done".to_owned(),
        What::Compacted(_) => "the context was compacted".to_owned(),
        What::Fault(_) => "a premise of the guard broke".to_owned(),
        What::PolicyDrift(drift) => format!("{} was edited on disk", drift.key),
        What::ToolsSeen(seen) => format!("tool server {}: {}", seen.server, seen.detail),
        What::EngineSwitched(switch) => format!("{} goes on for {}", switch.to, switch.from),
        What::SandboxHeld(held) => format!("the sandbox held: {}", held.what),
        What::ModelSpend(spend) => {
            format!("a call of {}: {}", spend.model, counted(spend.price().tokens.get(), "token"))
        }
    }
}

fn human(act: &HumanAct) -> &'static str {
    match act {
        HumanAct::Stop => "stop",
        HumanAct::WithdrawStop => "takes the stop back",
        HumanAct::Pause => "pause",
        HumanAct::Resume => "resume",
        HumanAct::Restart => "restart",
        HumanAct::Acknowledge(Report::Blocker) => "clears the blocker report",
        HumanAct::Acknowledge(Report::Checkpoint) => "clears the checkpoint",
        HumanAct::SetCounter(_) => "sets a counter",
        HumanAct::SetDirtyBits(_) => "sets dirty bits",
        HumanAct::RaiseBudget(_) => "raises the budget",
        HumanAct::AllowOnce(_) => "allows a held command once",
        HumanAct::Deny(_) => "denies a held command",
        HumanAct::Prompt => "goes on after a loop",
        HumanAct::SetMode(_) => "changes what binds",
        HumanAct::MendGuard => "mends the guard",
        HumanAct::Retune(_) => "sets a limit of the session",
        HumanAct::ChangeFiles(_) => "takes steps back or brings them back",
        HumanAct::Other(_) | HumanAct::Signed(_) => "writes something down",
    }
}

fn finding(found: &Finding, decision: &Decision) -> String {
    let mut line = format!("{}: ", name(&found.level));
    // What the refusal above has said already is not said again.
    if decision.safety.allowed || !decision.safety.reason.contains(found.reason.as_str()) {
        line.push_str(&found.reason);
    } else {
        line.push_str(&name(&found.kind));
    }
    if !found.signature.is_empty() {
        line.push_str(&format!(", {}", found.signature));
    }
    if !found.price.is_nothing() {
        line.push_str(&format!(", {} since the first repeat", counted(found.price.tokens.get(), "token")));
    }
    line.push_str(&format!(" [{}]", found.rule.id()));
    line
}

fn effect(effect: &Effect) -> String {
    match effect {
        Effect::Inject(told) => {
            let result = match told.result {
                Sameness::Identical => ", each time with the same result",
                Sameness::Changed => ", with different results",
                Sameness::Unknown => "",
            };
            let advice = told.advice.as_ref().map(|advice| format!("; advice: \"{advice}\"")).unwrap_or_default();
            match told.seen.get() {
                0 => format!("the agent is told: do not repeat {}{advice}", told.do_not_repeat),
                seen => format!(
                    "the agent is told: do not repeat {}, seen {}{result}{advice}",
                    told.do_not_repeat,
                    counted(seen, "time")
                ),
            }
        }
        Effect::Prompt(text) => format!("the agent is told: {text}"),
        Effect::Notify(text) => format!("a person is told: {text}"),
        Effect::Hold(reason) => format!("everything waits: {}", reason.explain()),
        Effect::Stop(reason) => format!("the session ends: {}", reason.explain()),
        Effect::Kill => "the process tree is killed".to_owned(),
        Effect::Compact => "a briefing is written and the worker restarts with it".to_owned(),
        Effect::WarnContext => "the agent is warned: its context fills up".to_owned(),
        Effect::AskAdvisor(_) => "the advisor is asked for a new approach".to_owned(),
        Effect::SwitchEngine(_) => "the next engine is taken".to_owned(),
        Effect::WriteReport(Report::Blocker) => "BLOCKER_REPORT.md is written for a person".to_owned(),
        Effect::WriteReport(Report::Checkpoint) => "CHECKPOINT.md is written for a person".to_owned(),
        Effect::EndIteration(end) => {
            let verdict = end.verdict.map(|verdict| format!(", {}", name(&verdict))).unwrap_or_default();
            format!("the iteration ends: {}{verdict}", name(&end.exit_status))
        }
        Effect::WakeAt(at) => format!("looks again at {}", clock(at.get())),
    }
}

/// Cuts a text in the middle; nothing in it steers a terminal.
fn shortened(text: &str) -> String {
    let letters: Vec<char> = visible(text).chars().collect();
    if letters.len() <= WHAT_COLUMNS {
        return letters.into_iter().collect();
    }
    let (head, tail) = (WHAT_COLUMNS * 2 / 3, WHAT_COLUMNS - WHAT_COLUMNS * 2 / 3 - 1);
    let end = letters.len() - tail;
    letters[..head].iter().chain(&['…']).chain(&letters[end..]).collect()
}

/// The JSON name of one of our enums' values.
pub(crate) fn name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}
