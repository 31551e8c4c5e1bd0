//! How soon one stop reaches 1,000 connections on three real servers of this machine. First a signed order, on its way to three disks,
//! against a bare publish to the same subscribers, in turn, twenty times each; then with the leader killed in the same moment, for
//! 1,000 machines that wait as `tripwire fleet serve` does. The promises: at most 1.5 times the bare publish, and at most 5 s without the
//! leader.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a bench ends at the first surprise, and its figures are shown"
)]

use async_nats::{Client, ConnectOptions};
use bytes::Bytes;
use futures_util::StreamExt as _;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tripwire_fleet::log::{Log as _, Sequence, Waited};
use tripwire_fleet::nats::cluster::{Cluster, find_server};
use tripwire_fleet::nats::{Credentials, NatsLog};
use tripwire_fleet::order::{self, FleetAct, FleetOrder, Target};
use tripwire_fleet::subject::Subject;
use tripwire_journal::note::Signer;
use tripwire_testing::TestDir;

const CONNECTIONS: usize = 1_000;
const ROUNDS: usize = 20;
const KILLS: usize = 3;
/// Connections that are opened at the same time.
const OPENED_AT_ONCE: usize = 16;
const BARE: &str = "tw.bare";
const TOLD_WITHIN: Duration = Duration::from_secs(60);
/// So long nobody hears anything before the next round.
const QUIET: Duration = Duration::from_millis(300);

fn main() {
    let Ok(server) = find_server(std::env::var_os("PATH").as_deref()) else {
        eprintln!("NOT MEASURED: nats-server is not on PATH");
        return;
    };
    let folder = TestDir::new();
    let cluster = Cluster::new(folder.path().join("c"), server);
    let running = cluster.up(3).expect("the servers start");
    let credentials = Credentials::read(&running.credentials, &[]).expect("their credentials");
    let ratio = against_bare(&credentials, &folder.path().join("c").join("ca.pem"));
    let slowest = without_leader(&cluster, &credentials);
    cluster.down().expect("the servers end");
    eprintln!(
        "stop: {ratio:.2} of a bare publish (promised 1.5); with the leader killed {slowest:?} at most (promised 5 s)"
    );
    assert!(ratio <= 1.5 && slowest <= Duration::from_secs(5), "a promise does not hold");
}

/// The text of an order that nobody gave before.
fn order_text() -> String {
    let order = FleetOrder {
        act: FleetAct::Stop,
        target: Target::All,
        reason: "a bench".to_owned(),
        who: "bench".to_owned(),
        at_ms: 1,
        nonce: tripwire_fleet::nonce().expect("a nonce"),
    };
    order.seal(&signer()).expect("an order")
}

fn signer() -> Signer {
    Signer::from_seed("bench", &[7; 32])
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A stop against a bare publish, as a ratio of the medians.
fn against_bare(credentials: &Credentials, ca: &Path) -> f64 {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let handle = runtime.handle().clone();
    // It drives the connections for as long as the bench runs.
    std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    let log = NatsLog::open(credentials).expect("a connection");
    let (told, heard) = mpsc::channel();
    let publisher = handle.block_on(async {
        let publisher = connect(credentials, ca).await;
        for number in 0..CONNECTIONS {
            let client = connect(credentials, ca).await;
            let mut orders = client.subscribe(Subject::orders().to_string()).await.expect("a subscription");
            let mut bare = client.subscribe(BARE).await.expect("a subscription");
            client.flush().await.expect("a flush");
            let told = told.clone();
            tokio::spawn(async move {
                let _client = client;
                loop {
                    tokio::select! {
                        message = orders.next() => if message.is_none() { break },
                        message = bare.next() => if message.is_none() { break },
                    }
                    if told.send(number).is_err() {
                        break;
                    }
                }
            });
        }
        publisher
    });
    // Until every server knows of the last subscription.
    std::thread::sleep(Duration::from_secs(2));
    let (mut stops, mut publishes) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let text = order_text();
        publishes.push(timed(&heard, || {
            let body = Bytes::from(text.clone());
            handle.block_on(async {
                publisher.publish(BARE, body).await.expect("it is sent");
                publisher.flush().await.expect("it has left");
            });
        }));
        stops.push(timed(&heard, || {
            order::give(&log, &text).expect("the order is taken");
        }));
    }
    let (stop, publish) = (median(stops), median(publishes));
    eprintln!("{CONNECTIONS} connections, medians of {ROUNDS}: stop {stop:?}, bare publish {publish:?}");
    stop.as_secs_f64() / publish.as_secs_f64()
}

