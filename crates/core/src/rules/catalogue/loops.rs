//! The loop ladder.

use super::Entry;

/// LOOP.
pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        id: "LOOP-1",
        title: "The ladder",
        what: "Repetition climbs four rungs: a note in the log, a typed override for the agent, a hold that waits for \
               the advisor, and the end of the session. Note and override let the call pass; hold and stop veto it with \
               LOOP_DETECTED. Each rung is told once.",
        threshold: "Note at 3, override at 3 identical actions in a row, hold at 5, stop at the 4th identical action or \
                    at 10.",
        settings: &[
            "safety.soft_loop_threshold",
            "safety.hard_loop_threshold",
            "loops.infinite_loop_threshold",
            "loops.loop_repeat_threshold",
            "loops.loop_override_max_retries",
        ],
        source: "Geometry, signature-based detection; guardrails, loop detection; SPEC §4.1.",
        fires: "Five edits of one file among ten calls in `strict`: held, the advisor is asked.",
        quiet: "Two edits of one file among ten calls: not even a note.",
    },
    Entry {
        id: "LOOP-1.exact",
        title: "Identical actions in a row",
        what: "Action type, tool, arguments and target are the same in consecutive steps. The third brings an override \
               that names what must not be repeated; doing it again ends the session with SYSTEM_ERROR. In `balanced` \
               the result must be the same too. Asking for the forbidden action is refused before it runs.",
        threshold: "Override at 3 in a row, stop at 3 plus the forgiven repeats (1), that is the 4th.",
        settings: &["loops.loop_repeat_threshold", "loops.loop_override_max_retries"],
        source: "Guardrails, loop detection; SPEC §4.1.",
        fires: "`ls src` four times in a row in `strict`: LOOP_OVERRIDE at the third, SYSTEM_ERROR at the fourth.",
        quiet: "`ls src`, `ls src`, `ls test`, `ls src`, `ls src`: never three in a row.",
    },
    Entry {
        id: "LOOP-1.signature",
        title: "Equal signatures",
        what: "The normalised signature (file name for edits, globbed paths for commands) is counted among the last \
               calls. In `strict` three are noted as SOFT_LOOP, five hold with HARD_LOOP, ten end the session with \
               INFINITE_LOOP and a blocker report. In `balanced` a signature alone never does more than a note.",
        threshold: "3, 5 and 10 among the last 10 calls.",
        settings: &[
            "safety.signature_history_depth",
            "safety.soft_loop_threshold",
            "safety.hard_loop_threshold",
            "loops.infinite_loop_threshold",
        ],
        source: "Geometry, signature-based detection; SPEC §4.1.",
        fires: "`Edit(file=foo.py)` five times with different content in `strict`: held.",
        quiet: "The same five edits in `balanced`: a note, the call passes.",
    },
    Entry {
        id: "LOOP-2",
        title: "Two profiles",
        what: "`strict` reads the documents to the letter and lets each count act on its own. `balanced` climbs the same \
               ladder on evidence: hold and stop need proof that nothing moves, such as the same result or the same \
               error. The profile is chosen at the start and frozen.",
        threshold: "The same numbers in both; what is counted differs.",
        settings: &["profile"],
        source: "SPEC §4.2.",
        fires: "The same command with the same result, five times in one epoch: held in both profiles.",
        quiet: "The same command with a different result each time: held in `strict` only.",
    },
    Entry {
        id: "LOOP-2.repeat",
        title: "Same action, same result",
        what: "`balanced` counts pairs of action and result within one epoch, with other calls between allowed. A \
               successful edit or install, or a person's turn, opens a new epoch and the count starts again. Parallel \
               calls of one turn count once.",
        threshold: "Note at 3, override at 4, hold at 5 in different turns.",
        settings: &["safety.soft_loop_threshold", "safety.hard_loop_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "`cargo test` with the same failing output five times, only reads between: held.",
        quiet: "`cargo test` with the same failing output five times, a successful edit before each.",
    },
    Entry {
        id: "LOOP-2.cycle",
        title: "Cycles",
        what: "`balanced` looks for a sequence of two to eight calls that comes round again with the same results. A \
               window of three cannot see it; the run lengths of every period are kept, so it costs the same at each \
               event. A successful edit or install breaks the cycle.",
        threshold: "Override at 3 turns of the cycle, hold at 4; periods 2 to 8 over 32 events.",
        settings: &[],
        source: "SPEC §4, `balanced`.",
        fires: "read a, read b, read a, read b … eight calls with unchanged results: held.",
        quiet: "The same alternation while the results keep changing.",
    },
    Entry {
        id: "LOOP-2.error",
        title: "One error, many arguments",
        what: "`balanced` counts the normalised error text: an agent that varies its arguments and hits the same wall is \
               stuck, though no two actions are equal. Errors of the infrastructure do not count.",
        threshold: "Note at 3, override at 4, hold at 6 equal errors among the last 8 calls of an epoch.",
        settings: &["safety.soft_loop_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "Six guesses of a module's name, each answered with the same import error: held.",
        quiet: "Six retries after a 529 of the provider.",
    },
    Entry {
        id: "LOOP-3",
        title: "What is no loop",
        what: "Polling whose output changes, work file by file, a debugger's `next`, paging through a file and retries \
               after 429, 503 or 529 are ordinary work. `balanced` lets them pass because their results or targets \
               differ, or because the error is the infrastructure's. `strict` follows the documents and may still count \
               signatures.",
        threshold: "None: the evidence of LOOP-2 must be missing.",
        settings: &[],
        source: "SPEC §4.3.",
        fires: "A poll that returns the very same text five times and more is a repeat (LOOP-2.repeat).",
        quiet: "A poll that reports 10 %, 20 %, 30 % … for an hour.",
    },
    Entry {
        id: "LOOP-4",
        title: "Typed override and advice",
        what: "What the agent is told is a record with fixed fields: what not to repeat, how often it was seen, whether \
               result and workspace moved, and the advisor's words as a quoted, capped field. The system prompt is never \
               touched. A hold for a loop ends with an answer that says something, or with a person's resume; an empty \
               answer changes nothing.",
        threshold: "Any answer with text while a loop is held.",
        settings: &[],
        source: "Guardrails, loop guard; SPEC §4.4.",
        fires: "Held for a loop, the advisor answers `try the other module`: the hold ends, the advice is injected.",
        quiet: "The advisor answers with blanks: the hold stands.",
    },
    Entry {
        id: "LOOP-5",
        title: "Evidence and price",
        what: "Every alarm names the indices of the events that prove it and what was spent since the first repeat, in \
               tokens and money. At most 24 indices are named, oldest first. An alarm that cannot show its proof is not \
               raised.",
        threshold: "None: it holds for every alarm.",
        settings: &[],
        source: "SPEC §4.5.",
        fires: "Three calls of 100 tokens each: LOOP_OVERRIDE with evidence 0, 1, 2 and a price of 200 tokens.",
        quiet: "Two equal calls: no alarm, so neither evidence nor price.",
    },
];
