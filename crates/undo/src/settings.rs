//! What is kept, and for how long.

use std::ffi::OsStr;
use tripwire_core::policy::Policy;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::Count;

/// Milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// What is kept, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Names of folders that are left out wherever they are.
    pub exclude: Vec<String>,
    /// The largest file that is kept, in bytes.
    pub file_bytes_max: u64,
    /// The most that the store takes, in bytes.
    pub store_bytes_max: u64,
    /// How long snapshots are kept, in milliseconds.
    pub keep_ms: u64,
}

impl Settings {
    /// What a policy says.
    #[must_use]
    pub fn of(policy: &Policy) -> Self {
        let mib = |count: Count| u64::from(count.get()) << 20;
        Self {
            exclude: policy.undo.exclude.iter().map(str::to_owned).collect(),
            file_bytes_max: mib(policy.undo.file_mib_max),
            store_bytes_max: mib(policy.undo.store_mib_max),
            keep_ms: u64::from(policy.undo.keep_days.get()).saturating_mul(DAY_MS),
        }
    }

    pub(crate) fn excludes(&self, name: &OsStr) -> bool {
        self.exclude.iter().any(|excluded| name == excluded.as_str())
    }

    /// What an index depends on.
    pub(crate) fn choice(&self) -> Digest {
        let text = format!("{}\n{}", self.file_bytes_max, self.exclude.join("\n"));
        Digest::of(text.as_bytes())
    }
}