/// How long until everybody has heard of what is sent.
fn timed(heard: &Receiver<usize>, send: impl FnOnce() + Send) -> Duration {
    std::thread::scope(|scope| {
        let start = Instant::now();
        let sending = scope.spawn(send);
        let mut told = BTreeSet::new();
        while told.len() < CONNECTIONS {
            told.insert(heard.recv_timeout(TOLD_WITHIN).expect("everybody is told"));
        }
        let took = start.elapsed();
        sending.join().expect("it is sent");
        // An order may be heard again: it is announced until it is written.
        while heard.recv_timeout(QUIET).is_ok() {}
        took
    })
}

async fn connect(credentials: &Credentials, ca: &Path) -> Client {
    let options = ConnectOptions::with_nkey(credentials.user.clone());
    let options = options.add_root_certificates(PathBuf::from(ca)).require_tls(true);
    options.connect(credentials.urls.clone()).await.expect("a connection")
}

/// The longest time until all machines know of a stop that is given while the leader is killed.
fn without_leader(cluster: &Cluster, credentials: &Credentials) -> Duration {
    let machines = open_many(credentials);
    let log = NatsLog::open(credentials).expect("a connection");
    let mut slowest = Duration::ZERO;
    for _ in 0..KILLS {
        let text = order_text();
        let after = log.last(&Subject::orders()).expect("an answer").map_or(Sequence(0), |entry| entry.sequence);
        let waiting = AtomicUsize::new(0);
        let (number, took) = std::thread::scope(|scope| {
            let told: Vec<_> =
                machines.iter().map(|machine| scope.spawn(|| time_told(machine, after, &text, &waiting))).collect();
            while waiting.load(Ordering::Relaxed) < machines.len() {
                std::thread::sleep(Duration::from_millis(20));
            }
            // Until the last one has its subscription.
            std::thread::sleep(Duration::from_secs(2));
            let number = kill_leader(cluster, &log);
            let start = Instant::now();
            order::give(&log, &text).expect("the order is taken");
            let safe = start.elapsed();
            let last = told.into_iter().map(|told| told.join().expect("a machine")).max().expect("machines");
            let took = last.saturating_duration_since(start);
            eprintln!("leader killed: all {} told after {took:?}, safe in the log after {safe:?}", machines.len());
            (number, took)
        });
        slowest = slowest.max(took);
        cluster.start_node(number).expect("the server starts again");
        std::thread::sleep(Duration::from_secs(10));
    }
    slowest
}

/// Waits as a machine does, and says when it knew.
fn time_told(machine: &NatsLog, after: Sequence, text: &str, waiting: &AtomicUsize) -> Instant {
    waiting.fetch_add(1, Ordering::Relaxed);
    let start = Instant::now();
    while start.elapsed() < TOLD_WITHIN {
        match machine.wait(&Subject::orders(), after, Duration::from_secs(2)) {
            Ok(Waited::Heard(heard)) if heard == text => return Instant::now(),
            Ok(Waited::Entries(entries)) if entries.iter().any(|entry| entry.text == text) => return Instant::now(),
            Ok(Waited::Heard(_) | Waited::Entries(_)) => {}
            Err(_) => std::thread::sleep(Duration::from_millis(300)),
        }
    }
    panic!("a machine was not told within {TOLD_WITHIN:?}");
}

fn open_many(credentials: &Credentials) -> Vec<NatsLog> {
    let (start, next, opened) = (Instant::now(), AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..OPENED_AT_ONCE {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < CONNECTIONS {
                    let log = NatsLog::open(credentials).expect("a connection");
                    opened.lock().expect("nobody panicked").push(log);
                }
            });
        }
    });
    let opened = opened.into_inner().expect("nobody panicked");
    eprintln!("{} machines connected and checked in {:?}", opened.len(), start.elapsed());
    opened
}

fn kill_leader(cluster: &Cluster, log: &NatsLog) -> usize {
    let leader = log.leader().expect("an answer").expect("a leader");
    let number: usize = leader.rsplit('-').next().and_then(|text| text.parse().ok()).expect("a number");
    let pid = *cluster.look().expect("it runs").pids.get(number - 1).expect("a server");
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().expect("kill").success());
    number - 1
}
