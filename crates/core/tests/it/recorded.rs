//! Recorded sessions: each file of `expected/sessions/` holds the inputs of one session and, after each, what the engine
//! answered and what changed in its state. A session that is decided otherwise shows the first line that differs.

use crate::expected;
use serde_json::{Map, Value, json};
use tripwire_core::chain::Chain;
use tripwire_core::effect::Effect;
use tripwire_core::explain::Explain;
use tripwire_core::input::Input;
use tripwire_core::limits::STATE_VERSION;
use tripwire_core::policy::Policy;
use tripwire_core::record::canonical;
use tripwire_core::record::chain::Digest;
use tripwire_core::units::RunMillis;

/// A session as its file holds it.
pub(crate) struct Recorded {
    settings: Map<String, Value>,
    inputs: Vec<Input>,
}

impl Recorded {
    /// The lines of a file, without the answers.
    pub(crate) fn read(text: &str) -> Self {
        let mut settings = Map::new();
        let mut inputs = Vec::new();
        for line in text.lines() {
            let mut value: Value = serde_json::from_str(line).unwrap();
            if let Some(Value::Object(given)) = value.get_mut("settings") {
                settings = std::mem::take(given);
            } else if value.get("what").is_some() {
                inputs.push(serde_json::from_value(value).unwrap());
            }
        }
        Self { settings, inputs }
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        for (path, value) in &self.settings {
            policy.set(path, value.as_str().unwrap()).unwrap();
        }
        policy
    }

    /// The whole file: settings, then each input and its answer.
    pub(crate) fn play(&self) -> String {
        let mut text = expected::sorted(json!({ "settings": self.settings })).to_string() + "\n";
        let mut chain = Chain::new(self.policy()).unwrap();
        let mut before = Map::new();
        for input in &self.inputs {
            let after = answer(&mut chain, input);
            let news: Map<String, Value> =
                after.iter().filter(|(key, value)| before.get(*key) != Some(*value)).map(owned).collect();
            text += &canonical::to_string(input).unwrap();
            text += "\n";
            text += &expected::sorted(json!({ "answer": news })).to_string();
            text += "\n";
            before = after;
        }
        text
    }
}

fn owned((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// What one input gave: the decision, the figures of the session, and a digest of everything that the engine remembers.
fn answer(chain: &mut Chain, input: &Input) -> Map<String, Value> {
    let step = chain.step(input);
    let snapshot = chain.snapshot().unwrap();
    *chain = Chain::restore(&snapshot).unwrap();
    let head = postcard::to_allocvec(&(STATE_VERSION, chain.policy())).unwrap().len();
    let mut all = Map::new();
    for value in [serde_json::to_value(&step.decision), serde_json::to_value(chain.view())] {
        let Ok(Value::Object(fields)) = value else { panic!("an object") };
        all.extend(fields.into_iter().filter(|(key, _)| !["i", "stepId"].contains(&key.as_str())));
    }
    let decision = &step.decision;
    let refused = decision.safety.error.as_ref().map(|error| {
        let rest = format!("{} ({:?})", error.hint(), error.exit_class());
        json!([error.explained(decision.safety.rule), rest])
    });
    let mut parity = String::new();
    decision.parity_text(&mut parity).unwrap();
    all.insert("bindingHold".into(), json!(chain.view().binding_hold()));
    all.insert("explained".into(), json!(refused));
    all.insert("level".into(), json!(decision.level()));
    all.insert("parity".into(), json!(Digest::of(parity.as_bytes()).to_string()[..8]));
    all.insert("sentBack".into(), json!(decision.sent_back().map(|finding| finding.reason.as_str())));
    let later = |ms: u64| RunMillis::new(input.at.get() + ms);
    all.insert("idleBefore".into(), json!(chain.idle_before(later(40_000))));
    let wake = Chain::wake(&step);
    assert_eq!(wake, step.next_deadline.map(Effect::WakeAt));
    all.insert("permit".into(), json!(step.permit.map(|permit| format!("{permit:?}"))));
    all.insert("state".into(), json!(Digest::of(&snapshot[head..]).to_string()[..8]));
    all.insert("wakeAt".into(), json!(step.next_deadline));
    all
}

#[test]
fn chain_1_every_recorded_session_is_decided_as_it_was() {
    let entries = std::fs::read_dir(expected::path("sessions")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(!names.is_empty());
    for name in names.iter().map(|name| format!("sessions/{name}")) {
        let text = std::fs::read_to_string(expected::path(&name)).unwrap();
        expected::compare(&name, &Recorded::read(&text).play());
    }
}
