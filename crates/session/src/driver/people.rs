//! What people did with files, as inputs of the engine.

use tripwire_core::input::{
    Counter as EngineCounter, CounterEdit, DirtyBitsEdit, Fault, HumanAct, PolicyDrift, Report, What,
};
use tripwire_core::label::Label;
use tripwire_core::units::Count;
use tripwire_workspace::control::{ControlFact, ControlFile, Counter, ManifestBit};
use tripwire_workspace::geometry::manifest::Bit;

/// The inputs that a look at the control files asks for, in the order in which they were found.
pub(super) fn inputs(facts: &[ControlFact]) -> Vec<What> {
    facts.iter().flat_map(|fact| said(fact).into_iter().chain([input(fact)])).collect()
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
