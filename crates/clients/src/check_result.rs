//! The result of one check of `tripwire doctor`.

/// One check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// What it is about, as a name for scripts.
    pub id: String,
    /// Whether it holds.
    pub state: CheckState,
    /// What was seen.
    pub proof: String,
    /// What a person can do; empty where there is nothing to do.
    pub fix: String,
}

/// Whether a check holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    /// It holds.
    Kept,
    /// Nothing is promised here: not installed, or a person's own choice.
    Off,
    /// It does not hold.
    Broken,
}

impl CheckState {
    /// The word for people and scripts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "ok",
            Self::Off => "off",
            Self::Broken => "BROKEN",
        }
    }
}

impl CheckResult {
    /// A check that holds.
    #[must_use]
    pub fn kept(id: &str, proof: impl Into<String>) -> Self {
        Self { id: id.to_owned(), state: CheckState::Kept, proof: proof.into(), fix: String::new() }
    }

    /// Nothing is promised.
    #[must_use]
    pub fn off(id: &str, proof: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id: id.to_owned(), state: CheckState::Off, proof: proof.into(), fix: fix.into() }
    }

    /// A check that does not hold.
    #[must_use]
    pub fn broken(id: &str, proof: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id: id.to_owned(), state: CheckState::Broken, proof: proof.into(), fix: fix.into() }
    }
}
