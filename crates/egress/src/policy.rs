//! The list itself: which name and port may be asked for. The answer is a value that the dialler consumes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use tripwire_core::explain::Explain;

use super::limits::ENTRIES_MAX;
use super::name::{HostName, NameError, Port};

/// Exact host names with their ports; an empty list allows nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowList {
    entries: BTreeSet<(HostName, Port)>,
}

impl AllowList {
    /// Reads entries written `HOST` (port 443) or `HOST:PORT`; the first bad one is named with its reason.
    pub fn parse<I, S>(entries: I) -> Result<Self, AllowListError>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<str>,
    {
        let mut list = Self::default();
        for entry in entries {
            let entry = entry.as_ref();
            let parsed = parse_entry(entry)
                .map_err(|cause| AllowListError::Entry(EntryError { entry: quoted(entry), cause }))?;
            list.entries.insert(parsed);
            if list.entries.len() > ENTRIES_MAX {
                return Err(AllowListError::TooMany);
            }
        }
        Ok(list)
    }

    /// Whether a name and port may be asked for. No question is put to the DNS to find out.
    pub fn permit(&self, host: &HostName, port: Port) -> Result<Destination, PolicyRefusal> {
        if self.entries.contains(&(host.clone(), port)) {
            return Ok(Destination { host: host.clone(), port });
        }
        if self.entries.iter().any(|(allowed, _)| allowed == host) {
            return Err(PolicyRefusal::Port);
        }
        Err(PolicyRefusal::Host)
    }

    /// The entries in a fixed order, for display.
    pub fn entries(&self) -> impl Iterator<Item = (&HostName, Port)> {
        self.entries.iter().map(|(host, port)| (host, *port))
    }
}

/// A name and port that the list allows. Only [`AllowList::permit`] makes one, it cannot be cloned, and dialling
/// consumes it: no destination, no DNS question.
#[derive(Debug, PartialEq, Eq)]
pub struct Destination {
    host: HostName,
    port: Port,
}

impl Destination {
    /// The allowed name.
    #[must_use]
    pub fn host(&self) -> &HostName {
        &self.host
    }

    /// The allowed port.
    #[must_use]
    pub fn port(&self) -> Port {
        self.port
    }
}

/// Why the list does not allow a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyRefusal {
    /// The name is not on the list at all.
    Host,
    /// The name is on the list, with other ports.
    Port,
}

/// Why a list could not be read; nothing is allowed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllowListError {
    /// One entry is not `HOST` or `HOST:PORT`.
    #[error(transparent)]
    Entry(EntryError),
    /// More entries than a person can have meant.
    #[error("the allow-list has more than {ENTRIES_MAX} entries")]
    TooMany,
}

impl Explain for AllowListError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Entry(error) => error.hint(),
            Self::TooMany => Cow::Borrowed("name only the hosts that the command needs"),
        }
    }
}

/// A bad entry, with what was written and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot allow `{entry}`: {cause}")]
pub struct EntryError {
    entry: String,
    cause: NameError,
}

impl Explain for EntryError {
    fn hint(&self) -> Cow<'_, str> {
        self.cause.hint()
    }
}

impl EntryError {
    /// What is wrong with the entry.
    #[must_use]
    pub fn cause(&self) -> NameError {
        self.cause
    }
}

fn parse_entry(entry: &str) -> Result<(HostName, Port), NameError> {
    match entry.split_once(':') {
        None => Ok((HostName::parse(entry)?, Port::HTTPS)),
        // A slash makes it a URL, and a second colon an IPv6 address; neither is a name with a port.
        Some(_) if entry.contains('/') => Err(NameError::BadLabel),
        Some((_, rest)) if rest.contains(':') => Err(NameError::AddressLiteral),
        Some((host, port)) => Ok((HostName::parse(host)?, Port::parse(port)?)),
    }
}

/// The entry on one short line: what a person typed goes into a message, so control characters are escaped.
fn quoted(entry: &str) -> String {
    let mut text: String = entry.chars().take(80).flat_map(char::escape_debug).collect();
    if entry.chars().nth(80).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> HostName {
        HostName::parse(text).unwrap()
    }

    fn port(number: u16) -> Port {
        Port::new(number).unwrap()
    }

    #[test]
    fn an_entry_allows_its_name_and_port_and_nothing_else() {
        let list = AllowList::parse(["crates.io", "Docs.Crates.IO.:8443", "crates.io:8080"]).unwrap();
        for (name, number, verdict) in [
            ("crates.io", 443, Ok(())),
            ("CRATES.io.", 443, Ok(())),
            ("crates.io", 8080, Ok(())),
            ("crates.io", 80, Err(PolicyRefusal::Port)),
            ("docs.crates.io", 8443, Ok(())),
            ("docs.crates.io", 443, Err(PolicyRefusal::Port)),
            ("static.crates.io", 443, Err(PolicyRefusal::Host)),
            ("io", 443, Err(PolicyRefusal::Host)),
            ("crates.io.evil.example", 443, Err(PolicyRefusal::Host)),
            ("xcrates.io", 443, Err(PolicyRefusal::Host)),
        ] {
            let answer = list.permit(&host(name), port(number)).map(|d| {
                assert_eq!((d.host(), d.port().get()), (&host(name), number));
            });
            assert_eq!(answer, verdict, "{name}:{number}");
        }
    }

    #[test]
    fn an_empty_list_allows_nothing() {
        let list = AllowList::parse(Vec::<String>::new()).unwrap();
        assert_eq!(list.permit(&host("crates.io"), Port::HTTPS), Err(PolicyRefusal::Host));
        assert_eq!(list.entries().count(), 0);
    }

    #[test]
    fn a_bad_entry_is_named_with_its_reason_and_a_next_step() {
        for (entry, cause) in [
            ("127.0.0.1", NameError::AddressLiteral),
            ("127.0.0.1:443", NameError::AddressLiteral),
            ("[::1]:443", NameError::AddressLiteral),
            ("::1", NameError::AddressLiteral),
            ("2130706433:443", NameError::AddressLiteral),
            ("*.crates.io", NameError::Wildcard),
            ("https://crates.io", NameError::BadLabel),
            ("https://crates.io:443/", NameError::BadLabel),
            ("crates.io:443/api", NameError::BadLabel),
            ("crates.io/api", NameError::BadLabel),
            ("crates.io:", NameError::BadPort),
            ("crates.io:https", NameError::BadPort),
            ("crates.io:0", NameError::BadPort),
            (":443", NameError::Empty),
            ("", NameError::Empty),
        ] {
            match AllowList::parse([entry]).unwrap_err() {
                AllowListError::Entry(error) => assert_eq!(error.cause(), cause, "{entry}"),
                AllowListError::TooMany => panic!("{entry}: one entry is not too many"),
            }
        }
        let error = AllowList::parse(["ok.example", "a\nb"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot allow `a\\nb`: the host name has an empty label or a character other than letters, digits and inner \
             hyphens"
        );
        assert_eq!(
            error.hint(),
            "write the name alone, without scheme, path or spaces, as in `--allow-host crates.io`"
        );
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let many = |n: usize| AllowList::parse((0..n).map(|i| format!("h{i}.example")));
        assert_eq!(many(ENTRIES_MAX).unwrap().entries().count(), ENTRIES_MAX);
        assert_eq!(many(ENTRIES_MAX + 1), Err(AllowListError::TooMany));
        assert!(AllowList::parse([&"x".repeat(5000)]).unwrap_err().to_string().len() < 400);
    }
}
