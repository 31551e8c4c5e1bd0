//! Journal, logs and replay.

use super::entry::RuleEntry;

/// LOG and REPLAY.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "LOG-1",
        title: "The journal is the truth",
        what: "Inputs and decisions are appended as lines of canonical JSON, each bound to the one before by SHA-256. A \
               torn tail after a crash is cut and reported; a record that was acknowledged is never lost. All other files \
               can be rebuilt from it.",
        threshold: "None: every record.",
        settings: &[],
        source: "Agent loop §2; SPEC §11.1.",
        fires: "A record in the middle does not match its hash: refused, and the index is named.",
        quiet: "Only the unacknowledged last line is torn: it is cut, and the cut is recorded.",
    },
    RuleEntry {
        id: "LOG-2",
        title: "Safety log",
        what: "`.geometry/safety_log.json` lists what was noticed and what was done about it, in the shape of the source \
               document. Appending costs the same whatever its length. After a crash, or when entries were taken out, it is \
               rebuilt from the journals; `tripwire verify` compares it with them.",
        threshold: "Every finding, every veto and every refused request.",
        settings: &[],
        source: "Geometry, safety event log; SPEC §11.2.",
        fires: "A SOFT_LOOP: one entry with continued_monitoring.",
        quiet: "An allowed event without findings: no entry.",
    },
    RuleEntry {
        id: "LOG-3",
        title: "Frozen replay",
        what: "Each session leaves one file with its model, the hash of its prompt and its trajectory. It is complete \
               enough to replay the session exactly. Its shape is that of the source document.",
        threshold: "The end of a session.",
        settings: &[],
        source: "Geometry, frozen replays; SPEC §11.3.",
        fires: "A session ends: `.geometry/replays/SESSION.json` is written.",
        quiet: "A session is still running: no file yet.",
    },
    RuleEntry {
        id: "LOG-4",
        title: "Verify",
        what: "`tripwire verify` walks the journal and finds any record that was flipped, deleted, reordered or cut off. \
               It names the first bad index. With hooks alone the journal shows tampering; it cannot prevent it.",
        threshold: "One wrong byte.",
        settings: &[],
        source: "SPEC §11.5.",
        fires: "One byte of record 17 is changed: exit 9, index 17.",
        quiet: "An untouched journal: exit 0.",
    },
    RuleEntry {
        id: "REPLAY-1",
        title: "Replay parity",
        what: "One SHA-256 runs over all journaled inputs, another over intent and safety decision of each. Replaying \
               must give both again; otherwise the first index that differs is named. With another policy the decisions \
               that would change are listed.",
        threshold: "Any difference.",
        settings: &[],
        source: "Master spec §7; SPEC §11.4.",
        fires: "A journal whose tenth decision was edited: differs at 10, exit 9.",
        quiet: "The same inputs on another machine: equal.",
    },
];
