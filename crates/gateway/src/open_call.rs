//! One call between its reservation and its settlement. Whatever happens to it, it is settled once: when it is dropped, with
//! what had been seen by then.

use crate::admission::{SERVER_CALL_PRICE, WorstCase, times};
use crate::door::DoorQuestion;
use crate::run_door::ModelNews;
use crate::shared::Shared;
use crate::wire::reply::ReplyReader;
use crate::wire::tool_calls::WireRequest;
use crate::wire::{Delivery, InputBound, RequestFacts};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tripwire_core::label::Label;
use tripwire_core::ledger::{
    AccountId, CallEnd, Doubt, Heard, ModelUsage, ReplyEnd, ReservationId, SentInput, SettledCall, UtcDate, figures,
    own_usage,
};
use tripwire_core::prices::{AudioUse, Cost, ModelPrices, PriceBasis};
use tripwire_core::units::{Count, MicroUsd, Tokens};
use tripwire_core::usage::{AudioInput, Usage};
use tripwire_session::shared_money::MoneyPromise;

/// Tokens that a provider makes in a millisecond, for one reply; the large ones make a tenth of it.
const TOKENS_PER_MS: u64 = 1;

/// A call that is reserved.
pub(crate) struct OpenCall {
    pub(crate) shared: Arc<Shared>,
    pub(crate) facts: RequestFacts,
    /// What the model costs that was asked.
    pub(crate) prices: ModelPrices,
    pub(crate) worst: WorstCase,
    pub(crate) provider: String,
    pub(crate) request_bytes: u64,
    pub(crate) day: UtcDate,
    /// When its request began to be served.
    pub(crate) began: Instant,
    pub(crate) reservation: Option<ReservationId>,
    /// What budgets over several machines have promised.
    pub(crate) promise: Option<MoneyPromise>,
    /// On whose account it is.
    pub(crate) caller: AccountId,
    pub(crate) conversation: Conversation,
    pub(crate) stage: Stage,
    pub(crate) status: u16,
}

/// What becomes of the tool calls in a reply.
#[derive(Clone)]
pub(crate) enum Conversation {
    /// They are not read.
    Unread,
    /// A run is told of them: hooks announce them.
    Followed(WireRequest),
    /// The guard is asked about them.
    Asked(WireRequest),
}

impl Conversation {
    /// The request that it goes on with, where it is read.
    pub(crate) const fn request(&self) -> Option<&WireRequest> {
        match self {
            Self::Unread => None,
            Self::Followed(request) | Self::Asked(request) => Some(request),
        }
    }
}

/// How far a call has come.
pub(crate) enum Stage {
    /// Nothing has left.
    Reserved,
    /// The request is on its way or there; nothing is known of a reply.
    Sent,
    /// A reply comes.
    Replying(Box<ReplyReader>),
}

impl OpenCall {
    /// Frees the reservation: the request did not leave, or the provider refused it and charges nothing.
    pub(crate) fn release(&mut self) {
        if let Some(id) = self.reservation.take() {
            self.shared.books().release(id);
        }
        self.keep_promise(MicroUsd::ZERO);
    }

    /// Settles what budgets over several machines have promised.
    fn keep_promise(&mut self, cost: MicroUsd) {
        if let (Some(money), Some(promise)) = (&self.shared.money, self.promise.take()) {
            money.settle(promise, cost);
        }
    }

    /// Books the call.
    pub(crate) fn settle(&mut self, end: CallEnd) {
        let Some(id) = self.reservation.take() else { return };
        let call = self.figure(end);
        self.keep_promise(call.micro_usd);
        let settled = self.shared.books().settle(id, call, self.began.elapsed());
        if let Some(call) = settled {
            let metrics = &self.shared.metrics;
            metrics.calls.fetch_add(1, Ordering::Relaxed);
            metrics.micro_usd.fetch_add(call.micro_usd.get(), Ordering::Relaxed);
            metrics.tokens.fetch_add(call.usage.total().get(), Ordering::Relaxed);
            self.shared.tell(|| ModelNews::Settled(Box::new(call.clone())));
            if let (None, Conversation::Asked(request)) = (&self.shared.run, &self.conversation) {
                self.shared.door.tell(&self.caller, DoorQuestion::Used(request.clone(), Box::new(call.clone())));
            }
            if !call.excess.is_zero() {
                let caller = call.path.first().map(ToString::to_string).unwrap_or_default();
                let text = format!("{caller}: {} beyond what was reserved", call.excess.in_dollars());
                self.shared.books().note("RESERVE_SHORT", &text);
                // A run has no configuration to read again: a person raises its budget.
                let until = if self.shared.run.is_some() { "its budget is raised" } else { "a reload" };
                self.shared.say(&format!("RESERVE_SHORT: {text}; the account is closed until {until}"));
            }
        }
    }

