//! Past runs of other people's agents, judged as if they had been guarded: which level would have fired, and where.

use crate::formats::lines::{LineError, Lines};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::BufRead;
use std::ops::Deref;
use tripwire_core::chain::Chain;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::{Decision, Level};
use tripwire_core::effect::Effect;
use tripwire_core::explain::Explain;
use tripwire_core::input::{Input, What};
use tripwire_core::label::Label;
use tripwire_core::policy::{Limit, Policy, PolicyError, Profile};
use tripwire_core::units::{Count, MicroUsd, Price, RunMillis, Tokens};
use tripwire_observe::{Neighbours, Observer, RawCall};

/// The time between two events of a trace that tells none: slow enough to be no runaway.
const UNTIMED_STEP_MS: u64 = 5_000;

/// Why traces cannot be scanned.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A line is no trace.
    #[error("line {line}: column {column}: {problem}")]
    Trace {
        /// Its number, from 1.
        line: u64,
        /// Where in the line.
        column: usize,
        /// What is wrong.
        problem: String,
    },
    /// The policy contradicts itself.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl Explain for TraceError {
    fn hint(&self) -> Cow<'_, str> {
        "one trace per line; the format: `tripwire help traces`".into()
    }
}

/// What the engine would have done with one trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scanned {
    /// The trace.
    pub trace_id: String,
    /// The event at which the first level fired.
    pub fired_at: Option<u64>,
    /// The strictest level that fired.
    pub kind: Option<Level>,
    /// The event at which each level first fired.
    pub levels: Levels,
    /// The rule behind the strictest level.
    pub rule: Option<String>,
    /// The first event that would have waited for room in the minute: no sign of being stuck, and felt all the same.
    pub throttled_at: Option<u64>,
    /// How many would have waited so.
    pub throttles: u64,
    /// How many events the trace has.
    #[serde(skip)]
    pub events: u64,
    /// What it had cost since the first repeat when it would first have been held or stopped.
    #[serde(skip)]
    pub price: Price,
    /// Everything that fired, in its order.
    #[serde(skip)]
    pub alarms: Vec<ScannedAlarm>,
}

/// One thing that would have fired in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedAlarm {
    /// The event.
    pub event: u64,
    /// How far up the ladder.
    pub level: Level,
    /// The rule.
    pub rule: String,
    /// In one sentence.
    pub reason: String,
}

impl Scanned {
    /// The event at which it would have been held or stopped for the first time.
    #[must_use]
    pub fn held_at(&self) -> Option<u64> {
        [self.levels.hold, self.levels.stop].into_iter().flatten().min()
    }
}

impl Scanned {
    /// The event at which the strictest level fired.
    #[must_use]
    pub fn strictest_at(&self) -> Option<u64> {
        let Levels { note, overridden, hold, stop } = self.levels;
        stop.or(hold).or(overridden).or(note)
    }
}

/// The event at which each level first fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Levels {
    /// Noted.
    pub note: Option<u64>,
    /// Overridden.
    #[serde(rename = "override")]
    pub overridden: Option<u64>,
    /// Held.
    pub hold: Option<u64>,
    /// Stopped.
    pub stop: Option<u64>,
}

#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(borrow)]
    trace_id: Cow<'a, str>,
    #[serde(borrow)]
    events: Vec<TraceEvent<'a>>,
}

#[derive(Deserialize)]
struct TraceEvent<'a> {
    #[serde(borrow)]
    tool: Option<Text<'a>>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<Text<'a>>,
    output_len: Option<usize>,
    #[serde(borrow)]
    output_sha256: Option<Text<'a>>,
    error: Option<bool>,
    exit_code: Option<i32>,
    t_ms: Option<RunMillis>,
    tokens: Option<Tokens>,
    cost_micro_usd: Option<MicroUsd>,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    msg_id: Option<Text<'a>>,
    user_turn: Option<bool>,
}

/// A text of a trace; it is copied only if it holds escapes. (An optional `Cow` alone is always copied.)
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Scans traces, one JSON object a line, and tells of each.
///
/// # Errors
/// At the first line that is no trace.
pub fn scan(reader: impl BufRead, policy: &Policy, mut tell: impl FnMut(Scanned)) -> Result<(), TraceError> {
    let policy = &without_wall_clock(policy);
    each(reader, |trace| {
        tell(judge(trace, policy)?);
        Ok(())
    })
}

