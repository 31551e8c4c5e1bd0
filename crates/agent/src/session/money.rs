//! The money of a session of our own loop: each question is reserved before it leaves and settled when it has ended, in the
//! ledger that gateways use (GATE-8).
//!
//! The session has an account, and below it one for each agent of its tree: the model, the advisors, the reviewer; a worker's
//! is that of its own session, on which the worker's own gateway books. A line is written before the session's journal learns of
//! the answer, so a kill between the two loses no cent: the process that resumes the session compares the two.
//!
//! INVARIANT: what is settled on the session's account is what the money gate of the chain has taken in, as soon as the machine
//! has no event to put.

use super::asking::HeardAnswer;
use super::engine_set::LoopAgent;
use super::error::SessionError;
use super::facts::{ModelNames, charged, dearer};
use crate::engines::{CallCost, Engine, EngineError, model_of};
use std::time::{Duration, Instant};
use tripwire_core::chain::ChainView;
use tripwire_core::input::ModelSpend;
use tripwire_core::label::Label;
use tripwire_core::ledger::{
    AccountId, AccountSettings, Budget, CallEnd, Doubt, Ledger, Period, ReservationId, ReserveError, SettledCall,
};
use tripwire_core::prices::{Cost, PriceBasis, PriceList};
use tripwire_core::run::record::{Answer, Work};
use tripwire_core::units::{Count, MicroUsd};
use tripwire_core::usage::{AudioInput, FigureSource, Usage};
use tripwire_session::booked_ledger::BookedLedger;
use tripwire_session::driver::DriverError;
use tripwire_session::ledger::LedgerBook;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::layout::Layout;

/// The status of a reply that came whole: no engine takes another one.
const GOOD_STATUS: u32 = 200;
/// What stands in the place of the model for what a session spent before its calls were written down.
const EARLIER: &str = "earlier-calls";

/// The accounts of one session.
#[derive(Debug)]
pub(super) struct SessionMoney {
    books: BookedLedger,
    layout: Layout,
    session: AccountId,
    /// The budget as the account has it.
    budget: Option<MicroUsd>,
}

/// What is reserved for one question.
#[derive(Debug)]
#[must_use = "a reservation that is neither settled nor released keeps its money"]
pub(super) struct HeldMoney {
    id: ReservationId,
    worst: MicroUsd,
    began: Instant,
}

/// What one question used and cost.
#[derive(Debug, Clone)]
pub(super) struct PaidCall {
    pub(super) provider: Label,
    pub(super) model: Label,
    pub(super) usage: Usage,
    pub(super) source: FigureSource,
    pub(super) cost: Cost,
    pub(super) end: CallEnd,
}

impl SessionMoney {
    /// Opens the account of a session.
    pub(super) fn open(layout: &Layout, session: &str, view: &ChainView) -> Result<Self, DriverError> {
        let session = AccountId::session(session);
        let mut books = BookedLedger::new(Ledger::default(), LedgerBook::open(layout)?);
        books.set(session.clone(), settings(view.budget_micro_usd));
        books.rest();
        Ok(Self { books, layout: layout.clone(), session, budget: view.budget_micro_usd })
    }

    /// The session's account.
    pub(super) const fn session(&self) -> &AccountId {
        &self.session
    }

    /// What is settled on the session's account.
    pub(super) fn settled(&self) -> MicroUsd {
        self.books.ledger().account(&self.session).map(|account| account.settled()).unwrap_or_default()
    }

    /// What is left for a question; nothing of an account that is closed.
    pub(super) fn left(&mut self, view: &ChainView) -> Option<MicroUsd> {
        self.follow(view);
        self.books.left(&self.session).unwrap_or(Some(MicroUsd::ZERO))
    }

    /// Reserves the worst case of an agent's question; nothing for one that costs nothing.
    pub(super) fn hold(
        &mut self,
        agent: LoopAgent,
        worst: Option<MicroUsd>,
        view: &ChainView,
    ) -> Result<Option<HeldMoney>, ReserveError> {
        let Some(worst) = worst else { return Ok(None) };
        self.follow(view);
        let account = self.agent(agent);
        self.reserve(&account, worst).map(Some)
    }

    /// Reserves all that is left for a worker, which may spend it; nothing without a budget.
    pub(super) fn hold_all(&mut self, view: &ChainView) -> Result<Option<HeldMoney>, ReserveError> {
        self.follow(view);
        let Some(left) = self.books.left(&self.session)? else { return Ok(None) };
        let account = self.session.clone();
        self.reserve(&account, left).map(Some)
    }

