//! The effects that belong to `.geometry/`: the safety log, the reports, the counters of the manifest.
//!
//! Everything else (freezing, killing, prompting) is handed to the caller, which alone can do it. A view that cannot be
//! written does not stop the guard: the journal is the truth, and a notice goes to the person.

use super::dir::SessionDir;
use super::recent::Memo;
use super::report_files::{self, DueReport, WorkDone};
use super::state::StateSaves;
use tripwire_core::chain::ChainView;
use tripwire_core::decision::Decision;
use tripwire_core::effect::{Effect, HoldReason, StopReason};
use tripwire_core::explain::Explain as _;
use tripwire_fs::file::FileError;
use tripwire_workspace::control::{self, Seen};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::store;
use tripwire_workspace::geometry::manifest::{Bit, Live, Manifest};
use tripwire_workspace::geometry::safety_log::{LogError, SafetyLog};
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
    let damaged_log = work.entries.iter().find_map(|entry| log.append(entry).err());
    let mut performed = Performed { damaged_log, ..Performed::default() };
    for decision in decisions {
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

/// Shows the engine's counters and bits in the manifest. A person's edit in the same moment wins: it is read next time.
pub(super) fn show_counters(layout: &Layout, state: &LiveState<'_>, seen: &mut Seen) {
    // Compared with what this session showed: two sessions that each corrected the other's figures would never end.
    if seen.shown().is_none_or(|shown| edits(shown, state).is_empty()) {
        return;
    }
    let updated = Manifest::load(&layout.manifest())
        .ok()
        .filter(|manifest| Some(manifest.live()) == seen.live())
        .and_then(|manifest| {
            let edits = edits(manifest.live(), state);
            store::update_after(&manifest, &edits, |text| control::will_show(layout, text)).ok()
        });
    if let Some(manifest) = updated {
        seen.showed(&manifest);
    }
}

/// What the manifest shows of a session.
#[derive(Debug)]
pub(super) struct LiveState<'a> {
    pub(super) view: &'a ChainView,
    pub(super) memo: &'a Memo,
    pub(super) start: WallClock,
    pub(super) signatures: ShowSignatures,
}

/// When the newest signatures are shown even if nothing else changed. They change with every call, and a write costs more than the
/// call's whole decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShowSignatures {
    /// Once in so many calls.
    Every(u64),
    /// Now: no call of this process follows.
    Now,
}

impl ShowSignatures {
    /// As a process shows them that writes its state so often.
    pub(super) const fn beside(saves: StateSaves) -> Self {
        match saves {
            StateSaves::Each => Self::Every(5),
            // Its end shows the rest.
            StateSaves::Seldom => Self::Every(32),
        }
    }

    const fn are_due(self, calls: u64) -> bool {
        match self {
            Self::Every(count) => calls.is_multiple_of(count),
            Self::Now => true,
        }
    }
}

impl LiveState<'_> {
    /// When the context was last compacted, as the manifest writes it.
    fn last_compaction(&self) -> Option<String> {
        let at = self.memo.compacted_at?;
        Some(WallClock::from_epoch_ms(self.start.epoch_ms().saturating_add(at.get())).to_string())
    }

    /// Whether a loop holds the session or has ended it.
    fn is_in_loop(&self) -> bool {
        let ended = matches!(self.view.stopped, Some(StopReason::SystemError | StopReason::InfiniteLoop));
        ended || self.view.held == Some(HoldReason::Loop)
    }
}

fn edits(shown: &Live, state: &LiveState<'_>) -> Vec<Edit> {
    let view = state.view;
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
    let looping = state.is_in_loop();
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
    if let Some(at) = state.last_compaction().filter(|at| shown.last_compaction.as_ref() != Some(at)) {
        edits.push(Edit::new("context.last_compaction", NewValue::Text(at)));
    }
    // They go along with other values, and by themselves once in a while.
    let signatures = &state.memo.signatures;
    let due = !edits.is_empty() || shown.last_tool_signatures.is_empty() || state.signatures.are_due(state.memo.calls);
    if due && !signatures.is_empty() && shown.last_tool_signatures != *signatures {
        edits.push(Edit::new("safety.last_tool_signatures", NewValue::Texts(signatures.clone())));
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
