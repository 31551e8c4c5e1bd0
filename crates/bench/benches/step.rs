//! One step of the whole chain, sketch given: quiet work, a loop, and a mixture; and the size of the state after it.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tripwire_core::chain::Chain;
use tripwire_core::chain::event::{Action, AgentEvent, ErrorClass, Flag, Flags, Outcome, Status};
use tripwire_core::input::{Authority, Grant, Input, Permission, Request, What};
use tripwire_core::label::Label;
use tripwire_core::policy::{Policy, PolicyError};
use tripwire_core::record::chain::Digest;
use tripwire_core::sketch::{LANES, Sketch};
use tripwire_core::units::{Count, MicroUsd, RunMillis, Tokens};

/// Inputs that are made beforehand; a power of two, and more than any window of the engine.
const POOL: u64 = 1_024;

/// A digest as the edge writes it, so that labels have their real length.
fn digest(n: u64) -> Option<Label> {
    Label::new(&Digest::of(&n.to_le_bytes()).to_string())
}

fn action(n: u64) -> Action {
    Action {
        args_digest: digest(n),
        signature: Label::new(&format!("Read(file=module_{n}.rs)")),
        target: Label::new(&format!("crates/core/src/module_{n}.rs")),
        tool: Label::cut("Read"),
        ..Action::default()
    }
}

/// One call with everything that an adapter knows of it.
fn event(n: u64) -> AgentEvent {
    let mut lanes = [0_u8; LANES];
    for (lane, place) in lanes.iter_mut().zip(0_u64..) {
        *lane = u8::try_from(n.wrapping_mul(31).wrapping_add(place.wrapping_mul(n | 1)) % 256).unwrap_or(0);
    }
    AgentEvent {
        action: Some(action(n)),
        cache_read_tokens: Some(Tokens::new(60_000)),
        context_tokens: Some(Tokens::new(90_000)),
        cost_micro_usd: Some(MicroUsd::new(2_000)),
        flags: Flags::default().with(Flag::Read),
        input_tokens: Some(Tokens::new(300)),
        latency_ms: RunMillis::new(900),
        outcome: Some(Outcome::default()),
        output_hash: digest(n + 1_000_000),
        output_length: Tokens::new(2_000),
        output_tokens: Some(Tokens::new(200)),
        result_digest: digest(n + 2_000_000),
        sketch: Some(Sketch::from_lanes(lanes)),
        token_count: Tokens::new(60_500),
        tool_calls: Count::new(1),
        turn_id: Label::new(&format!("turn-{n}")),
        ..AgentEvent::default()
    }
}

fn request(n: u64) -> Request {
    let authority = Authority {
        grant: Grant::Granted,
        identity: None,
        permission: Permission::CanExecuteTasks,
        role: Label::cut("developer"),
    };
    Request {
        action: action(n),
        authority: Some(authority),
        floor: None,
        proposal: None,
        reserve_micro_usd: None,
        agent_id: None,
        starts_agent: None,
        running: None,
    }
}

/// Makes the n-th input of a workload.
type Workload = fn(u64) -> What;

/// Never the same twice.
fn quiet(n: u64) -> What {
    What::Event(event(n))
}

/// Always the same: the whole alarm with its words is built at every step.
fn looping(n: u64) -> What {
    What::Event(AgentEvent { turn_id: Label::new(&format!("turn-{n}")), ..event(7) })
}

/// Requests before calls, ticks, failures, edits and some repeats.
fn mixed(n: u64) -> What {
    match n % 16 {
        0 | 4 | 8 | 12 => What::Request(request(n + 1)),
        3 => What::Tick,
        7 => What::Event(AgentEvent { flags: Flags::default().with(Flag::Edit), ..event(n) }),
        9 | 10 => What::Event(event(n / 16 % 5)),
        11 => What::Event(AgentEvent {
            error_digest: digest(n % 3),
            outcome: Some(Outcome {
                error_class: Some(ErrorClass::NonZeroExit),
                status: Status::Error,
                ..Outcome::default()
            }),
            ..event(n)
        }),
        _ => What::Event(event(n)),
    }
}

/// A policy without a wall clock: a bench makes days of simulated work.
fn policy(profile: &str) -> Result<Policy, PolicyError> {
    let mut policy = Policy::default();
    policy.set("profile", profile)?;
    policy.set("limits.max_runtime_hours", "off")?;
    Ok(policy)
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("step");
    group.throughput(Throughput::Elements(1));
    let workloads: [(&str, Workload); 3] = [("quiet", quiet), ("loop", looping), ("mixed", mixed)];
    for profile in ["balanced", "strict"] {
        for (name, make) in workloads {
            let Ok(mut chain) = policy(profile).and_then(Chain::new) else {
                println!("the policy of this bench is refused");
                return;
            };
            let mut pool: Vec<Input> = (0..POOL).map(|n| Input { at: RunMillis::ZERO, what: make(n) }).collect();
            let (mut at, mut place) = (0_u64, 0_usize);
            group.bench_function(BenchmarkId::new(name, profile), |bencher| {
                bencher.iter(|| {
                    place = (place + 1) % pool.len();
                    at += 5_000;
                    if let Some(input) = pool.get_mut(place) {
                        input.at = RunMillis::new(at);
                        black_box(chain.step(black_box(input)));
                    }
                });
            });
            println!("step/{name}/{profile}: state of {} bytes", chain.snapshot().map_or(0, |text| text.len()));
        }
    }
    group.finish();
}

criterion_group!(benches, steps);
criterion_main!(benches);
