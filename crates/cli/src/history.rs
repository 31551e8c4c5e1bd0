//! A session's journal as people look at it: inputs with their decisions, one by one, from any place on.

use crate::error::Problem;
use serde::Deserialize;
use serde_json::value::RawValue;
use tripwire_core::input::Input;
use tripwire_journal::storage::Disk;
use tripwire_journal::{Journal, Place, Record};
use tripwire_session::body::{ReadBody, SessionBody};
use tripwire_session::driver::DriverError;
use tripwire_workspace::geometry::wall_clock::WallClock;

/// Records that are read at once.
const PAGE: usize = 512;

/// An input with the decision behind it; a crash may have left an input alone.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The input's number among the inputs, which is also the decision's.
    pub(crate) number: u64,
    /// The journal's index of the input.
    pub(crate) record: u64,
    /// The wall clock when it was journaled.
    pub(crate) wall: WallClock,
    /// The input.
    pub(crate) input: Input,
    /// Its text.
    pub(crate) input_text: String,
    /// The decision as it was written.
    pub(crate) decision: Option<Decided>,
}

/// A decision as it was journaled: the text, and the parts that people ask for.
#[derive(Debug)]
pub(crate) struct Decided {
    /// The whole text.
    pub(crate) text: String,
    /// Its parts.
    pub(crate) parts: Parts,
}

/// The parts of a journaled decision that are shown and filtered by.
#[derive(Debug, Deserialize)]
pub(crate) struct Parts {
    /// What the gate said.
    pub(crate) safety: Safety,
    /// What was noticed.
    pub(crate) findings: Vec<Finding>,
    /// Which mode was reported.
    pub(crate) activity: Activity,
}

/// What the agent was doing.
#[derive(Debug, Deserialize)]
pub(crate) struct Activity {
    /// The reported mode.
    pub(crate) mode: String,
}

/// What the gate said.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Safety {
    /// Whether the agent might act.
    pub(crate) allowed: bool,
    /// Why.
    pub(crate) reason: String,
    /// The rule that decided.
    pub(crate) rule: String,
    /// The veto.
    pub(crate) veto_reason: Option<String>,
    /// The inputs that prove it.
    #[serde(default)]
    pub(crate) evidence: Vec<u64>,
}

/// One thing that was noticed.
#[derive(Debug, Deserialize)]
pub(crate) struct Finding {
    /// Its name in the safety log.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// How far up the ladder.
    pub(crate) level: tripwire_core::decision::Level,
    /// In one sentence.
    pub(crate) reason: String,
    /// The rule.
    pub(crate) rule: String,
    /// The inputs that prove it.
    #[serde(default)]
    pub(crate) evidence: Vec<u64>,
}

/// Goes through a journal pair by pair.
pub(crate) struct Pairs<'a> {
    journal: &'a Journal<Disk>,
    /// Where to read on; kept by a caller that follows a journal.
    pub(crate) place: Place,
    page: std::collections::VecDeque<Record>,
    number: u64,
}

impl<'a> Pairs<'a> {
    /// From the first input on.
    pub(crate) fn new(journal: &'a Journal<Disk>) -> Self {
        Self { journal, place: journal.beginning(), page: Default::default(), number: 0 }
    }

    /// From the place where another walk ended.
    pub(crate) fn after(journal: &'a Journal<Disk>, place: Place, number: u64) -> Self {
        Self { journal, place, page: Default::default(), number }
    }

    /// How many inputs were passed.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    fn record(&mut self) -> Result<Option<&Record>, Problem> {
        if self.page.is_empty() {
            let page = self.journal.read(self.place, PAGE)?;
            (self.place, self.page) = (page.next, page.records.into());
        }
        Ok(self.page.front())
    }

    /// The next pair; `None` at the end.
    pub(crate) fn next_pair(&mut self) -> Result<Option<Pair>, Problem> {
        loop {
            let Some(record) = self.record()? else { return Ok(None) };
            let (index, wall) = (record.index, WallClock::from_epoch_ms(record.times.wall_ms));
            let body = read(record)?;
            let input_text = body.input.map(|input| input.get().to_owned());
            self.page.pop_front();
            let Some(input_text) = input_text else { continue };
            let input = serde_json::from_str(&input_text).map_err(|error| bad(index, &error))?;
            let number = self.number;
            self.number += 1;
            let decision = match self.record()? {
                Some(record) => read(record)?.decision.map(|text| decided(record.index, text)).transpose()?,
                None => None,
            };
            if decision.is_some() {
                self.page.pop_front();
            }
            return Ok(Some(Pair { number, record: index, wall, input, input_text, decision }));
        }
    }
}

/// One pair by its number: by a jump, which is right unless a crash left an input alone, else by walking.
pub(crate) fn find(journal: &Journal<Disk>, number: u64) -> Result<Option<Pair>, Problem> {
    let jump = journal.find(number.saturating_mul(2).saturating_add(1))?;
    let mut near = Pairs::after(journal, jump, number);
    if let Some(pair) = near.next_pair()?
        && pair.decision.as_ref().is_some_and(|decided| is_number(&decided.text, number))
    {
        return Ok(Some(pair));
    }
    let mut pairs = Pairs::new(journal);
    while let Some(pair) = pairs.next_pair()? {
        if pair.number == number {
            return Ok(Some(pair));
        }
    }
    Ok(None)
}

/// The head of a session: its frozen policy.
pub(crate) fn head(journal: &Journal<Disk>) -> Result<SessionBody, Problem> {
    let page = journal.read(journal.beginning(), 1)?;
    let no_head = || DriverError::Record { index: 0, problem: "is not the head of a session".to_owned() };
    let record = page.records.first().ok_or_else(no_head)?;
    Ok(read(record)?.session.ok_or_else(no_head)?)
}

fn read(record: &Record) -> Result<ReadBody<'_>, Problem> {
    serde_json::from_str(&record.body).map_err(|error| bad(record.index, &error))
}

fn decided(index: u64, text: &RawValue) -> Result<Decided, Problem> {
    let parts = serde_json::from_str(text.get()).map_err(|error| bad(index, &error))?;
    Ok(Decided { text: text.get().to_owned(), parts })
}

fn is_number(text: &str, number: u64) -> bool {
    #[derive(Deserialize)]
    struct Numbered {
        i: u64,
    }
    serde_json::from_str::<Numbered>(text).is_ok_and(|found| found.i == number)
}

fn bad(index: u64, error: &serde_json::Error) -> Problem {
    DriverError::Record { index, problem: error.to_string() }.into()
}
