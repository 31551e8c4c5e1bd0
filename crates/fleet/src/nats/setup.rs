//! The start: connect, ask the servers what they are, make or read the streams, and refuse what is weaker than asked.

use super::connection::{Connection, NatsError, Speaker};
use super::credentials::Credentials;
use crate::checks::{self, STREAMS, ServerFacts, ServerReport, StreamPlan, Wanted, WeakClusterError};
use crate::log::LogError;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};
use tripwire_workspace::clock;

/// What to do about a stream that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Refuse,
}

/// A connection to a cluster that is as strong as asked.
pub(super) fn checked(credentials: &Credentials, missing: Missing) -> Result<Connection, NatsError> {
    let wanted = Wanted { replicas: credentials.replicas.max(1) };
    let connection = Connection::open(credentials, Speaker::User)?;
    let info = connection.client().server_info();
    // An old server is refused before it is asked anything that it would misunderstand.
    if let Some(weakness) = checks::version(&info.server_name, &info.version) {
        return Err(WeakClusterError(vec![weakness]).into());
    }
    let mut weak = checks::servers(&facts(credentials, wanted)?, wanted);
    for plan in STREAMS {
        match config(&connection, &plan, wanted, missing)? {
            Some(reported) => weak.extend(plan.judge(&reported, wanted)),
            None => {
                return Err(LogError::Refused {
                    subject: plan.name.to_owned(),
                    reason: "there is no such stream".to_owned(),
                }
                .into());
            }
        }
    }
    if weak.is_empty() { Ok(connection) } else { Err(WeakClusterError(weak).into()) }
}

/// What the servers say of themselves; nothing without credentials for that.
fn facts(credentials: &Credentials, wanted: Wanted) -> Result<Vec<ServerFacts>, NatsError> {
    if credentials.monitor.is_none() {
        return Ok(Vec::new());
    }
    let connection = Connection::open(credentials, Speaker::Monitor)?;
    let client = connection.client();
    let asked = clock::now().epoch_ms();
    let start = Instant::now();
    let answers = connection.wait(async {
        let inbox = client.new_inbox();
        let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
        let body = Bytes::from_static(b"{\"config\":true}");
        client.publish_with_reply("$SYS.REQ.SERVER.PING.JSZ", inbox, body).await.map_err(|error| error.to_string())?;
        let mut heard = Vec::new();
        while u64::try_from(heard.len()).unwrap_or(u64::MAX) < wanted.replicas {
            let left = FACTS_WITHIN.saturating_sub(start.elapsed());
            match tokio::time::timeout(left, answers.next()).await {
                Ok(Some(message)) => heard.push((message.payload, clock::now().epoch_ms())),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(heard)
    });
    let answers: Vec<(Bytes, u64)> = answers.map_err(LogError::Unreachable)?;
    let facts = answers.into_iter().filter_map(|(payload, answered)| {
        serde_json::from_slice::<ServerReport>(&payload).ok()?.facts((asked, answered))
    });
    Ok(facts.collect())
}

/// The settings of a stream as its server reports them.
fn config(
    connection: &Connection,
    plan: &StreamPlan,
    wanted: Wanted,
    missing: Missing,
) -> Result<Option<Map<String, Value>>, NatsError> {
    let about = |action: &str| format!("$JS.API.STREAM.{action}.{}", plan.name);
    let ask = |action: &str, body: &Value| -> Result<StreamAnswer, LogError> {
        let message = connection.wait(connection.ask_json(&about(action), body)).map_err(LogError::Unreachable)?;
        serde_json::from_slice(&message.payload).map_err(|error| LogError::Unreachable(error.to_string()))
    };
    let refused = |reason: String| LogError::Refused { subject: plan.name.to_owned(), reason };
    let found = ask("INFO", &json!({}))?;
    match (found.config, found.error, missing) {
        (Some(config), _, _) => Ok(Some(config)),
        (None, Some(error), Missing::Create) if error.err_code == NO_STREAM => {
            let made = ask("CREATE", &Value::Object(plan.settings(wanted)))?;
            let reason = made.error.map_or_else(|| "an empty answer".to_owned(), |error| error.description);
            // What counts is what the server says that it made.
            Ok(Some(made.config.ok_or_else(|| refused(reason))?))
        }
        (None, Some(error), Missing::Refuse) if error.err_code == NO_STREAM => Ok(None),
        (None, Some(error), Missing::Create | Missing::Refuse) => Err(refused(error.description).into()),
        (None, None, Missing::Create | Missing::Refuse) => Err(refused("an empty answer".to_owned()).into()),
    }
}

#[derive(Deserialize)]
struct StreamAnswer {
    config: Option<Map<String, Value>>,
    error: Option<StreamFault>,
}

#[derive(Deserialize)]
struct StreamFault {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

const NO_STREAM: u64 = 10_059;
const FACTS_WITHIN: Duration = Duration::from_secs(3);