/// Judges one trace, written as in a file of traces.
///
/// # Errors
/// When it is no trace.
pub fn scan_one(trace: &[u8], policy: &Policy) -> Result<Scanned, TraceError> {
    judge(&read(trace, 1)?, &without_wall_clock(policy))
}

/// The inputs of every trace as the engine gets them, observed already: for those who measure the engine alone.
///
/// # Errors
/// At the first line that is no trace.
pub fn inputs(reader: impl BufRead) -> Result<Vec<Vec<Input>>, TraceError> {
    let mut all = Vec::new();
    each(reader, |trace| {
        all.push(trace.inputs(Neighbours::Compared).collect());
        Ok(())
    })?;
    Ok(all)
}

fn each(reader: impl BufRead, mut use_one: impl FnMut(&Trace<'_>) -> Result<(), TraceError>) -> Result<(), TraceError> {
    let mut lines = Lines::new(reader);
    let mut buffer = Vec::new();
    while lines.next_into(&mut buffer)? {
        if buffer.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        use_one(&read(&buffer, lines.number())?)?;
    }
    Ok(())
}

fn read(trace: &[u8], line: u64) -> Result<Trace<'_>, TraceError> {
    serde_json::from_slice(trace).map_err(|error| TraceError::Trace {
        line,
        column: error.column(),
        problem: crate::formats::decode::problem(&error),
    })
}

/// The policy without the iteration's wall clock: in a past run it also counts the nights in which a laptop was shut,
/// and says nothing about being stuck.
fn without_wall_clock(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    policy.limits.max_runtime_hours = Limit::Off;
    policy
}

impl Trace<'_> {
    /// What the engine gets of it; an event is observed when it is asked for, so that nothing is done for what follows a stop.
    fn inputs(&self, neighbours: Neighbours) -> impl Iterator<Item = Input> {
        let mut observer = Observer::default();
        let mut at = 0;
        let start = self.events.iter().find_map(|event| event.t_ms).unwrap_or_default();
        self.events.iter().flat_map(move |event| {
            at = event.t_ms.map_or(at + UNTIMED_STEP_MS, |time| time.minus(start).get().max(at));
            // A person's prompt begins an iteration, as it does under a live client.
            let prompt = Input { at: RunMillis::new(at), what: What::IterationStarted };
            let prompt = (event.user_turn == Some(true)).then_some(prompt);
            prompt.into_iter().chain([event.input(&mut observer, at, neighbours)])
        })
    }
}

/// On evidence, equal outputs of neighbours count only where nothing is known of a call.
fn neighbours(trace: &Trace<'_>, policy: &Policy) -> Neighbours {
    match policy.profile {
        Profile::Balanced if trace.events.iter().all(|event| event.tool.is_some()) => Neighbours::Unread,
        Profile::Balanced | Profile::Strict => Neighbours::Compared,
    }
}

fn judge(trace: &Trace<'_>, policy: &Policy) -> Result<Scanned, TraceError> {
    let mut chain = Chain::new(policy.clone())?;
    let mut levels = Levels::default();
    let mut strictest: Option<(Level, String)> = None;
    let mut price = None;
    let mut alarms = Vec::new();
    let (mut throttled_at, mut throttles) = (None, 0_u64);
    let mut next = 0_u64;
    for input in trace.inputs(neighbours(trace, policy)) {
        let decision = chain.step(&input).decision;
        if !matches!(input.what, What::Event(_)) {
            continue;
        }
        let index = next;
        next += 1;
        if waits(&decision, policy.profile) {
            throttles += 1;
            throttled_at.get_or_insert(index);
        }
        for (level, rule, since, reason) in fired(&decision, policy.profile) {
            alarms.push(ScannedAlarm { event: index, level, rule: rule.clone(), reason });
            if level >= Level::Hold {
                price.get_or_insert(since);
            }
            let slot = match level {
                Level::Note => &mut levels.note,
                Level::Override => &mut levels.overridden,
                Level::Hold => &mut levels.hold,
                Level::Stop => &mut levels.stop,
            };
            slot.get_or_insert(index);
            if strictest.as_ref().is_none_or(|(before, _)| *before < level) {
                strictest = Some((level, rule));
            }
        }
        if levels.stop.is_some() {
            break;
        }
    }
    let first = [levels.note, levels.overridden, levels.hold, levels.stop].into_iter().flatten().min();
    let (kind, rule) = strictest.unzip();
    let events = u64::try_from(trace.events.len()).unwrap_or(u64::MAX);
    Ok(Scanned {
        trace_id: trace.trace_id.clone().into_owned(),
        fired_at: first,
        kind,
        levels,
        rule,
        throttled_at,
        throttles,
        events,
        price: price.unwrap_or_default(),
        alarms,
    })
}

