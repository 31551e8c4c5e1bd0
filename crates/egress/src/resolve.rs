//! Asking for the addresses of a name. The only place that puts a question to the DNS, and only for allowed names.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use super::limits::HOSTS_FILE_BYTES_MAX;
use super::name::HostName;
use tripwire_fs::bounded;

/// Where addresses come from. Injected, so that tests decide what the DNS says.
pub trait Resolver: Send + Sync {
    /// All addresses of a name, in the order in which they should be tried. Bare addresses: a port or an IPv6 zone
    /// that an answer carries has no say in where the proxy connects.
    fn resolve(&self, host: &HostName) -> io::Result<Vec<IpAddr>>;
}

/// The system's own resolver: the hosts file first, then the DNS with an absolute name.
///
/// The name is asked with its final dot, because a search list in the resolver's configuration would otherwise turn
/// an allowed name that does not exist into a name below another domain. The hosts file is read here, since
/// a name with a final dot never matches a line of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &HostName) -> io::Result<Vec<IpAddr>> {
        if let Ok(file) = File::open(HOSTS_FILE) {
            let text = bounded::read_beginning(file, HOSTS_FILE_BYTES_MAX)?;
            let listed = hosts_file_addresses(&String::from_utf8_lossy(&text), host);
            if !listed.is_empty() {
                return Ok(listed);
            }
        }
        let question = if host.is_single_label() { host.to_string() } else { format!("{host}.") };
        let answers = (question.as_str(), 0).to_socket_addrs()?;
        Ok(answers.map(|answer| answer.ip()).collect())
    }
}

const HOSTS_FILE: &str = "/etc/hosts";

/// The addresses that a hosts file gives a name, each once, in the file's order.
fn hosts_file_addresses(text: &str, host: &HostName) -> Vec<IpAddr> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else {
            continue;
        };
        let names_it = words.any(|word| HostName::parse(word).is_ok_and(|name| name == *host));
        if names_it && seen.insert(address) {
            found.push(address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str, name: &str) -> Vec<String> {
        let host = HostName::parse(name).unwrap();
        hosts_file_addresses(text, &host).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_hosts_file_is_read_as_people_write_it() {
        let text = "# comment\n127.0.0.1\tlocalhost\n::1 ip6-localhost LOCALHOST\n\n10.0.0.5 db.example alias # old.example\n\
                    not-an-address x.example\n127.0.0.1 localhost\n";
        assert_eq!(listed(text, "localhost"), ["127.0.0.1", "::1"]);
        assert_eq!(listed(text, "DB.example."), ["10.0.0.5"]);
        assert_eq!(listed(text, "alias"), ["10.0.0.5"]);
        assert!(listed(text, "old.example").is_empty());
        assert!(listed(text, "x.example").is_empty());
        assert!(listed(text, "example").is_empty());
    }

    #[test]
    fn the_system_knows_localhost() {
        let addresses = SystemResolver.resolve(&HostName::parse("localhost").unwrap()).unwrap();
        assert!(!addresses.is_empty());
        assert!(addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }
}
