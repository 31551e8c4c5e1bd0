//! Who may ask: only under our own names, from no page of another origin, and with the token where one is demanded.

use super::refused::Turned;
use crate::own_names::{ForeignPage, OwnNames, only};
use crate::token;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};
use std::net::SocketAddr;
use tripwire_core::record::chain::Digest;

/// The header that carries our token: `Authorization` is the server's.
pub(super) const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-tripwire-token");

/// The names and the token of one start.
#[derive(Debug)]
pub(super) struct Entrance {
    names: OwnNames,
    token: Option<Digest>,
}

impl Entrance {
    pub(super) fn new(address: SocketAddr, token: Option<Digest>, origins: Vec<String>) -> Self {
        Self { names: OwnNames::new(address, origins), token }
    }

    /// Turns away who has no business here.
    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), Turned> {
        self.names.check(headers)?;
        let Some(expected) = &self.token else { return Ok(()) };
        match only(headers, &TOKEN_HEADER)?.map(|value| Digest::of(value.as_bytes())) {
            Some(given) if token::same(&given, expected) => Ok(()),
            Some(_) | None => {
                let why = "a token is demanded here: send it as `x-tripwire-token`";
                Err(Turned::new(StatusCode::UNAUTHORIZED, why))
            }
        }
    }
}

impl From<ForeignPage> for Turned {
    fn from(page: ForeignPage) -> Self {
        match page {
            ForeignPage::NoHost | ForeignPage::Twice(_) => Self::new(StatusCode::BAD_REQUEST, page.to_string()),
            ForeignPage::Host => Self::new(StatusCode::FORBIDDEN, page.to_string()),
            ForeignPage::Origin => Self::new(StatusCode::FORBIDDEN, format!("{page}; `--origin URL` lets one")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn status(entrance: &Entrance, pairs: &[(&'static str, &str)]) -> u16 {
        entrance.check(&headers(pairs)).map_or_else(|turned| turned.reply().status().as_u16(), |()| 200)
    }

    #[test]
    fn mcp_5_only_our_own_names_and_origins_may_ask_and_a_token_where_one_is_demanded() {
        let address: SocketAddr = "127.0.0.1:4781".parse().unwrap();
        let open = Entrance::new(address, None, vec!["http://localhost:6274".to_owned()]);
        for (pairs, expected) in [
            (&[("host", "127.0.0.1:4781")][..], 200),
            (&[("host", "LocalHost:4781")], 200),
            (&[("host", "[::1]:4781"), ("origin", "http://[::1]:4781")], 200),
            (&[("host", "localhost:4781"), ("origin", "http://localhost:6274")], 200),
            (&[("host", "localhost:4781"), ("origin", "http://localhost:3000")], 403),
            (&[("host", "localhost:4781"), ("origin", "null")], 403),
            (&[("host", "evil.example:4781")], 403),
            (&[("host", "evil.example:4781"), ("origin", "http://evil.example:4781")], 403),
            (&[("host", "127.0.0.1:4781"), ("host", "evil.example")], 400),
            (&[("host", "127.0.0.1")], 403),
            (&[], 400),
        ] {
            assert_eq!(status(&open, pairs), expected, "{pairs:?}");
        }
        let token = Entrance::new("10.0.0.2:4781".parse().unwrap(), Some(Digest::of(b"tw-1")), Vec::new());
        let host = ("host", "box.example:4781");
        assert_eq!(status(&token, &[host]), 401);
        assert_eq!(status(&token, &[host, ("x-tripwire-token", "tw-2")]), 401);
        assert_eq!(status(&token, &[host, ("authorization", "Bearer tw-1")]), 401, "that one is the server's");
        assert_eq!(status(&token, &[host, ("x-tripwire-token", "tw-1")]), 200);
        assert_eq!(status(&token, &[host, ("x-tripwire-token", "tw-1"), ("origin", "http://evil.example")]), 403);
    }
}
