//! What is changed on the way to a provider: address, hop-by-hop headers, credentials, accepted encodings. Nothing else.

use crate::config::Provider;
use crate::incoming::{Credentials, IncomingCall};
use crate::wire::Family;
use crate::wire::decode::Encoding;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{Method, Request};
use tripwire_core::family::KeyHeader;

/// Headers that belong to one connection.
static HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    HeaderName::from_static("proxy-connection"),
];
/// Headers that carry a credential.
static CREDENTIALS: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("api-key"),
];

/// The token that a request presents, wherever it stands.
pub(crate) fn token(parts: &Parts) -> Option<String> {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let found = header("x-api-key").or_else(|| header("x-goog-api-key")).or(bearer).map(ToOwned::to_owned);
    found.or_else(|| query_key(parts.uri.query()?))
}

/// The value of `key` in a query.
fn query_key(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| pair.strip_prefix("key=")).map(ToOwned::to_owned)
}

/// Whether a reply may come packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// As the client accepts it and we can read it.
    Accepted,
    /// It has to come as it is, because it is changed on the way.
    None,
}

/// The request as the provider gets it.
pub(crate) fn outgoing(
    call: &IncomingCall,
    provider: &Provider,
    body: Bytes,
    packing: Packing,
) -> Option<Request<Full<Bytes>>> {
    let IncomingCall { parts, rest, caller, .. } = call;
    let credentials = caller.credentials;
    let key = provider.key.as_ref().filter(|_| credentials != Credentials::Own);
    let replaced = credentials == Credentials::Brokered || key.is_some();
    let mut headers = passed_on(parts.headers.clone());
    for name in [HOST, CONTENT_LENGTH, EXPECT] {
        headers.remove(name);
    }
    if replaced {
        CREDENTIALS.iter().for_each(|name| drop(headers.remove(name)));
    }
    match packing {
        Packing::Accepted => narrow_encodings(&mut headers),
        Packing::None => {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
    }
    let base = provider.base.path().trim_end_matches('/');
    let query = parts.uri.query().unwrap_or_default().split('&');
    let query: Vec<&str> = query.filter(|pair| !pair.is_empty() && (!replaced || !pair.starts_with("key="))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    // A base such as `https://api.openai.com/v1` already has the version that some clients send as well.
    let rest = if base.ends_with("/v1") { rest.strip_prefix("/v1").unwrap_or(rest) } else { rest };
    headers.insert(HOST, HeaderValue::from_str(provider.host()).ok()?);
    if let Some(key) = key {
        let (name, value) = match (provider.family, provider.key_header) {
            (Family::Anthropic, KeyHeader::Usual) => (HeaderName::from_static("x-api-key"), key.reveal().to_owned()),
            (Family::Gemini, KeyHeader::Usual) => (HeaderName::from_static("x-goog-api-key"), key.reveal().to_owned()),
            (Family::OpenAi, KeyHeader::Usual) | (_, KeyHeader::Bearer) => {
                (AUTHORIZATION, format!("Bearer {}", key.reveal()))
            }
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    if !body.is_empty() || parts.method == Method::POST {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    let mut request = Request::builder().method(parts.method.clone()).uri(format!("{base}{rest}{query}"));
    *request.headers_mut()? = headers;
    request.body(Full::new(body)).ok()
}

/// The headers without those that belong to the connection they came on.
pub(crate) fn passed_on(headers: HeaderMap) -> HeaderMap {
    let mut passed = headers;
    // Most heads have none of them, and few names: one look at those costs less than a search for each of these.
    if !passed.keys().any(|name| HOP_BY_HOP.contains(name)) {
        return passed;
    }
    let named: Vec<HeaderValue> = passed.get_all(CONNECTION).iter().cloned().collect();
    for name in named.iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        passed.remove(name.trim());
    }
    HOP_BY_HOP.iter().for_each(|name| drop(passed.remove(name)));
    passed
}

/// Leaves of the accepted encodings those that we can read.
fn narrow_encodings(headers: &mut HeaderMap) {
    let Some(asked) = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()) else {
        headers.remove(ACCEPT_ENCODING);
        return;
    };
    let known = asked.split(',').map(str::trim).filter(|part| {
        let name = part.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        name == "identity" || Encoding::ACCEPTED.contains(&name.as_str())
    });
    let known = known.collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { "identity" } else { &known };
    if let Ok(value) = HeaderValue::from_str(known) {
        headers.insert(ACCEPT_ENCODING, value);
    }
}
