//! A session of our own loop as it happens: a story in lines, one line that is rewritten on a terminal, or JSON.

use crate::exit::Exit;
use crate::parity::AgentParity;
use crate::print;
use crate::print::decision::name;
use crate::print::money;
use crate::print::terminal;
use crate::print::verdict;
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;
use tripwire_agent::session::{Frontend, SessionEnd, Status};
use tripwire_agent::tools::registry::FINISH;
use tripwire_core::counted::counted;
use tripwire_core::effect::HoldReason;
use tripwire_core::label::Label;
use tripwire_core::run::ending::Ending;
use tripwire_core::run::line::{Line, ResultLine};
use tripwire_core::run::plan::PlanStep;
use tripwire_core::run::record::{Answer, CallOutcome, Setup, Work, WorkEnd};
use tripwire_core::visible::visible;
use tripwire_session::driver::{Driver, StepOutcome};
use tripwire_session::ended;

/// How it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A story, and below it one line that is rewritten.
    Live,
    /// A story.
    Plain,
    /// The lines of the transcript and a last object.
    Json,
}

/// Columns of the line that is rewritten, where the terminal does not say how wide it is.
const STATUS_COLUMNS: usize = 80;
/// Letters of a foreign text that the story shows.
const LINE_LETTERS: usize = 96;

/// Prints what happens.
#[derive(Debug)]
pub(crate) struct Printer {
    shown: Shown,
    /// Whether the rewritten line stands on the screen.
    drawn: bool,
    /// Turns that workers did.
    worker_turns: u32,
    /// Tokens that they used; they are counted in the sessions that guarded them.
    worker_tokens: u64,
}

impl Printer {
    /// A printer of this kind.
    pub(crate) const fn new(shown: Shown) -> Self {
        Self { shown, drawn: false, worker_turns: 0, worker_tokens: 0 }
    }

    /// Takes the rewritten line away.
    pub(crate) fn end(&mut self) {
        if self.drawn {
            draw("");
            self.drawn = false;
        }
    }

    fn print(&mut self, text: &str) {
        self.end();
        let text = visible(text);
        // The whole text is in the transcript; here a glance is enough.
        let text = terminal::columns_of_output().map_or_else(|| text.clone(), |columns| terminal::cut(&text, columns));
        // A reader who has seen enough must not end the session.
        drop(writeln!(std::io::stdout().lock(), "{text}"));
    }

    /// Whether programs read what it prints.
    pub(crate) fn writes_json(&self) -> bool {
        self.shown == Shown::Json
    }
}

impl Frontend for Printer {
    fn is_interrupted(&self) -> bool {
        tripwire_sandbox::interrupts::asked().is_some()
    }

    fn line(&mut self, line: &Line, status: &Status) {
        if let Line::Answer(Answer { work: Some(work), .. }) = line {
            self.worker_turns = self.worker_turns.saturating_add(1);
            self.worker_tokens = self.worker_tokens.saturating_add(work.tokens.get());
        }
        match self.shown {
            Shown::Json => {
                if let Ok(text) = line.text() {
                    drop(writeln!(std::io::stdout().lock(), "{text}"));
                }
            }
            Shown::Live | Shown::Plain => {
                for text in story(line, status) {
                    self.print(&text);
                }
            }
        }
        self.beat(status);
    }

    fn beat(&mut self, status: &Status) {
        if self.shown == Shown::Live {
            draw(&status_line(status));
            self.drawn = true;
        }
    }

    fn taken(&mut self, driver: &Driver, taken: &StepOutcome) {
        // What it has to say here is said by the story.
        crate::notify::notify_with(driver, taken, |_| {});
    }

    fn notice(&mut self, text: &str) {
        self.end();
        print::say(&format!("note: {text}"));
    }
}

/// Says something from beside the story, where a line may be half drawn.
pub(crate) fn aside(text: &str) {
    if std::io::stderr().is_terminal() {
        draw("");
    }
    print::say(text);
}

/// Rewrites the last line of the terminal.
fn draw(text: &str) {
    // A line that fills the last column is broken by some terminals, and each beat would leave half of it behind.
    let room = terminal::columns_of_talk().unwrap_or(STATUS_COLUMNS).saturating_sub(1);
    let cut = terminal::cut(&visible(text), room);
    let mut err = std::io::stderr().lock();
    drop(write!(err, "\r\u{1b}[K{cut}"));
    drop(err.flush());
}

/// Step, tool, spend, health, context, time left.
fn status_line(status: &Status) -> String {
    let figures = &status.figures;
    let left = status.left.map_or(String::new(), |left| format!(" · {} left", span(left)));
    format!(
        "iteration {} step {} · {} · {} · health {} · context {}%{left}",
        status.iteration,
        status.step,
        if status.doing.is_empty() { "…" } else { &status.doing },
        money::dollars(figures.spent.micro_usd.get()),
        ratio(figures.health.millionths()),
        figures.context_percent,
    )
}

