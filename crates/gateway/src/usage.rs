//! What was spent, from the ledger's journal: by key, team, model and day, whether or not the gateway runs.

use std::collections::BTreeMap;
use tripwire_core::ledger::{AccountKind, LedgerRecord, SettledCall};
use tripwire_core::units::{MicroUsd, Tokens};
use tripwire_session::driver::DriverError;
use tripwire_session::ledger::LedgerBook;
use tripwire_workspace::geometry::layout::Layout;

/// One line of a report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageRow {
    /// The calls.
    pub calls: u64,
    /// Those whose figures were estimated.
    pub estimated: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// What they cost.
    pub micro_usd: MicroUsd,
}

/// By whom, on what and when.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct UsageKey {
    /// The day, in UTC.
    pub day: String,
    /// The key, or the session.
    pub key: String,
    /// The team; empty without one.
    pub team: String,
    /// The model.
    pub model: String,
}

/// A workspace's report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageReport {
    /// The lines, by day, key, team and model.
    pub rows: BTreeMap<UsageKey, UsageRow>,
    /// Requests that a budget or another limit refused.
    pub refused: u64,
    /// What people should know, oldest first: reloads, fallbacks, closed accounts.
    pub notes: Vec<(String, String)>,
}

/// Reads the report of a workspace.
///
/// # Errors
/// When the ledger is damaged.
pub fn report(layout: &Layout) -> Result<UsageReport, DriverError> {
    let mut report = UsageReport::default();
    let Some(book) = LedgerBook::look(layout)? else { return Ok(report) };
    book.each(|line| match line.record {
        LedgerRecord::Settled(call) => report.add(&call),
        LedgerRecord::Refused { .. } => report.refused += 1,
        LedgerRecord::Noted { kind, text } => report.notes.push((kind.to_string(), text.to_string())),
    })?;
    Ok(report)
}

impl UsageReport {
    fn add(&mut self, call: &SettledCall) {
        let name = |kind| call.path.iter().find(|account| account.kind == kind).map(|account| account.name.to_string());
        let caller = call.path.first().map(|account| account.name.to_string()).unwrap_or_default();
        let key = UsageKey {
            day: call.day.to_string(),
            key: name(AccountKind::Key).or_else(|| name(AccountKind::Session)).unwrap_or(caller),
            team: name(AccountKind::Team).unwrap_or_default(),
            model: call.model.to_string(),
        };
        let row = self.rows.entry(key).or_default();
        row.calls += 1;
        row.estimated += u64::from(!call.source.is_told() || call.price_estimated);
        row.tokens = row.tokens.plus(call.usage.total());
        row.micro_usd = row.micro_usd.plus(call.micro_usd);
    }
}
