//! Which request gets which answer.

use super::api::{self, Query};
use super::assets::{ASSETS, PAGE};
use super::guard::Guard;
use super::limits::{BODY_BYTES_MAX, BODY_WAIT};
use super::link::{self, LinkRequest};
use super::reply::{NotDone, Reply, of_json, of_policy, of_value, with_type};
use super::shared::Shared;
use super::stream;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue, SET_COOKIE};
use hyper::{Method, Request, StatusCode};
use serde_json::json;
use std::convert::Infallible;
use std::sync::Arc;

/// Answers a request.
pub(super) async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Reply, Infallible> {
    Ok(route(&shared, request).await.unwrap_or_else(|problem| problem.reply()))
}

async fn route(shared: &Arc<Shared>, request: Request<Incoming>) -> Result<Reply, NotDone> {
    let (method, headers) = (request.method().clone(), request.headers());
    let path = request.uri().path().to_owned();
    if let Some(token) = path.strip_prefix(link::PATH) {
        return confirm(shared, request, token.to_owned()).await;
    }
    shared.guard.check_place(&method, headers)?;
    let Some(behind) = path.strip_prefix("/api/") else { return asset(&method, &path) };
    if method == Method::GET {
        shared.guard.check_reader(headers)?;
        if behind == "events" {
            return Ok(stream::begin(shared));
        }
        let query = parse_query(request.uri().query().unwrap_or_default())?;
        let (shared, behind) = (Arc::clone(shared), behind.to_owned());
        return aside(move || api::read(&shared, &behind, &query)).await.map(of_json);
    }
    if method != Method::POST {
        return Err(NotDone::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST"));
    }
    shared.guard.check_actor(headers)?;
    if behind == "login" {
        let mut reply = of_value(&json!({"ok": true, "acts": true}));
        let cookie = HeaderValue::from_str(&shared.guard.cookie_header());
        let cookie = cookie.map_err(|_| NotDone::new(StatusCode::INTERNAL_SERVER_ERROR, "no cookie can be made"))?;
        reply.headers_mut().insert(SET_COOKIE, cookie);
        return Ok(reply);
    }
    shared.guard.check_reader(headers)?;
    Guard::check_json(headers)?;
    let Some(act) = behind.strip_prefix("act/").map(str::to_owned) else {
        return Err(NotDone::not_found("there is no such act"));
    };
    let body = body_of(request).await?;
    let shared = Arc::clone(shared);
    aside(move || api::act(&shared, &act, &body)).await.map(of_json)
}

/// Answers a request for the link of a message: who may is the link's own affair.
async fn confirm(shared: &Arc<Shared>, request: Request<Incoming>, token: String) -> Result<Reply, NotDone> {
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let form = if method == Method::POST {
        let body = body_of(request).await?;
        let text = std::str::from_utf8(&body).map_err(|_| NotDone::bad("the form cannot be read"))?;
        parse_query(text)?
    } else if method == Method::GET || method == Method::HEAD {
        Query::new()
    } else {
        return Err(NotDone::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST"));
    };
    let shared = Arc::clone(shared);
    aside(move || link::answer(&shared, &LinkRequest { method, headers, token, form })).await
}

/// The body of a request, within bounds of size and time.
async fn body_of(request: Request<Incoming>) -> Result<Bytes, NotDone> {
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    let late = |_| NotDone::new(StatusCode::REQUEST_TIMEOUT, "the request took too long");
    let body = tokio::time::timeout(BODY_WAIT, body).await.map_err(late)?;
    let large = |_| NotDone::new(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large or broke off");
    Ok(body.map_err(large)?.to_bytes())
}

/// Does what waits for the disk beside the server's own thread.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, NotDone> + Send + 'static) -> Result<T, NotDone> {
    let broke = |_| NotDone::new(StatusCode::INTERNAL_SERVER_ERROR, "this is a defect of tripwire; please report it");
    tokio::task::spawn_blocking(work).await.map_err(broke)?
}

fn asset(method: &Method, path: &str) -> Result<Reply, NotDone> {
    if *method != Method::GET && *method != Method::HEAD {
        return Err(NotDone::new(StatusCode::METHOD_NOT_ALLOWED, "only GET"));
    }
    if path == "/" {
        let mut reply = with_type(StatusCode::OK, "text/html; charset=utf-8", PAGE.text.as_str());
        reply.headers_mut().insert(CONTENT_SECURITY_POLICY, of_policy(&PAGE.content_security_policy));
        return Ok(reply);
    }
    let found = ASSETS.iter().find(|asset| asset.path == path);
    let asset = found.ok_or_else(|| NotDone::not_found("there is no such page"))?;
    Ok(with_type(StatusCode::OK, asset.content_type, asset.text))
}

/// The parts of a query; one that is named twice or not in UTF-8 is refused.
fn parse_query(text: &str) -> Result<Query, NotDone> {
    let mut query = Query::new();
    for part in text.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let wrong = || NotDone::bad("the query cannot be read");
        let (name, value) = (decoded(name).ok_or_else(wrong)?, decoded(value).ok_or_else(wrong)?);
        if query.insert(name, value).is_some() {
            return Err(wrong());
        }
    }
    Ok(query)
}

/// A text without percent signs.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits)
                    .ok()
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = behind;
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_exactly_or_refused() {
        let read = parse_query("w=ab&filter=tool%3ABash+%22rm%20-rf%22").unwrap();
        assert_eq!(read.get("filter").map(String::as_str), Some("tool:Bash \"rm -rf\""));
        for wrong in ["a=%zz", "a=%4", "a=%", "a=1&a=2", "a=%ff", "a=%+1"] {
            assert!(parse_query(wrong).is_err(), "{wrong}");
        }
    }
}
