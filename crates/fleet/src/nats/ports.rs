//! Ports for servers that keep them over a restart.

use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

/// Below this, well-known services listen.
const LOWEST: u16 = 10_000;

/// With fewer ports than these to choose from, the system chooses.
const CHOICE_MIN: usize = 1_000;

/// Ports on the loopback interface that nothing listens on. The system gives the ports of its own range to connections that go
/// out, also between a look and the start of a server, and while a server is stopped: so they are below it.
pub(super) struct Ports {
    /// The next to try is the last. The first is random, because another cluster may be made at the same time.
    candidates: Vec<u16>,
    /// Listened on until all are chosen, so that none is chosen twice.
    taken: Vec<TcpListener>,
}

impl Ports {
    pub(super) fn look() -> std::io::Result<Self> {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
        let random = u16::from_ne_bytes(crate::random()?);
        Ok(Self { candidates: candidates(below(&range), random), taken: Vec::new() })
    }

    pub(super) fn free(&mut self) -> std::io::Result<u16> {
        while let Some(port) = self.candidates.pop() {
            if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                self.taken.push(listener);
                return Ok(port);
            }
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        self.taken.push(listener);
        Ok(port)
    }
}

/// The ports below the range that the system says it gives to connections; none where that leaves no choice.
fn below(range: &str) -> Range<u16> {
    let first = range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(LOWEST);
    let ports = LOWEST..first;
    if ports.len() < CHOICE_MIN { 0..0 } else { ports }
}

/// The same ports, beginning at a random one.
fn candidates(ports: Range<u16>, random: u16) -> Vec<u16> {
    let mut all: Vec<u16> = ports.rev().collect();
    if !all.is_empty() {
        let turn = usize::from(random) % all.len();
        all.rotate_left(turn);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fleet_5_a_server_s_port_is_never_one_that_the_system_gives_to_connections() {
        assert_eq!(below("32768\t60999\n"), 10_000..32_768);
        assert_eq!(below("11000 60999"), 10_000..11_000);
        for without_choice in ["1024 65535", "10999 60999", "", "none"] {
            assert!(below(without_choice).is_empty(), "{without_choice}");
        }
    }

    #[test]
    fn fleet_5_two_clusters_begin_at_different_ports_and_try_each() {
        let (one, other) = (candidates(10_000..11_000, 0), candidates(10_000..11_000, 65_535));
        assert_eq!((one.last(), one.len()), (Some(&10_000), 1_000));
        assert_ne!(one.last(), other.last());
        let sorted = |mut ports: Vec<u16>| {
            ports.sort_unstable();
            ports
        };
        assert_eq!(sorted(one), sorted(other));
        assert!(candidates(0..0, 7).is_empty());
    }

    #[test]
    fn fleet_5_ports_are_free_and_no_port_is_given_twice() {
        let busy = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let busy = busy.local_addr().unwrap().port();
        let mut ports = Ports { candidates: vec![busy], taken: Vec::new() };
        let (one, two) = (ports.free().unwrap(), ports.free().unwrap());
        assert!(one != busy && two != busy && one != two, "{one} {two} {busy}");
        let mut ports = Ports::look().unwrap();
        assert_ne!(ports.free().unwrap(), ports.free().unwrap());
    }
}
