//! The log on JetStream. Every write names the entry that it follows; what the server cannot say for sure stays unknown.

use super::connection::{Connection, NatsError};
use super::credentials::Credentials;
use super::setup;
use crate::checks::StreamPlan;
use crate::log::{Append, Entry, Log, LogError, Sequence, Waited};
use crate::subject::Subject;
use async_nats::{HeaderMap, Message, Request, StatusCode, Subscriber};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tripwire_journal::wall_clock::WallClock;

/// A fleet's log on a cluster.
pub struct NatsLog {
    connection: Connection,
}

impl NatsLog {
    /// Connects and checks everything that the fleet depends on.
    ///
    /// # Errors
    /// When there is no connection, or the cluster is weaker than asked.
    pub fn open(credentials: &Credentials) -> Result<Self, NatsError> {
        let connection = setup::checked(credentials, setup::Missing::Refuse)?;
        Ok(Self { connection })
    }

    /// The same, and makes the streams if they are missing.
    ///
    /// # Errors
    /// See [`Self::open`].
    pub fn create(credentials: &Credentials) -> Result<Self, NatsError> {
        let connection = setup::checked(credentials, setup::Missing::Create)?;
        Ok(Self { connection })
    }

    /// The server that leads the stream of the records.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn leader(&self) -> Result<Option<String>, LogError> {
        let stream = StreamPlan::of(crate::subject::Kept::History).name;
        let info: StreamInfo = self.api(&format!("$JS.API.STREAM.INFO.{stream}"), &json!({}), stream)?;
        Ok(info.cluster.and_then(|cluster| cluster.leader))
    }

    fn api<T: for<'de> Deserialize<'de>>(
        &self,
        to: &str,
        body: &serde_json::Value,
        about: &str,
    ) -> Result<T, LogError> {
        let asked = self.connection.wait(self.connection.ask_json(to, body));
        let message = asked.map_err(LogError::Unreachable)?;
        let unreadable = |error: serde_json::Error| LogError::Unreachable(format!("an answer cannot be read: {error}"));
        let answer: ApiAnswer = serde_json::from_slice(&message.payload).map_err(unreadable)?;
        match answer.error {
            None => serde_json::from_slice(&message.payload).map_err(unreadable),
            Some(error) if error.code == UNAVAILABLE => Err(LogError::Unreachable(error.description)),
            Some(error) => Err(LogError::Refused { subject: about.to_owned(), reason: error.description }),
        }
    }

    /// One message from the leader.
    async fn get(&self, subject: &Subject, body: &serde_json::Value) -> Result<Option<Entry>, LogError> {
        let to = format!("$JS.API.STREAM.MSG.GET.{}", StreamPlan::of(subject.kept()).name);
        let message = self.connection.ask_json(&to, body).await.map_err(LogError::Unreachable)?;
        let damaged = |error: serde_json::Error| LogError::Unreachable(format!("an answer cannot be read: {error}"));
        let answer: Got = serde_json::from_slice(&message.payload).map_err(damaged)?;
        match (answer.message, answer.error) {
            (Some(stored), _) => Ok(Some(stored.entry(subject)?)),
            (None, Some(error)) if error.err_code == NO_MESSAGE => Ok(None),
            (None, Some(error)) if error.code == UNAVAILABLE => Err(LogError::Unreachable(error.description)),
            (None, Some(error)) => Err(LogError::Refused { subject: subject.to_string(), reason: error.description }),
            (None, None) => Err(LogError::damaged(subject, "the answer holds neither an entry nor an error")),
        }
    }

    /// The first message of a subject behind a place, from the leader.
    async fn next(&self, subject: &Subject, after: Sequence) -> Result<Option<Entry>, LogError> {
        self.get(subject, &json!({"seq": after.0 + 1, "next_by_subj": subject.as_str()})).await
    }

    /// Many messages in one question, from any server that has the stream.
    async fn get_batch(&self, subject: &Subject, after: Sequence, limit: usize) -> Result<Vec<Entry>, LogError> {
        let client = self.connection.client();
        let to = format!("$JS.API.DIRECT.GET.{}", StreamPlan::of(subject.kept()).name);
        let body = json!({"seq": after.0 + 1, "next_by_subj": subject.as_str(), "batch": limit.min(BATCH)});
        let failed = |error: String| LogError::Unreachable(error);
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| failed(error.to_string()))?;
        let asked = client.publish_with_reply(to, inbox, Bytes::from(body.to_string())).await;
        asked.map_err(|error| failed(error.to_string()))?;
        let mut entries = Vec::new();
        loop {
            let next = tokio::time::timeout(super::connection::ANSWER_WITHIN, answers.next()).await;
            let message = next.map_err(|_late| failed("no answer".to_owned()))?;
            let message = message.ok_or_else(|| failed("the connection is closed".to_owned()))?;
            match message.status {
                None | Some(StatusCode::OK) => entries.push(direct(subject, &message)?),
                // The end of the batch, or nothing there.
                Some(status) if status.as_u16() == 204 || status.as_u16() == 404 => return Ok(entries),
                Some(status) => return Err(failed(format!("the server answers {status}"))),
            }
        }
    }

    async fn read_on(&self, subject: &Subject, after: Sequence, limit: usize) -> Result<Vec<Entry>, LogError> {
        if limit == 1 {
            return Ok(self.next(subject, after).await?.into_iter().collect());
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut by_batches = true;
        while entries.len() < limit {
            let from = entries.last().map_or(after, |entry| entry.sequence);
            let page =
                if by_batches { self.get_batch(subject, from, limit - entries.len()).await } else { Ok(Vec::new()) };
            let page = match page {
                Err(LogError::Unreachable(_)) => {
                    by_batches = false;
                    Vec::new()
                }
                page => page?,
            };
            if !page.is_empty() {
                entries.extend(page);
                continue;
            }
            // Any server may answer a batch, also one that is behind or has just come back: the leader says where the end is.
            match self.next(subject, from).await? {
                Some(entry) => entries.push(entry),
                None => break,
            }
        }
        Ok(entries)
    }
}