    /// What the call cost, by what was seen of it.
    fn figure(&self, end: CallEnd) -> SettledCall {
        let reader = match &self.stage {
            Stage::Replying(reader) => Some(reader.as_ref()),
            Stage::Reserved | Stage::Sent => None,
        };
        let facts = reader.map(ReplyReader::facts);
        let output_max = Tokens::new(self.worst.limit.get().saturating_mul(self.facts.replies));
        let is_whole = end == CallEnd::Complete && facts.is_some_and(|facts| facts.is_complete);
        let told = facts.and_then(|facts| facts.told());
        let mut found = figures(&Heard {
            told,
            input: match self.facts.input {
                InputBound::Bytes(_) => SentInput::Whole(self.request_bytes),
                InputBound::Window => SentInput::Part,
            },
            reply_bytes: facts.map_or(0, |facts| facts.said_bytes),
            output_max,
            input_max: self.worst.input,
            end: if is_whole { ReplyEnd::Whole } else { ReplyEnd::Part },
        });
        let is_unknown = told.is_none() && !is_whole;
        if is_unknown {
            found.usage.output = found.usage.output.max(self.unheard().min(output_max));
        }
        let audio = self.audio(told, facts.and_then(|facts| facts.audio), &found.usage);
        // Figures that are too high to be believed are of no model.
        let others = facts.filter(|_| found.doubt != Some(Doubt::TooHigh)).map_or(&[][..], |facts| &facts.others);
        let own = own_usage(found.usage, others);
        let (prices, cost) = self.price(&own, audio, facts.and_then(|facts| facts.model.as_deref()));
        let paid = |other: &ModelUsage| self.shared.prices.cost(other.model.as_str(), &other.usage);
        let cost = others.iter().fold(cost, |cost, other| cost.plus(paid(other)));
        let has_price = !audio.is_zero() && prices.audio_rates(own.input()).is_some();
        let per_mille = self.facts.price_per_mille.max(facts.map_or(0, |facts| facts.price_per_mille));
        let searches = facts.map_or(0, |facts| facts.server_calls).max(self.facts.server_calls_min);
        let tools = MicroUsd::new(SERVER_CALL_PRICE.get().saturating_mul(searches));
        let mut micro_usd = times(cost.micro_usd, per_mille).plus(tools);
        // A reply that could not be read may have cost all that it was allowed to, and so may one that was not to be streamed: its
        // provider does not notice that nobody waits for it.
        let goes_on = is_unknown && self.facts.delivery == Delivery::Whole;
        if goes_on || reader.is_some_and(ReplyReader::is_unreadable) {
            micro_usd = self.worst.amount;
        }
        SettledCall {
            audio: if has_price { audio } else { AudioInput::default() },
            other_models: others.iter().map(|other| self.named(other)).collect(),
            path: Vec::new(),
            day: self.day,
            provider: Label::cut(&self.provider),
            model: Label::cut(&self.shared.outbound.hide(&self.facts.model)),
            end,
            status: Count::new(u32::from(self.status)),
            usage: found.usage,
            source: found.source,
            doubt: found.doubt,
            reserved: self.worst.amount,
            micro_usd,
            excess: MicroUsd::ZERO,
            price_estimated: cost.basis == PriceBasis::HighestKnown,
            request: None,
        }
    }

    /// What the call's own model costs: the one that was asked has the price; one without any has that of the one which answered.
    fn price(&self, used: &Usage, audio: AudioInput, answered: Option<&str>) -> (ModelPrices, Cost) {
        let asked = self.prices.cost(used, audio);
        match (asked.basis, answered) {
            (PriceBasis::Listed, _) | (PriceBasis::HighestKnown, None) => (self.prices, asked),
            (PriceBasis::HighestKnown, Some(answered)) => {
                let prices = self.shared.prices.of(answered);
                (prices, prices.cost(used, audio))
            }
        }
    }

    /// What another model used, with its name as it may be written down.
    fn named(&self, other: &ModelUsage) -> ModelUsage {
        ModelUsage { model: Label::cut(&self.shared.outbound.hide(other.model.as_str())), usage: other.usage }
    }

    /// How much of the input is audio: what the provider told of the figures that are charged, else all that may be.
    fn audio(&self, told: Option<Usage>, heard: Option<AudioInput>, charged: &Usage) -> AudioInput {
        let heard = heard.filter(|_| told.is_some_and(|told| told.input() == charged.input()));
        match (heard, self.facts.audio) {
            (Some(heard), AudioUse::None | AudioUse::Possible) => heard,
            (None, AudioUse::Possible) => AudioInput { fresh: charged.fresh_input, cached: charged.cache_read },
            (None, AudioUse::None) => AudioInput::default(),
        }
    }

    /// What a provider may have thought in the time that a call took, although nothing of it arrived.
    fn unheard(&self) -> Tokens {
        let took = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Tokens::new(took.saturating_mul(TOKENS_PER_MS).saturating_mul(self.facts.replies))
    }
}

impl Drop for OpenCall {
    /// The client went away, or something broke on the way.
    fn drop(&mut self) {
        match self.stage {
            Stage::Reserved => self.release(),
            Stage::Sent | Stage::Replying(_) => self.settle(CallEnd::Cancelled),
        }
    }
}
