//! The loop ladder.

use super::entry::RuleEntry;

/// LOOP.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "LOOP-1",
        title: "The ladder",
        what: "Repetition climbs four rungs: a note in the log, a typed override for the agent, a hold that waits for \
               the advisor, and the end of the session. Note and override let the call pass; hold and stop veto it with \
               LOOP_DETECTED. Each rung is reported once. Commands in `loops.ignore` and tools in `loops.exempt_tools` are not \
               counted; `tripwire tune` writes them.",
        threshold: "Note at 3, override at 3 identical actions in a row, hold at 5, stop at the 4th identical action or \
                    at 10.",
        settings: &[
            "safety.soft_loop_threshold",
            "safety.hard_loop_threshold",
            "loops.infinite_loop_threshold",
            "loops.loop_repeat_threshold",
            "loops.loop_override_max_retries",
            "loops.ignore",
            "loops.exempt_tools",
        ],
        source: "Geometry, signature-based detection; guardrails, loop detection; SPEC §4.1.",
        fires: "Five edits of one file among ten calls in `strict`: held, the advisor is asked.",
        quiet: "Two edits of one file among ten calls: not even a note.",
    },
    RuleEntry {
        id: "LOOP-1.exact",
        title: "Identical actions in a row",
        what: "Action type, tool, arguments and target are the same in consecutive steps. The third brings an override \
               that names the call; doing it again ends the session (SYSTEM_ERROR in the safety log). In `balanced` \
               the result must be the same too. Asking for the forbidden action is refused before it runs.",
        threshold: "Warns at the 3rd in a row, stops at the 4th.",
        settings: &["loops.loop_repeat_threshold", "loops.repeat_window", "loops.loop_override_max_retries"],
        source: "Guardrails, loop detection; SPEC §4.1.",
        fires: "`ls src` four times in a row in `strict`: LOOP_OVERRIDE at the third, SYSTEM_ERROR at the fourth.",
        quiet: "`ls src`, `ls src`, `ls test`, `ls src`, `ls src`: never three in a row.",
    },
    RuleEntry {
        id: "LOOP-1.signature",
        title: "Equal signatures",
        what: "The normalised signature (file name for edits, globbed paths for commands) is counted among the last \
               calls. In `strict` three are noted as SOFT_LOOP, five hold with HARD_LOOP, ten end the session with \
               INFINITE_LOOP and a blocker report. In `balanced` a signature alone never does more than a note, at ten \
               in a row.",
        threshold: "3, 5 and 10 among the last 10 calls.",
        settings: &[
            "safety.signature_history_depth",
            "safety.soft_loop_threshold",
            "safety.hard_loop_threshold",
            "loops.infinite_loop_threshold",
        ],
        source: "Geometry, signature-based detection; SPEC §4.1.",
        fires: "`Edit(file=foo.py)` five times with different content in `strict`: held.",
        quiet: "The same five edits in `balanced`: nothing; ten calls in a row with one signature: a note.",
    },
    RuleEntry {
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
    RuleEntry {
        id: "LOOP-2.repeat",
        title: "Same action, same result",
        what: "`balanced` counts pairs of action and result within one epoch, with other calls between allowed. A change \
               that succeeds for the first time, or a person's turn, opens a new epoch and the count starts again. The \
               same pair twice in one turn counts once. Without a known result it takes twice as many, side by side but for one \
               other call, and nothing is held. Looks at something that runs are no loop (LOOP-3), and a call that comes \
               again after a pause and does not fail is held only when nothing moved for half an hour.",
        threshold: "Override at 3 among 12 calls, hold at 5, stop at the 4th in a row after the override was read \
                    (LOOP-1.exact). What succeeds in changing something is overridden at most; looks at something that runs \
                    are overridden at 12 within a minute, at 8 that fail alike, or after half an hour.",
        settings: &["loops.loop_repeat_threshold", "loops.repeat_hold_threshold", "loops.loop_override_max_retries"],
        source: "SPEC §4, `balanced`.",
        fires: "`cargo test` with the same failing output five times, only reads between: held.",
        quiet: "`cargo test` with the same failing output five times, a successful edit before each.",
    },
    RuleEntry {
        id: "LOOP-2.cycle",
        title: "Cycles",
        what: "`balanced` looks for a sequence of two to sixteen calls that comes round again with the same results. A \
               window of three cannot see it; the run lengths of every period are kept, so it costs the same at each \
               event. A change that succeeds for the first time breaks the cycle; doing and undoing the same does not. A round \
               with a wait in it waits for something.",
        threshold: "Note at 2 turns, override at 3, hold right after it if all results are known, stop at 5. Calls that \
                    all take their time and do not fail are held after half an hour.",
        settings: &["loops.cycle_override_turns", "loops.cycle_hold_turns", "loops.cycle_stop_turns"],
        source: "SPEC §4, `balanced`.",
        fires: "read a, read b, read a, read b … six calls with unchanged results: held.",
        quiet: "The same alternation while the results keep changing.",
    },
    RuleEntry {
        id: "LOOP-2.error",
        title: "One error, many arguments",
        what: "`balanced` counts the normalised error text: an agent that varies its arguments and hits the same wall is \
               stuck, though no two actions are equal. Line numbers do not make another error, other numbers and names do; \
               where only the beginning of a text is known, two errors are one only if their wholes are. Errors of the \
               infrastructure do not count, and those of one turn count once. An error without a text is overridden at twice \
               as many and never held.",
        threshold: "Note at 3, override at 4, hold at 5, stop at 8 equal errors among the last 12 calls of an epoch; hold \
                    at 8 where each call was another one and others between them succeeded.",
        settings: &["loops.error_override_threshold", "loops.error_hold_threshold", "loops.error_stop_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "Five guesses of a module's name, each answered with the same import error: held.",
        quiet: "Five retries after a 529 of the provider.",
    },
    RuleEntry {
        id: "LOOP-2.kind",
        title: "One kind of error",
        what: "Errors that quote what they complain about never read the same twice. `balanced` compares all that they say \
               without quotes, brackets, digits and the words of the arguments. What stands first is often the same whatever \
               went wrong: a list of problems that changes or gets shorter is movement. The kind alone is overridden and never \
               held.",
        threshold: "Override at 5 errors of one kind among the last 12 calls of an epoch.",
        settings: &[],
        source: "SPEC §4, `balanced`.",
        fires: "Five edits whose old text is not found, each error quoting another text: overridden.",
        quiet: "Five lists of problems under one and the same first line.",
    },
    RuleEntry {
        id: "LOOP-2.failing",
        title: "Failures in a row",
        what: "`balanced` counts failures whatever they say, because varied errors without one success are no progress \
               either. One that says something new counts half, and so does one without a text. A success or a person's turn \
               ends the row, a change that lands clears the count; calls whose end was not seen, and looks whether something is \
               there yet, neither count nor end it. Parallel failures of one turn are one.",
        threshold: "Note at 3 in a row, override at 5 in a row, or at 8 of the last 12 even if all differ.",
        settings: &["loops.failing_override_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "Five scripts that crash one after the other in two ways: overridden.",
        quiet: "Four crashes, one success, four crashes.",
    },
    RuleEntry {
        id: "LOOP-2.thrash",
        title: "Edits that fail",
        what: "Editing one file again and again is ordinary work as long as the edits succeed. `balanced` counts the model \
               turns since the last change that landed in which every change failed. It is overridden and never held.",
        threshold: "Override at 5 changing turns that failed, and none that landed in between.",
        settings: &["loops.edit_failures_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "Five patches do not apply, with looks between them: overridden.",
        quiet: "Two misses and a hit, fifty times over.",
    },
    RuleEntry {
        id: "LOOP-2.reword",
        title: "Reworded questions",
        what: "A search in plain words that shares its words with an earlier one of the same epoch is the same question \
               in other words. It counts if the answer failed or brought at most half new words. Commands, paths and \
               addresses are not compared, because healthy ones share their words too.",
        threshold: "Note at the first rewording, override at the second, with 0.4 of the words in common.",
        settings: &["loops.reword_similarity", "loops.reword_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "One question put to a web search three times, word order and synonyms apart: overridden.",
        quiet: "Three questions about one town, each answered with a page of news.",
    },
    RuleEntry {
        id: "LOOP-2.echo",
        title: "Echoes",
        what: "A call that resembles an earlier one and returns only the words that were put into it does nothing: a \
               request that is printed instead of sent, a plan that is repeated. At least 16 words, and half of the result, \
               must be the call's own. `balanced` counts prose only, and no changes.",
        threshold: "Note at the first, override at 2 among the last 4 calls.",
        settings: &["loops.echo_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "A request to another agent is printed twice, without an answer: overridden.",
        quiet: "A file is written and shown once.",
    },
    RuleEntry {
        id: "LOOP-2.action",
        title: "Same call, any result",
        what: "The same call with changing results is polling, testing or stepping through a program, and passes. It is \
               written down as a note, so that a person can see it in the log.",
        threshold: "Note at 3 among the last 10 calls of an epoch.",
        settings: &["safety.soft_loop_threshold"],
        source: "Geometry, signature-based detection; SPEC §4.2.",
        fires: "`next` in a debugger three times: a note, the call passes.",
        quiet: "`next`, an edit, `next`, an edit, `next`.",
    },
    RuleEntry {
        id: "LOOP-2.stale",
        title: "Nothing new",
        what: "Sixteen results in a row in which at most one word in eight was not seen before are a hint that the agent \
               walks in circles. Healthy sessions show it now and then, so it is a note and no more.",
        threshold: "Note at 16 results in a row.",
        settings: &[],
        source: "SPEC §4, `balanced`.",
        fires: "Sixteen searches in ever the same three files: a note.",
        quiet: "Sixteen reads of sixteen files.",
    },
    RuleEntry {
        id: "LOOP-2.paging",
        title: "Paging",
        what: "Calls in a row that differ only in what names a page (`page`, `offset`, `view_range`, a page in an \
               address, the lines that a reading command names) walk through a list or a file. Nearly all of them end by \
               themselves, so it is a note. Pages past the end, empty or repeated, are overridden. Other numbers, such as \
               an id or a line of code, are no pages.",
        threshold: "Note at 10 calls in a row, override at 5 in a row that show the same.",
        settings: &[],
        source: "SPEC §4, `balanced`.",
        fires: "Five empty pages in a row: overridden.",
        quiet: "Nine pages with rows, then something else.",
    },
    RuleEntry {
        id: "LOOP-2.ignored",
        title: "An override that changed nothing",
        what: "What an override rested on is remembered until a change lands or a person speaks, whichever rule gave it. In \
               `balanced` a call that was part of its proof and comes back with the same result is held; and so is another \
               call that comes as often as an override needs soon after one that proved a loop. Nothing is held before the \
               model could read the override: calls of the turn that brought it do not count.",
        threshold: "Hold at the first return, or at 3 equal calls and results of another call within 12 calls of the override.",
        settings: &["loops.ignored_hold_threshold", "loops.loop_repeat_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "Five errors of one kind are overridden; the second of these calls comes again with the same error: held.",
        quiet: "After the override the agent reads a file again that it had read before.",
    },
    RuleEntry {
        id: "LOOP-2.spawn",
        title: "One task for many agents",
        what: "A parent that gives the same task to another agent again and again gets other words back each time, so no \
               result repeats. `balanced` compares the tasks: nearly all words the same, in different turns of one epoch. \
               Messages that bring nothing back are compared as well, at half of their words. It is overridden and never held.",
        threshold: "Note at the 2nd, override at the 4th time among 12 calls.",
        settings: &["loops.spawn_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "The same search is handed to a fourth child: overridden.",
        quiet: "One child per file, or twelve children of one turn.",
    },
    RuleEntry {
        id: "LOOP-2.restart",
        title: "Starting over, by its own words",
        what: "A reply that begins with another approach, an apology or a \"did not work\" is ordinary once. A row of them with \
               nothing that lands in between is an agent that says itself that it is stuck, even where every call is new. \
               Only replies that a door sees are counted. It is overridden and never held.",
        threshold: "Override at 5 of the last 8 replies since the last change that landed.",
        settings: &["loops.restart_threshold"],
        source: "SPEC §4, `balanced`.",
        fires: "Five searches in a row, each introduced as another approach: overridden.",
        quiet: "Another approach, and an edit that lands.",
    },
    RuleEntry {
        id: "LOOP-2.chant",
        title: "Replies that say the same",
        what: "A reply that repeats itself without end is cut where our own loop reads it. Across replies `balanced` compares \
               neighbours: the same text before call after call, while no change lands, is overridden and never held.",
        threshold: "Override at 5 replies in a row that are alike to nine tenths.",
        settings: &[],
        source: "SPEC §4, `balanced`.",
        fires: "Five times the same paragraph before five different calls: overridden.",
        quiet: "Nine calls of one reply.",
    },
    RuleEntry {
        id: "LOOP-3",
        title: "What is no loop",
        what: "Polling whose output changes, work file by file, a debugger's `next`, paging through a file and retries \
               after 429, 503 or 529 are ordinary work. So is waiting: sleeps, looks at a program that runs (also by empty \
               input to it) and looks after a sleep are overridden at most, and the same call after pauses of 30 s or more, or \
               after growing ones, may come twice as often and never ends the session. Tests, builds and changes are never \
               looks. `strict` follows the documents and may still count signatures.",
        threshold: "Looks: override at 12 within a minute, or at 6 and more over half an hour.",
        settings: &[],
        source: "SPEC §4.3.",
        fires: "A poll that returns the very same text five times and more is a repeat (LOOP-2.repeat).",
        quiet: "A poll that reports 10 %, 20 %, 30 % … for an hour.",
    },
    RuleEntry {
        id: "LOOP-4",
        title: "Typed override and advice",
        what: "What the agent receives is a record with fixed fields: what not to repeat, how often it was seen, whether \
               result and workspace moved, and the advisor's words as a quoted, capped field. The system prompt is never \
               touched. A hold for a loop ends with an answer that says something, or with a person's resume; an empty \
               answer changes nothing.",
        threshold: "Any answer with text while a loop is held.",
        settings: &[],
        source: "Guardrails, loop guard; SPEC §4.4.",
        fires: "Held for a loop, the advisor answers `try the other module`: the hold ends, the advice is injected.",
        quiet: "The advisor answers with blanks: the hold remains.",
    },
    RuleEntry {
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
    RuleEntry {
        id: "LOOP-6",
        title: "Calls without a result",
        what: "A call that the client itself denies reports no end to its hooks. Its denial stands in the client's own \
               record: there it is read, and the call counts like any other that failed. Where no record says anything, \
               requests for one call are counted as long as no call brings a result: parallel calls are answered \
               together, a loop of lost ones is not. Calls that the guard of a tool server knows to be running are \
               not counted.",
        threshold: "A denial in the record counts as a failed call. Without one: override at 5 equal requests without any \
                    result, hold at 10.",
        settings: &["loops.unanswered_override_threshold", "loops.unanswered_hold_threshold"],
        source: "SPEC §4.6.",
        fires: "A client that may not run `curl` denies it, and the agent asks for it again and again: the 4th request \
                ends the session.",
        quiet: "Two denied calls, then the agent does something else; eight parallel sub-agents that wait for their results.",
    },
    RuleEntry {
        id: "LOOP-7",
        title: "Refusals in a row",
        what: "Each refused call costs a model request and none of them is work, however different they are. Refused are \
               calls that a permission, the destructive-command guard, a review, the tree of agents or the client itself \
               does not let pass. Calls of one model turn count once; a call that ran ends the row; a person's word \
               starts the count again.",
        threshold: "Note at 3 in a row, hold at 5, stop at 10 among the last 50 calls.",
        settings: &[
            "loops.refusals_note_threshold",
            "loops.refusals_hold_threshold",
            "loops.refusals_stop_threshold",
            "loops.refusals_window",
        ],
        source: "SPEC §4.6.",
        fires: "`rm -rf` of five folders in a row, each of them held: the fifth holds the session and ends the turn.",
        quiet: "Two commands are held, then the agent lists files and goes on.",
    },
];
