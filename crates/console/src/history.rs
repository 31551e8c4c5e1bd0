//! A session's journal as people look at it: inputs with their decisions, one by one, from any place on.

use serde::Deserialize;
use serde_json::value::RawValue;
use tripwire_core::input::Input;
use tripwire_core::record::chain::Digest;
use tripwire_core::rules::Rule;
use tripwire_journal::storage::Disk;
use tripwire_journal::{Journal, JournalError, Place, Record};
use tripwire_session::body::{ReadBody, SessionBody};
use tripwire_session::driver::DriverError;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Records that are read at once.
const PAGE: usize = 512;

/// An input with the decision behind it; a crash may have left an input alone.
#[derive(Debug)]
pub struct Pair {
    /// The input's number among the inputs, which is also the decision's.
    pub number: u64,
    /// The journal's index of the input.
    pub record: u64,
    /// The hash of that record.
    pub hash: Digest,
    /// The wall clock when it was journaled.
    pub wall: WallClock,
    /// The input.
    pub input: Input,
    /// Its text.
    pub input_text: String,
    /// The decision as it was written.
    pub decision: Option<Decided>,
}

/// A decision as it was journaled: the text, and the parts that people ask for.
#[derive(Debug)]
pub struct Decided {
    /// The journal's index of the decision.
    pub record: u64,
    /// The hash of that record.
    pub hash: Digest,
    /// The whole text.
    pub text: String,
    /// Its parts.
    pub parts: Parts,
}

/// The parts of a journaled decision that are shown and filtered by.
#[derive(Debug, Deserialize)]
pub struct Parts {
    /// What the gate said.
    pub safety: Safety,
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// Which mode was reported.
    pub activity: Activity,
}

/// What the agent was doing.
#[derive(Debug, Deserialize)]
pub struct Activity {
    /// The reported mode.
    pub mode: String,
}

/// What the gate said.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Safety {
    /// Whether the agent might act.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// The rule that decided.
    pub rule: String,
    /// The veto.
    pub veto_reason: Option<String>,
    /// The inputs that prove it.
    #[serde(default)]
    pub evidence: Vec<u64>,
    /// Health, between 0 and 1.
    #[serde(default)]
    pub health: f64,
    /// What it has cost since the trouble began.
    #[serde(default)]
    pub price: Spent,
    /// The typed refusal, where it is not a veto.
    #[serde(default)]
    pub error: Option<serde_json::Value>,
}

impl Parts {
    /// What was missing when the agent said that it was done: the claim was sent back.
    #[must_use]
    pub fn sent_back(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.is_sent_back())
    }

    /// The reason and the rule of a no: the gate's, or what was missing of a claim that was sent back.
    #[must_use]
    pub fn objection(&self) -> Option<(&str, &str)> {
        match (self.safety.allowed, self.sent_back()) {
            (false, _) => Some((self.safety.reason.as_str(), self.safety.rule.as_str())),
            (true, Some(missing)) => Some((missing.reason.as_str(), missing.rule.as_str())),
            (true, None) => None,
        }
    }
}

impl Finding {
    /// Whether a claim was sent back by it.
    #[must_use]
    pub fn is_sent_back(&self) -> bool {
        self.kind == SENT_BACK
    }
}

/// The name of the finding by which a claim is sent back.
const SENT_BACK: &str = "DIRTY_BIT_VIOLATION";

impl Safety {
    /// Whether it was refused only because of an earlier decision: the wait after a veto, or a session that is held or over.
    #[must_use]
    pub fn is_follow_up(&self) -> bool {
        let is_over = self.error.as_ref().is_some_and(|error| error.get("CycleTermination").is_some());
        !self.allowed && (is_over || self.rule == Rule::GateCooldown.id())
    }

    /// Whether what was not let through waits for a person's word.
    #[must_use]
    pub fn waits_for_a_person(&self) -> bool {
        let Some(error) = &self.error else { return false };
        let of_session = error.get("CycleTermination").is_some_and(|ended| ended.get("held").is_some());
        !self.allowed && (error.get("FloorHeld").is_some() || of_session)
    }
}

/// An amount, as decisions carry it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    /// Money.
    pub micro_usd: u64,
    /// Tokens.
    pub tokens: u64,
}

/// One thing that was noticed.
#[derive(Debug, Deserialize)]
pub struct Finding {
    /// Its name in the safety log.
    #[serde(rename = "type")]
    pub kind: String,
    /// How far up the ladder.
    pub level: tripwire_core::decision::Level,
    /// In one sentence.
    pub reason: String,
    /// The rule.
    pub rule: String,
    /// The inputs that prove it.
    #[serde(default)]
    pub evidence: Vec<u64>,
    /// What it has cost since the first repeat.
    #[serde(default)]
    pub price: Spent,
}

/// Goes through a journal pair by pair.
#[derive(Debug)]
pub struct Pairs<'a> {
    journal: &'a Journal<Disk>,
    /// Where to read on; kept by a caller that follows a journal.
    pub place: Place,
    page: std::collections::VecDeque<Record>,
    number: u64,
    /// A pair that was read to find the place, and is still to be handed out.
    first: Option<Pair>,
}

impl<'a> Pairs<'a> {
    /// From the first input on.
    #[must_use]
    pub fn new(journal: &'a Journal<Disk>) -> Self {
        Self { journal, place: journal.beginning(), page: Default::default(), number: 0, first: None }
    }

    /// From the place where another walk ended.
    #[must_use]
    pub fn after(journal: &'a Journal<Disk>, place: Place, number: u64) -> Self {
        Self { journal, place, page: Default::default(), number, first: None }
    }

