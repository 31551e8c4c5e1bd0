//! The policy that a verb runs under, as its flags choose it, and what a rule reads of it.

use crate::error::Problem;
use crate::print;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tripwire_core::policy::{Policy, Profile};
use tripwire_session::formats::scenario::Header;
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::policy_file::{self, Loaded};

/// Which policy a verb runs under.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    /// `strict` counts every repeat; `balanced` (the default) counts only repeats that make no progress.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<ProfileName>,
    /// A policy file in the format of MANIFEST.yaml.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

/// The profiles by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// The documents to the letter.
    Strict,
    /// The same ladder, counted on evidence.
    Balanced,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Strict => Self::Strict,
            ProfileName::Balanced => Self::Balanced,
        }
    }
}

impl PolicyArgs {
    /// Only a profile.
    pub(crate) const fn of_profile(profile: Option<ProfileName>) -> Self {
        Self { profile, policy: None }
    }

    /// The policy that holds in a workspace where no file is named: the person's own settings, then the manifest.
    pub(crate) fn in_workspace(&self, layout: &Layout) -> Result<Loaded, Problem> {
        match &self.policy {
            Some(_) => self.loaded(),
            None => Ok(policy_file::load_for(layout)?),
        }
    }

    /// The same for a verb that only shows settings: where the files of the workspace are broken, the defaults and what is wrong,
    /// which is said at once. A file that is named must be good.
    pub(crate) fn in_workspace_or_defaults(&self, layout: &Layout) -> Result<(Loaded, Option<String>), Problem> {
        match self.in_workspace(layout) {
            Ok(loaded) => Ok((loaded, None)),
            Err(problem) if self.policy.is_some() => Err(problem),
            Err(problem) => {
                print::say(&format!("WARNING: {problem}; {}", problem.hint()));
                print::say("these are the defaults; no session begins before that is corrected");
                Ok((Loaded::default(), Some(problem.to_string())))
            }
        }
    }

    /// The policy: the defaults, then the file, then a scenario's head, then the flag.
    pub(crate) fn policy(&self, head: Option<(&Header, &str)>) -> Result<Policy, Problem> {
        self.over(self.loaded()?.policy, head)
    }

    /// The same over a policy that was read before.
    pub(crate) fn over(&self, mut policy: Policy, head: Option<(&Header, &str)>) -> Result<Policy, Problem> {
        if let Some((header, file)) = head {
            let wrong = |error| Problem::in_file(format!("{file}: line 1: field `scenario`"), error);
            for (path, text) in header
                .profile
                .iter()
                .map(|name| ("profile", name))
                .chain(header.policy.iter().map(|(path, text)| (path.as_str(), text)))
            {
                policy.set(path, text).map_err(wrong)?;
            }
            policy.check().map_err(wrong)?;
        }
        if let Some(profile) = self.profile {
            policy.profile = profile.into();
        }
        policy.check()?;
        Ok(policy)
    }

    /// The file with the lines that set something, or the defaults.
    pub(crate) fn loaded(&self) -> Result<Loaded, Problem> {
        match &self.policy {
            Some(file) => Ok(policy_file::load(file)?),
            None => Ok(Loaded::default()),
        }
    }
}
