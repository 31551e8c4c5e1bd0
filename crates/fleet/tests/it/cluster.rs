//! A fleet on a real cluster of three servers on the loopback interface, and what is refused.
#![expect(clippy::expect_used, reason = "a broken premise ends the test")]

use crate::conformance;
use crate::journals::name;
use crate::nemesis::{self, TestCluster};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tripwire_fleet::log::{Append, Log as _, LogError, Sequence};
use tripwire_fleet::nats::cluster::{ClusterError, find_server};
use tripwire_fleet::nats::{Credentials, NatsError, NatsLog};
use tripwire_fleet::subject::Subject;

#[test]
fn fleet_1_a_cluster_meets_every_demand_and_loses_nothing_when_its_leader_is_killed() {
    let Some(cluster) = TestCluster::start(3) else { return };
    let log = NatsLog::open(&cluster.credentials).unwrap();
    conformance::all(&log, "n");
    refusals(&cluster);
    machines(&cluster);
    nemesis::appends_under_faults(&cluster, &log);
}

/// FLEET-5: each weaker thing by its own words.
fn refusals(cluster: &TestCluster) {
    let blind = Credentials { monitor: None, ..cluster.credentials.clone() };
    assert!(refused(&blind).contains("cannot be seen"), "{}", refused(&blind));
    let more = Credentials { replicas: 5, ..cluster.credentials.clone() };
    assert!(refused(&more).contains("3 of 5 servers") && refused(&more).contains("keeps 3 of 5 copies"));
    let stranger = Credentials { user: String::new(), ..cluster.credentials.clone() };
    assert!(matches!(NatsLog::open(&stranger), Err(NatsError::Connect { .. })));
    let distrust = Credentials { ca: None, ..cluster.credentials.clone() };
    assert!(matches!(NatsLog::open(&distrust), Err(NatsError::Connect { .. })));
    assert!(matches!(cluster.cluster.up(3), Err(ClusterError::Running { .. })));
}

fn refused(credentials: &Credentials) -> String {
    match NatsLog::open(credentials) {
        Err(NatsError::Weak(error)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was taken"),
    }
}

/// A machine writes its own records and nobody else's orders; without credentials it writes nothing.
fn machines(cluster: &TestCluster) {
    let own = name("m7");
    let file = cluster.cluster.invite(&own).unwrap();
    assert!(matches!(cluster.cluster.invite(&own), Err(ClusterError::Machine { .. })));
    let credentials = Credentials::read(&file, &[]).unwrap();
    let log = (0..50).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        NatsLog::open(&credentials).ok()
    });
    let log = log.expect("the servers take a new machine without a restart");
    assert!(matches!(log.append(&Subject::receipts(&own), Sequence(0), "mine").unwrap(), Append::Ack(_)));
    let last = log.last(&Subject::orders()).unwrap().map_or(Sequence(0), |entry| entry.sequence);
    let policy = Subject::policy_for_all();
    for foreign in [Subject::receipts(&name("m8")), Subject::machine(&name("m8")), Subject::orders(), policy] {
        let after = if foreign == Subject::orders() { last } else { Sequence(0) };
        assert!(!matches!(log.append(&foreign, after, "forged"), Ok(Append::Ack(_))), "{foreign}");
    }
    cluster.cluster.revoke(&own).unwrap();
    let cut = (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        NatsLog::open(&credentials).is_err()
    });
    assert!(cut, "a revoked machine is not let in");
    assert!(matches!(cluster.cluster.revoke(&own), Err(ClusterError::Machine { .. })));
}

#[test]
fn fleet_5_a_server_that_does_not_sync_or_has_foreign_streams_is_refused() {
    let Some(cluster) = TestCluster::start(1) else { return };
    let log = NatsLog::open(&cluster.credentials).unwrap();
    assert!(matches!(log.append(&Subject::orders(), Sequence(0), "x").unwrap(), Append::Ack(_)));
    drop(log);
    cluster.cluster.down().unwrap();
    let folder = cluster.cluster.look().unwrap().credentials.parent().map(PathBuf::from).unwrap();
    let (conf, server) = (folder.join("node-1.conf"), find_server(std::env::var_os("PATH").as_deref()).unwrap());
    let lazy = std::fs::read_to_string(&conf).unwrap().replace(", sync_interval: always", "");
    std::fs::write(&conf, lazy).unwrap();
    let mut child = Command::new(server).arg("-c").arg(&conf).stderr(std::process::Stdio::null()).spawn().unwrap();
    let answer = (0..50).find_map(|_| {
        std::thread::sleep(Duration::from_millis(200));
        match NatsLog::open(&cluster.credentials) {
            Err(NatsError::Weak(error)) => Some(error.to_string()),
            Err(NatsError::Connect { .. } | NatsError::Log(LogError::Unreachable(_))) => None,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it was taken"),
        }
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.as_ref().is_some_and(|words| words.contains("syncs its disk only every 120 s")), "{answer:?}");
}
