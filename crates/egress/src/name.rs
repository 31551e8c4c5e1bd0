//! Host names and ports, parsed once at the edge: inside, a name that could be an address in disguise does not exist.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use tripwire_core::explain::Explain;

use super::limits::{LABEL_BYTES_MAX, NAME_BYTES_MAX};

/// An exact DNS host name: lower case, ASCII, without a trailing dot, never an address in any spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct HostName(String);

impl HostName {
    /// Reads a name as a person or a client writes it: any case, at most one trailing dot.
    ///
    /// Names beyond ASCII are refused rather than converted, because two converters that disagree would make the
    /// name that was allowed and the name that is asked for two different names.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if !text.is_ascii() {
            return Err(NameError::NotAscii);
        }
        // A slash makes it a URL, which is no name either but not for being an address.
        if text.contains(['[', ']', ':']) && !text.contains('/') {
            return Err(NameError::AddressLiteral);
        }
        let bare = text.strip_suffix('.').unwrap_or(text);
        if bare.len() > NAME_BYTES_MAX {
            return Err(NameError::TooLong);
        }
        if bare.contains('*') {
            return Err(NameError::Wildcard);
        }
        for label in bare.split('.') {
            check_label(label)?;
        }
        if ends_in_a_number(bare) {
            return Err(NameError::AddressLiteral);
        }
        Ok(Self(bare.to_ascii_lowercase()))
    }

    /// The name in its one spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the name has one label only, like `localhost`, which is found in the hosts file and not in the DNS.
    #[must_use]
    pub fn is_single_label(&self) -> bool {
        !self.0.contains('.')
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A TCP port that can be connected to: zero does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Port(u16);

impl Port {
    /// The port of an entry that names none.
    pub const HTTPS: Self = Self(443);

    /// A port by its number; zero is no port.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// Reads decimal digits without sign, space or leading zero: one spelling per port.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let digits_only = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !digits_only || text.starts_with('0') {
            return Err(NameError::BadPort);
        }
        let number = text.parse().map_err(|_| NameError::BadPort)?;
        Self::new(number).ok_or(NameError::BadPort)
    }

    /// The number, for the socket call.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a text is no host name or no port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// Nothing was written.
    #[error("the host name is empty")]
    Empty,
    /// A letter outside ASCII; the punycode form is the only one accepted.
    #[error("the host name has characters outside ASCII")]
    NotAscii,
    /// An address, in whatever spelling a resolver or a socket library would take for one.
    #[error("an address was given where only a host name is allowed")]
    AddressLiteral,
    /// A pattern; the list holds exact names.
    #[error("a wildcard was given where only an exact host name is allowed")]
    Wildcard,
    /// Longer than DNS allows.
    #[error("the host name is longer than {NAME_BYTES_MAX} characters or a label longer than {LABEL_BYTES_MAX}")]
    TooLong,
    /// An empty label, a hyphen at an edge, or a character that no host name has.
    #[error("the host name has an empty label or a character other than letters, digits and inner hyphens")]
    BadLabel,
    /// Not a number from 1 to 65535 in its one spelling.
    #[error("the port is not a number from 1 to 65535")]
    BadPort,
}

impl Explain for NameError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Empty => "write a host name, as in `--allow-host crates.io`",
            Self::NotAscii => "write the name in its punycode form, as in `--allow-host xn--bcher-kva.example`",
            Self::AddressLiteral => {
                "addresses are never allowed; write the host's name, as in `--allow-host crates.io`"
            }
            Self::Wildcard => "name each host on its own, as in `--allow-host docs.crates.io --allow-host crates.io`",
            Self::TooLong | Self::BadLabel => {
                "write the name alone, without scheme, path or spaces, as in `--allow-host crates.io`"
            }
            Self::BadPort => "write the port in digits, as in `--allow-host crates.io:443`",
        })
    }
}

fn check_label(label: &str) -> Result<(), NameError> {
    if label.len() > LABEL_BYTES_MAX {
        return Err(NameError::TooLong);
    }
    let edges_bare = !label.starts_with('-') && !label.ends_with('-');
    let letters_only = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if label.is_empty() || !edges_bare || !letters_only {
        return Err(NameError::BadLabel);
    }
    Ok(())
}

