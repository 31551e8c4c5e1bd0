//! Our own agent loop: prompt, transcript, memory, tools, engines.

use super::entry::RuleEntry;

/// RUN, MEM and TOOL.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "RUN-1",
        title: "Stable prompt, append-only transcript",
        what: "System prompt and tool registry stay the same for a whole session. Every input, output, call, result and \
               error is appended to the transcript and never moved. The same inputs and tool outputs give the same bytes; \
               times and durations stay in the journal.",
        threshold: "None: byte for byte.",
        settings: &[],
        source: "Agent loop §1 and §2; SPEC §9.1.",
        fires: "The registry changes on disk during a session: it needs a new session.",
        quiet: "Two runs of one scripted session: identical transcripts.",
    },
    RuleEntry {
        id: "RUN-2",
        title: "Errors reach the model",
        what: "A non-zero exit, an exception or a time-out is appended word for word, and the model sees it before any \
               further call. Nothing is retried in silence. Whether to go on is the policy's choice.",
        threshold: "Every tool error.",
        settings: &["tools.on_tool_error"],
        source: "Agent loop §5; SPEC §9.2.",
        fires: "A command exits with 2: its text is in the next prompt.",
        quiet: "A command exits with 0: its output is there instead.",
    },
    RuleEntry {
        id: "RUN-3",
        title: "Recitation in todo.md",
        what: "The objective is repeated word for word in `todo.md`, with progress, the last completed and the next step. \
               It is rewritten every few steps, so that a long session does not lose its aim.",
        threshold: "Every 3 steps.",
        settings: &["tools.recite_every"],
        source: "Agent loop §6; SPEC §9.4.",
        fires: "Six steps: `todo.md` was rewritten twice.",
        quiet: "Two steps: not yet.",
    },
    RuleEntry {
        id: "RUN-4",
        title: "Engine fallback",
        what: "When an engine is overloaded, keeps stopping, fails verification too often or runs out of context, the \
               next one of the chain takes over. Every switch is announced and journaled. Sensitive paths only ever go \
               to the local engine.",
        threshold: "More than 3 failed verifications in a session, or one of the other reasons.",
        settings: &["tools.max_failed_verifications"],
        source: "Geometry, model fallback strategy; SPEC §9.7.",
        fires: "The context is exhausted: ENGINE_SWITCH.",
        quiet: "A single failed verification.",
    },
    RuleEntry {
        id: "RUN-5",
        title: "Out-of-band advisor",
        what: "Another, stronger engine is asked when a loop is held or iterations fail twice in a row. It receives the \
               kind of deadlock and the end of the transcript. Its answer travels in the typed override, and a held loop \
               does not go on without it. Of several the next is asked when the one before has no answer. The first may \
               also be asked whether it sees a loop at all; that answer is written down and decides nothing.",
        threshold: "A hold for a loop, or 2 failed iterations in a row; 500 lines of transcript.",
        settings: &["safety.hard_loop_threshold", "loops.model_check"],
        source: "Geometry, out-of-band advisor; SPEC §9.8.",
        fires: "HARD_LOOP: the advisor is asked.",
        quiet: "SOFT_LOOP: a note, no one is asked.",
    },
    RuleEntry {
        id: "MEM-1",
        title: "Reversible memory",
        what: "The full original is stored under its own digest. Summaries, diffs and embeddings are pointers to it. \
               `tripwire memory get` returns exactly the bytes that went in.",
        threshold: "None: every byte.",
        settings: &[],
        source: "Agent loop §3; SPEC §9.3.",
        fires: "A blob whose bytes no longer match its name is refused.",
        quiet: "A long note is compressed, stored and read back unchanged.",
    },
    RuleEntry {
        id: "TOOL-1",
        title: "Bounded tool results",
        what: "`read_file` returns a bounded number of lines and says how many remain; every result has a cap in bytes, \
               and what is cut is kept whole in memory. Paths are relative to the workspace. A search without a match \
               returns guidance, and an unknown tool is a typed error.",
        threshold: "500 lines.",
        settings: &["tools.max_lines"],
        source: "Guardrails, file-read caps; SPEC §9.5.",
        fires: "A file of 1,200 lines: 500 shown, 700 remaining, has_more is true.",
        quiet: "A file of 500 lines: all shown, has_more is false.",
    },
    RuleEntry {
        id: "TOOL-2",
        title: "Schema and repair",
        what: "Plans, arguments and outputs are validated before they are used. An invalid one goes back with the \
               validation error. After the repairs are used up the run ends with SYSTEM_ERROR and the diagnostics.",
        threshold: "2 repairs.",
        settings: &["tools.repair_max_attempts"],
        source: "Guardrails, schema enforcement; SPEC §9.6.",
        fires: "Invalid arguments, and two repairs that are invalid too: SYSTEM_ERROR.",
        quiet: "Invalid arguments, then a valid repair.",
    },
];
