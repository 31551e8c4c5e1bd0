//! The frozen policy: every threshold of the engine, with its default, its bounds and the document it comes from.
//!
//! One definition per setting (in [`settings`]) yields the field, the default, `policy show`, `policy check`, the
//! reference and the manifest. A policy is checked when it is loaded and its hash is in the session's first
//! record; nothing can change it afterwards.

mod answer_wait;
mod by_profile;
mod left_out;
mod list;
mod minute_bounds;
mod own_prices;
mod setting;
mod settings;
mod tool_limits;

pub use answer_wait::{AnswerWait, Audience};
pub use by_profile::ByProfile;
pub use left_out::command_of;
pub use list::{List, NarrowList};
pub use minute_bounds::MinuteBounds;
pub use own_prices::OwnPrices;
pub use setting::{
    Choice, Limit, OnGuardFailure, OnOutbound, OnOutside, OnPublish, OnToolError, Profile, SettingError, SettingRow,
    Switch, Text,
};
pub use settings::{
    Activity, Approvals, Context, DirtyBits, Gate, Health, Identity, JudgeSettings, Limits, Loops, Money, Notify,
    Policy, Review, Safety, Sandbox, Secrets, Tools, Undo,
};
pub use tool_limits::{Approve, LIMITED_TOOLS_MAX, OutputBytes, ToolLimit, ToolLimits};

use crate::explain::Explain;
use crate::label::Label;
use crate::record::canonical::{self, CanonicalError};
use crate::record::chain::Digest;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// Why a policy cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A setting's value is wrong.
    #[error("setting `{path}`: {error}")]
    Value {
        /// The setting.
        path: Label,
        /// What is wrong with it.
        error: SettingError,
    },
    /// There is no such setting.
    #[error("unknown setting `{path}`{}", did_you_mean(.nearest))]
    Unknown {
        /// What was asked for.
        path: Label,
        /// The setting whose name is nearest.
        nearest: Option<&'static str>,
    },
    /// Two settings contradict each other.
    #[error("`{smaller}` ({low}) must not be more than `{larger}` ({high})")]
    Relation {
        /// The setting that must be the smaller one.
        smaller: &'static str,
        /// Its value.
        low: u64,
        /// The setting that must be the larger one.
        larger: &'static str,
        /// Its value.
        high: u64,
    },
}

impl Explain for PolicyError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed("list all settings with `tripwire policy show`")
    }
}

fn did_you_mean(name: &Option<&'static str>) -> String {
    name.map_or_else(String::new, |name| alloc::format!("; did you mean `{name}`?"))
}

impl Policy {
    /// Sets one setting from the text a person wrote.
    ///
    /// # Errors
    /// When there is no such setting or its value is out of bounds; the policy is then unchanged.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), PolicyError> {
        match self.set_known(path, text) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(PolicyError::Value { path: Label::cut(path), error }),
            None => Err(PolicyError::Unknown { path: Label::cut(path), nearest: nearest_path(path) }),
        }
    }

    /// Sets one limit of one tool, as a manifest nests them below `tools`.
    ///
    /// # Errors
    /// When there is no such limit or its value is none.
    pub fn set_tool_limit(&mut self, tool: &str, key: &str, text: &str) -> Result<(), PolicyError> {
        let path = || Label::cut(&alloc::format!("tools.{tool}.{key}"));
        self.tools.limits.set(tool, key, text).map_err(|error| PolicyError::Value { path: path(), error })
    }

    /// Sets the role of the agent, where one was named.
    ///
    /// # Errors
    /// When the name is too long.
    pub fn set_role(&mut self, role: Option<&str>) -> Result<(), PolicyError> {
        role.map_or(Ok(()), |role| self.set("identity.role", role))
    }

    /// Checks the relations between settings.
    ///
    /// # Errors
    /// The first pair that contradicts itself.
    pub fn check(&self) -> Result<(), PolicyError> {
        let minute = self.minute_bounds();
        let relations = [
            (
                ("gate.token_warning_threshold", minute.tokens_warned.get()),
                ("gate.max_tokens_per_minute", minute.tokens.get()),
            ),
            (
                ("gate.tool_call_warning_threshold", u64::from(minute.calls_warned.get())),
                ("gate.max_tool_calls_per_minute", u64::from(minute.calls.get())),
            ),
            (
                ("health.hard_stop_threshold", u64::from(self.health.hard_stop_threshold.millionths())),
                ("health.soft_suspend_threshold", u64::from(self.health.soft_suspend_threshold.millionths())),
            ),
            (
                ("safety.soft_loop_threshold", u64::from(self.safety.soft_loop_threshold.get())),
                ("safety.hard_loop_threshold", u64::from(self.safety.hard_loop_threshold.get())),
            ),
            (
                ("safety.hard_loop_threshold", u64::from(self.safety.hard_loop_threshold.get())),
                ("loops.infinite_loop_threshold", u64::from(self.loops.infinite_loop_threshold.get())),
            ),
            (
                ("context.warning_threshold", u64::from(self.context.warning_threshold.get())),
                ("context.mandatory_threshold", u64::from(self.context.mandatory_threshold.get())),
            ),
            (
                ("context.mandatory_threshold", u64::from(self.context.mandatory_threshold.get())),
                ("context.hard_block_threshold", u64::from(self.context.hard_block_threshold.get())),
            ),
        ];
        for ((smaller, low), (larger, high)) in relations {
            if low > high {
                return Err(PolicyError::Relation { smaller, low, larger, high });
            }
        }
        Ok(())
    }

    /// The hash that freezes this policy.
    ///
    /// # Errors
    /// Never for a checked policy; the canonical writer's error otherwise.
    pub fn hash(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(canonical::to_string(self)?.as_bytes()))
    }
}