/// Socket libraries read `127.1`, `2130706433`, `0177.0.0.1` and `0x7f.1` as addresses. All of them end in a label
/// that is a number, and no top-level domain is one, so the last label decides for every spelling at once.
fn ends_in_a_number(bare: &str) -> bool {
    let last = bare.rsplit('.').next().unwrap_or(bare);
    if last.bytes().all(|b| b.is_ascii_digit()) {
        return true;
    }
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    hex.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_are_accepted_in_one_spelling() {
        for (written, kept) in [
            ("crates.io", "crates.io"),
            ("CRATES.IO", "crates.io"),
            ("crates.io.", "crates.io"),
            ("localhost", "localhost"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("r3---sn-x.example", "r3---sn-x.example"),
            ("1.2.3.4.example", "1.2.3.4.example"),
            ("0x7f.example", "0x7f.example"),
            ("7.0xg", "7.0xg"),
            ("a-1.b2", "a-1.b2"),
        ] {
            assert_eq!(HostName::parse(written).unwrap().as_str(), kept, "{written}");
        }
        let longest = format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61));
        assert_eq!(longest.len(), 253);
        assert!(HostName::parse(&longest).is_ok());
        assert!(HostName::parse(&format!("{longest}.")).is_ok());
    }

    #[test]
    fn addresses_are_refused_in_every_spelling() {
        for written in [
            "127.0.0.1",
            "127.0.0.1.",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0X7F000001",
            "0x7f.1",
            "0x",
            "0177.0.0.1",
            "017700000001",
            "1.2.3.0x4",
            "example.0x1F",
            "example.1",
            "999.999.999.999",
            "0",
            "::1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "::ffff:7f00:1",
            "fe80::1%eth0",
            "[fe80::1%25eth0]",
            "0:0:0:0:0:0:0:1",
        ] {
            assert_eq!(HostName::parse(written), Err(NameError::AddressLiteral), "{written}");
        }
    }

    #[test]
    fn what_is_no_exact_name_is_refused_with_its_reason() {
        for (written, why) in [
            ("", NameError::Empty),
            (".", NameError::BadLabel),
            ("crates.io..", NameError::BadLabel),
            (".crates.io", NameError::BadLabel),
            ("crates..io", NameError::BadLabel),
            ("-crates.io", NameError::BadLabel),
            ("crates-.io", NameError::BadLabel),
            ("crates_.io", NameError::BadLabel),
            ("crates.io/path", NameError::BadLabel),
            ("user@crates.io", NameError::BadLabel),
            (" crates.io", NameError::BadLabel),
            ("crates.io\0", NameError::BadLabel),
            ("crates.io\r\n", NameError::BadLabel),
            ("crates%2eio", NameError::BadLabel),
            ("https://crates.io", NameError::BadLabel),
            ("https://[::1]/", NameError::BadLabel),
            ("*.crates.io", NameError::Wildcard),
            ("bücher.example", NameError::NotAscii),
            ("crates。io", NameError::NotAscii),
            ("①②⑦.0.0.1", NameError::NotAscii),
            ("сrates.io", NameError::NotAscii),
        ] {
            assert_eq!(HostName::parse(written), Err(why), "{written}");
            assert!(!why.hint().is_empty());
        }
        assert_eq!(HostName::parse(&"a".repeat(64)), Err(NameError::TooLong));
        assert_eq!(HostName::parse(&"a.".repeat(127)).unwrap().as_str().len(), 253);
        assert_eq!(HostName::parse(&format!("{}b.c", "a.".repeat(126))), Err(NameError::TooLong));
    }

    #[test]
    fn ports_have_one_spelling() {
        assert_eq!(Port::parse("443").unwrap(), Port::HTTPS);
        assert_eq!(Port::parse("65535").unwrap().get(), 65535);
        for written in
            ["", "0", "00443", "0443", "65536", "99999999999", "+443", "-1", " 443", "443 ", "0x1bb", "４４３"]
        {
            assert_eq!(Port::parse(written), Err(NameError::BadPort), "{written}");
        }
    }
}