impl Log for NatsLog {
    fn append(&self, subject: &Subject, after: Sequence, text: &str) -> Result<Append, LogError> {
        LogError::check_text(subject, text)?;
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Stream", StreamPlan::of(subject.kept()).name);
        headers.insert("Nats-Expected-Last-Subject-Sequence", after.to_string().as_str());
        let request = Request::new().headers(headers).payload(Bytes::copy_from_slice(text.as_bytes()));
        let message = match self.connection.wait(self.connection.ask(subject.as_str(), request)) {
            Ok(message) => message,
            Err(error) => return Ok(Append::Unknown(error)),
        };
        match serde_json::from_slice::<PublishAnswer>(&message.payload) {
            Ok(PublishAnswer { error: None, seq: Some(sequence) }) => Ok(Append::Ack(Sequence(sequence))),
            Ok(PublishAnswer { error: Some(error), .. }) if WRONG_LAST.contains(&error.err_code) => Ok(Append::Fenced),
            Ok(PublishAnswer { error: Some(error), .. }) if error.code == UNAVAILABLE => {
                Ok(Append::Unknown(error.description))
            }
            Ok(PublishAnswer { error: Some(error), .. }) => {
                Err(LogError::Refused { subject: subject.to_string(), reason: error.description })
            }
            Ok(PublishAnswer { error: None, seq: None }) => Ok(Append::Unknown("an empty answer".to_owned())),
            Err(error) => Ok(Append::Unknown(error.to_string())),
        }
    }

    fn last(&self, subject: &Subject) -> Result<Option<Entry>, LogError> {
        self.connection.wait(self.get(subject, &json!({"last_by_subj": subject.as_str()})))
    }

    fn read(&self, subject: &Subject, after: Sequence, limit: usize) -> Result<Vec<Entry>, LogError> {
        self.connection.wait(self.read_on(subject, after, limit))
    }

    fn subjects(&self, prefix: &str) -> Result<Vec<Subject>, LogError> {
        let Some(example) = Subject::parse(&format!("{prefix}x")) else { return Ok(Vec::new()) };
        let stream = StreamPlan::of(example.kept()).name;
        let mut found = BTreeMap::new();
        loop {
            let body = json!({"subjects_filter": format!("{prefix}>"), "offset": found.len()});
            let info: StreamInfo = self.api(&format!("$JS.API.STREAM.INFO.{stream}"), &body, stream)?;
            let page = info.state.subjects.unwrap_or_default();
            let before = found.len();
            found.extend(page);
            if found.len() == before || u64::try_from(found.len()).unwrap_or(u64::MAX) >= info.total.unwrap_or(0) {
                return Ok(found.keys().filter_map(|subject| Subject::parse(subject)).collect());
            }
        }
    }

