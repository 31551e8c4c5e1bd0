//! What people did with files, as inputs of the engine.

use tripwire_core::input::{
    Counter as EngineCounter, CounterEdit, DirtyBitsEdit, DriftMeaning, Fault, HumanAct, PolicyDrift, Report,
    StandingReport, What,
};
use tripwire_core::label::Label;
use tripwire_core::policy::Policy;
use tripwire_core::units::Count;
use tripwire_workspace::control::{ControlFact, ControlFile, Counter, ManifestBit};
use tripwire_workspace::geometry::manifest::Bit;

/// The inputs that a look at the control files asks for, in the order in which they were found.
pub(super) fn inputs(facts: &[ControlFact], found: &FoundBy<'_>) -> Vec<What> {
    facts.iter().flat_map(|fact| said(fact).into_iter().chain([found.input(fact)])).collect()
}

/// What is known of who changed the control files before a look.
#[derive(Debug, Default)]
pub(super) struct FoundBy<'a> {
    /// The person for whom this process removed some of them.
    pub(super) removed: Option<&'a RemovedBy>,
    /// The account that owns the manifest.
    pub(super) manifest_owner: Option<String>,
    /// Whether the agent had the manifest in its reach.
    pub(super) agent: AgentAtWork,
    /// What is in force.
    pub(super) policy: Option<&'a Policy>,
}

/// Control files that a person removed by a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedBy {
    /// The files.
    pub files: Vec<ControlFile>,
    /// The account.
    pub who: String,
    /// Why, in the person's words; may be empty.
    pub reason: String,
}

/// Whether a call of an agent ran since the look before, with nothing that keeps it from the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AgentAtWork {
    /// None did, or the manifest was out of its reach.
    #[default]
    No,
    /// One did: an edit of the manifest may be the agent's, and is not taken for a person's.
    InReach,
}

impl FoundBy<'_> {
    fn input(&self, fact: &ControlFact) -> What {
        match (drift(fact), self.agent, input(fact)) {
            (Some(drift), AgentAtWork::InReach, _) => drift,
            (Some(_), AgentAtWork::No, What::Human(act)) => {
                let owner = self.manifest_owner.as_deref().unwrap_or("an unknown account");
                What::Human(act.signed(&format!("{owner}, owner of MANIFEST.yaml"), ""))
            }
            (None, _, What::Human(act)) => What::Human(match (self.removed, fact) {
                (Some(by), ControlFact::Removed { file }) if by.files.contains(file) => act.signed(&by.who, &by.reason),
                _ => act,
            }),
            (_, _, What::PolicyDrift(drift)) => What::PolicyDrift(self.judged(drift, fact)),
            (_, _, what) => what,
        }
    }

    /// A drift with what it means: a value that is in force anyway needs no new session.
    fn judged(&self, drift: PolicyDrift, fact: &ControlFact) -> PolicyDrift {
        let ControlFact::SettingDrift { path, to, .. } = fact else { return drift };
        let is_in_force = self.policy.is_some_and(|policy| match to {
            Some(to) => {
                let mut trial = policy.clone();
                trial.set(path, to).is_ok() && trial == *policy
            }
            // Without the line the default counts.
            None => value(policy, path).is_some_and(|frozen| value(&Policy::default(), path) == Some(frozen)),
        });
        let meaning = if is_in_force { DriftMeaning::AsInForce } else { drift.meaning };
        PolicyDrift { meaning, ..drift }
    }
}

/// A setting's value as a person would write it.
fn value(policy: &Policy, path: &str) -> Option<String> {
    policy.rows().into_iter().find(|row| row.path == path).map(|row| row.value)
}

/// An edit of counters or bits in the manifest as one that no person may have made; nothing for other facts.
fn drift(fact: &ControlFact) -> Option<What> {
    let (key, value) = if let ControlFact::CounterEdited { counter, to, .. } = fact {
        (json_name(counter), to.to_string())
    } else if let ControlFact::BitEdited { bit, to, .. } = fact {
        (json_name(bit), to.map_or_else(|| "null".to_owned(), |to| bool::from(to).to_string()))
    } else {
        return None;
    };
    let value = format!("{value} (set while a call of the agent ran)");
    let (key, value, meaning) = (Label::cut(&key), Label::cut(&value), DriftMeaning::NotApplied);
    Some(What::PolicyDrift(PolicyDrift { key, value, meaning }))
}

fn json_name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Who gave an order and why, written down before the order itself; a file that was only touched says nothing.
fn said(fact: &ControlFact) -> Option<What> {
    let ControlFact::Appeared { file: file @ (ControlFile::Stop | ControlFile::Pause), note } = fact else {
        return None;
    };
    let name = if *file == ControlFile::Stop { "STOP" } else { "PAUSE" };
    let words: Vec<String> = [("by", &note.who), ("at", &note.at), ("because", &note.reason)]
        .into_iter()
        .filter_map(|(before, text)| text.as_ref().map(|text| format!("{before} {text}")))
        .collect();
    (!words.is_empty()).then(|| What::Human(other(&format!("{name} {}", words.join(" ")))))
}

