//! What the fleet costs on three real servers of this machine: fenced appends against bare publishes to the same stream, and grants from
//! escrow blocks against one compare-and-set for each. Both of a pair run in turn, and the median ratio counts. The promises:
//! appends at least 0.8 of bare publishes, grants at least 7 times as many.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a bench ends at the first surprise, and its figures are shown"
)]

use async_nats::ConnectOptions;
use bytes::Bytes;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};
use tripwire_core::units::MicroUsd;
use tripwire_fleet::budget::{self, Holder, Reservation};
use tripwire_fleet::log::{Append, Log, Sequence};
use tripwire_fleet::nats::cluster::{Cluster, find_server};
use tripwire_fleet::nats::{Credentials, NatsLog};
use tripwire_fleet::settle::{self, Settled};
use tripwire_fleet::subject::{Name, Subject};
use tripwire_testing::TestDir;

const WRITERS: usize = 16;
const APPENDS_EACH: usize = 200;
const ROUNDS: usize = 5;
const HOLDERS: usize = 4;
const GRANTS_EACH: usize = 2_000;
const CHANGES_EACH: usize = 25;

fn main() {
    let Ok(server) = find_server(std::env::var_os("PATH").as_deref()) else {
        eprintln!("NOT MEASURED: nats-server is not on PATH");
        return;
    };
    let folder = TestDir::new();
    let cluster = Cluster::new(folder.path().join("c"), server);
    let running = cluster.up(3).expect("the servers start");
    let credentials = Credentials::read(&running.credentials, &[]).expect("their credentials");
    let log = NatsLog::open(&credentials).expect("a connection");
    // Agents are processes: each writer has a connection of its own, with us and without.
    let logs: Vec<NatsLog> = (0..WRITERS).map(|_| NatsLog::open(&credentials).expect("a connection")).collect();
    let mut appends = Vec::new();
    for round in 0..ROUNDS {
        let ours = fenced_appends(&logs, round);
        let bare = bare_publishes(&credentials, &folder.path().join("c").join("ca.pem"), round);
        eprintln!("appends a second: {ours:.0} fenced, {bare:.0} bare");
        appends.push(ours / bare);
    }
    let mut grants = Vec::new();
    for round in 0..ROUNDS {
        let (escrow, each) = (escrow_grants(&log, round), changes(&log, round));
        eprintln!("grants a second: {escrow:.0} from blocks, {each:.0} by one change each");
        grants.push(escrow / each);
    }
    cluster.down().expect("the servers end");
    let (appends, grants) = (median(appends), median(grants));
    eprintln!("appends: {appends:.2} of bare publishes (promised 0.8); grants: {grants:.1} times (promised 7)");
    assert!(appends >= 0.8 && grants >= 7.0, "a promise does not hold");
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or_default()
}

/// So many in a second.
fn rate(count: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / took.as_secs_f64()
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn payload(number: usize) -> String {
    format!("{{\"n\":{number},\"text\":\"{}\"}}", "x".repeat(600))
}

fn fenced_appends(logs: &[NatsLog], round: usize) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (writer, log) in logs.iter().enumerate() {
            scope.spawn(move || {
                let subject = Subject::receipts(&name(&format!("ours-{round}-{writer}")));
                let mut after = Sequence(0);
                for number in 0..APPENDS_EACH {
                    match settle::append(log, &subject, after, &payload(number), settle::PATIENCE) {
                        Ok(Settled::Written(sequence)) => after = sequence,
                        other => panic!("{other:?}"),
                    }
                }
            });
        }
    });
    rate(WRITERS * APPENDS_EACH, start.elapsed())
}

fn bare_publishes(credentials: &Credentials, ca: &Path, round: usize) -> f64 {
    let ready = Barrier::new(WRITERS + 1);
    let start = std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let ready = &ready;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
                runtime.block_on(async {
                    let options = ConnectOptions::with_nkey(credentials.user.clone());
                    let options = options.add_root_certificates(ca.to_owned()).require_tls(true);
                    let client = options.connect(credentials.urls.clone()).await.expect("a connection");
                    ready.wait();
                    for number in 0..APPENDS_EACH {
                        let body = Bytes::from(payload(number));
                        let answer = client.request(format!("tw.receipt.bare-{round}-{writer}"), body).await;
                        assert!(answer.expect("an answer").payload.starts_with(b"{\"stream\""));
                    }
                });
            });
        }
        ready.wait();
        Instant::now()
    });
    rate(WRITERS * APPENDS_EACH, start.elapsed())
}

fn escrow_grants(log: &dyn Log, round: usize) -> f64 {
    let own = name(&format!("blocks-{round}"));
    budget::set_limit(log, &own, MicroUsd::new(1_000_000_000), &own).expect("a budget");
    let start = Instant::now();
    std::thread::scope(|scope| {
        for holder in 0..HOLDERS {
            let own = &own;
            scope.spawn(move || {
                let mut holder = Holder::new(log, own.clone(), name(&format!("h{holder}")), Duration::from_secs(30));
                for _ in 0..GRANTS_EACH {
                    match holder.reserve(MicroUsd::new(1_000), 1_000) {
                        Ok(Reservation::Granted(amount)) => holder.settle(amount, amount),
                        other => panic!("{other:?}"),
                    }
                }
                holder.finish().expect("the block goes back");
            });
        }
    });
    rate(HOLDERS * GRANTS_EACH, start.elapsed())
}

/// The same money without blocks: every spend reads the sum and writes it, and those who meet try again.
fn changes(log: &dyn Log, round: usize) -> f64 {
    let subject = Subject::bucket(&name(&format!("sum-{round}")));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..HOLDERS {
            let subject = &subject;
            scope.spawn(move || {
                for _ in 0..CHANGES_EACH {
                    loop {
                        let last = log.last(subject).expect("an answer");
                        let at = last.as_ref().map_or(Sequence(0), |entry| entry.sequence);
                        let sum: u64 = last.map_or(0, |entry| entry.text.parse().expect("a sum"));
                        match log.append(subject, at, &(sum + 1).to_string()).expect("an answer") {
                            Append::Ack(_) => break,
                            Append::Fenced | Append::Unknown(_) => {}
                        }
                    }
                }
            });
        }
    });
    rate(HOLDERS * CHANGES_EACH, start.elapsed())
}
