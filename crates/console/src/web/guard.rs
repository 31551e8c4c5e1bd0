//! Who may read and who may act.
//!
//! Cookies reach every port of this machine, so an agent's own web server may get ours: the cookie only lets read. An act also
//! needs the secret of the link, which the page keeps to itself and sends as a header; nothing that the cookie reads contains it.
//! The names under which the page may be asked are known, so a foreign name that points here (rebinding) is refused.

use super::reply::NotDone;
use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode};
use std::io;
use std::net::SocketAddr;
use tripwire_core::record::chain::Digest;
use tripwire_gateway::token;

/// The header that carries the link's secret.
pub(super) const SECRET_HEADER: HeaderName = HeaderName::from_static("x-tripwire-secret");

/// The secrets of one start, as digests; the texts are told once.
#[derive(Debug)]
pub(super) struct Guard {
    secret: Digest,
    cookie: Digest,
    /// The cookie's value, which only a caller with the secret gets.
    cookie_text: String,
    cookie_name: String,
    /// The names under which the page is asked.
    names: Vec<String>,
    /// Whether it is behind a socket of the file system, where the caller chooses the port.
    is_socket: bool,
    scheme: Scheme,
}

/// How the page is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// A name as a browser asks for it: the port stands behind it, unless it is the usual one of TLS or the name has one.
pub(super) fn with_port(name: &str, port: u16) -> String {
    let has_port = name.rsplit_once(':').is_some_and(|(before, behind)| is_port(behind) && !before.is_empty());
    match (has_port && !name.ends_with(']'), port) {
        (true, _) | (false, 443) => name.to_owned(),
        (false, _) => format!("{name}:{port}"),
    }
}

/// The text that goes into the link.
pub(super) struct LinkSecret(pub(super) String);

impl Guard {
    /// New secrets. `address` is none behind a socket of the file system; `further` are names that the person gave.
    pub(super) fn new(
        scheme: Scheme,
        address: Option<SocketAddr>,
        further: &[String],
    ) -> io::Result<(Self, LinkSecret)> {
        let (secret, cookie_text) = (token::new_token()?, token::new_token()?);
        let port = address.map(|address| address.port());
        let mut names: Vec<String> = further.iter().map(|name| with_port(name, port.unwrap_or(443))).collect();
        if let Some(address) = address {
            let own = ["127.0.0.1", "localhost", "[::1]"].map(|name| with_port(name, address.port()));
            names.extend(own);
            names.push(address.to_string());
        }
        let guard = Self {
            secret: Digest::of(secret.as_bytes()),
            cookie: Digest::of(cookie_text.as_bytes()),
            cookie_text,
            // Another console on this machine has another port, and its cookie must not be taken for ours.
            cookie_name: port.map_or_else(|| "tripwire-socket".to_owned(), |port| format!("tripwire-{port}")),
            names,
            is_socket: address.is_none(),
            scheme,
        };
        Ok((guard, LinkSecret(secret)))
    }

    /// Refuses what no page of ours sends: another host, another origin.
    pub(super) fn check_place(&self, method: &Method, headers: &HeaderMap) -> Result<(), NotDone> {
        let refused = |why: &str| NotDone::new(StatusCode::FORBIDDEN, why);
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).ok_or_else(|| refused("no host was named"))?;
        if hosts.next().is_some() || !self.is_our_name(host) {
            return Err(refused("this host is not served here"));
        }
        let ours = format!("{}://{host}", self.scheme.name());
        if headers.get_all(ORIGIN).iter().any(|origin| origin.as_bytes() != ours.as_bytes()) {
            return Err(refused("another origin has nothing to ask here"));
        }
        if *method != Method::GET && *method != Method::HEAD && !headers.contains_key(ORIGIN) {
            return Err(refused("the origin is missing"));
        }
        match headers.get("sec-fetch-site").map(|site| site.to_str()) {
            None | Some(Ok("same-origin" | "none")) => Ok(()),
            Some(_) => Err(refused("another site has nothing to ask here")),
        }
    }

    /// Whether this is a name under which the page is asked.
    pub(super) fn is_our_name(&self, host: &str) -> bool {
        if self.names.iter().any(|name| name == host) {
            return true;
        }
        if !self.is_socket {
            return false;
        }
        let name = host.rsplit_once(':').map_or(host, |(name, port)| if is_port(port) { name } else { host });
        matches!(name, "127.0.0.1" | "localhost" | "[::1]")
    }

    /// Refuses a caller without the cookie.
    pub(super) fn check_reader(&self, headers: &HeaderMap) -> Result<(), NotDone> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let mut values = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let known = values
            .any(|(name, value)| name == self.cookie_name && token::same(&Digest::of(value.as_bytes()), &self.cookie));
        if known {
            Ok(())
        } else {
            Err(NotDone::new(StatusCode::UNAUTHORIZED, "open the link that `tripwire web` printed"))
        }
    }

    /// Refuses a caller without the link's secret.
    pub(super) fn check_actor(&self, headers: &HeaderMap) -> Result<(), NotDone> {
        let mut given = headers.get_all(SECRET_HEADER).iter();
        let one = given.next().filter(|_| given.next().is_none());
        match one.map(|value| Digest::of(value.as_bytes())) {
            Some(digest) if token::same(&digest, &self.secret) => Ok(()),
            Some(_) | None => Err(NotDone::new(
                StatusCode::FORBIDDEN,
                "the cookie may only read; to act, open the link that `tripwire web` printed",
            )),
        }
    }

    /// Refuses a body that a form of another page could send.
    pub(super) fn check_json(headers: &HeaderMap) -> Result<(), NotDone> {
        match headers.get(CONTENT_TYPE).map(|kind| kind.to_str()) {
            Some(Ok("application/json")) => Ok(()),
            Some(_) | None => Err(NotDone::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send `application/json`")),
        }
    }

    /// The header that gives the cookie to a caller who has the secret.
    pub(super) fn cookie_header(&self) -> String {
        let secure = match self.scheme {
            Scheme::Http => "",
            Scheme::Https => "; Secure",
        };
        format!("{}={}; Path=/api; HttpOnly; SameSite=Strict{secure}", self.cookie_name, self.cookie_text)
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_browsers_ask_for_them() {
        assert_eq!(with_port("box.example", 8443), "box.example:8443");
        assert_eq!(with_port("box.example", 443), "box.example");
        assert_eq!(with_port("box.example:8443", 1), "box.example:8443");
        assert_eq!(with_port("[fd00::1]", 8443), "[fd00::1]:8443");
        let (guard, _) = Guard::new(Scheme::Https, "10.0.0.2:8443".parse().ok(), &["box.example".to_owned()]).unwrap();
        for ours in ["box.example:8443", "10.0.0.2:8443", "127.0.0.1:8443", "localhost:8443"] {
            assert!(guard.is_our_name(ours), "{ours}");
        }
        for other in ["box.example", "evil.example:8443", "10.0.0.3:8443", ""] {
            assert!(!guard.is_our_name(other), "{other}");
        }
        assert!(guard.cookie_header().contains("; Secure"));
    }
}
