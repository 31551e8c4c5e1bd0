//! The bodies of records: what a session's file holds, one canonical JSON object each.
//!
//! A file of records begins with the session (its id and its frozen policy); after it come inputs, each followed by
//! the decision that it caused, and between them what our own loop learnt. The same bodies stand in the journal and in a single-file recording.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tripwire_authority::Permissions;
use tripwire_authority::identity::FrozenIdentity;
use tripwire_core::decision::{Decision, DecisionRecord};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::input::Input;
use tripwire_core::label::Label;
use tripwire_core::limits::RULES_VERSION;
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::record::canonical::{self, CanonicalError};
use tripwire_core::record::chain::Digest;
use tripwire_core::run::record::RunRecord;

/// The version of the bodies; another one is refused.
pub const BODY_VERSION: u32 = 1;

/// The version of what is known as a secret when a session is recorded.
pub const REDACTION_VERSION: u32 = 1;

/// The first record of a session: everything that is frozen at its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionBody {
    /// Who the agent is; absent in recordings, which ask for no permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<FrozenIdentity>,
    /// What the roles may do; absent in recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Every setting with its value, as text.
    pub policy: BTreeMap<String, String>,
    /// The hash of the policy.
    pub policy_hash: Digest,
    /// The version of the redaction: absent where secrets stand as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<u32>,
    /// The session's id.
    pub run_id: String,
    /// The version of the rules that decided; sessions of the first version do not name it.
    #[serde(default = "first_rules", skip_serializing_if = "is_first_rules")]
    pub rules: u32,
    /// The version of the bodies.
    pub version: u32,
}

const fn first_rules() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
const fn is_first_rules(rules: &u32) -> bool {
    *rules == first_rules()
}

/// What a session froze of its authority.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Frozen {
    /// What the roles may do; a session without any denies every request.
    pub permissions: Option<Permissions>,
    /// Who the agent is.
    pub identity: Option<FrozenIdentity>,
}

/// Why a session's head cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionBodyError {
    /// It was written by another version.
    #[error("the records are of version {found}, this program knows version {BODY_VERSION}")]
    Version {
        /// What the head says.
        found: u32,
    },
    /// It was decided by newer rules.
    #[error("the session was decided by rules of version {found}, this program knows version {RULES_VERSION}")]
    Rules {
        /// What the head says.
        found: u32,
    },
    /// The settings do not make a policy.
    #[error("the recorded policy cannot be used: {0}")]
    Policy(#[from] PolicyError),
    /// The settings make another policy than the one that was frozen.
    #[error("the recorded policy has the hash {found}, but the head says {frozen}")]
    Hash {
        /// What the settings give.
        found: Digest,
        /// What was frozen.
        frozen: Digest,
    },
    /// The policy cannot be hashed.
    #[error("{0}")]
    Canonical(#[from] CanonicalError),
}

impl Explain for SessionBodyError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Version { .. } | Self::Rules { .. } => "read it with the version of tripwire that wrote it".into(),
            Self::Policy(_) | Self::Hash { .. } => "see what is damaged with `tripwire verify`".into(),
            Self::Canonical(_) => "this is a defect of tripwire; please report it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

impl SessionBody {
    /// The head of a session under this policy.
    ///
    /// # Errors
    /// When the policy cannot be hashed; never for a checked one.
    pub fn new(run_id: &str, policy: &Policy) -> Result<Self, CanonicalError> {
        Ok(Self {
            identity: None,
            permissions: None,
            policy: policy.rows().into_iter().map(|row| (row.path.to_owned(), row.value)).collect(),
            policy_hash: policy.hash()?,
            run_id: run_id.to_owned(),
            redaction: None,
            rules: RULES_VERSION,
            version: BODY_VERSION,
        })
    }

    /// The head with what the session froze of its authority.
    #[must_use]
    pub fn with_authority(self, frozen: &Frozen) -> Self {
        Self { identity: frozen.identity.clone(), permissions: frozen.permissions.clone(), ..self }
    }

    /// The policy that was frozen. A setting that is newer than the session has its default value.
    ///
    /// # Errors
    /// When it is of another version or does not fit its hash.
    pub fn policy(&self) -> Result<Policy, SessionBodyError> {
        if self.version != BODY_VERSION {
            return Err(SessionBodyError::Version { found: self.version });
        }
        if self.rules > RULES_VERSION {
            return Err(SessionBodyError::Rules { found: self.rules });
        }
        let mut policy = Policy::default();
        for (path, value) in &self.policy {
            policy.set(path, value)?;
        }
        policy.check()?;
        let found = self.hash_of(&policy)?;
        if found != self.policy_hash {
            return Err(SessionBodyError::Hash { found, frozen: self.policy_hash });
        }
        Ok(policy)
    }

    /// The hash of the settings that the head names: an older version had fewer.
    fn hash_of(&self, policy: &Policy) -> Result<Digest, SessionBodyError> {
        if policy.rows().iter().all(|row| self.policy.contains_key(row.path)) {
            return Ok(policy.hash()?);
        }
        // The texts of the values, not the values: a ratio would come back as a floating-point number.
        let text = canonical::to_string(policy)?;
        let sections: BTreeMap<&str, &RawValue> = serde_json::from_str(&text).unwrap_or_default();
        let mut named = Vec::new();
        for (name, section) in sections {
            let Ok(settings) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(section.get()) else {
                named.push(format!("\"{name}\":{section}"));
                continue;
            };
            let known = settings.iter().filter(|(key, _)| self.policy.contains_key(&format!("{name}.{key}")));
            let known: Vec<String> = known.map(|(key, value)| format!("\"{key}\":{value}")).collect();
            if !known.is_empty() {
                named.push(format!("\"{name}\":{{{}}}", known.join(",")));
            }
        }
        Ok(Digest::of(format!("{{{}}}", named.join(",")).as_bytes()))
    }

    /// The head of a session whose records hold no secrets.
    #[must_use]
    pub const fn redacted(mut self) -> Self {
        self.redaction = Some(REDACTION_VERSION);
        self
    }

    /// The canonical text.
    ///
    /// # Errors
    /// Never for a head made by [`Self::new`].
    pub fn text(&self) -> Result<String, CanonicalError> {
        #[derive(Serialize)]
        struct SessionLine<'a> {
            session: &'a SessionBody,
        }
        canonical::to_string(&SessionLine { session: self })
    }
}

