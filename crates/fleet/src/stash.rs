//! Tokens of the fleet's rates that a process has drawn and not used yet: one write in the fleet pays for several calls. What lies for
//! too long is gone, so that a rate is never looser than it says.

use crate::bucket::{self, Draw, Drawn};
use crate::log::{Log, LogError};
use crate::subject::Name;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tripwire_workspace::clock;

/// The tokens of a process, by rate.
#[derive(Debug, Default)]
pub(crate) struct Stashes(BTreeMap<Name, Stash>);

#[derive(Debug)]
struct Stash {
    tokens: u64,
    drawn: Instant,
}

impl Stashes {
    /// Takes one token, from what is left of the last draw or from the fleet; or says how long to wait.
    pub(crate) fn take(&mut self, log: &dyn Log, rate: &Name, by: &Name) -> Result<Option<Duration>, LogError> {
        if let Some(stash) = self.0.get_mut(rate)
            && stash.drawn.elapsed() < KEPT_FOR
            && let Some(left) = stash.tokens.checked_sub(1)
        {
            stash.tokens = left;
            return Ok(None);
        }
        Ok(match bucket::draw(log, rate, &Draw { least: 1, by, now_ms: clock::now().epoch_ms() })? {
            // Somebody took the rate away.
            None => None,
            Some(Drawn::Now(count)) => {
                let stash = Stash { tokens: count.saturating_sub(1), drawn: Instant::now() };
                self.0.insert(rate.clone(), stash);
                None
            }
            Some(Drawn::AfterMs(ms)) => Some(Duration::from_millis(ms)),
            Some(Drawn::Never) => Some(NEVER),
        })
    }
}

/// How long tokens that were drawn may be used.
const KEPT_FOR: Duration = Duration::from_secs(1);
/// What is said of a rate that gives nothing at all.
const NEVER: Duration = Duration::from_secs(60);
