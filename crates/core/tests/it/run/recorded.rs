//! Recorded runs of our own loop: each file of `expected/runs/` holds the setup, then each fact that the machine took in and,
//! after it, what it showed, what it wanted next and a digest of what it remembers.

use crate::expected;
use serde_json::{Map, Value, json};
use tripwire_core::chain::Chain;
use tripwire_core::input::Input;
use tripwire_core::policy::Policy;
use tripwire_core::record::canonical;
use tripwire_core::record::chain::Digest;
use tripwire_core::run::record::{RunRecord, Setup};
use tripwire_core::run::{LoopEffect, Next, Run, RunInput};

/// A run as its file holds it.
pub(crate) struct RecordedRun {
    head: Head,
    facts: Vec<Fact>,
}

#[derive(serde::Deserialize, serde::Serialize)]
struct Head {
    settings: Map<String, Value>,
    setup: Setup,
}

enum Fact {
    Record(Box<RunRecord>),
    Input(Box<Input>),
}

impl RecordedRun {
    /// The lines of a file, without the answers.
    pub(crate) fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let head = serde_json::from_str(lines.next().unwrap()).unwrap();
        let fact = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap();
            match (value.get("record"), value.get("what")) {
                (Some(record), _) => Some(Fact::Record(serde_json::from_value(record.clone()).unwrap())),
                (None, Some(_)) => Some(Fact::Input(serde_json::from_value(value).unwrap())),
                (None, None) => None,
            }
        };
        Self { head, facts: lines.filter_map(fact).collect() }
    }

    /// The whole file: the head, then each fact and its answer.
    pub(crate) fn play(&self) -> String {
        let mut policy = Policy::default();
        for (path, value) in &self.head.settings {
            policy.set(path, value.as_str().unwrap()).unwrap();
        }
        let (mut run, views) = Run::new(self.head.setup.clone(), &policy);
        let mut chain = Chain::new(policy).unwrap();
        let mut text = canonical::to_string(&self.head).unwrap() + "\n";
        text += &answer(&views, &run);
        for fact in &self.facts {
            let views = match fact {
                Fact::Record(record) => {
                    text += &canonical::to_string(&json!({ "record": **record })).unwrap();
                    run.take(RunInput::Record(record))
                }
                Fact::Input(input) => {
                    text += &canonical::to_string(&**input).unwrap();
                    let decision = chain.step(input).decision;
                    run.take(RunInput::Decided(&input.what, &decision))
                }
            };
            text += "\n";
            text += &answer(&views, &run);
            run = serde_json::from_str(&serde_json::to_string(&run).unwrap()).unwrap();
        }
        text
    }
}

/// What the machine showed, wants next and remembers.
fn answer(views: &[LoopEffect], run: &Run) -> String {
    let show = |view: &LoopEffect| match view {
        LoopEffect::Line(line) => serde_json::from_str(&line.text().unwrap()).unwrap(),
        LoopEffect::Say(_) | LoopEffect::Forget | LoopEffect::Brief | LoopEffect::Plan(_) | LoopEffect::Recite(_) => {
            json!(format!("{view:?}"))
        }
    };
    let shown: Vec<Value> = views.iter().map(show).collect();
    let state = Digest::of(serde_json::to_string(run).unwrap().as_bytes()).to_string();
    let place = [run.step().get(), run.iteration().get(), u32::try_from(run.engine()).unwrap()];
    let next = run.next();
    let how = if let Next::Finished(ending) = &next { ending.explain() } else { String::new() };
    let next = format!("{next:?} {how}").trim_end().to_owned();
    let answer = json!({ "next": next, "place": place, "shown": shown, "state": state[..8] });
    expected::sorted(answer).to_string() + "\n"
}

#[test]
fn run_1_every_recorded_run_goes_as_it_did() {
    let entries = std::fs::read_dir(expected::path("runs")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(!names.is_empty());
    for name in names.iter().map(|name| format!("runs/{name}")) {
        let text = std::fs::read_to_string(expected::path(&name)).unwrap();
        expected::compare(&name, &RecordedRun::read(&text).play());
    }
}