/// The canonical text of an input, which the parity hash covers.
///
/// # Errors
/// When a figure is out of the range of JSON integers.
pub fn event_text(input: &Input) -> Result<String, CanonicalError> {
    canonical::to_string(input)
}

/// Writes the body of an input.
///
/// # Errors
/// When a figure is out of the range of JSON integers; decoding has checked that it is not.
pub fn write_input(input: &Input, text: &mut String) -> Result<(), CanonicalError> {
    #[derive(Serialize)]
    struct InputLine<'a> {
        input: &'a Input,
    }
    canonical::write(&InputLine { input }, text)
}

/// Reads the body of an input whose secrets were replaced. A label that its placeholders made too long is cut.
///
/// # Errors
/// When it is no input.
pub(crate) fn read_redacted_input(text: &str) -> Result<Input, serde_json::Error> {
    #[derive(Deserialize)]
    struct RedactedInput {
        input: Input,
    }
    read_redacted::<RedactedInput>(text).map(|line| line.input)
}

/// The same of what our own loop learnt.
///
/// # Errors
/// When it is no such record.
pub(crate) fn read_redacted_run(text: &str) -> Result<RunRecord, serde_json::Error> {
    #[derive(Deserialize)]
    struct RedactedRun {
        run: RunRecord,
    }
    read_redacted::<RedactedRun>(text).map(|line| line.run)
}

fn read_redacted<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    if let Ok(line) = serde_json::from_str(text) {
        return Ok(line);
    }
    let mut value = serde_json::from_str(text)?;
    cut_labels(&mut value);
    serde_json::from_value(value)
}

fn cut_labels(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = Label::cut(text).to_string(),
        serde_json::Value::Array(values) => values.iter_mut().for_each(cut_labels),
        serde_json::Value::Object(fields) => fields.values_mut().for_each(cut_labels),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
    }
}

