//! A fleet on a real cluster of three servers on the loopback interface, and what is refused.
#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a broken premise ends the test, and its figures are shown"
)]

use crate::conformance;
use crate::journals::name;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tripwire_fleet::log::{Append, Log as _, LogError, Sequence};
use tripwire_fleet::nats::cluster::{Cluster, ClusterError, find_server};
use tripwire_fleet::nats::{Credentials, NatsError, NatsLog};
use tripwire_fleet::subject::Subject;
use tripwire_testing::{TestDir, skip};

/// A cluster that ends with its test.
struct TestCluster {
    cluster: Cluster,
    credentials: Credentials,
    _folder: TestDir,
}

impl TestCluster {
    /// None, loudly, where there is no server; `TRIPWIRE_NATS=required` makes that a failure.
    fn start(nodes: u64) -> Option<Self> {
        let Ok(server) = find_server(std::env::var_os("PATH").as_deref()) else {
            assert!(std::env::var_os("TRIPWIRE_NATS").is_none(), "nats-server is required and not on PATH");
            skip("nats-server is not on PATH: the fleet was not tested on a cluster");
            return None;
        };
        let folder = TestDir::new();
        let cluster = Cluster::new(folder.path().join("c"), server);
        let running = cluster.up(nodes).unwrap();
        assert_eq!(u64::try_from(running.pids.len()).unwrap(), nodes);
        let credentials = Credentials::read(&running.credentials, &[]).unwrap();
        Some(Self { cluster, credentials, _folder: folder })
    }

    /// Kills a server by its name without a word, and says which it was.
    fn kill(&self, node: &str) -> usize {
        let number: usize = node.rsplit('-').next().unwrap().parse().unwrap();
        let pid = self.cluster.look().unwrap().pids[number - 1];
        signal(pid, "-KILL");
        number - 1
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        self.cluster.down().ok();
    }
}

#[test]
fn fleet_1_a_cluster_meets_every_demand_and_loses_nothing_when_its_leader_is_killed() {
    let Some(cluster) = TestCluster::start(3) else { return };
    let log = NatsLog::open(&cluster.credentials).unwrap();
    conformance::all(&log, "n");
    refusals(&cluster);
    machines(&cluster);
    let each = appends() / WRITERS;
    let start = Instant::now();
    let is_over = AtomicBool::new(false);
    let (longest, faults) = std::thread::scope(|scope| {
        let nemesis = scope.spawn(|| nemesis(&cluster, &is_over));
        let longest = conformance::many_writers(&log, "k", WRITERS, each);
        is_over.store(true, Ordering::Relaxed);
        (longest, nemesis.join().unwrap())
    });
    let took = start.elapsed();
    eprintln!("{} appends by {WRITERS} writers in {took:?}, longest stall {longest:?}; {faults}", each * WRITERS);
}

/// What is done to the servers while others write. The short run kills the leader once; the long one goes on until the writers are
/// done: the leader killed, a server that stands still for longer than an election takes, all servers killed at once.
fn nemesis(cluster: &TestCluster, is_over: &AtomicBool) -> String {
    let led = NatsLog::open(&cluster.credentials).unwrap();
    let (mut killed, mut stood_still, mut all_killed) = (0, 0, 0);
    std::thread::sleep(Duration::from_millis(500));
    loop {
        match (killed + stood_still + all_killed) % 3 {
            0 => {
                let leader = led.leader().ok().flatten().unwrap_or_else(|| "node-1".to_owned());
                let number = cluster.kill(&leader);
                std::thread::sleep(Duration::from_secs(2));
                cluster.cluster.start_node(number).unwrap();
                killed += 1;
            }
            1 => {
                let pid = cluster.cluster.look().unwrap().pids[0];
                signal(pid, "-STOP");
                std::thread::sleep(Duration::from_secs(8));
                signal(pid, "-CONT");
                stood_still += 1;
            }
            _ => {
                let pids = cluster.cluster.look().unwrap().pids;
                pids.iter().for_each(|pid| signal(*pid, "-KILL"));
                std::thread::sleep(Duration::from_secs(1));
                (0..pids.len()).for_each(|number| cluster.cluster.start_node(number).unwrap());
                all_killed += 1;
            }
        }
        for _ in 0..50 {
            if is_over.load(Ordering::Relaxed) || appends() <= SHORT_APPENDS {
                return format!("{killed} leaders killed, {stood_still} stood still, {all_killed} times all killed");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn signal(pid: u32, kind: &str) {
    assert!(Command::new("kill").args([kind, &pid.to_string()]).status().unwrap().success());
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

/// How many the writers make together; `just test-fleet` asks for more.
fn appends() -> usize {
    let set = std::env::var("TRIPWIRE_FLEET_APPENDS").ok().and_then(|text| text.parse().ok());
    set.unwrap_or(SHORT_APPENDS)
}

const SHORT_APPENDS: usize = 2_000;
const WRITERS: usize = 16;