/// The levels that a decision reaches: findings by their own level, a refusal that is no mere wait as a hold, an end
/// as a stop. The two warnings of the sliding minute are left out: a busy minute is no sign of being stuck.
fn fired(decision: &Decision, profile: Profile) -> Vec<(Level, String, Price, String)> {
    let told = decision.findings.iter().filter(|finding| !finding.rule.is_throttle());
    let mut levels: Vec<_> = told
        .map(|finding| (finding.level, finding.rule.id().to_owned(), finding.price, finding.reason.to_string()))
        .collect();
    let price = levels.iter().map(|(_, _, price, _)| *price).max_by_key(|price| price.tokens).unwrap_or_default();
    let safety = &decision.safety;
    let reason = reason_of(decision);
    if !safety.allowed && !waits(decision, profile) {
        levels.push((Level::Hold, safety.rule.id().to_owned(), price, reason.clone()));
    }
    if decision.effects.iter().any(|effect| matches!(effect, Effect::Stop(_))) {
        levels.push((Level::Stop, safety.rule.id().to_owned(), price, reason));
    }
    levels
}

/// Why a past call would have been held or stopped: what was noticed, else the cause in short. The gate's own words say how a session
/// goes on, and this one was never guarded.
fn reason_of(decision: &Decision) -> String {
    let noticed = decision.findings.iter().filter(|finding| finding.level > Level::Note);
    let cause = || {
        decision.effects.iter().find_map(|effect| match effect {
            Effect::Stop(reason) => Some(reason.in_short()),
            Effect::Hold(reason) => Some(reason.in_short()),
            Effect::Kill
            | Effect::Inject(_)
            | Effect::Prompt(_)
            | Effect::Compact
            | Effect::WarnContext
            | Effect::AskAdvisor(_)
            | Effect::SwitchEngine(_)
            | Effect::WriteReport(_)
            | Effect::Notify(_)
            | Effect::EndIteration(_)
            | Effect::WakeAt(_) => None,
        })
    };
    let noticed = noticed.max_by_key(|finding| finding.level).map(|finding| finding.reason.to_string());
    noticed.or_else(|| cause().map(str::to_owned)).unwrap_or_else(|| decision.safety.reason.to_string())
}

/// Whether a call would have waited for room in the minute. To the letter crossing the minute's bounds is a veto; on evidence
/// it is a wait.
fn waits(decision: &Decision, profile: Profile) -> bool {
    let safety = &decision.safety;
    profile == Profile::Balanced && !safety.allowed && safety.rule.is_throttle() && safety.retry_after_ms.is_some()
}

impl TraceEvent<'_> {
    /// The digest of the whole output, where only its beginning was kept.
    fn whole(&self) -> Option<&str> {
        let (kept, length) = (self.output.as_deref()?, self.output_len?);
        // No text has more characters than bytes.
        self.output_sha256.as_deref().filter(|_| length > kept.len() || length > kept.chars().count())
    }

    fn input(&self, observer: &mut Observer, at: u64, neighbours: Neighbours) -> Input {
        let at = RunMillis::new(at);
        let facts = observer.observe(&RawCall {
            tool: self.tool.as_deref().unwrap_or_default(),
            args: self.args.map_or("", RawValue::get),
            output: self.output.as_deref(),
            error: self.error,
            exit_code: self.exit_code,
            text: self.text.as_deref(),
            whole: self.whole(),
            neighbours,
            ..RawCall::default()
        });
        let event = AgentEvent {
            timestamp: at,
            token_count: self.tokens.unwrap_or_default(),
            cost_micro_usd: self.cost_micro_usd,
            tool_calls: Count::new(1),
            output_length: facts.output_length,
            action: self.tool.as_ref().map(|_| facts.action),
            outcome: Some(facts.outcome),
            flags: facts.flags,
            result_digest: facts.result_digest,
            error_digest: facts.error_digest,
            error_kind: facts.error_kind,
            error_text: facts.error_text,
            gain: facts.gain,
            ignored: facts.ignored,
            output_hash: facts.output_hash,
            sketch: facts.sketch,
            text_sketch: facts.text_sketch,
            turn_id: self.msg_id.as_deref().map(Label::cut),
            user_turn: self.user_turn.unwrap_or(false),
            ..AgentEvent::default()
        };
        Input { at, what: What::Event(event) }
    }
}
