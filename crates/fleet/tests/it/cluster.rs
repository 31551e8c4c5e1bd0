//! A fleet on a real cluster of three servers on the loopback interface, and what is refused.
#![expect(clippy::expect_used, reason = "a broken premise ends the test")]

use crate::conformance;
use crate::journals::name;
use crate::nemesis::{self, TestCluster};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tripwire_fleet::log::{Append, Log as _, LogError, Sequence};
use tripwire_fleet::nats::cluster::{Cluster, ClusterError, find_server};
use tripwire_fleet::nats::{Credentials, NatsError, NatsLog};
use tripwire_fleet::subject::Subject;
use tripwire_testing::{TestDir, skip};

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
    let answer = refusal(&cluster, &find_server(std::env::var_os("PATH").as_deref()).unwrap());
    assert!(answer.contains("syncs its disk only every 120 s"), "{answer}");
}

/// The words with which a server is refused that runs without `sync_interval`.
fn refusal(cluster: &TestCluster, server: &Path) -> String {
    let folder = cluster.cluster.look().unwrap().credentials.parent().map(PathBuf::from).unwrap();
    let conf = folder.join("node-1.conf");
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
    answer.unwrap()
}

#[test]
fn fleet_5_a_program_that_is_too_old_is_refused_before_anything_is_made() {
    let folder = TestDir::new();
    let program = folder.path().join("nats-server");
    for (told, is_refused) in [("nats-server: v2.9.10", true), ("nats-server: v2.12.0", false)] {
        std::fs::write(
            &program,
            format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{told}' && exit\necho no room >&2\nexit 1\n"),
        )
        .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let cluster = Cluster::new(folder.path().join("c"), program.clone());
        let error = cluster.up(3).unwrap_err().to_string();
        // The other one is started, and fails at something else.
        let expected = if is_refused { "2.12 is needed" } else { "`node-1` ended: no room" };
        assert!(error.contains(expected), "{error}");
        assert_eq!(folder.path().join("c").exists(), !is_refused, "nothing is made for a program that is too old");
    }
}

#[test]
fn fleet_5_a_real_server_that_is_too_old_is_refused_by_its_version() {
    let Some(old) = std::env::var_os("TRIPWIRE_OLD_NATS").map(PathBuf::from) else {
        skip("TRIPWIRE_OLD_NATS does not name a nats-server below 2.12, as Debian has it; `.ci/run` fetches one");
        return;
    };
    let error = Cluster::new(TestDir::new().path().join("c"), old.clone()).up(3).unwrap_err().to_string();
    assert!(error.contains("is nats-server 2.") && error.contains("2.12 is needed"), "{error}");
    let Some(cluster) = TestCluster::start(1) else { return };
    cluster.cluster.down().unwrap();
    std::fs::remove_dir_all(cluster.cluster.look().unwrap().credentials.with_file_name("node-1.store")).unwrap();
    let answer = refusal(&cluster, &old);
    assert!(answer.contains("is nats-server 2.") && answer.contains("2.12 is needed"), "{answer}");
}
