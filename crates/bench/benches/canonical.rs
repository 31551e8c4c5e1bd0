//! How fast a record becomes text and a link of the chain; plain timing, so that core needs no bench framework.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use serde::Serialize;
use tripwire_core::record::{canonical, chain};

#[derive(Serialize)]
struct Record {
    action: Action,
    latency_ms: u32,
    output_hash: chain::Digest,
    output_length: u32,
    reason: &'static str,
    timestamp: u64,
    token_count: u64,
    turn: u32,
}

#[derive(Serialize)]
struct Action {
    digest: chain::Digest,
    path: &'static str,
    signature: &'static str,
    tool: &'static str,
}

#[derive(Serialize)]
struct Unsorted {
    turn: u32,
    token_count: u64,
    timestamp: u64,
    reason: &'static str,
    output_length: u32,
    output_hash: chain::Digest,
    latency_ms: u32,
    action: Action,
}

fn main() {
    let sorted = Record {
        action: action(),
        latency_ms: 1234,
        output_hash: chain::Digest::of(b"output"),
        output_length: 4096,
        reason: "the token rate is far below its limit and nothing repeats",
        timestamp: 1_234_567,
        token_count: 1_500,
        turn: 17,
    };
    let unsorted = Unsorted {
        turn: 17,
        token_count: 1_500,
        timestamp: 1_234_567,
        reason: sorted.reason,
        output_length: 4096,
        output_hash: sorted.output_hash,
        latency_ms: 1234,
        action: action(),
    };
    let mut out = String::with_capacity(1024);
    measure("canonical, sorted", &mut out, |out| canonical::write(black_box(&sorted), out).is_ok());
    measure("canonical, unsorted", &mut out, |out| canonical::write(black_box(&unsorted), out).is_ok());
    let body = canonical::to_string(&sorted).unwrap_or_default();
    let previous = chain::genesis("bench");
    measure("chain link", &mut out, |out| {
        out.push_str(&body);
        chain::link(black_box(&previous), 7, out).is_ok()
    });
}

fn action() -> Action {
    Action { digest: chain::Digest::of(b"action"), path: "src/lib.rs", signature: "edit:lib.rs", tool: "edit_file" }
}

/// Prints the best of several rounds, because the machine is shared and only the minimum is the code's own time.
fn measure(name: &str, out: &mut String, mut step: impl FnMut(&mut String) -> bool) {
    let mut best = u128::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..STEPS {
            out.clear();
            assert!(black_box(step(out)), "the bench's own record must be writable");
        }
        best = best.min(start.elapsed().as_nanos() / STEPS);
    }
    let length = out.len();
    let rate = u128::try_from(length).unwrap_or(0) * 1000 / best.max(1);
    println!("{name:<22} {length} bytes  {best} ns  {rate} MB/s");
}

const ROUNDS: u32 = 20;
const STEPS: u128 = 50_000;
