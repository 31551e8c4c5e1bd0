//! A tool server with an address, as one on standard streams: each line that comes in is posted to it, and each message that it says
//! is a line that goes out.
//!
//! Nothing here decides and nothing guards: the guard of a pipe stands before it, as it stands before any other server.

use super::event::{EventKind, EventReader, StreamEvent};
use super::exchange::{SESSION_HEADER, is_media};
use super::lines::{SentLine, flat, heard};
use super::url::ToolServerUrl;
use crate::buffered::BufferPool;
use crate::gathered::gather;
use crate::limits::{ANSWERS_WITHIN, BUFFERED_BYTES_MAX, REQUEST_BYTES_MAX};
use crate::pump::{NextPiece, frame};
use crate::upstream::{ProxySettings, ReturnedConnection, Upstreams};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING,
};
use hyper::http::response;
use hyper::{Method, Request, StatusCode};
use std::borrow::Cow;
use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::bounded;

const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");
/// Headers that are ours to set.
const OWN_HEADERS: [HeaderName; 8] = [
    HOST,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    CONNECTION,
    TRANSFER_ENCODING,
    ACCEPT_ENCODING,
    SESSION_HEADER,
    LAST_EVENT_HEADER,
];
/// How long messages that want no answer may keep those behind them waiting.
const NOTICED_WITHIN: Duration = Duration::from_secs(10);
/// How long the end of a session may take.
const ENDED_WITHIN: Duration = Duration::from_secs(2);
/// How often a stream that broke off is taken up again, and after how long.
const RESUMES_MAX: usize = 5;
const RESUMED_AFTER: Duration = Duration::from_millis(500);
const LISTENED_AFTER_MAX: Duration = Duration::from_secs(30);
/// The longest line that is read: the guard before us lets no longer one pass.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Lines that wait to be posted.
const LINES_WAITING: usize = 64;
/// Letters of a server's own words in an error.
const SHOWN_BYTES_MAX: usize = 300;

/// A server with an address.
pub struct PipedServer {
    /// Its address.
    pub url: ToolServerUrl,
    /// What every request says beside what the protocol wants: a token, for instance.
    pub headers: Vec<(String, String)>,
    /// The value of a variable of the environment, for `HTTPS_PROXY` and `NO_PROXY`.
    pub env: fn(&str) -> Option<String>,
}

/// Why a server cannot be put on a pipe.
#[derive(Debug, thiserror::Error)]
pub enum PipeError {
    /// A header cannot be sent; its value is not shown.
    #[error("the header `{name}` of the server's entry cannot be sent")]
    Header {
        /// Its name.
        name: String,
    },
    /// The system refused.
    #[error("the system gives no runtime: {0}")]
    Runtime(io::Error),
}

impl Explain for PipeError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Header { .. } => "correct it in the client's settings: one line of plain letters".into(),
            Self::Runtime(_) => "raise the limits of this process, then run it again".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Header { .. } => ExitClass::BadInput,
            Self::Runtime(_) => ExitClass::Internal,
        }
    }
}

