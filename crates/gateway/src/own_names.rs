//! Keeps web pages out: a request has to come under one of our own names, and from no page of another origin.
//!
//! A page in a browser can send requests to this machine. Its origin gives it away, and a foreign name that points here
//! (rebinding) is not one of ours.

use hyper::Method;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use std::net::SocketAddr;

/// The header by which browsers say how a page stands to the address that it asks.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names of one address on this machine, and the origins whose pages may ask there.
#[derive(Debug)]
pub(crate) struct OwnNames {
    /// The names under which we are asked; none where others reach us, because a token keeps pages out there.
    names: Option<Vec<String>>,
    origins: Vec<String>,
}

/// Why a request may be the work of a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ForeignPage {
    /// It names no host.
    #[error("no host was named")]
    NoHost,
    /// A second value could be read in the place of the first.
    #[error("the header `{0}` is given twice")]
    Twice(HeaderName),
    /// It was sent to another name.
    #[error("this host is not served here")]
    Host,
    /// A page of another origin sent it.
    #[error("another origin has nothing to ask here")]
    Origin,
}

impl OwnNames {
    pub(crate) fn new(address: SocketAddr, origins: Vec<String>) -> Self {
        let port = address.port();
        let names = address.ip().is_loopback().then(|| {
            let host = match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            };
            let hosts = ["127.0.0.1", "localhost", "[::1]", &host];
            // Clients leave the usual port out.
            let plain = hosts.iter().filter(|_| port == 80).map(ToString::to_string);
            hosts.iter().map(|host| format!("{host}:{port}")).chain(plain).collect()
        });
        Self { names, origins }
    }

    /// Tells whether a request may come from a page that has no business here.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), ForeignPage> {
        let host = only(headers, &HOST)?.and_then(|host| host.to_str().ok()).ok_or(ForeignPage::NoHost)?;
        if let Some(names) = &self.names
            && !names.iter().any(|name| name.eq_ignore_ascii_case(host))
        {
            return Err(ForeignPage::Host);
        }
        match only(headers, &ORIGIN)? {
            Some(origin) => {
                let is_ours = origin.as_bytes().strip_prefix(b"http://") == Some(host.as_bytes());
                let is_named = self.origins.iter().any(|named| named.as_bytes() == origin.as_bytes());
                if is_ours || is_named { Ok(()) } else { Err(ForeignPage::Origin) }
            }
            None => check_site(headers),
        }
    }

    /// The same for a call to a provider. A browser names the origin of its page in whatever may change something, so that one
    /// without any comes from a program, which may call us what it likes. A page that only reads names no origin: there the name
    /// of the host decides.
    pub(crate) fn check_call(&self, method: &Method, headers: &HeaderMap) -> Result<(), ForeignPage> {
        match only(headers, &ORIGIN)? {
            None if !method.is_safe() => check_site(headers),
            Some(_) | None => self.check(headers),
        }
    }
}

/// What a page only embeds has no origin, but a browser says that it is not of this one.
fn check_site(headers: &HeaderMap) -> Result<(), ForeignPage> {
    match only(headers, &SEC_FETCH_SITE)?.map(HeaderValue::as_bytes) {
        Some(b"cross-site" | b"same-site") => Err(ForeignPage::Origin),
        Some(_) | None => Ok(()),
    }
}

/// The one value of a header; a second one could be read in the place of the first.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, ForeignPage> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    match values.next() {
        None => Ok(first),
        Some(_) => Err(ForeignPage::Twice(name.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn check(names: &OwnNames, pairs: &[(&'static str, &str)]) -> Result<(), ForeignPage> {
        names.check(&of(pairs))
    }

    #[test]
    fn gate_8_a_page_is_known_by_its_host_its_origin_or_its_site() {
        let names = OwnNames::new("127.0.0.1:4780".parse().unwrap(), Vec::new());
        let host = ("host", "127.0.0.1:4780");
        for (pairs, expected) in [
            (&[("host", "evil.example:4780")][..], ForeignPage::Host),
            (&[("host", "localhost:4781")], ForeignPage::Host),
            (&[("host", "localhost")], ForeignPage::Host),
            (&[host, ("origin", "https://evil.example")], ForeignPage::Origin),
            (&[host, ("origin", "http://localhost:3000")], ForeignPage::Origin),
            (&[host, ("origin", "null")], ForeignPage::Origin),
            (&[host, ("sec-fetch-site", "cross-site")], ForeignPage::Origin),
            (&[host, ("sec-fetch-site", "same-site")], ForeignPage::Origin),
            (&[], ForeignPage::NoHost),
            (&[host, ("host", "evil.example")], ForeignPage::Twice(HOST)),
        ] {
            assert_eq!(check(&names, pairs), Err(expected), "{pairs:?}");
        }
        let rebound = [("host", "evil.example:4780"), ("origin", "http://evil.example:4780")];
        let embedded = [host, ("sec-fetch-site", "cross-site")];
        for method in [Method::POST, Method::DELETE, Method::GET, Method::HEAD] {
            assert_eq!(names.check_call(&method, &of(&rebound)), Err(ForeignPage::Host), "{method}");
            assert_eq!(names.check_call(&method, &of(&embedded)), Err(ForeignPage::Origin), "{method}");
        }
        let reading = of(&rebound[..1]);
        assert_eq!(names.check_call(&Method::GET, &reading), Err(ForeignPage::Host), "reading names no origin");
    }

    #[test]
    fn gate_8_a_library_on_this_machine_is_no_page() {
        let names = OwnNames::new("127.0.0.1:4780".parse().unwrap(), Vec::new());
        for pairs in [
            &[("host", "127.0.0.1:4780")][..],
            &[("host", "LocalHost:4780")],
            &[("host", "[::1]:4780")],
            &[("host", "localhost:4780"), ("origin", "http://localhost:4780"), ("sec-fetch-site", "same-origin")],
            &[("host", "localhost:4780"), ("sec-fetch-site", "none")],
            &[("host", "localhost:4780"), ("sec-fetch-mode", "cors")],
        ] {
            assert_eq!(check(&names, pairs), Ok(()), "{pairs:?}");
        }
        let proxied = of(&[("host", "gateway")]);
        assert_eq!(names.check_call(&Method::POST, &proxied), Ok(()), "a program may call us what it likes");
        assert_eq!(names.check_call(&Method::GET, &of(&[("host", "localhost:4780")])), Ok(()));
        let usual = OwnNames::new("127.0.0.1:80".parse().unwrap(), Vec::new());
        assert_eq!(check(&usual, &[("host", "localhost")]), Ok(()), "the usual port is left out");
    }
}
