//! Who may read and who may act.
//!
//! Cookies reach every port of this machine, so an agent's own web server may get ours: the cookie only lets read. An act also
//! needs the secret of the link, which the page keeps to itself and sends as a header; nothing that the cookie reads contains it.
//! The names under which the page may be asked are known, so a foreign name that points here (rebinding) is refused.

use super::reply::NotDone;
use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode};
use std::io;
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
    /// The names under which the page is asked; none behind a socket of the file system, where the caller chooses the port.
    names: Vec<String>,
}

/// The text that goes into the link.
pub(super) struct LinkSecret(pub(super) String);

impl Guard {
    /// New secrets. `port` is none behind a socket of the file system.
    pub(super) fn new(port: Option<u16>) -> io::Result<(Self, LinkSecret)> {
        let (secret, cookie_text) = (token::new_token()?, token::new_token()?);
        let names = port.map(|port| ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec());
        let guard = Self {
            secret: Digest::of(secret.as_bytes()),
            cookie: Digest::of(cookie_text.as_bytes()),
            cookie_text,
            // Another console on this machine has another port, and its cookie must not be taken for ours.
            cookie_name: port.map_or_else(|| "tripwire-socket".to_owned(), |port| format!("tripwire-{port}")),
            names: names.unwrap_or_default(),
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
        let ours = format!("http://{host}");
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

    fn is_our_name(&self, host: &str) -> bool {
        if !self.names.is_empty() {
            return self.names.iter().any(|name| name == host);
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
        format!("{}={}; Path=/api; HttpOnly; SameSite=Strict", self.cookie_name, self.cookie_text)
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
