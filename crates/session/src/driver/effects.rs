//! The effects that belong to `.geometry/`: the safety log, the reports, the counters of the manifest.
//!
//! Everything else (freezing, killing, prompting) is handed to the caller, which alone can do it. A view that cannot be
//! written does not stop the guard: the journal is the truth, and a notice goes to the person.

use super::dir::SessionDir;
use super::report_files::{self, DueReport, WorkDone};
use tripwire_core::chain::ChainView;
use tripwire_core::decision::{Decision, Finding, FindingKind, Level};
use tripwire_core::effect::Effect;
use tripwire_core::explain::Explain as _;
use tripwire_fs::file::FileError;
use tripwire_workspace::control::{self, Seen};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::store;
use tripwire_workspace::geometry::manifest::{Bit, Live, Manifest};
use tripwire_workspace::geometry::safety_log::{ActionTaken, EventType, LogEntry, LogError, SafetyLog};
use tripwire_workspace::geometry::wall_clock::WallClock;
use tripwire_workspace::geometry::yaml_edit::{Edit, NewValue};

/// What came of carrying effects out.
#[derive(Debug, Default)]
pub(super) struct Performed {
    /// Notices for a person.
    pub(super) notices: Vec<String>,
    /// Why the safety log must be rebuilt from the journals, if it must.
    pub(super) damaged_log: Option<LogError>,
}

/// Carries out what belongs here. The decisions are journaled already, so nothing here may undo them.
pub(super) fn perform(
    dir: SessionDir<'_>,
    decisions: &[&Decision],
    work: &WorkDone<'_>,
    seen: &mut Seen,
    now: WallClock,
) -> Performed {
    let log = SafetyLog::at(&dir.layout.safety_log());
    let mut performed = Performed::default();
    for decision in decisions {
        for finding in &decision.findings {
            if let Some(entry) = log_entry(decision, finding, now)
                && performed.damaged_log.is_none()
            {
                performed.damaged_log = log.append(&entry).err();
            }
        }
        for effect in &decision.effects {
            match effect {
                Effect::WriteReport(report) => {
                    let due = DueReport { report: *report, decision, now };
                    let written = report_files::write(dir, &due, work, seen);
                    performed.notices.extend(written.err().map(|error| not_written("the report", &error)));
                }
                Effect::Notify(text) => performed.notices.push(text.to_string()),
                Effect::Hold(_)
                | Effect::Stop(_)
                | Effect::Kill
                | Effect::Inject(_)
                | Effect::Prompt(_)
                | Effect::Compact
                | Effect::WarnContext
                | Effect::AskAdvisor(_)
                | Effect::SwitchEngine(_)
                | Effect::EndIteration(_)
                | Effect::WakeAt(_) => {}
            }
        }
    }
    performed
}

/// The notice about a file that could not be written.
pub(super) fn not_written(what: &str, error: &FileError) -> String {
    format!("{what} was not written: {error}; {}", error.hint())
}

/// The entry of a finding, for those that the safety log has a name for.
pub(super) fn log_entry(decision: &Decision, finding: &Finding, now: WallClock) -> Option<LogEntry> {
    let mut entry = LogEntry::new(now, event_type(finding.kind)?, action_taken(decision, finding))
        .with("rule", finding.rule.id())
        .with("reason", finding.reason.as_str())
        .with("index", decision.i.get());
    if !finding.signature.is_empty() {
        entry = entry.with("signature", finding.signature.as_str());
    }
    if !finding.count.is_zero() {
        entry = entry.with("count", finding.count.get());
    }
    Some(entry)
}

fn action_taken(decision: &Decision, finding: &Finding) -> ActionTaken {
    match finding.level {
        Level::Stop => ActionTaken::Stopped,
        Level::Hold => ActionTaken::Held,
        Level::Override => ActionTaken::InjectedOverride,
        Level::Note => after_a_note(decision, finding),
    }
}

/// A note by itself changes nothing; what was done is what its decision caused.
fn after_a_note(decision: &Decision, finding: &Finding) -> ActionTaken {
    let causes = |test: fn(&Effect) -> bool| decision.effects.iter().any(test);
    let compacted = finding.kind == FindingKind::CompactionGate && causes(|effect| matches!(effect, Effect::Compact));
    let restarted = compacted || finding.kind == FindingKind::EngineSwitch;
    if finding.kind == FindingKind::DirtyBitViolation {
        ActionTaken::InjectedTestPrompt
    } else if restarted {
        ActionTaken::RestartedSession
    } else if causes(|effect| matches!(effect, Effect::Stop(_))) {
        ActionTaken::Stopped
    } else if causes(|effect| matches!(effect, Effect::Hold(_))) {
        ActionTaken::Held
    } else if decision.safety.allowed {
        ActionTaken::ContinuedMonitoring
    } else {
        ActionTaken::Blocked
    }
}

