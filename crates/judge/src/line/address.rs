//! An address on the network: whom a command speaks to.

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The host in lower case, without a port.
    pub(crate) host: String,
    /// The port, where it is named.
    pub(crate) port: Option<u16>,
    /// What stands behind the host.
    pub(crate) path: String,
}

impl Address {
    /// The address that a word is: `https://host:port/path`, or `host/path` where the host has a dot or a port.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let is_scheme = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
        let (scheme, rest) = match word.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            Some(_) | None => (None, word),
        };
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        let (host, port) = match authority.rsplit_once(':') {
            // `[::1]` is a host with colons in it.
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
            Some(_) | None => (authority, None),
        };
        let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
        let dotted = host.starts_with('.') || host.ends_with('.');
        let plain = !dotted
            && !host.is_empty()
            && host.chars().all(|letter| letter.is_ascii_alphanumeric() || ".-:_".contains(letter));
        let looks =
            scheme.is_some() || port.is_some() || host == "localhost" || (host.contains('.') && !path.is_empty());
        (plain && looks).then(|| Self { host, port, path: path.to_owned() })
    }

    /// Whether a host is this machine, or one that only a private network knows.
    pub(crate) fn is_private(host: &str) -> bool {
        let numbers: Vec<u8> = host.split('.').filter_map(|part| part.parse().ok()).collect();
        let network = match numbers.as_slice() {
            [127 | 10 | 0, _, _, _] | [192, 168, _, _] | [169, 254, _, _] => true,
            [172, second, _, _] => (16..32).contains(second),
            _ => false,
        };
        let endings = [".local", ".localhost", ".internal", ".lan", ".test", ".home.arpa", ".cluster.local", ".svc"];
        let named = matches!(host, "localhost" | "::1" | "host.docker.internal" | "kubernetes.docker.internal");
        network || named || endings.iter().any(|ending| host.ends_with(ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_an_address_only_if_it_reads_like_one() {
        let of = |word: &str| Address::of(word).map(|address| (address.host, address.port, address.path));
        let some = |host: &str, port, path: &str| Some((host.to_owned(), port, path.to_owned()));
        assert_eq!(of("https://a@Api.Example.com:443/x/y?z"), some("api.example.com", Some(443), "/x/y?z"));
        assert_eq!(of("localhost:9200/idx"), some("localhost", Some(9200), "/idx"));
        assert_eq!(of("example.com/x"), some("example.com", None, "/x"));
        assert_eq!(of("http://[::1]:80/"), some("::1", Some(80), "/"));
        for word in ["", "plain", "a b://c", "name.txt", "-d", "{\"a\":1}", "src/lib.rs", "./x", "../x", ".git/refs"] {
            assert_eq!(of(word), None, "{word}");
        }
    }

    #[test]
    fn private_hosts_are_known_by_their_names_and_numbers() {
        for host in [
            "localhost",
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.9",
            "172.16.0.1",
            "172.31.9.9",
            "::1",
            "a.local",
            "x.internal",
        ] {
            assert!(Address::is_private(host), "{host}");
        }
        for host in
            ["example.com", "8.8.8.8", "172.32.0.1", "172.15.0.1", "11.0.0.1", "192.169.0.1", "local.example.com"]
        {
            assert!(!Address::is_private(host), "{host}");
        }
    }
}