fn input(fact: &ControlFact) -> What {
    match fact {
        ControlFact::Appeared { file, .. } => What::Human(match file {
            ControlFile::Stop => HumanAct::Stop,
            ControlFile::Pause => HumanAct::Pause,
            ControlFile::BlockerReport => other("there is a blocker report that this session did not write"),
            ControlFile::Checkpoint => other("there is a checkpoint that this session did not write"),
        }),
        ControlFact::Stood { file: ControlFile::BlockerReport, about } => {
            What::ReportStands(StandingReport { report: Report::Blocker, about: *about })
        }
        ControlFact::Stood { file: ControlFile::Checkpoint, about } => {
            What::ReportStands(StandingReport { report: Report::Checkpoint, about: *about })
        }
        ControlFact::Stood { file: ControlFile::Stop | ControlFile::Pause, .. } => What::Tick,
        ControlFact::Removed { file } => What::Human(match file {
            ControlFile::Stop => HumanAct::WithdrawStop,
            ControlFile::Pause => HumanAct::Resume,
            ControlFile::BlockerReport => HumanAct::Acknowledge(Report::Blocker),
            ControlFile::Checkpoint => HumanAct::Acknowledge(Report::Checkpoint),
        }),
        ControlFact::CounterEdited { counter, to, .. } => {
            let value = Count::new(u32::try_from(*to).unwrap_or(u32::MAX));
            What::Human(match counter {
                Counter::IterationCount => set(EngineCounter::Iterations, value),
                Counter::ConsecutiveFailures => set(EngineCounter::ConsecutiveFailures, value),
                Counter::EstimatedUsagePct => other("context.estimated_usage_pct was edited; it is measured"),
            })
        }
        ControlFact::BitEdited { bit, to, .. } => What::Human(bit_edited(*bit, *to)),
        ControlFact::SignaturesEdited { .. } => What::Human(other("safety.last_tool_signatures was edited")),
        ControlFact::LastCompactionEdited { .. } => What::Human(other("context.last_compaction was edited")),
        ControlFact::SettingDrift { path, to, .. } => What::PolicyDrift(PolicyDrift {
            key: Label::cut(path),
            value: Label::cut(to.as_deref().unwrap_or("(removed)")),
            meaning: DriftMeaning::NotApplied,
        }),
        ControlFact::ObeyedFileChanged { path, to } => What::PolicyDrift(PolicyDrift {
            key: Label::cut(path),
            value: Label::cut(to),
            meaning: DriftMeaning::ObeyedByClient,
        }),
        ControlFact::ManifestRefused { reason, hint } => {
            What::Fault(Fault { cause: Label::cut(reason), fix: Label::cut(hint) })
        }
        ControlFact::ManifestAccepted => What::Human(HumanAct::MendGuard),
    }
}

fn set(counter: EngineCounter, value: Count) -> HumanAct {
    HumanAct::SetCounter(CounterEdit { counter, value })
}

fn other(what: &str) -> HumanAct {
    HumanAct::Other(Label::cut(what))
}

fn bit_edited(bit: ManifestBit, to: Option<Bit>) -> HumanAct {
    let value = to.map(bool::from);
    let mut edit = DirtyBitsEdit::default();
    match bit {
        ManifestBit::LoopDetected => return other("safety.loop_detected was edited"),
        ManifestBit::CodeModified => edit.code_modified = value,
        ManifestBit::TestsRun => edit.tests_run = value,
        ManifestBit::TestsPassing => edit.tests_passing = value,
        ManifestBit::DocsUpdated => edit.docs_updated = value,
    }
    HumanAct::SetDirtyBits(edit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited() -> ControlFact {
        ControlFact::BitEdited { bit: ManifestBit::TestsPassing, from: None, to: Some(Bit::from(true)) }
    }

    #[test]
    fn dirty_1_an_edit_while_a_call_runs_is_drift_and_else_a_persons() {
        let owned = FoundBy { manifest_owner: Some("ada".to_owned()), ..FoundBy::default() };
        let acts = inputs(&[edited()], &owned);
        let [What::Human(act)] = acts.as_slice() else { panic!("{acts:?}") };
        assert_eq!(act.unsigned().1.unwrap().who.as_str(), "ada, owner of MANIFEST.yaml");
        let at_work = FoundBy { agent: AgentAtWork::InReach, ..FoundBy::default() };
        let facts = [edited(), ControlFact::CounterEdited { counter: Counter::IterationCount, from: 3, to: 0 }];
        assert!(inputs(&facts, &at_work).iter().all(|what| matches!(what, What::PolicyDrift(_))));
        let paused = ControlFact::Appeared {
            file: ControlFile::Pause,
            note: tripwire_workspace::control::order::Note::default(),
        };
        assert_eq!(inputs(&[paused], &at_work), [What::Human(HumanAct::Pause)], "an order binds whenever it comes");
    }

    #[test]
    fn ctrl_2_a_file_that_a_command_removed_names_the_person_and_another_does_not() {
        let by = RemovedBy { files: vec![ControlFile::Pause], who: "ada".to_owned(), reason: "back".to_owned() };
        let found = FoundBy { removed: Some(&by), ..FoundBy::default() };
        let of = |file| inputs(&[ControlFact::Removed { file }], &found);
        assert_eq!(of(ControlFile::Pause), [What::Human(HumanAct::Resume.signed("ada", "back"))]);
        assert_eq!(of(ControlFile::Stop), [What::Human(HumanAct::WithdrawStop)]);
    }
}
