//! The constitution and the chain: what holds everywhere.

use super::entry::RuleEntry;

/// CONST and CHAIN.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "CONST-1",
        title: "Nothing is taken for granted",
        what: "The engine never assumes that an agent's output is right, and it expects behaviour to get worse over \
               time. Stopping is an ordinary answer here, worth as much as going on.",
        threshold: "None: it shapes every other rule.",
        settings: &[],
        source: "Master spec §1.1; SPEC §1.1.",
        fires: "An agent says that the tests pass; no test run was observed, so the verdict is UNVERIFIED.",
        quiet: "A test command was seen to end with exit code 0 on the present tree: the verdict is VERIFIED.",
    },
    RuleEntry {
        id: "CONST-2",
        title: "Order of priorities",
        what: "Being able to control the agent comes first, then being able to explain, then surviving, then speed. \
               Where two goals pull apart, the earlier one wins. The order cannot be configured.",
        threshold: "None: the order is fixed.",
        settings: &[],
        source: "Master spec §1.4; SPEC §1.2.",
        fires: "A STOP arrives in the middle of productive work: the work ends.",
        quiet: "No one said stop and no limit is near: the work goes on at full speed.",
    },
    RuleEntry {
        id: "CONST-3",
        title: "What the engine may decide",
        what: "It may answer CONTINUE, PAUSE or STOP, call the intensity LOW, NORMAL or HIGH, and end itself. It may \
               not grant unlimited spending, skip the gate, or change its own rules while it runs. A permit for an \
               action exists only as a value that the gate has made.",
        threshold: "None: these are types, not settings.",
        settings: &[],
        source: "Master spec §1.2; SPEC §1.3.",
        fires: "Code that tries to act without a permit does not compile.",
        quiet: "A request that passes the gate receives one permit and uses it once.",
    },
    RuleEntry {
        id: "CONST-4",
        title: "What counts as a failure",
        what: "A decision without a reason, a crossed boundary, or going on after the moment to stop: these are \
               failures of the guard. An agent that produces nothing, a long silence or a spent budget are not. Every \
               decision therefore carries a reason, the rule's name and the inputs that prove it.",
        threshold: "None: no reason may be empty.",
        settings: &[],
        source: "Master spec §1.3; SPEC §1.4.",
        fires: "A random stream of inputs that yields one empty reason fails the property tests.",
        quiet: "Ten minutes without any event: the mode is IDLE, the intent stays CONTINUE, health is untouched.",
    },
    RuleEntry {
        id: "CONST-5",
        title: "Fail closed",
        what: "When a premise of the guard breaks (an unreadable policy, a journal that does not verify, a clock that \
               jumps back, a damaged state) the session is held with the cause and the fix. No default is guessed. A \
               person may choose to go on anyway; such a run is never called guarded.",
        threshold: "Any broken premise; a clock that steps back by 5 s or more (a smaller step is clamped and noted).",
        settings: &["gate.on_guard_failure"],
        source: "SPEC §1.5 and §2 (time).",
        fires: "An input carries a time 6 s before the newest one: GUARD_FAILURE, and everything waits.",
        quiet: "An input is 4 s early: its time is clamped to the newest one, CLOCK_CLAMPED is noted, work goes on.",
    },
    RuleEntry {
        id: "CONST-6",
        title: "Frozen at the start",
        what: "Policy, system prompt, tool registry and identity are fixed by their hashes in the first record of a \
               session. A threshold that is edited later is logged as POLICY_DRIFT and not applied. Counters and dirty \
               bits that a person edits do count, and are journaled as a manual override.",
        threshold: "Any edit of a threshold after the session began.",
        settings: &["profile"],
        source: "Master spec §6.2; SPEC §1.6.",
        fires: "A person raises gate.max_tokens_per_minute in the manifest during a run: POLICY_DRIFT, the old value \
                stays.",
        quiet: "A person sets safety.consecutive_failures to 0: MANUAL_OVERRIDE, and the counter is 0.",
    },
    RuleEntry {
        id: "CHAIN-1",
        title: "One way, fixed names",
        what: "An event becomes an activity, the activity an intent, the intent a safety decision; nothing flows back \
               upstream except the result of an execution. The JSON names of the master specification are kept as they \
               are; fields may be added, none renamed.",
        threshold: "None: the six required fields of an event must be there.",
        settings: &[],
        source: "Master spec §2; SPEC §3.1.",
        fires: "An event without tokenCount is refused, and the error names the field.",
        quiet: "An event with only the six original fields is decided.",
    },
    RuleEntry {
        id: "CHAIN-2",
        title: "Facts travel with the event",
        what: "What the rules need to know about a call (action, digests, sketch, outcome, costs, turn, workspace) is \
               computed before the step and is in the event. The functions behind those facts are versioned, and \
               the journal stores their results, so a later version cannot rewrite history.",
        threshold: "None: every added field is optional.",
        settings: &[],
        source: "SPEC §3.2.",
        fires: "A sketch that was made by another version of the sketching function is refused.",
        quiet: "An event that knows nothing of its action is decided on tokens, time and output hash alone.",
    },
    RuleEntry {
        id: "CHAIN-3",
        title: "The core is pure",
        what: "The engine reads no clock, no file and no random number, uses no floating point and no unordered map. \
               Its state can be written down, carries a version and belongs to one policy. Loading a state of another \
               version or policy is refused.",
        threshold: "None: the compiler holds it.",
        settings: &[],
        source: "SPEC §3.3.",
        fires: "A snapshot taken under `strict` is loaded under `balanced`: refused, start a new session.",
        quiet: "A snapshot is loaded under its own policy: the next decisions are the same as without the pause.",
    },
    RuleEntry {
        id: "CHAIN-4",
        title: "Permission is a value",
        what: "Only the gate can make a permit. It cannot be copied, it names one request and one action, and carrying \
               the action out consumes it. Without a permit nothing is executed.",
        threshold: "One permit for each allowed request.",
        settings: &[],
        source: "SPEC §3.4.",
        fires: "A refused request comes back without a permit.",
        quiet: "An allowed request comes back with a permit that carries its index and deadline.",
    },
    RuleEntry {
        id: "CHAIN-5",
        title: "Journal first",
        what: "An input is written to the journal before the engine takes it in, and the decision after it. Replaying \
               is the same loop with the journal as its source. Nothing that is not in the journal can influence a \
               decision.",
        threshold: "None: it holds for every input.",
        settings: &[],
        source: "SPEC §3.5.",
        fires: "The journal cannot be written: the input is not applied, the session is held.",
        quiet: "The journal takes the record: the decision follows.",
    },
    RuleEntry {
        id: "CHAIN-6",
        title: "Constant cost, bounded state",
        what: "One event costs the same at the start of a session and after a million others. Everything that is \
               remembered sits in rings and counters of fixed size. The written state stays below 16 KB.",
        threshold: "16,384 bytes of serialised state.",
        settings: &[],
        source: "SPEC §3.6; issue 2.",
        fires: "A state of more bytes after 5,000 busy events fails the tests.",
        quiet: "The same session after 5,000 and after 50,000 events has a state of about the same size.",
    },
];
