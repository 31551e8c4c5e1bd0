//! What passed at the allow-list proxy of a confined run, as far as the run has to know it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Hosts that are remembered at most; a run that asks for more shows itself by these.
const HOSTS_MAX: usize = 64;

/// Hosts that were reached and hosts that were refused.
#[derive(Debug, Default)]
pub struct Traffic(Mutex<Hosts>);

#[derive(Debug, Default)]
struct Hosts {
    reached: BTreeSet<String>,
    refused: BTreeSet<String>,
    told: BTreeSet<String>,
}

impl Traffic {
    /// A connection to this host was let through.
    pub fn reached(&self, host: &str) {
        let mut hosts = self.lock();
        if hosts.reached.len() < HOSTS_MAX {
            hosts.reached.insert(host.to_owned());
        }
    }

    /// A request was refused; the text names the destination and the reason.
    pub fn refused(&self, what: &str) {
        let mut hosts = self.lock();
        if hosts.refused.len() < HOSTS_MAX {
            hosts.refused.insert(what.to_owned());
        }
    }

    /// Whether a host was reached.
    pub(crate) fn has_reached(&self, host: &str) -> bool {
        self.lock().reached.contains(host)
    }

    /// What was refused and has not been told yet, each once.
    pub(crate) fn news(&self) -> Vec<String> {
        let mut hosts = self.lock();
        let news: Vec<String> = hosts.refused.difference(&hosts.told).cloned().collect();
        hosts.told.extend(news.iter().cloned());
        news
    }

    fn lock(&self) -> MutexGuard<'_, Hosts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn box_1_a_refused_host_is_told_once_and_a_reached_one_is_known() {
        let traffic = Traffic::default();
        traffic.refused("evil.example:443");
        traffic.refused("evil.example:443");
        traffic.reached("crates.io");
        assert_eq!(traffic.news(), ["evil.example:443"]);
        assert!(traffic.news().is_empty());
        assert!(traffic.has_reached("crates.io") && !traffic.has_reached("evil.example"));
        (0..1_000).for_each(|number| traffic.refused(&number.to_string()));
        assert!(traffic.news().len() < HOSTS_MAX);
    }
}
