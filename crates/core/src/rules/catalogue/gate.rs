//! The gate: vetoes, budgets, waits, health and money.

use super::entry::RuleEntry;

/// GATE.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "GATE-1",
        title: "Veto priority",
        what: "Six vetoes may hold at the same time; the one that is named is always the first of this order: runaway, \
               loop, token budget, rate limit, cooldown, health. Nothing can change the order. A decision that carries \
               this name as its rule says that nothing spoke against it.",
        threshold: "The order is fixed; all 64 combinations are written out in a test.",
        settings: &[],
        source: "Master spec §4.4; SPEC §3, Gate 1.",
        fires: "A loop, an exceeded token budget and a running cooldown at once: vetoReason is LOOP_DETECTED.",
        quiet: "None of the six holds: allowed, with the reason that nothing speaks against it.",
    },
    RuleEntry {
        id: "GATE-2",
        title: "Budgets of the sliding minute",
        what: "Tokens and tool calls are summed over exactly the last 60 s. Crossing either bound refuses: `strict` adds \
               the full cooldown, `balanced` only asks to wait until there is room again. A warning is given once as a \
               bound comes near.",
        threshold: "See GATE-2.tokens and GATE-2.calls.",
        settings: &[
            "gate.max_tokens_per_minute",
            "gate.token_warning_threshold",
            "gate.max_tool_calls_per_minute",
            "gate.tool_call_warning_threshold",
        ],
        source: "Master spec §4.1 and §4.2; SPEC §3, Gate 2.",
        fires: "61 calls within a minute in `strict`: RATE_LIMIT_EXCEEDED.",
        quiet: "60 calls within a minute, or 61 spread over 61 s; in `balanced`, 300 calls of a dozen sub-agents.",
    },
    RuleEntry {
        id: "GATE-2.tokens",
        title: "Tokens of the minute",
        what: "Fresh input plus output tokens of the last 60 s, without cache reads; where the classes are unknown, the \
               plain count. Above the budget the answer is TOKEN_BUDGET_EXCEEDED. `remainingBudget` in every decision is \
               what is left.",
        threshold: "In `strict` more than 50,000 tokens, TOKEN_WARNING from 40,000; in `balanced` 600,000 and 480,000, because \
                    three of four real sessions pass 50,000 in some minute. Less while health is below 1.",
        settings: &["gate.max_tokens_per_minute", "gate.token_warning_threshold"],
        source: "Master spec §4.1; SPEC §3, Gate 2.",
        fires: "Two events of 26,000 tokens 10 s apart in `strict`: a veto with cooldown. Two of 310,000 in `balanced`: \
                retryAfterMs 50,000.",
        quiet: "One event of 1,000 fresh tokens and 400,000 read from the cache.",
    },
    RuleEntry {
        id: "GATE-2.calls",
        title: "Tool calls of the minute",
        what: "The tool calls of the last 60 s are summed, whatever they were. Above the bound the answer is \
               RATE_LIMIT_EXCEEDED. `strict` waits out the cooldown, `balanced` until the oldest calls have left the \
               minute.",
        threshold: "In `strict` more than 60 calls, TOOL_CALL_WARNING from 45; in `balanced` 300 and 225.",
        settings: &["gate.max_tool_calls_per_minute", "gate.tool_call_warning_threshold"],
        source: "Master spec §4.2; SPEC §3, Gate 2.",
        fires: "61 calls in 30 s in `strict`.",
        quiet: "60 calls in 30 s; in `strict` TOOL_CALL_WARNING was given at the 45th.",
    },
    RuleEntry {
        id: "GATE-3",
        title: "Cooldown",
        what: "After a veto of priority 1 to 4 nothing passes for the cooldown; a further such veto starts it again. A \
               throttle of `balanced` never starts it. Surfaces that can wait hold the call, others answer with \
               retryAfterMs.",
        threshold: "60,000 ms after the veto.",
        settings: &["gate.cooldown_duration_ms"],
        source: "Master spec §4.3; SPEC §3, Gate 3.",
        fires: "A request 10 s after a token veto in `strict`: COOLDOWN_ACTIVE, retryAfterMs 50,000.",
        quiet: "The same request 60 s after the veto.",
    },
    RuleEntry {
        id: "GATE-4",
        title: "Health",
        what: "Health starts at 1 and falls with incidents: entering LOOPING or RUNAWAY, execution errors, mode flips, \
               and each failed call from the third in a row. It comes back slowly and never beyond the cap. Below the \
               soft threshold the agent is paused and a person notified; below the hard one the session ends, and only a \
               person's restart opens it. In `balanced` only proof brings it below the soft threshold: loops with known \
               results and execution errors in a row; failed commands and flips are hints.",
        threshold: "Soft suspend below 0.6, hard stop below 0.3; LOOPING costs 0.15, RUNAWAY 0.25, the rest 0.05 each; \
                    0.01 a minute comes back, up to 0.8.",
        settings: &[
            "health.soft_suspend_threshold",
            "health.hard_stop_threshold",
            "health.recovery_rate",
            "health.recovery_cap",
            "health.looping_cost",
            "health.runaway_cost",
            "health.incident_cost",
            "health.failed_calls_from",
            "notify.command",
            "notify.webhook",
            "notify.webhook_key",
            "notify.ntfy",
            "notify.slack",
            "notify.desktop",
            "notify.link_base",
        ],
        source: "Master spec §5; SPEC §3, Gate 4.",
        fires: "Nine tools that timed out, 0.05 each: health 0.55, HEALTH_DEGRADED.",
        quiet: "A test command that ran and exited with 1, twice: no execution error, health stays 1.",
    },
    RuleEntry {
        id: "GATE-5",
        title: "The three allowed adaptations",
        what: "Intensity follows a rolling average, the token budget shrinks with health, and the similarity threshold \
               comes down a little as recent calls fail. Nothing else adapts. Thresholds of health, the intent table and \
               the confidence formula stay as they were at the start.",
        threshold: "Budget times health; similarity threshold minus at most 0.05 times the error rate of the last 20 \
                    calls.",
        settings: &["gate.max_tokens_per_minute", "loops.loop_similarity_threshold"],
        source: "Master spec §6; SPEC §3, Gate 5.",
        fires: "At health 0.8 a minute of 40,001 tokens is over budget.",
        quiet: "At health 1 the same minute is not.",
    },
    RuleEntry {
        id: "GATE-6",
        title: "Refusals that are not vetoes",
        what: "Missing permission, a spent wall clock, a missing review, an ended or held session and a broken guard are \
               typed errors of their own. When several apply the strictest answers: an ended session, then a refused \
               request, then a hold, then a veto.",
        threshold: "None: it is an order.",
        settings: &[],
        source: "Phase 0, error types; SPEC §3, Gate 6.",
        fires: "A request without a role in a paused session: PermissionDenied is the answer.",
        quiet: "A request with its role and permission in an open session receives a permit.",
    },
    RuleEntry {
        id: "GATE-7",
        title: "What a runaway leads to",
        what: "`strict` ends the session at the first evidence of a runaway. In `balanced` the tempo alone is a note; while an \
               override of a loop stands it vetoes, waits one cooldown, and ends the session if the evidence has held all the \
               while. One step at an ordinary pace ends the suspicion.",
        threshold: "At once in `strict`; one cooldown of uninterrupted evidence beside a loop in `balanced`.",
        settings: &["gate.cooldown_duration_ms", "activity.tempo_compression_ratio"],
        source: "Master spec §4.4; SPEC §3, Gate 7.",
        fires: "A runaway in `strict`: the session stops with RUNAWAY.",
        quiet: "Quick reads after a slow start in `balanced`: a note.",
    },
    RuleEntry {
        id: "GATE-8",
        title: "Money and sub-agents",
        what: "One budget covers the whole tree of agents of a session. The tree itself is bounded in depth and in \
               number. Both hold for sub-agents without their doing.",
        threshold: "See GATE-8.money and GATE-8.agents.",
        settings: &["money.budget_micro_usd", "money.warning_share", "limits.max_agent_depth", "limits.max_agents"],
        source: "SPEC §3, Gate 8.",
        fires: "A sub-agent spends the last cent: the whole session is held.",
        quiet: "No budget is set: money is counted and shown, and limits nothing.",
    },
    RuleEntry {
        id: "GATE-8.money",
        title: "Money",
        what: "Costs of all agents are summed in millionths of a dollar. At the warning share the agent is warned once; at \
               the budget everything is held until a person raises it. A request may reserve its price beforehand and is \
               refused when that does not fit. A budget binds in observe mode as well.",
        threshold: "Warned at 0.8 of the budget, held at the whole of it.",
        settings: &["money.budget_micro_usd", "money.warning_share", "money.prices"],
        source: "SPEC §3, Gate 8.",
        fires: "A budget of 1,000,000 and events that cost 1,000,000 together: held for money.",
        quiet: "The same budget and 799,999 spent: nothing is said.",
    },
    RuleEntry {
        id: "GATE-8.agents",
        title: "The tree of agents",
        what: "Every agent id that acts for the first time counts, and its depth is one more than its parent's. A new \
               agent beyond either bound is refused by name. The main agent has no id and never counts.",
        threshold: "Depth 2, 12 sub-agents in all.",
        settings: &["limits.max_agent_depth", "limits.max_agents"],
        source: "SPEC §3, Gate 8.",
        fires: "The thirteenth sub-agent, or a child of a grandchild.",
        quiet: "Five children that take fifty turns between them.",
    },
];
