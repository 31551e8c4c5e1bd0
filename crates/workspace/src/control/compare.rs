//! The difference between two versions of a manifest, as facts in a fixed order.

use super::fact::{ControlFact, Counter, ManifestBit};
use crate::geometry::manifest::{Bit, Live, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The parts of a manifest that edits are compared against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Accepted {
    pub(super) live: Live,
    settings: BTreeMap<String, String>,
}

impl Accepted {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let settings = manifest.settings().into_iter().map(|scalar| (scalar.path, scalar.text)).collect();
        Self { live: manifest.live().clone(), settings }
    }
}

/// Lists every edit between two accepted manifests: counters, bits, the rest of the live part, then drift.
pub(super) fn edits(before: &Accepted, after: &Accepted, facts: &mut Vec<ControlFact>) {
    live(&before.live, &after.live, facts);
    let paths: BTreeSet<&String> = before.settings.keys().chain(after.settings.keys()).collect();
    for path in paths {
        let (from, to) = (before.settings.get(path).cloned(), after.settings.get(path).cloned());
        if from != to {
            facts.push(ControlFact::SettingDrift { path: path.clone(), from, to });
        }
    }
}

/// The edits of counters and bits.
fn live(before: &Live, after: &Live, facts: &mut Vec<ControlFact>) {
    let counters = |live: &Live| {
        [
            (Counter::IterationCount, live.iteration_count),
            (Counter::ConsecutiveFailures, live.consecutive_failures),
            (Counter::EstimatedUsagePct, live.estimated_usage_pct),
        ]
    };
    for ((counter, from), (_, to)) in counters(before).into_iter().zip(counters(after)) {
        if from != to {
            facts.push(ControlFact::CounterEdited { counter, from, to });
        }
    }
    for ((bit, from), (_, to)) in bits(before).into_iter().zip(bits(after)) {
        if from != to {
            facts.push(ControlFact::BitEdited { bit, from, to });
        }
    }
    if before.last_tool_signatures != after.last_tool_signatures {
        let count = u64::try_from(after.last_tool_signatures.len()).unwrap_or(u64::MAX);
        facts.push(ControlFact::SignaturesEdited { count });
    }
    if before.last_compaction != after.last_compaction {
        facts.push(ControlFact::LastCompactionEdited { to: after.last_compaction.clone() });
    }
}

/// The bits in a fixed order.
fn bits(live: &Live) -> [(ManifestBit, Option<Bit>); 5] {
    let dirty = &live.dirty_bits;
    [
        (ManifestBit::LoopDetected, Some(live.loop_detected)),
        (ManifestBit::CodeModified, Some(dirty.code_modified)),
        (ManifestBit::TestsRun, Some(dirty.tests_run)),
        (ManifestBit::TestsPassing, dirty.tests_passing),
        (ManifestBit::DocsUpdated, Some(dirty.docs_updated)),
    ]
}
