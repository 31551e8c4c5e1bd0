//! One request of a client, carried to the server, and its reply.

use super::entrance::{Entrance, TOKEN_HEADER};
use super::messages::{ClientPresence, Posted, PostedForm, Said, ToolMessages};
use super::moving::{EventStream, OpenAsked};
use super::refused::{Turned, accepted, json_reply};
use super::url::ToolServerUrl;
use crate::body::ReplyBody;
use crate::buffered::{BufferPool, BufferShare};
use crate::gathered::{GatherError, gather};
use crate::limits::{ANSWERS_WITHIN, BODY_WAIT, BUFFERED_BYTES_MAX, REQUEST_BYTES_MAX};
use crate::own_names::only;
use crate::request::passed_on;
use crate::upstream::{ReturnedConnection, Upstreams};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue,
    LOCATION, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::http::response;
use hyper::{Method, Request, Response, StatusCode};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// The header that names a session of the protocol.
pub(super) const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// Where servers say how to get a token.
const DISCOVERY: &str = "/.well-known/";

/// All that requests share.
pub(super) struct Carrier {
    pub(super) entrance: Entrance,
    pub(super) upstreams: Upstreams,
    pub(super) url: ToolServerUrl,
    pub(super) messages: Arc<dyn ToolMessages>,
    pub(super) buffered: BufferPool,
}