/// Writes the body of what our own loop learnt.
///
/// # Errors
/// When a figure is out of the range of JSON integers.
pub fn write_run(record: &RunRecord, text: &mut String) -> Result<(), CanonicalError> {
    #[derive(Serialize)]
    struct RunLine<'a> {
        run: &'a RunRecord,
    }
    canonical::write(&RunLine { run: record }, text)
}

/// Writes the body of a decision.
///
/// # Errors
/// When a figure is out of the range of JSON integers.
pub fn write_decision(run_id: &str, decision: &Decision, text: &mut String) -> Result<(), CanonicalError> {
    #[derive(Serialize)]
    struct DecisionLine<'a> {
        decision: DecisionRecord<'a>,
    }
    canonical::write(&DecisionLine { decision: DecisionRecord::new(run_id, decision) }, text)
}

/// The last record of a recording: without it a whole file looks like one that was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndBody {
    /// How many inputs were recorded.
    pub inputs: u64,
}

impl EndBody {
    /// The canonical text.
    ///
    /// # Errors
    /// When the count is out of the range of JSON integers.
    pub fn text(&self) -> Result<String, CanonicalError> {
        #[derive(Serialize)]
        struct EndLine<'a> {
            end: &'a EndBody,
        }
        canonical::to_string(&EndLine { end: self })
    }
}

/// A body as it was read: inputs and decisions stay text, because they are compared as such.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBody<'a> {
    /// The head of a session.
    pub session: Option<SessionBody>,
    /// An input.
    #[serde(borrow)]
    pub input: Option<&'a RawValue>,
    /// A decision.
    #[serde(borrow)]
    pub decision: Option<&'a RawValue>,
    /// What our own loop learnt.
    #[serde(borrow)]
    pub run: Option<&'a RawValue>,
    /// The end of a recording.
    pub end: Option<EndBody>,
}

/// The part of a recorded decision that the parity hash covers.
#[derive(Debug, Deserialize)]
pub struct ReadDecision<'a> {
    /// The intent, as it was written.
    #[serde(borrow)]
    pub intent: &'a RawValue,
    /// The safety decision, as it was written.
    #[serde(borrow)]
    pub safety: &'a RawValue,
}

impl ReadDecision<'_> {
    /// The text that the parity hash covers.
    #[must_use]
    pub fn parity_text(&self) -> String {
        format!("{{\"intent\":{},\"safety\":{}}}", self.intent.get(), self.safety.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn const_6_the_frozen_policy_is_read_back_exactly_or_refused() {
        let mut policy = Policy::default();
        policy.set("limits.max_steps", "10").unwrap();
        let body = SessionBody::new("auto-1", &policy).unwrap();
        let text = body.text().unwrap();
        let read: ReadBody<'_> = serde_json::from_str(&text).unwrap();
        assert_eq!(read.session.as_ref().unwrap().policy().unwrap(), policy);

        let mut forged = body.clone();
        forged.policy.insert("limits.max_steps".to_owned(), "99".to_owned());
        assert!(matches!(forged.policy(), Err(SessionBodyError::Hash { .. })));
        let newer = SessionBody { version: 2, ..body.clone() };
        assert_eq!(newer.policy(), Err(SessionBodyError::Version { found: 2 }));
        let newer = SessionBody { rules: RULES_VERSION + 1, ..body };
        assert_eq!(newer.policy(), Err(SessionBodyError::Rules { found: RULES_VERSION + 1 }));
    }

    #[test]
    fn const_6_a_head_of_older_rules_may_lack_a_setting_and_no_other_change_passes() {
        let mut older = SessionBody::new("auto-1", &Policy::default()).unwrap();
        older.rules = first_rules();
        older.policy.remove("limits.max_steps");
        assert!(matches!(older.policy(), Err(SessionBodyError::Hash { .. })));

        older.policy_hash = older.hash_of(&Policy::default()).unwrap();
        assert_ne!(older.policy_hash, Policy::default().hash().unwrap());
        assert_eq!(older.policy(), Ok(Policy::default()));
        assert!(!older.text().unwrap().contains("\"rules\""), "heads of the first rules are written as they were");

        older.policy.insert("gate.max_tool_calls_per_minute".to_owned(), "99".to_owned());
        assert!(matches!(older.policy(), Err(SessionBodyError::Hash { .. })));
    }
}
