//! A session that remembers when which level fired.

use tripwire_core::chain::Chain;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::Level;
use tripwire_core::effect::Effect;
use tripwire_core::input::{Input, What};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_core::units::{Count, RunMillis, Tokens};
use tripwire_observe::{Observer, RawCall};
use tripwire_testing::synthetic::{Call, Player};

/// A session under the default policy; it notes the first call at which each level fired.
#[derive(Debug)]
pub(crate) struct Session {
    chain: Chain,
    observer: Observer,
    at: u64,
    calls: u64,
    pub(crate) overridden_at: Option<u64>,
    pub(crate) held_at: Option<u64>,
    pub(crate) stopped_at: Option<u64>,
    /// What the first override or hold said.
    pub(crate) reason: Option<String>,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            chain: Chain::new(Policy::default()).unwrap(),
            observer: Observer::default(),
            at: 0,
            calls: 0,
            overridden_at: None,
            held_at: None,
            stopped_at: None,
            reason: None,
        }
    }
}

impl Session {
    /// How many calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }

    /// The size of the serialised state.
    pub(crate) fn state_bytes(&self) -> usize {
        self.chain.snapshot().unwrap().len()
    }
}

impl Player for Session {
    fn is_over(&self) -> bool {
        self.stopped_at.is_some()
    }

    fn play(&mut self, call: &Call<'_>) {
        self.at += call.after_ms.unwrap_or(4_000);
        let at = RunMillis::new(self.at);
        let facts = self.observer.observe(&RawCall {
            tool: call.tool,
            args: &call.args,
            output: call.output.as_deref(),
            error: Some(call.error),
            text: call.said.as_deref(),
            ..RawCall::default()
        });
        let event = AgentEvent {
            timestamp: at,
            token_count: Tokens::new(200),
            tool_calls: Count::new(1),
            output_length: facts.output_length,
            action: Some(facts.action),
            outcome: Some(facts.outcome),
            flags: facts.flags,
            result_digest: facts.result_digest,
            error_digest: facts.error_digest,
            error_kind: facts.error_kind,
            error_text: facts.error_text,
            gain: facts.gain,
            output_hash: facts.output_hash,
            sketch: facts.sketch,
            text_sketch: facts.text_sketch,
            turn_id: call.turn.and_then(|turn| Label::new(&format!("turn-{turn}"))),
            ..AgentEvent::default()
        };
        let decision = self.chain.step(&Input { at, what: What::Event(event) }).decision;
        let index = self.calls;
        self.calls += 1;
        for finding in &decision.findings {
            assert!(!finding.evidence.is_empty() && !finding.reason.is_empty(), "{finding:?}");
            if finding.level >= Level::Override {
                self.reason.get_or_insert_with(|| format!("{}: {}", finding.rule.id(), finding.reason));
            }
            if finding.level == Level::Override {
                self.overridden_at.get_or_insert(index);
            }
        }
        if !decision.safety.allowed {
            self.held_at.get_or_insert(index);
            self.reason.get_or_insert_with(|| decision.safety.reason.to_string());
        }
        if decision.effects.iter().any(|effect| matches!(effect, Effect::Stop(_))) {
            self.stopped_at.get_or_insert(index);
        }
    }
}