/// Answers one request, whatever it is.
pub(super) async fn answer(carrier: Arc<Carrier>, request: Request<Incoming>) -> Response<ReplyBody> {
    let (parts, body) = request.into_parts();
    carrier.carried(parts, body).await.unwrap_or_else(|turned| turned.reply())
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Served {
    /// The server's messages.
    Endpoint,
    /// How to get a token.
    Discovery,
}

/// The head of a reply, its body, and the connection it comes on.
struct ServerReply {
    head: response::Parts,
    body: Incoming,
    connection: ReturnedConnection,
}

/// A request whose answer is awaited.
struct Awaited {
    open: OpenAsked,
    own: Vec<String>,
    form: PostedForm,
}

impl Carrier {
    async fn carried(self: Arc<Self>, parts: Parts, body: Incoming) -> Result<Response<ReplyBody>, Turned> {
        self.entrance.check(&parts.headers)?;
        if parts.headers.contains_key(UPGRADE) {
            return Err(Turned::new(StatusCode::BAD_REQUEST, "an upgraded connection cannot be guarded"));
        }
        match (self.place(parts.uri.path())?, &parts.method) {
            (Served::Endpoint, &Method::POST) => self.post(parts, body).await,
            (Served::Endpoint, &Method::GET) => self.listen(parts).await,
            (Served::Endpoint, &Method::DELETE) => self.end_session(parts).await,
            (Served::Endpoint, &Method::OPTIONS) | (Served::Discovery, &Method::GET | &Method::OPTIONS) => {
                self.through(parts).await
            }
            (Served::Endpoint | Served::Discovery, method) => {
                Err(Turned::new(StatusCode::METHOD_NOT_ALLOWED, format!("`{method}` is not served here")))
            }
        }
    }

    fn place(&self, path: &str) -> Result<Served, Turned> {
        if path == self.url.path() {
            return Ok(Served::Endpoint);
        }
        if path.starts_with(DISCOVERY) && !path.contains("..") && !path.contains(['%', '\\']) {
            return Ok(Served::Discovery);
        }
        let why = format!("there is nothing at `{path}`; the guarded server is at `{}`", self.url.path());
        Err(Turned::new(StatusCode::NOT_FOUND, why))
    }

    /// A message of the client, or a batch of them.
    async fn post(self: Arc<Self>, parts: Parts, body: Incoming) -> Result<Response<ReplyBody>, Turned> {
        check_json(&parts.headers)?;
        let session = session_of(&parts.headers)?;
        let mut share = self.buffered.share(BUFFERED_BYTES_MAX);
        let gathered = gather(body, &mut share, REQUEST_BYTES_MAX, BODY_WAIT).await;
        let body = gathered.map_err(|error| match error {
            GatherError::TooLarge => Turned::new(StatusCode::PAYLOAD_TOO_LARGE, "the message is larger than 64 MiB"),
            GatherError::PoolFull => Turned::busy("the messages under way hold too many bytes"),
            GatherError::Broken => Turned::new(StatusCode::BAD_REQUEST, "the message broke off"),
        })?;
        let conversation = self.messages.conversation(session.as_deref());
        let presence = ClientPresence::default();
        // The work for a connection that closes is dropped: a call that waits here is given up then.
        let _leaves = presence.until_drop();
        let (asked, message) = (Arc::clone(&conversation), body.clone());
        let posted = spawn_blocking(move || asked.posted(&message, &presence)).await;
        match posted.map_err(|_| Turned::new(StatusCode::INTERNAL_SERVER_ERROR, "the guard gave no answer"))? {
            Posted::Unreadable(error) => Ok(json_reply(StatusCode::BAD_REQUEST, error)),
            Posted::Answered { own, form } => Ok(own_reply(&own, form)),
            Posted::Passes { changed, own, asked, form } => {
                let awaited = Awaited { open: OpenAsked::new(conversation, asked), own, form };
                let body = changed.map_or(body, Bytes::from);
                self.forward(parts, body, awaited, share).await
            }
        }
    }

    async fn forward(
        self: Arc<Self>,
        parts: Parts,
        body: Bytes,
        awaited: Awaited,
        share: BufferShare,
    ) -> Result<Response<ReplyBody>, Turned> {
        let sent = self.send(&parts, body).await;
        let reply = match sent {
            Ok(reply) => reply,
            Err(turned) => return awaited.failed(turned).await,
        };
        let status = reply.head.status;
        if status.is_success() && is_media(&reply.head.headers, "text/event-stream") {
            return Ok(self.stream(reply, awaited, share));
        }
        if !status.is_success() {
            let Awaited { mut open, .. } = awaited;
            open.unanswered(&format!("the server answered {status}")).await;
            return self.whole(reply, share).await;
        }
        self.answered(reply, awaited, share).await
    }

    /// A reply in one piece that brings the answers.
    async fn answered(
        &self,
        reply: ServerReply,
        mut awaited: Awaited,
        mut share: BufferShare,
    ) -> Result<Response<ReplyBody>, Turned> {
        let ServerReply { mut head, body, connection } = reply;
        let is_json = is_media(&head.headers, "application/json");
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("nothing").to_owned();
        let body = match gather(body, &mut share, REQUEST_BYTES_MAX, ANSWERS_WITHIN).await {
            Ok(body) => body,
            Err(error) => return awaited.failed(unread(error)).await,
        };
        self.upstreams.give_back(connection);
        if !is_json && !body.is_empty() {
            let why = format!("the server answered with `{kind}` and not with JSON or a stream of events");
            return awaited.failed(Turned::bad_gateway(why)).await;
        }
        let (conversation, message) = (Arc::clone(awaited.open.conversation()), body.clone());
        let said = spawn_blocking(move || conversation.said(&message)).await.unwrap_or(Said::Nothing);
        let errors = awaited.open.unanswered("the server's reply holds no answer").await;
        let server = match said {
            Said::AsItCame => Some(body),
            Said::Changed(text) => Some(Bytes::from(text)),
            Said::Nothing => None,
        };
        let server = server.filter(|server| !server.trim_ascii().is_empty());
        let mut own = awaited.own;
        own.extend(errors);
        let text = match server {
            Some(server) if own.is_empty() => server,
            Some(server) => Bytes::from(joined(&server, &own)),
            None if own.is_empty() => Bytes::new(),
            None => return Ok(own_reply(&own, awaited.form)),
        };
        head.headers.remove(CONTENT_LENGTH);
        Ok(reply_of(head, ReplyBody::whole(text)))
    }

    /// The stream of events of a reply.
    fn stream(self: Arc<Self>, reply: ServerReply, awaited: Awaited, share: BufferShare) -> Response<ReplyBody> {
        let ServerReply { head, body, connection } = reply;
        let Awaited { open, own, .. } = awaited;
        let stream = EventStream::new(open, own, (body, connection), share, Arc::clone(&self.messages));
        self.moving(head, stream)
    }

    fn moving(self: Arc<Self>, mut head: response::Parts, stream: EventStream) -> Response<ReplyBody> {
        let (client, body) = ReplyBody::pieces(None);
        head.headers.remove(CONTENT_LENGTH);
        tokio::spawn(async move { stream.run(&self.upstreams, client).await });
        reply_of(head, body)
    }

    /// The stream on which a server speaks by itself, or goes on with one that broke off.
    async fn listen(self: Arc<Self>, parts: Parts) -> Result<Response<ReplyBody>, Turned> {
        let session = session_of(&parts.headers)?;
        let reply = self.send(&parts, Bytes::new()).await?;
        let share = self.buffered.share(BUFFERED_BYTES_MAX);
        if !reply.head.status.is_success() || !is_media(&reply.head.headers, "text/event-stream") {
            return self.whole(reply, share).await;
        }
        let ServerReply { head, body, connection } = reply;
        let open = OpenAsked::new(self.messages.conversation(session.as_deref()), Vec::new());
        let mut stream = EventStream::new(open, Vec::new(), (body, connection), share, Arc::clone(&self.messages));
        if stream.begin().await.is_err() {
            let why = "the server speaks the older HTTP+SSE transport (2024-11-05), which is not guarded; use its \
                       Streamable HTTP address";
            self.messages.note(why);
            return Err(Turned::new(StatusCode::NOT_IMPLEMENTED, why));
        }
        Ok(self.moving(head, stream))
    }

    /// The client ends its session.
    async fn end_session(self: Arc<Self>, parts: Parts) -> Result<Response<ReplyBody>, Turned> {
        let session = session_of(&parts.headers)?;
        let reply = self.send(&parts, Bytes::new()).await?;
        if let (true, Some(session)) = (reply.head.status.is_success(), session) {
            let messages = Arc::clone(&self.messages);
            // What cannot be recorded is said by the one who records it.
            drop(spawn_blocking(move || messages.ended(&session)).await);
        }
        let share = self.buffered.share(BUFFERED_BYTES_MAX);
        self.whole(reply, share).await
    }

    /// What carries no message.
    async fn through(self: Arc<Self>, parts: Parts) -> Result<Response<ReplyBody>, Turned> {
        let reply = self.send(&parts, Bytes::new()).await?;
        if is_media(&reply.head.headers, "text/event-stream") {
            return Err(Turned::bad_gateway("the server answered with a stream where there is none"));
        }
        let share = self.buffered.share(BUFFERED_BYTES_MAX);
        self.whole(reply, share).await
    }

    /// A reply that is passed on as it came.
    async fn whole(&self, reply: ServerReply, mut share: BufferShare) -> Result<Response<ReplyBody>, Turned> {
        let ServerReply { mut head, body, connection } = reply;
        let body = gather(body, &mut share, REQUEST_BYTES_MAX, BODY_WAIT).await.map_err(unread)?;
        self.upstreams.give_back(connection);
        head.headers.remove(CONTENT_LENGTH);
        Ok(reply_of(head, ReplyBody::whole(body)))
    }

    async fn send(&self, parts: &Parts, body: Bytes) -> Result<ServerReply, Turned> {
        let request =
            self.outgoing(parts, body).ok_or_else(|| Turned::bad_gateway("the request cannot be passed on"))?;
        let sent = self.upstreams.send(self.url.destination(), request).await;
        let (reply, connection) = sent.map_err(|error| Turned::bad_gateway(error.to_string()))?;
        let (head, body) = reply.into_parts();
        let is_discovery = parts.uri.path() != self.url.path();
        if head.status.is_informational() || (head.status.is_redirection() && !is_discovery) {
            // A client that follows it would speak past the guard.
            let place = head.headers.get(LOCATION).and_then(|place| place.to_str().ok()).unwrap_or("another address");
            let why = format!("the server redirects to `{place}`, which is not followed; name that address by `--url`");
            self.messages.note(&why);
            return Err(Turned::bad_gateway(why));
        }
        if !is_discovery && head.headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            return Err(Turned::bad_gateway("the server compressed its reply although the request did not allow it"));
        }
        Ok(ServerReply { head, body, connection })
    }

    /// The request as the server gets it: address, hop-by-hop headers, our own token and accepted encodings are changed.
    fn outgoing(&self, parts: &Parts, body: Bytes) -> Option<Request<Full<Bytes>>> {
        let mut headers = passed_on(parts.headers.clone());
        for name in [HOST, CONTENT_LENGTH, EXPECT, TOKEN_HEADER] {
            headers.remove(name);
        }
        headers.insert(HOST, HeaderValue::from_str(self.url.host()).ok()?);
        let path = parts.uri.path();
        let own = self.url.query.as_deref().filter(|_| path == self.url.path());
        if path == self.url.path() {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        if parts.method == Method::POST {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let query: Vec<&str> = own.into_iter().chain(parts.uri.query()).collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        let mut request = Request::builder().method(parts.method.clone()).uri(format!("{path}{query}"));
        *request.headers_mut()? = headers;
        request.body(Full::new(body)).ok()
    }
}

impl Awaited {
    /// The server could not be asked, or its reply not be read: the client that waits gets an error.
    async fn failed(mut self, turned: Turned) -> Result<Response<ReplyBody>, Turned> {
        let mut own = self.own;
        own.extend(self.open.unanswered(turned.why()).await);
        if own.is_empty() { Err(turned) } else { Ok(own_reply(&own, self.form)) }
    }
}

/// Answers of the guard's own.
fn own_reply(own: &[String], form: PostedForm) -> Response<ReplyBody> {
    match (own, form) {
        ([], PostedForm::One | PostedForm::Batch) => accepted(),
        ([one], PostedForm::One) => json_reply(StatusCode::OK, one.clone()),
        (several, PostedForm::One | PostedForm::Batch) => {
            json_reply(StatusCode::OK, format!("[{}]", several.join(",")))
        }
    }
}

/// The server's answers to a batch, with ours behind them.
fn joined(server: &[u8], own: &[String]) -> Vec<u8> {
    let server = server.trim_ascii();
    let inner = server.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(server).trim_ascii();
    let comma = if inner.is_empty() { "" } else { "," };
    [b"[", inner, comma.as_bytes(), own.join(",").as_bytes(), b"]"].concat()
}

fn reply_of(head: response::Parts, body: ReplyBody) -> Response<ReplyBody> {
    let mut reply = Response::new(body);
    *reply.status_mut() = head.status;
    *reply.headers_mut() = passed_on(head.headers);
    reply
}

fn unread(error: GatherError) -> Turned {
    match error {
        GatherError::TooLarge => Turned::bad_gateway("the server's reply is larger than 64 MiB"),
        GatherError::PoolFull => Turned::busy("the messages under way hold too many bytes"),
        GatherError::Broken => Turned::bad_gateway("the server's reply broke off"),
    }
}

fn session_of(headers: &HeaderMap) -> Result<Option<String>, Turned> {
    /// The longest name of a session.
    const NAME_BYTES_MAX: usize = 1_024;
    let Some(value) = only(headers, &SESSION_HEADER)? else { return Ok(None) };
    let name = value.to_str().ok().filter(|name| name.len() <= NAME_BYTES_MAX);
    let wrong = || Turned::new(StatusCode::BAD_REQUEST, "`Mcp-Session-Id` is not plain text of at most 1,024 bytes");
    name.map(|name| Some(name.to_owned())).ok_or_else(wrong)
}

/// Refuses a message that the server could read in another way than the guard: packed, or in another alphabet.
fn check_json(headers: &HeaderMap) -> Result<(), Turned> {
    let unsupported = |why: &str| Turned::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    if only(headers, &CONTENT_ENCODING)?.is_some_and(|encoding| encoding != "identity") {
        return Err(unsupported("the message is packed; send it as plain JSON"));
    }
    let kind = only(headers, &CONTENT_TYPE)?.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (media, rest) = kind.split_once(';').unwrap_or((kind, ""));
    let is_json = media.trim().eq_ignore_ascii_case("application/json");
    let is_plain = rest.split(';').map(str::trim).filter(|part| !part.is_empty()).all(|part| {
        let utf8 = ["charset=utf-8", "charset=\"utf-8\"", "charset=utf8"];
        utf8.iter().any(|known| part.eq_ignore_ascii_case(known))
    });
    if is_json && is_plain { Ok(()) } else { Err(unsupported("send `application/json` in UTF-8")) }
}

pub(super) fn is_media(headers: &HeaderMap, media: &str) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let kind = kinds.next().and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kinds.next().is_none() && kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_5_a_message_that_a_server_could_read_in_another_way_is_refused() {
        let check = |kind: &str, encoding: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
            if let Some(encoding) = encoding {
                headers.insert(CONTENT_ENCODING, HeaderValue::from_str(encoding).unwrap());
            }
            check_json(&headers).is_ok()
        };
        for kind in ["application/json", "Application/JSON; charset=UTF-8", "application/json;charset=\"utf-8\""] {
            assert!(check(kind, None), "{kind}");
        }
        assert!(check("application/json", Some("identity")));
        for kind in [
            "application/json; charset=utf-7",
            "application/json; charset=utf-16le",
            "text/plain",
            "",
            "application/json; charset=utf-8; charset=utf-7",
            "multipart/form-data; boundary=x",
            "application/json-seq",
        ] {
            assert!(!check(kind, None), "{kind}");
        }
        assert!(!check("application/json", Some("gzip")));
        assert!(check_json(&HeaderMap::new()).is_err());
    }

    #[test]
    fn mcp_5_our_answers_stand_behind_the_servers() {
        let own = ["{\"id\":2}".to_owned()];
        assert_eq!(joined(b" [{\"id\":1}] ", &own), b"[{\"id\":1},{\"id\":2}]");
        assert_eq!(joined(b"{\"id\":1}", &own), b"[{\"id\":1},{\"id\":2}]");
        assert_eq!(joined(b"[]", &own), b"[{\"id\":2}]");
    }
}
