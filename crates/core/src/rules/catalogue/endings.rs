//! Progress, dirty bits, iterations, wall clocks and the context gate: how work ends.

use super::entry::RuleEntry;

/// PROG, DIRTY, ITER, TERM and CTX.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "PROG-1",
        title: "No progress",
        what: "An iteration fails if tests fail after a code change, the build fails, the same error came twice, or an \
               editing objective changed no file. The second failure in a row asks the advisor. At the cap the session is \
               held and a blocker report waits for a person; clearing it sets the counter to zero. While it stands no new \
               session of the workspace begins. In `balanced` a question that a person asks in between completes no row.",
        threshold: "Advisor at 2 failures in a row, blocker report at 3.",
        settings: &["safety.max_consecutive_failures", "limits.editing_objective"],
        source: "Geometry, no-progress heuristic; SPEC §5.1.",
        fires: "Three iterations in a row that each edit a file and end with failing tests.",
        quiet: "Two such iterations, then one whose tests pass: the count is zero again.",
    },
    RuleEntry {
        id: "DIRTY-1",
        title: "Dirty bits and the claim to be done",
        what: "Changed files, test runs and their results are taken from what was observed, never from the agent's \
               words. A claim is VERIFIED, STALE, FAILED or UNVERIFIED, bound to the tree on which the tests ran; WAIVED \
               where a person skipped the check; UNDOCUMENTED where a file of `api_paths` changed and none of \
               `docs_paths` did. Unless it is verified or waived it is sent back, at most twice in a row, and then \
               released with its verdict, so that the gate cannot become a loop itself. Where only plain text or logs \
               were changed there is nothing to verify. `run` and `agent` measure which files changed and name changed \
               test files beside the verdict; with hooks alone only the words of the calls are known.",
        threshold: "Two refusals in a row.",
        settings: &[
            "dirty_bits.test_command",
            "dirty_bits.max_refusals",
            "dirty_bits.api_paths",
            "dirty_bits.docs_paths",
        ],
        source: "Geometry, dirty bit checks; SPEC §5.2.",
        fires: "A file was edited and the agent claims to be done: sent back to run the tests.",
        quiet: "The tests passed after the last edit: released as VERIFIED.",
    },
    RuleEntry {
        id: "ITER-1",
        title: "Iteration cap",
        what: "A session has a bounded number of iterations. The one after the last does not begin: the session is held \
               and a checkpoint is written. A person's acknowledgement sets the counter to zero. While it stands no new \
               session of the workspace begins, and a start that is refused uses up no iteration.",
        threshold: "100 iterations.",
        settings: &["safety.max_iterations"],
        source: "Geometry, iteration cap; SPEC §5.3.",
        fires: "The 101st iteration is about to begin: CHECKPOINT.md, held.",
        quiet: "The 100th iteration begins.",
    },
    RuleEntry {
        id: "TERM-1",
        title: "Every iteration ends",
        what: "Each iteration ends with exactly one status: completed, max_steps, timeout, interrupted or system_error. \
               They are checked in the order interrupted, timeout, max_steps. Nothing here needs the agent's consent.",
        threshold: "See TERM-1.steps and TERM-1.clock.",
        settings: &["limits.max_steps", "limits.max_runtime_hours", "limits.max_session_runtime_ms"],
        source: "Phase 0, guaranteed cycle termination; SPEC §5.4.",
        fires: "A person says stop: the running iteration ends as interrupted.",
        quiet: "An iteration with steps and time left goes on.",
    },
    RuleEntry {
        id: "TERM-1.steps",
        title: "Step cap",
        what: "A step is one model turn with its tool calls, however many run in parallel. A request beyond the cap is \
               refused; an event beyond it ends the iteration as max_steps, and the next one starts with the recitation. \
               A soft cap ends nothing.",
        threshold: "Off under someone else's agent unless set; 10 in our own loop.",
        settings: &["limits.max_steps", "limits.max_steps_soft"],
        source: "Phase 0, guaranteed cycle termination; guardrails, budget enforcement; SPEC §5.4.",
        fires: "A cap of 10 and the eleventh step: the iteration ends with max_steps.",
        quiet: "Ten steps, one of them with five parallel calls.",
    },
    RuleEntry {
        id: "TERM-1.clock",
        title: "Wall clocks",
        what: "An iteration and, where set, the whole session have a wall clock. It is checked at every input, and a \
               permit carries the deadline at which a running call is cut. At the iteration's end the processes are \
               killed; at the session's end the session stops. Both bind in observe mode.",
        threshold: "8 hours for an iteration; off for a session unless set.",
        settings: &["limits.max_runtime_hours", "limits.max_session_runtime_ms"],
        source: "Phase 0, wall-clock timeout; SPEC §5.4.",
        fires: "A tick 8 hours after the iteration began: timeout, and the process tree is killed.",
        quiet: "A tick one millisecond earlier.",
    },
    RuleEntry {
        id: "CTX-1",
        title: "How full the context is",
        what: "Use is cached plus current input over the model's real window, from the provider's own figures. Where no \
               window is known the default is used. Figures of sub-agents say nothing about the main context. Where nobody \
               gives figures the lines of output are counted (500 are 70 per cent) and the figure is marked as an estimate; \
               in `balanced` an estimate only warns.",
        threshold: "Per cent of the window, rounded down.",
        settings: &["context.default_window"],
        source: "Geometry, context mathematics; SPEC §6.",
        fires: "170,000 tokens of a window of 200,000: 85 per cent.",
        quiet: "170,000 tokens of a window of 1,000,000: 17 per cent.",
    },
    RuleEntry {
        id: "CTX-2",
        title: "Three tiers of the context gate",
        what: "The first tier warns the agent, the second writes a briefing and restarts the worker, the third blocks \
               every tool call until the context is cleared. Each tier is reported once until it was left. Below the third \
               the block is lifted.",
        threshold: "75, 80 and 85 per cent.",
        settings: &["context.warning_threshold", "context.mandatory_threshold", "context.hard_block_threshold"],
        source: "Geometry, context compaction gate; SPEC §6.",
        fires: "85 per cent: held for the context.",
        quiet: "74 per cent: nothing is said.",
    },
    RuleEntry {
        id: "CTX-3",
        title: "The mission briefing",
        what: "When the second tier is reached the objective, the last steps, the files read, the edits, the refused \
               approaches and the todo are written to MISSION_BRIEFING.md. A fresh worker is asked to read it and go on. \
               The objective and the last steps are copied word for word.",
        threshold: "The second tier of CTX-2.",
        settings: &["context.mandatory_threshold"],
        source: "Geometry, when compaction triggered; SPEC §6.",
        fires: "80 per cent: the effect is to compact, the shell writes the briefing and restarts the worker.",
        quiet: "79 per cent: a warning, no briefing.",
    },
    RuleEntry {
        id: "CTX-4",
        title: "Compaction spiral",
        what: "An agent may fill its context, compact, and fill it again without having changed anything. Compactions \
               between which the workspace stayed the same are counted. At the threshold they are a loop: held, and the \
               advisor is asked.",
        threshold: "3 compactions without a change.",
        settings: &["context.spiral_compactions"],
        source: "SPEC §6.",
        fires: "Three compactions with the same workspace hash.",
        quiet: "Three compactions with a successful edit before each.",
    },
];