/// A line of the transcript in human words.
fn story(line: &Line, status: &Status) -> Vec<String> {
    match line {
        Line::Head(setup) => head(setup),
        Line::Iteration { number } => vec![format!("iteration {number}")],
        Line::User { .. } | Line::Recited { .. } => Vec::new(),
        Line::Answer(answer) => answered(answer, status),
        // The guard's answer to a claim was printed just before.
        Line::Result(result) if result.tool == FINISH => Vec::new(),
        Line::Result(result) => vec![format!("       {}", came_back(result))],
        Line::EngineError(failure) => vec![format!("  engine: {}", one_line(&failure.said))],
        Line::EngineSwitch(switch) => {
            vec![format!("  switch: {} goes on for {}: {}", switch.to, switch.from, one_line(&switch.reason))]
        }
        Line::Fault { fault, .. } => vec![format!("  guard: {}: sent back for repair", name(&fault.kind))],
        Line::Refused { what, reason, rule } => {
            vec![format!("  guard: `{what}` refused: {} [{rule}]", one_line(reason))]
        }
        Line::Override(order) => vec![match &order.advice {
            Some(_) => "  guard: goes on, with the advisor's words in a typed override".to_owned(),
            None => format!(
                "  guard: LOOP_OVERRIDE: do not repeat `{}`, seen {}",
                order.do_not_repeat,
                counted(order.seen.get(), "time")
            ),
        }],
        Line::Claim { demand: Some(demand), .. } => vec![format!("  guard: not done yet: {}", one_line(demand))],
        Line::Claim { demand: None, verdict } => {
            vec![format!("  guard: released: {}", verdict.as_ref().map(name).unwrap_or_default())]
        }
        Line::Plan(plan) => {
            let step = |step: &PlanStep| format!("  plan: {} {}", step.tool, one_line(&step.purpose));
            plan.steps.iter().map(step).collect()
        }
        Line::PlanStep { number, of, purpose } => {
            vec![format!("  plan: step {number} of {of} is done: {}", one_line(purpose))]
        }
        Line::LoopCheck { engine, opinion, .. } => {
            vec![format!("  advisor ({engine}) on the loop: {} (written down; it decides nothing)", name(opinion))]
        }
        Line::Deadlock { deadlock } => vec![format!("  guard: {}: the advisor is asked", name(deadlock))],
        Line::Advice { engine, text } => vec![format!("  advisor ({engine}): {}", one_line(text))],
        Line::Review { answer, proposal, .. } => {
            let digest = proposal.map(|digest| digest.to_string()).unwrap_or_default();
            vec![format!("  reviewer: {} {}", name(answer), digest.get(..16).unwrap_or_default())]
        }
        Line::FreshContext => vec!["  guard: the context is full: it restarts with the briefing".to_owned()],
        Line::IterationEnd { exit_status, interrupt_reason } => {
            let reason =
                interrupt_reason.as_deref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
            vec![format!("  iteration ended: {}{reason}", name(exit_status))]
        }
        Line::Resumed => vec!["session taken up again".to_owned()],
        Line::End(_) => Vec::new(),
    }
}

fn head(setup: &Setup) -> Vec<String> {
    let engines: Vec<&str> = setup.engines.iter().map(Label::as_str).collect();
    let advisors: Vec<&str> = setup.advisor.iter().chain(&setup.other_advisors).map(Label::as_str).collect();
    let advisor = if advisors.is_empty() { String::new() } else { format!(", advisor {}", advisors.join(", then ")) };
    vec![format!("objective: {}", one_line(&setup.objective)), format!("engine {}{advisor}", engines.join(", then "))]
}

fn answered(answer: &Answer, status: &Status) -> Vec<String> {
    let mut lines = vec![format!("{:>3}  agent: {}", status.step.get(), one_line(&answer.text))];
    lines.extend(answer.work.as_ref().map(worked));
    lines.extend(answer.calls.iter().map(|call| format!("       {} {}", call.tool, one_line(&call.arguments))));
    lines
}

/// A worker's turn in figures.
fn worked(work: &Work) -> String {
    let end = match work.end {
        WorkEnd::Finished => "ended its turn",
        WorkEnd::Held(_) => "held by its guard",
        WorkEnd::Stopped(_) => "stopped by its guard",
        WorkEnd::Failed(_) => "did not finish",
    };
    let changed = if work.changed { "code changed" } else { "no code changed" };
    let (tokens, cost) = (counted(work.tokens.get(), "token"), money::dollars(work.cost_micro_usd.get()));
    format!("       worker: {end}, {changed}, {tokens}, {cost}")
}

