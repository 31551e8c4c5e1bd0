//! The policy bundles of the fleet as this machine sees them: whose keys it trusts, and which bundles it has seen before.

use super::membership::{FleetError, bundles_path};
use crate::error::Problem;
use crate::workspace;
use std::time::{Duration, Instant};
use tripwire_fleet::log::Log;
use tripwire_fleet::policy::{self, BundleReader, Published, SeenBundles};
use tripwire_fs::file;
use tripwire_fs::lock::{FileLock, Wait};
use tripwire_journal::note::Verifier;
use tripwire_workspace::clock;

/// The keys whose orders and bundles count here.
pub(super) fn trusted() -> Result<Vec<Verifier>, Problem> {
    Ok(workspace::key_home().ok_or(Problem::NoHome)?.trusted()?)
}

/// Reads all bundles, and remembers those that count, so that nobody gives this machine an older one later.
pub(super) fn read(log: &dyn Log) -> Result<Vec<Published>, Problem> {
    let trusted = trusted()?;
    let path = bundles_path()?;
    let _lock = FileLock::take(&path.with_extension("lock"), Wait::Until(Instant::now() + LOCK_WAIT))?;
    let damaged = |cause: String| FleetError::Damaged { path: path.clone(), cause };
    let mut seen = SeenBundles::default();
    if path.symlink_metadata().is_ok() {
        // A memory that cannot be read is not passed over: an older bundle would count again.
        let bytes = file::read_bounded(&path, BYTES_MAX).map_err(|error| damaged(error.to_string()))?;
        seen = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    }
    let before = seen.clone();
    let published = policy::all(log, BundleReader { trusted: &trusted, now_ms: clock::now().epoch_ms() }, &mut seen)?;
    if seen != before {
        file::replace(&path, &serde_json::to_vec(&seen).map_err(|error| damaged(error.to_string()))?)?;
    }
    Ok(published)
}

const LOCK_WAIT: Duration = Duration::from_secs(10);
const BYTES_MAX: u64 = 16 << 20;
