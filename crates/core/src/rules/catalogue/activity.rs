//! Activity and intent: what the agent is doing and what the engine makes of it.

use super::entry::RuleEntry;

/// ACT and INTENT.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "ACT-1",
        title: "Activity modes",
        what: "An agent is IDLE, WORKING, LOOPING or RUNAWAY. Silence makes it IDLE, alike outputs LOOPING, strong \
               acceleration RUNAWAY; otherwise it is WORKING. In `balanced` a ladder alarm of override or more also \
               counts as LOOPING, and outputs alone count only where nothing is known of the action.",
        threshold: "Silence of the idle time; see ACT-1.similarity and ACT-1.tempo for the other two.",
        settings: &["activity.idle_after_ms"],
        source: "Master spec §3.1; SPEC §3, Activity.",
        fires: "A tick 30 s after the last event: IDLE.",
        quiet: "A tick 29.9 s after the last event: still WORKING.",
    },
    RuleEntry {
        id: "ACT-1.similarity",
        title: "Alike outputs",
        what: "Each output is compared with the one before it, by hash or by sketch. When all neighbours in the window \
               are more alike than the threshold, the agent loops. In `strict` this alone vetoes with LOOP_DETECTED. The \
               threshold comes down by at most 0.05 as recent calls fail.",
        threshold: "All neighbours among the last 5 events above 0.9, so it fires at the 5th.",
        settings: &["loops.loop_similarity_threshold", "loops.loop_window_size"],
        source: "Master spec §3.1 and §4.3; SPEC §3, ACT-1.",
        fires: "Five events with the same outputHash under `strict`: LOOPING, veto LOOP_DETECTED.",
        quiet: "Four equal outputs, one different, four equal again: never five in a row.",
    },
    RuleEntry {
        id: "ACT-1.tempo",
        title: "Acceleration",
        what: "The mean of the last five intervals between steps is set against a rolling baseline of earlier ones. \
               Parallel calls of one turn are one step, and pauses count at most as the idle time. `balanced` also asks \
               for HIGH intensity, and takes it for a note: healthy sessions speed up too.",
        threshold: "Recent mean below 0.3 of the baseline, after at least 10 baseline intervals and 5 recent ones.",
        settings: &["activity.tempo_compression_ratio", "activity.idle_after_ms"],
        source: "Master spec §3.1 and §4.3; SPEC §3, ACT-1.",
        fires: "Sixteen steps 10 s apart, then five steps 1 s apart under `strict`: RUNAWAY.",
        quiet: "Steps 10 s apart, then 4 s apart: faster, but not below 0.3.",
    },
    RuleEntry {
        id: "ACT-2",
        title: "Dwell time",
        what: "The reported mode does not flicker: it stays for the dwell time, and leaving LOOPING or RUNAWAY takes \
               three times as long. Only the report waits. The gate acts on the evidence at once.",
        threshold: "10 s for any mode, 30 s for leaving LOOPING or RUNAWAY.",
        settings: &["activity.mode_dwell_ms", "activity.alarm_dwell_ms"],
        source: "Master spec §3.2; SPEC §3, ACT-2.",
        fires: "Outputs differ again 20 s after LOOPING began: the report still says LOOPING.",
        quiet: "Outputs differ again 31 s after LOOPING began: the report says WORKING.",
    },
    RuleEntry {
        id: "ACT-3",
        title: "Intensity",
        what: "The tokens of the sliding minute are compared with their own rolling average: less than half is LOW, \
               more than twice is HIGH. The first five events are NORMAL, and HIGH needs at least 10,000 tokens, because \
               twice nearly nothing is still nearly nothing.",
        threshold: "Half and double of the rolling average.",
        settings: &[],
        source: "Master spec §6.1; SPEC §3, ACT-3.",
        fires: "Minutes of 6,000 tokens, then one of 30,000: HIGH.",
        quiet: "A steady 20,000 tokens in every minute: NORMAL.",
    },
    RuleEntry {
        id: "INTENT-1",
        title: "From mode to intent",
        what: "IDLE and WORKING mean CONTINUE, LOOPING means PAUSE, RUNAWAY means STOP. Once a session has ended the \
               intent is STOP until a person restarts it. The table has no other rows and no state of its own.",
        threshold: "None: it is a table.",
        settings: &[],
        source: "Master spec §2.2; SPEC §3, Intent.",
        fires: "The reported mode is LOOPING: PAUSE.",
        quiet: "An hour of silence: CONTINUE, because silence is no failure.",
    },
    RuleEntry {
        id: "INTENT-2",
        title: "Confidence",
        what: "Suspicion s is how near the strongest alarm is: counted repeats over the hold threshold, alike outputs \
               over the window, or 1 for a runaway. CONTINUE is held with 1 - s/2, PAUSE and STOP with 1/2 + s/2. An \
               ended session is certain.",
        threshold: "None: one formula, always between 0 and 1.",
        settings: &["safety.hard_loop_threshold", "loops.loop_window_size"],
        source: "Master spec §2.1 and §6.2; SPEC §3, Intent.",
        fires: "Three equal signatures of five: s is 0.6, so CONTINUE is held with 0.7.",
        quiet: "Nothing repeats: CONTINUE with 1.",
    },
];
