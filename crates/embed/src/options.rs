//! What a program chooses when it begins a session; everything else comes from the person's settings and the manifest.

use crate::error::EmbedError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::units::MicroUsd;
use tripwire_workspace::test_command;

/// What a program chooses when it begins a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// A folder of the workspace; by default the current one.
    pub workspace: Option<PathBuf>,
    /// A session to take up; by default a new one begins.
    pub session: Option<String>,
    /// The money budget: `5usd`, `$0.50`.
    pub budget: Option<String>,
    /// The profile: `strict` or `balanced`.
    pub profile: Option<String>,
    /// The role to act in; by default `TRIPWIRE_ROLE`, else the one of the policy.
    pub role: Option<String>,
    /// Other settings of the policy, by their dotted path.
    pub settings: BTreeMap<String, String>,
}

/// Settings of the policy, checked as far as they can be before a session is made.
#[derive(Debug, Default)]
pub(crate) struct ChosenSettings(Vec<(String, String)>);

impl SessionOptions {
    /// The settings that these options mean.
    pub(crate) fn chosen(&self) -> Result<ChosenSettings, EmbedError> {
        let mut chosen: Vec<(String, String)> =
            self.settings.iter().map(|(path, text)| (path.clone(), text.clone())).collect();
        if let Some(text) = &self.budget {
            let micro = budget(text).map_err(|why| EmbedError::Budget { text: text.clone(), why })?;
            chosen.push(("money.budget_micro_usd".to_owned(), micro.to_string()));
        }
        if let Some(profile) = &self.profile {
            chosen.push(("profile".to_owned(), profile.clone()));
        }
        // A session that goes on has its policy frozen; what would not hold is not taken.
        if self.session.is_some() && !chosen.is_empty() {
            return Err(EmbedError::FrozenSettings);
        }
        Ok(ChosenSettings(chosen))
    }
}

impl ChosenSettings {
    /// Sets them in the policy of a new session, and what the workspace itself shows.
    pub(crate) fn apply(
        &self,
        policy: &mut Policy,
        role: Option<&str>,
        root: &std::path::Path,
    ) -> Result<(), PolicyError> {
        for (path, text) in &self.0 {
            policy.set(path, text)?;
        }
        policy.set_role(role)?;
        test_command::fill_in(root, policy)
    }
}

/// A budget in micro-dollars: `5usd`, `$0.50`, `2.5`.
///
/// # Errors
/// What to write instead, in words.
pub fn budget(text: &str) -> Result<u64, String> {
    let wrong = || "write dollars, such as `5usd` or `0.50usd`".to_owned();
    let sum = MicroUsd::parse(text).ok_or_else(wrong)?.get();
    if sum == 0 { Err("a budget of nothing allows nothing".to_owned()) } else { Ok(sum) }
}