    /// How many inputs were passed.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    fn record(&mut self) -> Result<Option<&Record>, DriverError> {
        if self.page.is_empty() {
            let page = self.journal.read(self.place, PAGE)?;
            (self.place, self.page) = (page.next, page.records.into());
        }
        Ok(self.page.front())
    }

    /// The next pair; `None` at the end.
    ///
    /// # Errors
    /// When the journal does not verify there, or a record is none of a session.
    pub fn next_pair(&mut self) -> Result<Option<Pair>, DriverError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        loop {
            let Some(record) = self.record()? else { return Ok(None) };
            let (index, hash) = (record.index, record.hash);
            let wall = WallClock::from_epoch_ms(record.times.wall_ms);
            let body = read(record)?;
            let input_text = body.input.map(|input| input.get().to_owned());
            self.page.pop_front();
            let Some(input_text) = input_text else { continue };
            let input = serde_json::from_str(&input_text).map_err(|error| bad(index, &error))?;
            let number = self.number;
            self.number += 1;
            let decision = match self.record()? {
                Some(record) => read(record)?.decision.map(|text| decided(record, text)).transpose()?,
                None => None,
            };
            if decision.is_some() {
                self.page.pop_front();
            }
            return Ok(Some(Pair { number, record: index, hash, wall, input, input_text, decision }));
        }
    }
}

/// One pair by its number.
///
/// # Errors
/// When the journal does not verify there.
pub fn find(journal: &Journal<Disk>, number: u64) -> Result<Option<Pair>, DriverError> {
    let found = from(journal, number)?.next_pair()?;
    Ok(found.filter(|pair| pair.number == number))
}

/// The walk from the pair with this number on.
///
/// # Errors
/// When the journal does not verify where it was read.
pub fn from(journal: &Journal<Disk>, number: u64) -> Result<Pairs<'_>, DriverError> {
    from_with(journal, number, |record| journal.find(record))
}

/// The same for a caller that knows a shorter way to a record: by jumps, since decisions carry their number and most records are
/// an input and its decision in turn; where jumps do not lead there, by walking.
///
/// # Errors
/// See [`from`].
pub fn from_with(
    journal: &Journal<Disk>,
    number: u64,
    find: impl Fn(u64) -> Result<Place, JournalError>,
) -> Result<Pairs<'_>, DriverError> {
    let mut record = number.saturating_mul(2).saturating_add(1);
    for _ in 0..JUMPS_MAX {
        let mut pairs = Pairs::after(journal, find(record)?, number);
        let Some(first) = pairs.next_pair()? else { break };
        match first.decision.as_ref().and_then(|decided| number_of(&decided.text)) {
            Some(found) if found == number => {
                pairs.first = Some(first);
                return Ok(pairs);
            }
            Some(found) if found > number => record = record.saturating_sub((found - number).saturating_mul(2)).max(1),
            Some(found) => record = first.record.saturating_add((number - found).saturating_mul(2)),
            None => break,
        }
    }
    let mut pairs = Pairs::new(journal);
    while pairs.number < number && pairs.next_pair()?.is_some() {}
    Ok(pairs)
}

/// How many pairs there are: the number of the last decision, which the last records hold.
///
/// # Errors
/// When the journal does not verify at its end.
pub fn count(journal: &Journal<Disk>) -> Result<u64, DriverError> {
    count_with(journal, |record| journal.find(record))
}

/// The same for a caller that knows a shorter way to a record.
///
/// # Errors
/// See [`count`].
pub fn count_with(
    journal: &Journal<Disk>,
    find: impl Fn(u64) -> Result<Place, JournalError>,
) -> Result<u64, DriverError> {
    let records = journal.records();
    for back in [8, 64, 512, 4_096] {
        let mut pairs = Pairs::after(journal, find(records.saturating_sub(back))?, 0);
        let mut last = None;
        while let Some(pair) = pairs.next_pair()? {
            last = match pair.decision.as_ref().and_then(|decided| number_of(&decided.text)) {
                Some(number) => Some(number + 1),
                // A crash left this input alone: it has a number all the same.
                None => last.map(|count| count + 1),
            };
        }
        if let Some(count) = last {
            return Ok(count);
        }
        if back >= records {
            break;
        }
    }
    let mut pairs = Pairs::new(journal);
    while pairs.next_pair()?.is_some() {}
    Ok(pairs.number)
}

/// Jumps until the walk decides.
const JUMPS_MAX: usize = 8;

/// The head of a session: its frozen policy.
///
/// # Errors
/// When the first record is none.
pub fn head(journal: &Journal<Disk>) -> Result<SessionBody, DriverError> {
    let page = journal.read(journal.beginning(), 1)?;
    let no_head = || DriverError::Record { index: 0, problem: "is not the head of a session".to_owned() };
    let record = page.records.first().ok_or_else(no_head)?;
    read(record)?.session.ok_or_else(no_head)
}

fn read(record: &Record) -> Result<ReadBody<'_>, DriverError> {
    serde_json::from_str(&record.body).map_err(|error| bad(record.index, &error))
}

fn decided(record: &Record, text: &RawValue) -> Result<Decided, DriverError> {
    let parts = serde_json::from_str(text.get()).map_err(|error| bad(record.index, &error))?;
    Ok(Decided { record: record.index, hash: record.hash, text: text.get().to_owned(), parts })
}

/// The number that a decision carries.
fn number_of(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        i: u64,
    }
    serde_json::from_str::<Numbered>(text).ok().map(|found| found.i)
}

fn bad(index: u64, error: &serde_json::Error) -> DriverError {
    DriverError::Record { index, problem: error.to_string() }
}