    /// Settles a question with what it used, and frees what it did not; gives what a person should know.
    pub(super) fn settle(&mut self, held: HeldMoney, paid: Option<PaidCall>) -> Result<Option<String>, SessionError> {
        let HeldMoney { id, worst, began } = held;
        let Some(paid) = paid else {
            self.books.release(id);
            return Ok(None);
        };
        let call = Self::call(paid, worst);
        let settled = self.books.settle(id, call, began.elapsed());
        let short = settled.filter(|call| !call.excess.is_zero()).map(|call| {
            let text = format!("{}: {} beyond what was reserved", self.session, call.excess.in_dollars());
            self.books.note("RESERVE_SHORT", &text);
            format!("RESERVE_SHORT: {text}; the account is closed until the session is taken up again")
        });
        self.written()?;
        Ok(short)
    }

    /// Settles a worker's turn. Its own gateway wrote its calls down; what went past it gets a line here.
    pub(super) fn settle_worker(&mut self, held: Option<HeldMoney>, answer: &Answer) -> Result<(), SessionError> {
        if let Some(held) = held {
            self.books.release(held.id);
        }
        let Some(Work { cost_micro_usd, session: Some(session), .. }) = &answer.work else { return Ok(()) };
        let worker = AccountId::session(session.as_str());
        let seen = LedgerBook::calls_of(&self.layout, &worker)?;
        let written = seen.iter().fold(MicroUsd::ZERO, |sum, call| sum.plus(call.micro_usd));
        self.books.book_written(&self.session, written.min(*cost_micro_usd)).map_err(unbooked)?;
        let rest = cost_micro_usd.minus(written);
        if !rest.is_zero() {
            self.books.open_agent(&worker, &self.session);
            let mut call = unseen(answer.model.clone());
            call.cost.micro_usd = rest;
            self.book(&worker, call)?;
        }
        self.written()
    }

    /// Books a question of an earlier process of which nothing is known but that it was reserved: it may have cost all of it.
    pub(super) fn book_lost(&mut self, agent: LoopAgent, lost: PaidCall) -> Result<(), SessionError> {
        let (account, worst) = (self.agent(agent), lost.cost.micro_usd);
        let mut call = Self::call(lost, worst);
        call.doubt = Some(Doubt::Unfinished);
        self.books.book(&account, call, Duration::ZERO).map_err(unbooked)?;
        self.written()
    }

    /// Writes down what the gate was told and the ledger was not, as far as it is known of which call: of the question before
    /// the session began, and of none for what was spent before this ledger was kept.
    pub(super) fn catch_up(&mut self, view: &ChainView, call: Option<PaidCall>) -> Result<(), SessionError> {
        let untold = view.spent.micro_usd.minus(self.settled());
        if untold.is_zero() {
            return Ok(());
        }
        let (account, mut call) = match call {
            Some(call) => (self.agent(LoopAgent::Model), call),
            None => (self.session.clone(), unseen(Label::cut(EARLIER))),
        };
        call.cost.micro_usd = untold;
        self.book(&account, call)?;
        self.written()
    }

    /// Books again what earlier processes of a session settled, and compares it with the gate; `due` is what the gate is about to
    /// be told. Gives the calls of which it has not heard: their process was killed before it journaled what came of them.
    pub(super) fn reconcile(&mut self, view: &ChainView, due: MicroUsd) -> Result<Vec<ModelSpend>, SessionError> {
        self.books.restore(&self.session)?;
        // A person took the session up: an account that a call had closed is open again.
        self.books.set(self.session.clone(), settings(self.budget));
        self.catch_up(view, None)?;
        let mut untold = self.settled().minus(view.spent.micro_usd.plus(due));
        let mut spends = Vec::new();
        if untold.is_zero() {
            return Ok(spends);
        }
        for call in LedgerBook::calls_of(&self.layout, &self.session)?.into_iter().rev() {
            if untold.is_zero() {
                break;
            }
            let micro_usd = call.micro_usd.min(untold);
            untold = untold.minus(micro_usd);
            spends.push(ModelSpend { model: call.model, micro_usd, usage: call.usage });
        }
        spends.reverse();
        Ok(spends)
    }

    /// Has the account's budget be the session's, which a person may have changed.
    fn follow(&mut self, view: &ChainView) {
        let budget = view.budget_micro_usd;
        if std::mem::replace(&mut self.budget, budget) != budget {
            self.books.set(self.session.clone(), settings(budget));
        }
    }

    fn reserve(&mut self, account: &AccountId, worst: MicroUsd) -> Result<HeldMoney, ReserveError> {
        let id = self.books.reserve(account, worst)?;
        Ok(HeldMoney { id, worst, began: Instant::now() })
    }

