//! The cost of observing: sketch, normaliser and the whole function, from 1 KB to 100 KB of a build log.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tripwire_observe::{RawCall, Volatility, normalise, observe, sketch_of};

/// A log as compilers and test runners write it: prose, paths, counters, durations.
fn log(bytes: usize) -> String {
    let words = [
        "compiling",
        "the",
        "module",
        "checked",
        "against",
        "its",
        "cache",
        "and",
        "found",
        "nothing",
        "unused",
        "value",
    ];
    let mut text = String::new();
    let mut number = 12_345_u64;
    while text.len() < bytes {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let word = |shift: u32| words.get(usize::try_from((number >> shift) % 12).unwrap_or(0)).copied().unwrap_or("x");
        let line = format!(
            "{} {} {} {} src/{}/{}.rs:{}:{} {} {} {} {}\n",
            word(8),
            word(16),
            word(24),
            word(32),
            word(40),
            word(48),
            number % 900,
            number % 80,
            word(20),
            word(28),
            word(36),
            word(44)
        );
        text.push_str(&line);
        if number.is_multiple_of(7) {
            text.push_str("test result: ok. 12 passed; 0 failed; finished in 0.31s at 2026-01-31T10:00:00Z\n");
        }
    }
    text.truncate(bytes);
    text
}

fn sketches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observe");
    for kilobytes in [1_usize, 4, 16, 100] {
        let text = log(kilobytes * 1_024);
        group.throughput(Throughput::Bytes(u64::try_from(text.len()).unwrap_or(0)));
        group.bench_with_input(BenchmarkId::new("normalise_and_sketch", kilobytes), &text, |bencher, text| {
            bencher.iter(|| sketch_of(black_box(text), Volatility::Output));
        });
        group.bench_with_input(BenchmarkId::new("normalise", kilobytes), &text, |bencher, text| {
            bencher.iter(|| normalise(black_box(text), Volatility::Output));
        });
        let raw = RawCall {
            tool: "Bash",
            args: r#"{"command":"cd app && cargo build 2>&1 | tail -50","description":"Build"}"#,
            output: Some(&text),
            error: Some(false),
            ..RawCall::default()
        };
        group.bench_with_input(BenchmarkId::new("whole_call", kilobytes), &raw, |bencher, raw| {
            bencher.iter(|| observe(black_box(raw)));
        });
    }
    group.finish();
}

criterion_group!(benches, sketches);
criterion_main!(benches);
