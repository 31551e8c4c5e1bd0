//! Clients that run only hooks that they trust: what has to be written beside the hooks, and whether they do.

use super::change::{Change, InstallError};
use super::file::Scope;
use crate::check_result::CheckResult;
use crate::homes::Homes;
use std::path::Path;

/// How a client comes to trust our hooks.
pub trait HookTrust: Sync {
    /// Plans what makes the client trust hooks that this change puts in; what cannot be done is a note.
    ///
    /// # Errors
    /// When the client's configuration cannot be read: then nothing is to be installed.
    fn plan_install(&self, place: &TrustPlace<'_>, hooks: &Change, command: &str) -> Result<TrustPlan, InstallError>;

    /// What the planned changes do, in lines for a person.
    fn explanation(&self) -> &'static [&'static str];

    /// Plans what takes the trust away; to be made before the hooks themselves go.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn plan_remove(&self, place: &TrustPlace<'_>) -> Result<TrustPlan, InstallError>;

    /// What a person has to do before the client trusts the installed hooks; nothing if it does.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn left_to_do(&self, place: &TrustPlace<'_>) -> Result<Vec<String>, InstallError>;

    /// Checks whether the client trusts the hooks of a file.
    fn check(&self, place: &TrustPlace<'_>, check: &TrustCheck<'_>) -> CheckResult;
}

/// Where hooks are to be trusted.
#[derive(Debug, Clone, Copy)]
pub struct TrustPlace<'a> {
    /// Whose the hooks are.
    pub scope: &'a Scope,
    /// The person's folders.
    pub homes: &'a Homes,
    /// The client's program, where it is known.
    pub program: Option<&'a Path>,
}

/// Hooks whose trust is checked.
#[derive(Debug, Clone, Copy)]
pub struct TrustCheck<'a> {
    /// The check's name.
    pub id: &'a str,
    /// What installs the hooks again.
    pub again: &'a str,
    /// The file's text.
    pub text: &'a str,
    /// The command of our hooks in it.
    pub command: &'a str,
}

/// Changes beside the hooks, and notes for the person.
#[derive(Debug, Default)]
pub struct TrustPlan {
    /// The changes.
    pub changes: Vec<Change>,
    /// What could not be done, and what to do instead.
    pub notes: Vec<String>,
}