/// The log's name for a finding; a clamped clock has none in the seed and stays in the journal.
const fn event_type(kind: FindingKind) -> Option<EventType> {
    Some(match kind {
        FindingKind::SoftLoop => EventType::SoftLoop,
        FindingKind::HardLoop => EventType::HardLoop,
        FindingKind::InfiniteLoop => EventType::InfiniteLoop,
        FindingKind::LoopOverride => EventType::LoopOverride,
        FindingKind::SystemError | FindingKind::CycleTermination => EventType::CycleTermination,
        FindingKind::LoopDetected => EventType::LoopDetected,
        FindingKind::RunawayDetected => EventType::RunawayDetected,
        FindingKind::TokenWarning => EventType::TokenWarning,
        FindingKind::ToolCallWarning => EventType::ToolCallWarning,
        FindingKind::NoProgress => EventType::NoProgress,
        FindingKind::DirtyBitViolation => EventType::DirtyBitViolation,
        FindingKind::CompactionGate => EventType::CompactionGate,
        FindingKind::IterationCap => EventType::IterationCap,
        FindingKind::WallClockTimeout => EventType::WallClockTimeout,
        FindingKind::PermissionDenied => EventType::PermissionDenied,
        FindingKind::ReviewGating => EventType::ReviewGating,
        FindingKind::GuardFailure => EventType::GuardFailure,
        FindingKind::BudgetWarning => EventType::TokenBudgetExceeded,
        FindingKind::PolicyDrift => EventType::PolicyDrift,
        FindingKind::ManualOverride => EventType::ManualOverride,
        FindingKind::HealthDegraded => EventType::HealthDegraded,
        FindingKind::EngineSwitch => EventType::EngineSwitch,
        FindingKind::ClockClamped => return None,
    })
}

/// Shows the engine's counters and bits in the manifest. A person's edit in the same moment wins: it is read next time.
pub(super) fn show_counters(layout: &Layout, view: &ChainView, seen: &mut Seen) {
    // Compared with what this session showed: two sessions that each corrected the other's figures would never end.
    if seen.shown().is_none_or(|shown| edits(shown, view).is_empty()) {
        return;
    }
    let updated = Manifest::load(&layout.manifest())
        .ok()
        .filter(|manifest| Some(manifest.live()) == seen.live())
        .and_then(|manifest| {
            let edits = edits(manifest.live(), view);
            store::update_after(&manifest, &edits, |text| control::will_show(layout, text)).ok()
        });
    if let Some(manifest) = updated {
        seen.showed(&manifest);
    }
}

fn edits(shown: &Live, view: &ChainView) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut number = |path, old: u64, new: u32| {
        if old != u64::from(new) {
            edits.push(Edit::new(path, NewValue::Number(u64::from(new))));
        }
    };
    number("safety.iteration_count", shown.iteration_count, view.iterations.get());
    number("safety.consecutive_failures", shown.consecutive_failures, view.consecutive_failures.get());
    if is_worth_showing(shown.estimated_usage_pct, view.context_percent.get()) {
        number("context.estimated_usage_pct", shown.estimated_usage_pct, view.context_percent.get());
    }
    let looping = view.held == Some(tripwire_core::effect::HoldReason::Loop);
    let bits = &view.dirty_bits;
    for (path, old, new) in [
        ("safety.loop_detected", Some(shown.loop_detected), Some(looping)),
        ("dirty_bits.code_modified", Some(shown.dirty_bits.code_modified), bits.code_modified),
        ("dirty_bits.tests_run", Some(shown.dirty_bits.tests_run), bits.tests_run),
        ("dirty_bits.tests_passing", shown.dirty_bits.tests_passing, bits.tests_passing),
        ("dirty_bits.docs_updated", Some(shown.dirty_bits.docs_updated), bits.docs_updated),
    ] {
        let old: Option<bool> = old.map(|bit: Bit| bool::from(bit));
        if let Some(new) = new.filter(|new| Some(*new) != old) {
            edits.push(Edit::new(path, NewValue::Bool(new)));
        }
    }
    edits
}

/// Whether a new figure of the context is worth a write of the manifest: each point where the gate's tiers are, and steps
/// of five below, because writing costs more than everything else on the path of a tool call.
fn is_worth_showing(shown: u64, now: u32) -> bool {
    const TIERS_FROM: u64 = 70;
    const STEP: u64 = 5;
    let now = u64::from(now);
    now.max(shown) >= TIERS_FROM || now / STEP != shown / STEP
}