    /// The account of an agent, opened.
    fn agent(&mut self, agent: LoopAgent) -> AccountId {
        let account = AccountId::agent(&self.session, agent.name());
        self.books.open_agent(&account, &self.session);
        account
    }

    fn book(&mut self, account: &AccountId, paid: PaidCall) -> Result<(), SessionError> {
        let call = Self::call(paid, MicroUsd::ZERO);
        self.books.book(account, call, Duration::ZERO).map_err(unbooked).map(drop)
    }

    /// The record of a call; its path and its excess come from the ledger.
    fn call(paid: PaidCall, reserved: MicroUsd) -> SettledCall {
        let PaidCall { provider, model, usage, source, cost, end } = paid;
        let is_whole = end == CallEnd::Complete;
        let is_answered = (is_whole || end == CallEnd::Chanted) && !provider.is_empty();
        SettledCall {
            audio: AudioInput::default(),
            other_models: Vec::new(),
            path: Vec::new(),
            day: clock::now().date(),
            provider,
            model,
            end,
            status: Count::new(if is_answered { GOOD_STATUS } else { 0 }),
            usage,
            source,
            doubt: (!source.is_told()).then_some(if is_whole { Doubt::Absent } else { Doubt::Unfinished }),
            reserved,
            micro_usd: cost.micro_usd,
            excess: MicroUsd::ZERO,
            price_estimated: cost.basis == PriceBasis::HighestKnown,
            request: None,
        }
    }

    /// Makes the lines durable and leaves the ledger to others; what cannot be written down must not go on.
    fn written(&mut self) -> Result<(), SessionError> {
        self.books.sync();
        self.books.rest();
        match self.books.broken() {
            Some(why) => Err(SessionError::Ledger { why: why.to_owned() }),
            None => Ok(()),
        }
    }
}

/// What a question cost, from what was heard of it; nothing where it cost nothing.
pub(super) fn paid(engine: &dyn Engine, prices: &PriceList, heard: &HeardAnswer) -> Option<PaidCall> {
    let (answered, usage, source) = match (&heard.answer, &heard.spent) {
        (Ok(answer), _) => (&answer.model, answer.usage, heard.source),
        (Err(_), Some(spent)) if spent.estimated => (&spent.model, spent.usage, FigureSource::Estimated),
        (Err(_), Some(spent)) => (&spent.model, spent.usage, FigureSource::Told),
        (Err(_), None) => return None,
    };
    priced(engine, prices, (answered, usage)).map(|call| PaidCall { source, end: heard.end, ..call })
}

/// The tokens of a question to an engine with their price; nothing where they cost nothing.
pub(super) fn priced(engine: &dyn Engine, prices: &PriceList, used: (&Label, Usage)) -> Option<PaidCall> {
    let (answered, usage) = used;
    let asked = Label::cut(model_of(engine.name()));
    let (model, cost) = dearer(prices, ModelNames { asked: &asked, answered }, &usage);
    charged(engine.call_cost(), cost)?;
    let provider = Label::cut(engine.name().split_once(':').map_or("", |(provider, _)| provider));
    let (source, end) = (FigureSource::Estimated, CallEnd::Broken);
    Some(PaidCall { provider, model: model.clone(), usage, source, cost, end })
}

/// Why nothing may be asked, in the words of an engine.
pub(super) fn no_money(engine: &dyn Engine, error: &ReserveError) -> EngineError {
    EngineError::NoMoney { engine: engine.name().to_owned(), why: error.to_string() }
}

/// Whether a question to an engine may cost something.
pub(super) fn may_cost(engine: &dyn Engine, prices: &PriceList) -> bool {
    match (engine.call_cost(), prices.cost(model_of(engine.name()), &Usage::default()).basis) {
        (CallCost::Free, PriceBasis::Listed | PriceBasis::HighestKnown)
        | (CallCost::IfListed, PriceBasis::HighestKnown) => false,
        (CallCost::IfListed, PriceBasis::Listed) | (CallCost::Full, PriceBasis::Listed | PriceBasis::HighestKnown) => {
            true
        }
    }
}

/// Calls of which only the sum is known.
fn unseen(model: Label) -> PaidCall {
    let (usage, source, end) = (Usage::default(), FigureSource::Estimated, CallEnd::Complete);
    let cost = Cost { micro_usd: MicroUsd::ZERO, basis: PriceBasis::Listed };
    PaidCall { provider: Label::default(), model, usage, source, cost, end }
}

fn settings(budget: Option<MicroUsd>) -> AccountSettings {
    AccountSettings { parent: None, budget: budget.map(|limit| Budget { limit, period: Period::Whole }) }
}

fn unbooked(error: ReserveError) -> SessionError {
    SessionError::Ledger { why: error.to_string() }
}
