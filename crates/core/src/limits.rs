//! Every bound of the engine in one place; relations between bounds are checked when this file compiles.

/// Longest identifier that may enter (tool names, digests, ids, paths), in bytes.
pub const LABEL_BYTES_MAX: usize = 1_024;
/// Longest free text that a decision quotes (advice, reasons from outside), in bytes.
pub const QUOTE_BYTES_MAX: usize = 2_000;
/// Most event indices that one finding names as evidence.
pub const EVIDENCE_MAX: usize = 24;
/// Events that the counting rules of `strict` look back on.
pub const WINDOW_EVENTS: usize = 32;
/// Longest cycle that is looked for, in steps.
pub const CYCLE_PERIOD_MAX: usize = 16;
/// Calls that the rules on evidence look back on: three turns of the longest cycle.
pub const HISTORY_CALLS: usize = 48;
/// Events whose output sketches are kept for the comparison of neighbours.
pub const SIMILARITY_EVENTS: usize = 5;
/// Entries of the sliding minute; beyond it, neighbours are merged so that they expire later, never earlier.
pub const MINUTE_ENTRIES: usize = 128;
/// Recent intervals between steps that make the tempo.
pub const TEMPO_RECENT: usize = 5;
/// Intervals that the baseline needs before the tempo may be judged.
pub const TEMPO_BASELINE_MIN: u32 = 10;
/// Outcomes that the error rate is taken over.
pub const ERROR_RATE_EVENTS: u32 = 20;
/// The longest window in which refusals are counted.
pub const REFUSALS_WINDOW_MAX: u32 = 64;
/// Workspace hashes that the convergence rule compares.
pub const CONVERGENCE_ITERATIONS: u32 = 3;
/// The sliding minute.
pub const MINUTE_MS: u64 = 60_000;
/// How long a person's word for one held command is good: a day.
pub const ALLOWANCE_MS: u64 = 86_400_000;
/// Files that git does not know and that a session did not make: so many lost one by one wait for a person.
pub const LOST_FILES_HELD: usize = 3;
/// A wall clock that steps back by less than this is clamped; by more, the guard holds.
pub const CLOCK_STEP_BACK_MS_MAX: u64 = 5_000;
/// The version of the serialised state; another version is refused, never guessed at.
pub const STATE_VERSION: u32 = 11;
/// The version of what the rules decide and say; a session carries the one it began under, so that a replay can tell newer rules
/// from a changed record.
pub const RULES_VERSION: u32 = 2;
/// The serialised state may not be larger than this, however long the session.
pub const STATE_BYTES_MAX: usize = 16 << 10;

const _: () = {
    assert!(HISTORY_CALLS >= 48, "SPEC §4: cycles are looked for over at least 48 events");
    assert!(HISTORY_CALLS >= CYCLE_PERIOD_MAX.saturating_mul(3), "three turns of the longest cycle fit");
    assert!(HISTORY_CALLS <= 64, "a mask of one machine word covers all calls");
    assert!(EVIDENCE_MAX <= WINDOW_EVENTS, "evidence is drawn from the window");
    assert!(LABEL_BYTES_MAX < STATE_BYTES_MAX, "one label cannot fill the state");
    assert!(REFUSALS_WINDOW_MAX <= 64, "refusals are kept in one machine word");
    assert!(ERROR_RATE_EVENTS <= 64, "the error rate is kept in one machine word");
};
