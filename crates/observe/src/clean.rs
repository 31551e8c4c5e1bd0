//! A call with placeholders in the place of its secrets: what digests are made of and what is stored (SECRET-1).

use super::raw::RawCall;
use alloc::borrow::Cow;
use tripwire_secrets::Redactor;

/// A call without secrets. Rules that look at what a call would do read the call itself; everything that is recorded of it
/// comes from here.
#[derive(Debug, Clone)]
pub struct CleanCall<'a> {
    raw: RawCall<'a>,
    args: Cow<'a, str>,
    output: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
}

impl<'a> CleanCall<'a> {
    /// The call with its secrets replaced.
    #[must_use]
    pub fn of(raw: &RawCall<'a>, redactor: &Redactor) -> Self {
        Self {
            raw: *raw,
            args: redactor.redact_json(raw.args),
            output: raw.output.map(|output| redactor.redact(output)),
            text: raw.text.map(|text| redactor.redact(text)),
        }
    }

    /// The call, to be observed.
    #[must_use]
    pub fn raw(&self) -> RawCall<'_> {
        RawCall { args: &self.args, output: self.output.as_deref(), text: self.text.as_deref(), ..self.raw }
    }
}
