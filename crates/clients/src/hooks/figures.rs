//! The tokens, the context and the money behind a client's event, as events of their own.

use super::calls::DeniedCall;
use super::dialect::StepSource;
use super::event::Event;
use super::hook_call::HookCall;
use super::memory::{HookMemory, Record};
use crate::usage;
use std::path::PathBuf;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::input::What;
use tripwire_core::label::Label;
use tripwire_core::prices::PriceList;
use tripwire_core::units::Tokens;
use tripwire_core::usage::FigureSource;

/// What is new in the transcripts.
#[derive(Debug, Default)]
pub(super) struct TranscriptNews {
    /// Tokens, context and money.
    pub(super) events: Vec<What>,
    /// Calls that brought no result to their hook, each with the sub-agent that asked for it.
    pub(super) denied: Vec<(DeniedCall, Option<String>)>,
}

/// What the figures of a client's own record are good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureUse {
    /// Tokens, money and context are counted from it.
    Everything,
    /// Tokens and money are counted elsewhere, by the gateway: only the context is read.
    ContextOnly,
    /// It has none, and nothing is estimated: who asks sees calls of tools and no model.
    Nothing,
}

/// What is new in the transcripts, at these prices: the main agent's, then that of the sub-agent that acts.
pub(super) fn new(
    call: &HookCall,
    memory: &mut HookMemory,
    window: Option<Tokens>,
    list: &PriceList,
    used: FigureUse,
) -> TranscriptNews {
    let mut events = Vec::new();
    let mut denied = Vec::new();
    let ids = call.client.adapter().hooks.call_ids;
    // Taken out while a transcript's own counts are changed beside it.
    let mut calls = std::mem::take(&mut memory.calls);
    let main = call.transcript.clone().map(|path| (path, None));
    let agent = call.agent.as_ref().and_then(|agent| Some((agent_transcript(call)?, Some(agent.id.as_str()))));
    let mut unread = call.transcript.is_none();
    for (path, agent) in main.into_iter().chain(agent) {
        let counted = memory.usage(&path);
        let first = counted.is_unread();
        let read = usage::read_with(call.client, &path, counted, list, |item| {
            if !first && let Some(found) = calls.hear(ids, item) {
                denied.push((found, agent.map(str::to_owned)));
            }
        });
        match read {
            Ok(Some(figures)) => {
                let mut event = match used {
                    FigureUse::Everything => figures.event(agent, window),
                    FigureUse::ContextOnly | FigureUse::Nothing => without_spending(figures.event(agent, window)),
                };
                if let Some(step) = memory.step_of_late_answer(&path, &figures.answer.to_string()) {
                    event.turn_id = Some(Label::cut(&step));
                }
                events.push(event);
            }
            Ok(None) => {}
            Err(_) if agent.is_none() => unread = true,
            // A sub-agent that has said nothing yet has no transcript.
            Err(_) => {}
        }
    }
    memory.note_figures(if unread { Record::Unread } else { Record::Read }, events.len());
    memory.calls = calls;
    if call.client.adapter().hooks.step_source == StepSource::ModelRequests {
        // Such a client numbers its model requests for us, and its calls are told apart by that number too.
        let step = step(call, memory, None);
        events.iter_mut().for_each(|event| event.turn_id.clone_from(&step));
    }
    TranscriptNews { events: events.into_iter().map(What::Event).collect(), denied }
}

/// Puts into a call's event what nobody gave figures for. Without a record its tokens are estimated from its size: they must never
/// count as nothing. Where no figures come at all, the context is estimated from the lines of output (CTX-1).
pub(super) fn fill_in(
    call: &HookCall,
    memory: &mut HookMemory,
    window: Tokens,
    used: FigureUse,
    event: &mut AgentEvent,
) {
    let Event::Done(tool, outcome) = &call.event else { return };
    if used == FigureUse::Nothing {
        return;
    }
    if memory.is_unread() && used == FigureUse::Everything {
        usage::estimate(&tool.input, &outcome.output).put_into(event);
    }
    // A sub-agent has a context of its own.
    if call.agent.is_none() {
        let lines = u64::try_from(outcome.output.lines().count()).unwrap_or(u64::MAX);
        if let Some(percent) = memory.estimate_context(lines) {
            let used = window.get().saturating_mul(percent).checked_div(100).unwrap_or(0);
            (event.context_tokens, event.context_source) = (Some(Tokens::new(used)), FigureSource::Estimated);
        }
    }
}

/// Reads the transcripts and counts nothing: what an earlier session left is not this one's.
pub(super) fn skip(call: &HookCall, memory: &mut HookMemory) {
    if let Some(path) = &call.transcript {
        drop(usage::read(call.client, path, memory.usage(path)));
    }
}

/// The step that a call belongs to: the answer that asked for it, or the announced model request.
pub(super) fn step(call: &HookCall, memory: &mut HookMemory, call_id: Option<&str>) -> Option<Label> {
    match call.client.adapter().hooks.step_source {
        StepSource::Transcript => {
            let path = agent_transcript(call).or_else(|| call.transcript.clone())?;
            // A record that lags behind its client names the answer later: then that answer is this call's step.
            memory.step_of_call(&path, call_id?).map(|step| Label::cut(&step))
        }
        StepSource::ModelRequests => {
            (memory.model_requests > 0).then(|| Label::cut(&format!("model-request-{}", memory.model_requests)))
        }
    }
}

/// The exit code that the client's record tells for a call.
pub(super) fn exit_code(call: &HookCall, memory: &mut HookMemory, call_id: Option<&str>) -> Option<i32> {
    let path = agent_transcript(call).or_else(|| call.transcript.clone())?;
    memory.usage(&path).exit_code_of(call_id?)
}

/// Where a sub-agent's own transcript is: where the hook says, else where the client keeps it.
fn agent_transcript(call: &HookCall) -> Option<PathBuf> {
    let agent = call.agent.as_ref()?;
    let kept = || (call.client.adapter().hooks.agent_transcript)(call.transcript.as_ref()?, &agent.id);
    agent.transcript.clone().or_else(kept)
}

/// The same without tokens and money, which are counted elsewhere.
fn without_spending(event: AgentEvent) -> AgentEvent {
    AgentEvent {
        cache_read_tokens: None,
        cache_write_tokens: None,
        cost_micro_usd: None,
        input_tokens: None,
        output_tokens: None,
        reasoning_tokens: None,
        token_count: Tokens::ZERO,
        ..event
    }
}
