//! What is judged: traces of a file with their labels, and sessions that are made up from seeds.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use tripwire_testing::synthetic::{Call, Dice, Healthy, Looping, Player, play_healthy, play_loop};

/// Why sessions cannot be read or judged.
pub(crate) type Failure = Box<dyn std::error::Error>;

/// The usual time between two calls.
const USUAL_STEP_MS: u64 = 4_000;

/// One trace, and whether its agent was stuck.
#[derive(Debug)]
pub(crate) struct RobustTrace {
    pub(crate) stuck: bool,
    pub(crate) trace: Value,
}

/// The labelled traces of a file; the others are never right or wrong.
pub(crate) fn read(file: &Path) -> Result<Vec<RobustTrace>, Failure> {
    let packed = file.extension().is_some_and(|extension| extension == "zst");
    let opened = BufReader::new(File::open(file)?);
    let unpacked: Box<dyn Read> =
        if packed { Box::new(ruzstd::decoding::StreamingDecoder::new(opened)?) } else { Box::new(opened) };
    let mut traces = Vec::new();
    for line in BufReader::with_capacity(1 << 18, unpacked).lines() {
        let trace: Value = serde_json::from_str(&line?)?;
        let stuck = trace.get("label").and_then(|label| label.get("stuck")).and_then(Value::as_bool);
        traces.extend(stuck.map(|stuck| RobustTrace { stuck, trace }));
    }
    Ok(traces)
}

/// Loops behind a little healthy work, and healthy work alone: so many of each kind.
pub(crate) fn made_up(each: u64) -> Result<Vec<RobustTrace>, Failure> {
    let mut traces = Vec::new();
    for seed in 0..each {
        for kind in Looping::ALL {
            let (mut dice, mut written) = (Dice::new(seed), WrittenSession::default());
            play_healthy(Healthy::Reading, &mut written, &mut dice, 3);
            play_loop(kind, &mut written, &mut dice);
            traces.push(RobustTrace { stuck: true, trace: written.trace(&format!("{kind:?} {seed}"))? });
        }
        for kind in Healthy::ALL {
            let (mut dice, mut written) = (Dice::new(seed), WrittenSession::default());
            let rounds = dice.between(12, 40);
            play_healthy(kind, &mut written, &mut dice, rounds);
            traces.push(RobustTrace { stuck: false, trace: written.trace(&format!("{kind:?} {seed}"))? });
        }
    }
    Ok(traces)
}

/// A made-up session as a trace.
#[derive(Debug, Default)]
struct WrittenSession {
    events: Vec<Result<Value, serde_json::Error>>,
    at_ms: u64,
}

impl Player for WrittenSession {
    fn play(&mut self, call: &Call<'_>) {
        self.at_ms += call.after_ms.unwrap_or(USUAL_STEP_MS);
        let event = serde_json::from_str::<Value>(&call.args).map(|args| {
            json!({
                "tool": call.tool, "args": args, "output": call.output, "error": call.error, "t_ms": self.at_ms,
                "tokens": 200, "msg_id": call.turn.map(|turn| format!("turn-{turn}")), "text": call.said,
            })
        });
        self.events.push(event);
    }
}

impl WrittenSession {
    fn trace(self, id: &str) -> Result<Value, Failure> {
        let events = self.events.into_iter().collect::<Result<Vec<Value>, _>>()?;
        Ok(json!({ "trace_id": id, "events": events }))
    }
}
