//! The records of the ledger of model calls.

use crate::attribute::Attribute;
use crate::calls::{ModelCall, SpanPlace};
use crate::metrics::MetricsState;
use crate::otlp::Span;
use serde::Deserialize;
use tripwire_core::ledger::{AccountKind, CALL_DURATION, CallEnd, LedgerRecord, SettledCall};
use tripwire_journal::Record;

/// The calls of which account are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Accounts {
    /// Of all.
    All,
    /// Of one session's.
    Session(String),
}

#[derive(Deserialize)]
struct LedgerLine {
    ledger: LedgerRecord,
}

/// The span of a settled call; nothing for other records and other accounts.
pub(crate) fn span(record: &Record, accounts: &Accounts, metrics: &mut MetricsState) -> Option<Span> {
    let line: LedgerLine = serde_json::from_str(&record.body).ok()?;
    let LedgerRecord::Settled(call) = line.ledger else { return None };
    let session = call.path.iter().find(|account| account.kind == AccountKind::Session);
    let session = session.map(|account| account.name.as_str().to_owned());
    match accounts {
        // The calls of a run are told by the run.
        Accounts::All if session.is_none() => {}
        Accounts::Session(wanted) if session.as_ref() == Some(wanted) => {}
        Accounts::All | Accounts::Session(_) => return None,
    }
    let place = session.as_deref().map_or_else(|| SpanPlace::alone(&record.hash), SpanPlace::of_session);
    let duration_ms = record.times.durations_ms.get(CALL_DURATION).copied().unwrap_or(0);
    let call = model_call(&call, session, (record.times.wall_ms, duration_ms));
    Some(call.tell(place, &record.hash, metrics))
}

fn model_call(call: &SettledCall, session: Option<String>, (end_ms, duration_ms): (u64, u64)) -> ModelCall {
    let status = call.status.get();
    let error = match call.end {
        CallEnd::Complete if status >= 400 => Some(status.to_string()),
        CallEnd::Complete => None,
        CallEnd::Refused | CallEnd::Broken | CallEnd::Cancelled | CallEnd::Stopped | CallEnd::Chanted => {
            Some(call.end.as_str().to_owned())
        }
    };
    let account = call.path.first().map(|account| Attribute::text("tripwire.account", account.to_string()));
    let more = [
        Attribute::text("tripwire.call.end", call.end.as_str()),
        Attribute::integer("http.response.status_code", u64::from(status)),
        Attribute::of("tripwire.cost.estimated", call.price_estimated || !call.source.is_told()),
    ];
    let conversation = session.map(|session| Attribute::text("gen_ai.conversation.id", session));
    ModelCall {
        provider: Some(call.provider.as_str().to_owned()),
        model: call.model.as_str().to_owned(),
        usage: call.usage,
        micro_usd: call.micro_usd.get(),
        end_ms,
        duration_ms,
        error,
        more: more.into_iter().chain(account).chain(conversation).collect(),
    }
}
