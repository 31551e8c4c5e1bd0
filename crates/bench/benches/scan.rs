//! How many events of recorded sessions the engine judges in a second, single-threaded; reading, normalising and
//! sketching are done before the clock starts. The traces are other people's and not part of this repository:
//!
//! `TRIPWIRE_TRACES=dev.jsonl cargo bench -p tripwire-host --bench scan`
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::{Duration, Instant};
use tripwire_core::chain::Chain;
use tripwire_core::input::{Input, What};
use tripwire_core::policy::Policy;

/// Passes over all traces; the best one counts, because everything else on the machine only ever slows a pass down.
const PASSES: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(path) = std::env::var_os("TRIPWIRE_TRACES") else {
        println!(
            "SKIPPED: set TRIPWIRE_TRACES to a file of traces, one JSON object a line, to measure the engine on it"
        );
        return Ok(());
    };
    let traces = tripwire_session::formats::traces::inputs(BufReader::new(File::open(path)?))?;
    for profile in ["balanced", "strict"] {
        let mut policy = Policy::default();
        policy.set("profile", profile)?;
        measure(profile, &policy, &traces)?;
    }
    Ok(())
}

fn measure(profile: &str, policy: &Policy, traces: &[Vec<Input>]) -> Result<(), Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..PASSES {
        let mut chains = Vec::with_capacity(traces.len());
        for _ in traces {
            chains.push(Chain::new(policy.clone())?);
        }
        let begun = Instant::now();
        for (chain, trace) in chains.iter_mut().zip(traces) {
            for input in trace {
                std::hint::black_box(chain.step(input));
            }
        }
        best = best.min(begun.elapsed());
    }
    let events = traces.iter().flatten().filter(|input| matches!(input.what, What::Event(_))).count();
    let (median, worst, state) = single_steps(policy, traces)?;
    let per_second = u128::try_from(events)? * 1_000_000_000 / best.as_nanos().max(1);
    println!(
        "{profile}: {events} events in {best:?}: {per_second} events/s; one step: median {median:?}, 99.9 % {worst:?}; largest state {state} bytes"
    );
    Ok(())
}

/// The median and the 99.9th percentile of single steps, the clock's own cost included, and the largest state at an end.
fn single_steps(policy: &Policy, traces: &[Vec<Input>]) -> Result<(Duration, Duration, usize), Box<dyn Error>> {
    let mut times = Vec::new();
    let mut state = 0;
    for trace in traces {
        let mut chain = Chain::new(policy.clone())?;
        for input in trace {
            let begun = Instant::now();
            std::hint::black_box(chain.step(input));
            times.push(begun.elapsed());
        }
        state = state.max(chain.snapshot()?.len());
    }
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 1_000).copied().unwrap_or_default();
    Ok((at(500), at(999), state))
}
