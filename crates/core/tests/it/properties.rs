//! What holds for every stream of inputs: thousands of random sessions, skewed towards repeats so that ladders are
//! climbed, under both profiles.
//!
//! A stream that breaks a promise is cut down to what breaks it and written as JSONL of inputs; the message names the
//! file and the command that opens it. `TRIPWIRE_SEED=n` tries other streams than the usual ones.

mod failing;
mod promises;
mod streams;

use failing::hold_or_write;
use streams::Generator;
use tripwire_core::policy::Profile;
use tripwire_testing::sized;

fn every_stream_keeps_its_promises(profile: Profile) {
    let base = std::env::var("TRIPWIRE_SEED").ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    // For each profile; in the long form the two together are more than the promised 10,000.
    let streams: u64 = sized(300, 5_200);
    let mut reached = promises::Reached::default();
    for number in 0..streams {
        let mut generator = Generator::new(base, number, profile);
        let policy = generator.policy();
        let inputs = generator.stream();
        let seen = hold_or_write(&format!("{base}-{number}"), &policy, &inputs, promises::check);
        reached.add(seen);
    }
    reached.assert_that_the_streams_are_worth_their_time(streams);
}

#[test]
fn const_4_every_strict_stream_keeps_its_promises() {
    every_stream_keeps_its_promises(Profile::Strict);
}

#[test]
fn const_4_every_balanced_stream_keeps_its_promises() {
    every_stream_keeps_its_promises(Profile::Balanced);
}