/// The setting whose name shares most with what was asked for: the last part counts, because that is what people type.
fn nearest_path(path: &str) -> Option<&'static str> {
    let asked = path.rsplit('.').next().unwrap_or(path);
    let rows = Policy::default().rows();
    let distance = |row: &SettingRow| edit_distance(asked, row.path.rsplit('.').next().unwrap_or(row.path));
    let best = rows.iter().min_by_key(|row| distance(row))?;
    (distance(best) <= asked.len().checked_div(3).unwrap_or(0).max(2)).then_some(best.path)
}

/// The Levenshtein distance of two short names.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut before = i.saturating_add(1);
        let mut next = Vec::with_capacity(row.len());
        next.push(before);
        for (above, right) in row.iter().skip(1).zip(b.bytes()) {
            let change = diagonal.saturating_add(usize::from(left != right));
            before = change.min(above.saturating_add(1)).min(before.saturating_add(1));
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Ratio, Tokens};
    use alloc::string::ToString;

    #[test]
    fn the_defaults_are_those_of_the_documents() {
        let policy = Policy::default();
        let strict = Policy { profile: Profile::Strict, ..Policy::default() };
        assert_eq!(strict.minute_bounds().tokens, Tokens::new(50_000));
        assert_eq!(policy.loops.loop_similarity_threshold, Ratio::from_per_mille(900));
        assert_eq!(policy.check(), Ok(()));
    }

    #[test]
    fn a_setting_is_read_from_the_text_a_person_wrote() {
        let mut policy = Policy::default();
        policy.set("gate.max_tokens_per_minute", "80000").unwrap();
        policy.set("profile", "strict").unwrap();
        policy.set("health.soft_suspend_threshold", "0.5").unwrap();
        assert_eq!(policy.gate.max_tokens_per_minute, ByProfile::At(Tokens::new(80_000)));
        assert_eq!(policy.profile, Profile::Strict);
        assert_eq!(policy.health.soft_suspend_threshold, Ratio::from_per_mille(500));
    }

    #[test]
    fn an_unknown_or_wrong_setting_names_itself_and_changes_nothing() {
        let mut policy = Policy::default();
        let error = policy.set("gate.max_token_per_minute", "1").unwrap_err().to_string();
        assert!(error.contains("did you mean `gate.max_tokens_per_minute`?"), "{error}");
        let error = policy.set("gate.max_tokens_per_minute", "many").unwrap_err().to_string();
        assert!(error.contains("gate.max_tokens_per_minute") && error.contains("`many`"), "{error}");
        assert!(policy.set("utterly.unlike.anything", "1").unwrap_err().to_string().ends_with("anything`"));
        assert_eq!(policy, Policy::default());
    }

    #[test]
    fn contradicting_settings_are_refused() {
        let mut policy = Policy::default();
        policy.set("gate.token_warning_threshold", "700000").unwrap();
        let error = policy.check().unwrap_err().to_string();
        assert!(error.contains("token_warning_threshold` (700000) must not be more than"), "{error}");
    }

    #[test]
    fn const_6_every_setting_enters_the_frozen_hash() {
        let before = Policy::default().hash().unwrap();
        for row in Policy::default().rows() {
            let mut policy = Policy::default();
            let other = row.another.unwrap_or_else(|| panic!("{} needs another value for this test", row.path));
            policy.set(row.path, &other).unwrap();
            assert_ne!(policy.hash().unwrap(), before, "{} does not enter the hash", row.path);
        }
        assert_eq!(Policy::default().hash().unwrap(), before);
    }
}
