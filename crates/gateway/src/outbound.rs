//! Requests that carry a secret of the workspace out to a provider (`secrets.outbound`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use tripwire_core::ledger::AccountId;
use tripwire_core::policy::OnOutbound;
use tripwire_secrets::Redactor;

/// What is looked for in requests, and what is done about it.
#[derive(Debug)]
pub struct Outbound {
    on: OnOutbound,
    redactor: Redactor,
    /// Who was noted already: a conversation carries the same secret in every request.
    noted: Mutex<BTreeSet<String>>,
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutboundAnswer {
    /// It carries nothing, or that was said already.
    Pass,
    /// It passes, and this is written down.
    Note(String),
    /// It is refused, for this reason.
    Hold(String),
}

impl Outbound {
    /// Looks for the values that this redactor knows.
    #[must_use]
    pub const fn new(on: OnOutbound, redactor: Redactor) -> Self {
        Self { on, redactor, noted: Mutex::new(BTreeSet::new()) }
    }

    /// A text of a request as it may be kept and shown: without secrets.
    pub(crate) fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor.redact(text)
    }

    /// Looks at the body of a request.
    pub(crate) fn look(&self, account: &AccountId, body: &[u8]) -> OutboundAnswer {
        if !self.redactor.knows_values() {
            return OutboundAnswer::Pass;
        }
        let carries = match std::str::from_utf8(body) {
            Ok(text) => self.redactor.carries_known(text),
            Err(_) => self.redactor.carries_known(&String::from_utf8_lossy(body)),
        };
        if !carries {
            return OutboundAnswer::Pass;
        }
        let reason = format!("the request of `{account}` carries a secret of this workspace [SECRET-1]");
        let is_new = || self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(account.to_string());
        match self.on {
            OnOutbound::Hold => OutboundAnswer::Hold(reason),
            OnOutbound::Note if is_new() => OutboundAnswer::Note(reason),
            OnOutbound::Note => OutboundAnswer::Pass,
        }
    }
}