    fn wait(&self, subject: &Subject, after: Sequence, at_most: Duration) -> Result<Waited, LogError> {
        let client = self.connection.client();
        let unreachable = |error: &dyn std::fmt::Display| LogError::Unreachable(error.to_string());
        self.connection.wait(async {
            let deadline = tokio::time::Instant::now() + at_most;
            // The subscription comes before the look, so that nothing falls between them.
            let mut subscriber = client.subscribe(subject.to_string()).await.map_err(|error| unreachable(&error))?;
            client.flush().await.map_err(|error| unreachable(&error))?;
            tokio::select! {
                biased;
                // Servers that choose a leader leave the look without an answer for seconds. What is sent meanwhile is heard all the same.
                heard = next_text(&mut subscriber) => return Ok(Waited::Heard(heard)),
                entries = self.read_on(subject, after, WAITED_MAX) => {
                    let entries = entries?;
                    if !entries.is_empty() {
                        return Ok(Waited::Entries(entries));
                    }
                }
            }
            let heard = tokio::time::timeout_at(deadline, next_text(&mut subscriber)).await;
            Ok(heard.map_or_else(|_late| Waited::Entries(Vec::new()), Waited::Heard))
        })
    }

    fn announce(&self, subject: &Subject, text: &str) {
        let mut headers = HeaderMap::new();
        // Listeners get it; no stream has this name, so none keeps it.
        headers.insert("Nats-Expected-Stream", ANNOUNCED);
        let client = self.connection.client();
        let text = Bytes::copy_from_slice(text.as_bytes());
        // Nobody counts on it: what cannot be sent now is in the log later.
        drop(self.connection.wait(client.publish_with_headers(subject.to_string(), headers, text)));
    }
}

/// The next text that somebody sends.
async fn next_text(subscriber: &mut Subscriber) -> String {
    loop {
        match subscriber.next().await.map(|message| String::from_utf8(message.payload.to_vec())) {
            Some(Ok(text)) => return text,
            Some(Err(_)) => {}
            // The connection is closed for good: there is nothing more to hear.
            None => std::future::pending().await,
        }
    }
}

/// A message as a direct answer holds it.
fn direct(subject: &Subject, message: &Message) -> Result<Entry, LogError> {
    let header =
        |name: &str| message.headers.as_ref().and_then(|headers| headers.get(name)).map(|value| value.as_str());
    let sequence = header("Nats-Sequence").and_then(|text| text.parse().ok());
    let time = header("Nats-Time-Stamp").and_then(WallClock::parse);
    let (Some(sequence), Some(time)) = (sequence, time) else {
        return Err(LogError::damaged(subject, "an answer lacks its place or time"));
    };
    let text = String::from_utf8(message.payload.to_vec());
    let text = text.map_err(|_error| LogError::damaged(subject, "an entry is not text"))?;
    Ok(Entry { sequence: Sequence(sequence), time_ms: time.epoch_ms(), text })
}

#[derive(Deserialize)]
struct ApiAnswer {
    error: Option<ApiError>,
}

#[derive(Deserialize)]
struct ApiError {
    #[serde(default)]
    code: u64,
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct PublishAnswer {
    error: Option<ApiError>,
    seq: Option<u64>,
}

#[derive(Deserialize)]
struct Got {
    message: Option<StoredMessage>,
    error: Option<ApiError>,
}

#[derive(Deserialize)]
struct StoredMessage {
    seq: u64,
    #[serde(default)]
    data: String,
    time: String,
}

impl StoredMessage {
    fn entry(self, subject: &Subject) -> Result<Entry, LogError> {
        let text = STANDARD.decode(&self.data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        match (text, WallClock::parse(&self.time)) {
            (Some(text), Some(time)) => Ok(Entry { sequence: Sequence(self.seq), time_ms: time.epoch_ms(), text }),
            (Some(_) | None, Some(_) | None) => Err(LogError::damaged(subject, "an entry cannot be read")),
        }
    }
}

#[derive(Deserialize)]
struct StreamInfo {
    state: StreamState,
    cluster: Option<StreamCluster>,
    total: Option<u64>,
}

#[derive(Deserialize)]
struct StreamState {
    subjects: Option<BTreeMap<String, u64>>,
}

#[derive(Deserialize)]
struct StreamCluster {
    leader: Option<String>,
}

/// The two forms in which a server says that another entry was faster.
const WRONG_LAST: [u64; 2] = [10_071, 10_164];
const NO_MESSAGE: u64 = 10_037;
const UNAVAILABLE: u64 = 503;
const BATCH: usize = 512;
const ANNOUNCED: &str = "tw-announced";
const WAITED_MAX: usize = 1_000;