/// Posts every line of `input` to the server, and writes every message of the server as a line, until `input` ends.
///
/// # Errors
/// When it cannot begin.
pub fn pipe(
    server: &PipedServer,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), PipeError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &server.headers {
        let wrong = || PipeError::Header { name: name.clone() };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        if !OWN_HEADERS.contains(&name) {
            headers.append(name, value);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(PipeError::Runtime)?;
    let piped = Arc::new(Piped {
        url: server.url.clone(),
        headers,
        upstreams: Upstreams::new(ProxySettings::from_env(&server.env)),
        buffered: BufferPool::default(),
        output: Mutex::new(Box::new(output)),
        known: Mutex::default(),
    });
    let (lines, posted) = mpsc::channel(LINES_WAITING);
    let reader = std::thread::Builder::new().name("lines".to_owned());
    reader.spawn(move || read_lines(input, &lines)).map_err(PipeError::Runtime)?;
    runtime.block_on(piped.run(posted));
    Ok(())
}

fn read_lines(input: impl Read, lines: &mpsc::Sender<Vec<u8>>) {
    let mut input = BufReader::new(input);
    while let Ok(line) = bounded::read_line(&mut input, LINE_BYTES_MAX) {
        if line.is_empty() || lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// One server, and what is known of our session with it.
struct Piped {
    url: ToolServerUrl,
    headers: HeaderMap,
    upstreams: Upstreams,
    buffered: BufferPool,
    output: Mutex<Box<dyn Write + Send>>,
    known: Mutex<KnownSession>,
}

#[derive(Default)]
struct KnownSession {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// The head of a reply, its body, and the connection it comes on.
struct PipedReply {
    head: response::Parts,
    body: Incoming,
    connection: ReturnedConnection,
}

/// How a stream ended.
enum StreamOver {
    /// With all answers that were asked for, or by itself.
    Whole,
    /// Before them; behind this event it can be taken up again.
    Early(Option<HeaderValue>),
}

impl Piped {
    async fn run(self: Arc<Self>, mut lines: mpsc::Receiver<Vec<u8>>) {
        let mut under_way = JoinSet::new();
        let mut listens = false;
        while let Some(line) = lines.recv().await {
            let Some(sent) = SentLine::read(&line) else { continue };
            let (waits, starts) = (sent.waits(), sent.is_initialized());
            let within = if sent.is_initialize() { ANSWERS_WITHIN } else { NOTICED_WITHIN };
            let post = Arc::clone(&self).post(Bytes::from(line), sent);
            if waits {
                // What follows may only be said after it.
                drop(timeout(within, post).await);
            } else {
                under_way.spawn(post);
            }
            while under_way.try_join_next().is_some() {}
            if starts && !listens {
                listens = true;
                under_way.spawn(Arc::clone(&self).listen());
            }
        }
        under_way.abort_all();
        drop(timeout(ENDED_WITHIN, self.end_session()).await);
    }

    /// Posts one line. A client that waits for an answer that does not come gets an error.
    async fn post(self: Arc<Self>, line: Bytes, mut sent: SentLine) {
        if let Err(why) = self.posted(line, &mut sent).await {
            for id in sent.open() {
                let error = serde_json::json!({"code": -32_000, "message": format!("tripwire: {why}")});
                self.say(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).as_bytes());
            }
        }
    }

    async fn posted(&self, line: Bytes, sent: &mut SentLine) -> Result<(), String> {
        let reply = self.send(Method::POST, line, None).await?;
        if sent.is_initialize() {
            self.known().session = reply.head.headers.get(SESSION_HEADER).cloned();
        }
        if is_media(&reply.head.headers, "text/event-stream") {
            let mut over = self.stream(reply, sent).await?;
            for _ in 0..RESUMES_MAX {
                let StreamOver::Early(Some(last)) = over else { break };
                sleep(RESUMED_AFTER).await;
                let reply = self.send(Method::GET, Bytes::new(), Some(&last)).await?;
                over = self.stream(reply, sent).await?;
            }
            return match over {
                StreamOver::Whole => Ok(()),
                StreamOver::Early(_) => Err("the server's stream broke off before its answer".to_owned()),
            };
        }
        let body = self.body(reply).await?;
        if !body.trim_ascii().is_empty() {
            self.hear(&body, sent);
        }
        if sent.open().next().is_some() { Err("the server's reply holds no answer".to_owned()) } else { Ok(()) }
    }

    /// The stream on which the server speaks by itself, for as long as it offers one.
    async fn listen(self: Arc<Self>) {
        let (mut last, mut pause) = (None, RESUMED_AFTER);
        loop {
            let Ok(reply) = self.send(Method::GET, Bytes::new(), last.as_ref()).await else { return };
            if !is_media(&reply.head.headers, "text/event-stream") {
                return;
            }
            match self.stream(reply, &mut SentLine::listening()).await {
                Ok(StreamOver::Early(Some(behind))) => (last, pause) = (Some(behind), RESUMED_AFTER),
                // A server that only ends its streams is asked ever less often.
                Ok(StreamOver::Early(None)) => pause = pause.saturating_mul(2).min(LISTENED_AFTER_MAX),
                Ok(StreamOver::Whole) | Err(_) => return,
            }
            sleep(pause).await;
        }
    }

    /// Says every message of a stream, until all answers that it is for came.
    async fn stream(&self, reply: PipedReply, sent: &mut SentLine) -> Result<StreamOver, String> {
        let PipedReply { mut body, .. } = reply;
        let (mut reader, mut last) = (EventReader::default(), None);
        loop {
            let data = match frame(&mut body).await {
                NextPiece::Data(data) => data,
                NextPiece::End | NextPiece::Broken => return Ok(StreamOver::Early(last)),
            };
            for event in reader.push(&data).map_err(|fault| fault.to_string())? {
                if event.kind() == EventKind::Endpoint {
                    return Err(
                        "the server speaks the older HTTP+SSE transport (2024-11-05), which is not guarded; use its \
                                Streamable HTTP address"
                            .to_owned(),
                    );
                }
                last = event.id().and_then(|id| HeaderValue::from_bytes(id).ok()).or(last);
                self.hear_event(&event, sent);
            }
            if sent.is_answered() {
                return Ok(StreamOver::Whole);
            }
        }
    }

    fn hear_event(&self, event: &StreamEvent, sent: &mut SentLine) {
        if let Some(data) =
            event.data().filter(|data| event.kind() == EventKind::Message && !data.trim_ascii().is_empty())
        {
            self.hear(&data, sent);
        }
    }

    /// A message of the server.
    fn hear(&self, message: &[u8], sent: &mut SentLine) {
        let answers = heard(message);
        if let Some(version) = answers.version.as_deref().filter(|_| sent.is_initialize()) {
            self.known().version = HeaderValue::from_str(version).ok();
        }
        sent.answered(&answers);
        self.say(&flat(message));
    }

    fn say(&self, line: &[u8]) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // A client that no longer reads has closed, which its other pipe says.
        drop(output.write_all(line).and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush()));
    }

    async fn end_session(&self) {
        if self.known().session.is_some() {
            // A server may refuse that, and we end all the same.
            drop(self.send(Method::DELETE, Bytes::new(), None).await);
        }
    }

    /// Sends a request; a reply that is no success is an error, with what the server says.
    async fn send(&self, method: Method, body: Bytes, behind: Option<&HeaderValue>) -> Result<PipedReply, String> {
        let request = self.request(&method, body, behind).ok_or("the request cannot be made")?;
        let (reply, connection) =
            self.upstreams.send(self.url.destination(), request).await.map_err(|error| error.to_string())?;
        let (head, body) = reply.into_parts();
        let status = head.status;
        let reply = PipedReply { head, body, connection };
        if status.is_success() {
            return Ok(reply);
        }
        let said = self.body(reply).await.unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let said = tripwire_core::label::cut(said.trim(), SHOWN_BYTES_MAX);
        Err(format!("the server answered {status}: {said}{}", hint(status)))
    }

    fn request(&self, method: &Method, body: Bytes, behind: Option<&HeaderValue>) -> Option<Request<Full<Bytes>>> {
        let mut headers = self.headers.clone();
        headers.insert(HOST, HeaderValue::from_str(self.url.host()).ok()?);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if *method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let (session, version) = {
            let known = self.known();
            (known.session.clone(), known.version.clone())
        };
        for (name, value) in
            [(SESSION_HEADER, session), (VERSION_HEADER, version), (LAST_EVENT_HEADER, behind.cloned())]
        {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        let query = self.url.query.as_deref().map(|query| format!("?{query}")).unwrap_or_default();
        let mut request = Request::builder().method(method.clone()).uri(format!("{}{query}", self.url.path()));
        *request.headers_mut()? = headers;
        request.body(Full::new(body)).ok()
    }

    async fn body(&self, reply: PipedReply) -> Result<Bytes, String> {
        let mut share = self.buffered.share(BUFFERED_BYTES_MAX);
        let body = gather(reply.body, &mut share, REQUEST_BYTES_MAX, ANSWERS_WITHIN).await;
        self.upstreams.give_back(reply.connection);
        body.map_err(|_| "the server's reply cannot be read".to_owned())
    }

    fn known(&self) -> MutexGuard<'_, KnownSession> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a person can do about a refusal of the server.
fn hint(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "; give it a token as a header in the client's settings: a client's own login (OAuth) does not reach a wrapped server"
        }
        StatusCode::NOT_FOUND => "; its session may be over: start the client again",
        _ if status.is_redirection() => "; redirects are not followed: name the new address",
        _ => "",
    }
}
