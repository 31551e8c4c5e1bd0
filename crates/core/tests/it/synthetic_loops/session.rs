//! The generator: dice with a seed, a vocabulary, and a session that remembers when which level fired.

use tripwire_core::chain::Chain;
use tripwire_core::chain::event::AgentEvent;
use tripwire_core::decision::Level;
use tripwire_core::effect::Effect;
use tripwire_core::input::{Input, What};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_core::units::{Count, RunMillis, Tokens};
use tripwire_observe::{Observer, RawCall};

/// Random numbers that are the same for the same seed, everywhere.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }

    /// A number from `low` to `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// One of some.
    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    /// A made-up word: two or three syllables, so that there are thousands.
    pub(crate) fn word(&mut self) -> String {
        const SYLLABLES: [&str; 24] = [
            "ba", "do", "ki", "lu", "me", "na", "po", "ri", "su", "ta", "ve", "wo", "xi", "yo", "zu", "ger", "mal",
            "nor", "pin", "ral", "sen", "tor", "ven", "wil",
        ];
        (0..self.between(2, 3)).map(|_| self.one(&SYLLABLES)).collect()
    }

    /// Some made-up words.
    pub(crate) fn words(&mut self, count: u64) -> Vec<String> {
        (0..count).map(|_| self.word()).collect()
    }

    /// A sentence of made-up words.
    pub(crate) fn sentence(&mut self, count: u64) -> String {
        self.words(count).join(" ")
    }

    /// A path in a made-up project.
    pub(crate) fn path(&mut self) -> String {
        format!("src/{}/{}.{}", self.word(), self.word(), self.one(&["rs", "py", "ts", "go"]))
    }
}

/// One call and what came of it.
#[derive(Default)]
pub(crate) struct Call<'a> {
    pub(crate) tool: &'a str,
    pub(crate) args: String,
    pub(crate) output: Option<String>,
    pub(crate) error: bool,
    /// The model turn, where several calls share one.
    pub(crate) turn: Option<u64>,
}

/// A call that went well.
pub(crate) fn good<'a>(tool: &'a str, args: String, output: impl Into<String>) -> Call<'a> {
    Call { tool, args, output: Some(output.into()), ..Call::default() }
}

/// A call that failed with a text.
pub(crate) fn bad<'a>(tool: &'a str, args: String, output: impl Into<String>) -> Call<'a> {
    Call { error: true, ..good(tool, args, output) }
}

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

    /// Plays one call.
    pub(crate) fn play(&mut self, call: &Call<'_>) {
        self.at += 4_000;
        let at = RunMillis::new(self.at);
        let facts = self.observer.observe(&RawCall {
            tool: call.tool,
            args: &call.args,
            output: call.output.as_deref(),
            error: Some(call.error),
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