fn came_back(result: &ResultLine) -> String {
    let word = match (result.how, result.exit_code) {
        (CallOutcome::Done, Some(code)) | (CallOutcome::Failed, Some(code)) => format!("exit {code}"),
        (CallOutcome::Done, None) => "ok".to_owned(),
        (CallOutcome::Failed, None) => "failed".to_owned(),
        (CallOutcome::Cut, _) => "cut off".to_owned(),
        (CallOutcome::NotRun, _) => "not run".to_owned(),
        (CallOutcome::Refused, _) => "refused".to_owned(),
        (CallOutcome::Unknown, _) => "result unknown".to_owned(),
    };
    // A command's output stands inside a JSON object; what it wrote is what a person wants to see.
    let shown = serde_json::from_str::<serde_json::Value>(&result.text).ok().and_then(|value| {
        let stream = |name: &str| value.get(name).and_then(|text| text.as_str()).unwrap_or_default().to_owned();
        let both = stream("stdout") + &stream("stderr");
        both.trim_end().lines().last().map(str::to_owned)
    });
    match (shown, result.how) {
        (Some(last), _) => format!("-> {word}: {}", one_line(&last)),
        (None, CallOutcome::Done) => format!("-> {word}"),
        (None, _) => format!("-> {word}: {}", one_line(&result.text)),
    }
}

/// The end in words or as one object.
pub(crate) fn report(left: &SessionEnd, exit: Exit, parity: &AgentParity, printer: &Printer) -> Vec<String> {
    let figures = &left.figures;
    if printer.shown == Shown::Json {
        let object = json!({
            "kind": "left", "session": left.session, "exit": exit.code(), "ending": left.ending,
            "figures": figures, "transcript": left.transcript, "parity": parity.json(),
            "workerTokens": printer.worker_tokens,
        });
        return vec![object.to_string()];
    }
    let budget =
        figures.budget_micro_usd.map_or(String::new(), |budget| format!(" of {}", money::exactly(budget.get())));
    let mut lines = vec![
        String::new(),
        format!("{}{} (exit {})", how(left), verdict::skipped(figures), exit.code()),
        format!(
            "  work      {} in {} · {} · {}{budget} · health {}",
            counted(figures.steps.get(), "step"),
            counted(figures.iterations.get(), "iteration"),
            counted(figures.spent.tokens.get().saturating_add(printer.worker_tokens), "token"),
            money::dollars(figures.spent.micro_usd.get()),
            ratio(figures.health.millionths())
        ),
    ];
    lines.extend(verdict::tests_changed(figures).map(|text| format!("  tests     {text}")));
    lines.extend([
        format!("  session   {}", left.session),
        format!("  record    {}", left.transcript.display()),
        format!("  {}", parity.words()),
        format!("  next      {}", next(left, printer)),
    ]);
    lines
}

/// How it ended, and for a hold or a stop what led to it.
fn how(left: &SessionEnd) -> String {
    match (&left.ending, &left.figures.cause) {
        (Ending::Stopped { reason }, Some(cause)) => format!("{}; {}", reason.way_on(), cause.words()),
        (Ending::Held { reason }, Some(cause)) => format!("{}; {}", reason.explain(), cause.words()),
        _ => left.ending.explain(),
    }
}

/// What a person can do now, as commands.
fn next(left: &SessionEnd, printer: &Printer) -> String {
    // Each turn of a worker is a newer session than this one.
    let of = if printer.worker_turns == 0 { String::new() } else { format!(" --session {}", left.session) };
    let look = match left.telling {
        Some(decision) => format!("`tripwire log{of}`, `tripwire why {}{of}`", decision.get()),
        None => format!("`tripwire log{of}`"),
    };
    match &left.ending {
        Ending::Held { reason } => {
            let first = ended::cleared_by(*reason);
            format!("{look}; `{first}{of}`, then `tripwire agent --resume {}`", left.session)
        }
        Ending::OutOfIterations => {
            let first = ended::cleared_by(HoldReason::IterationCap);
            format!("{look}; `{first}{of}`, then `tripwire agent --resume {}`", left.session)
        }
        Ending::NoMoney { .. } => {
            format!(
                "{look}; raise it with `tripwire fleet budget NAME --limit AMOUNT`, then `tripwire agent --resume {}`",
                left.session
            )
        }
        Ending::Parked { .. } => format!("{look}; later `tripwire agent --resume {}`", left.session),
        Ending::NoEngine { .. } => {
            format!("{look}; then `tripwire agent --resume {} --engine NAME`", left.session)
        }
        Ending::Stopped { .. } if left.ending.can_go_on() => {
            format!("{look}; `tripwire resume{of}`, then `tripwire agent --resume {}`", left.session)
        }
        Ending::ToolFailed { .. } => format!("{look}; then `tripwire agent --resume {}`", left.session),
        Ending::Stopped { .. } | Ending::SystemError { .. } | Ending::Refused { .. } => {
            let session = &left.session;
            format!("{look}; `tripwire resume --restart --session {session}`, then `tripwire agent --resume {session}`")
        }
        Ending::Completed { .. } => {
            format!("{look}, `tripwire replay {}`", left.session)
        }
    }
}

/// A foreign text as one line that fits.
fn one_line(text: &str) -> String {
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = flat.chars().take(LINE_LETTERS).collect();
    if cut.len() < flat.len() { format!("{cut}…") } else { cut }
}

fn ratio(millionths: u32) -> String {
    format!("{}.{:02}", millionths / 1_000_000, millionths % 1_000_000 / 10_000)
}

fn span(left: Duration) -> String {
    let seconds = left.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}
