//! The gateway beside nginx, Portkey, LiteLLM and ai-gateway, in front of the same provider on this machine: CPU per
//! request, added time, streams, and memory of many open streams.
//!
//! `just bench-gateway`. All take turns, so that a busy machine hurts them alike; only ratios of one run mean
//! something. CPU time is that of the whole process tree. A peer that is not installed is named, with the way to
//! install it.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark that cannot run must say so and stop")]

mod load;
mod provider;
mod subject;

use load::{Connection, Delivery, median};
use provider::Provider;
use std::time::{Duration, Instant};
use subject::Subject;

/// Requests of one JSON round.
const JSON_REQUESTS: usize = 400;
/// Rounds; the median of them counts.
const ROUNDS: usize = 5;
/// Streams that are open at once, and events in each.
const STREAMS: usize = 200;
const EVENTS: usize = 200;
/// Open streams whose memory is measured.
const OPEN_STREAMS: usize = 5_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    let provider = Provider::start();
    let mut subjects = Subject::all(provider.address);
    for subject in &mut subjects {
        subject.ready().await;
    }
    println!("\nJSON, 4 KB reply, one connection, {ROUNDS} rounds of {JSON_REQUESTS} in turn:");
    json(&mut subjects).await;
    println!("\nSSE, {STREAMS} streams at once with {EVENTS} events each, {ROUNDS} rounds in turn:");
    streams(&mut subjects).await;
    println!("\n{OPEN_STREAMS} open streams:");
    memory(&subjects).await;
}

async fn json(subjects: &mut [Subject]) {
    let mut figures: Vec<(Vec<Duration>, Vec<Duration>)> = vec![Default::default(); subjects.len()];
    for round in 0..=ROUNDS {
        for (subject, (cpu, waits)) in subjects.iter_mut().zip(&mut figures) {
            let requests = if subject.is_slow { JSON_REQUESTS / 8 } else { JSON_REQUESTS };
            let mut connection = Connection::open(subject).await;
            let before = subject.cpu();
            let mut took = Vec::new();
            for _ in 0..requests {
                let started = Instant::now();
                connection.ask(Delivery::Whole).await.expect("an answer");
                took.push(started.elapsed());
            }
            // The first round warms up.
            if round > 0 {
                cpu.push((subject.cpu() - before) / requests as u32);
                waits.push(median(&mut took));
            }
        }
    }
    let bare = median(&mut figures[0].1);
    println!("{:<22} {:>14} {:>12} {:>12}", "", "CPU / request", "p50", "added p50");
    for (subject, (cpu, waits)) in subjects.iter().zip(&mut figures) {
        let (cpu, wait) = (median(cpu), median(waits));
        println!("{:<22} {:>12.1?} {:>12.1?} {:>12.1?}", subject.name, cpu, wait, wait.saturating_sub(bare));
    }
    ratios(subjects, "CPU", |number| median(&mut figures[number].0.clone()));
    ratios(subjects, "added p50", |number| median(&mut figures[number].1.clone()).saturating_sub(bare));
}

async fn streams(subjects: &mut [Subject]) {
    let mut figures = vec![Vec::new(); subjects.len()];
    for round in 0..=ROUNDS {
        for (subject, cpu) in subjects.iter_mut().zip(&mut figures) {
            let streams = if subject.is_slow { STREAMS / 8 } else { STREAMS };
            let mut connections = Vec::new();
            for _ in 0..streams {
                connections.push(Connection::open(subject).await);
            }
            let before = subject.cpu();
            let tasks: Vec<_> = connections
                .into_iter()
                .map(|mut connection| tokio::spawn(async move { connection.ask(Delivery::Stream).await }))
                .collect();
            let mut whole = 0;
            for task in tasks {
                whole += usize::from(task.await.expect("a stream ends").is_some_and(|events| events >= EVENTS));
            }
            if whole < streams {
                println!("{}: only {whole} of {streams} streams came whole", subject.name);
                assert!(subject.is_slow, "the gateway and the plain proxy carry all of them");
            }
            if round > 0 {
                cpu.push((subject.cpu() - before) / streams as u32);
            }
        }
    }
    println!("{:<22} {:>14}", "", "CPU / stream");
    for (subject, cpu) in subjects.iter().zip(&mut figures) {
        println!("{:<22} {:>12.1?}", subject.name, median(cpu));
    }
    ratios(subjects, "CPU", |number| median(&mut figures[number].clone()));
}

/// Prints what the gateway needs in multiples of each peer.
fn ratios(subjects: &[Subject], what: &str, of: impl Fn(usize) -> Duration) {
    let ours = of(1);
    for (number, subject) in subjects.iter().enumerate().skip(2) {
        let theirs = of(number).as_secs_f64().max(1e-9);
        println!("{what}: tripwire = {:.3} × {}", ours.as_secs_f64() / theirs, subject.name);
    }
}

/// What the gateway's memory grows by while many streams are open.
async fn memory(subjects: &[Subject]) {
    let subject = &subjects[1];
    let before = subject.resident_kib();
    let mut open = Vec::new();
    for _ in 0..OPEN_STREAMS {
        let mut connection = Connection::open(subject).await;
        connection.begin_endless().await;
        open.push(connection);
    }
    let all = subject.resident_kib();
    println!(
        "{}: {} KiB each ({} MiB in all)",
        subject.name,
        (all - before) / OPEN_STREAMS as u64,
        (all - before) >> 10
    );
}
