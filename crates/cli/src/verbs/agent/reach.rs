//! The hosts that commands of our own loop may reach: the allow-list proxy for one session.

use crate::error::Problem;
use crate::print;
use crate::verbs::sandbox::network::{self, Allowed, Network, NoNetwork};
use tripwire_core::policy::Policy;
use tripwire_egress::{RequestRecord, Stage, Verdict};
use tripwire_session::execution::sandboxed::Network as Reach;

/// The way to the hosts that a policy allows, and what serves it for as long as it is held.
pub(super) fn open(policy: &Policy) -> Result<(Reach, Option<Network>), Problem> {
    let hosts: Vec<String> = policy.sandbox.allow_hosts.as_str().split_whitespace().map(str::to_owned).collect();
    if hosts.is_empty() {
        return Ok((Reach::Off, None));
    }
    let told = |record: &RequestRecord| {
        if record.stage == Stage::End && record.verdict == Verdict::Refused {
            print::say(&format!("network: {} is not allowed ({})", network::destination(record), record.reason));
        }
    };
    let served = network::serve(Allowed { hosts: &hosts, loopback_ports: &[] }, told);
    let (network, listener) = served.map_err(NoNetwork::problem)?;
    Ok((Reach::Through(listener), Some(network)))
}
