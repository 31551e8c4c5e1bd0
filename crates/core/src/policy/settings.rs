//! Every setting, defined once: section, type, default, meaning, source.

use super::answer_wait::AnswerWait;
use super::by_profile::ByProfile;
use super::list::{List, NarrowList};
use super::own_prices::OwnPrices;
use super::setting::{
    Limit, OnGuardFailure, OnOutbound, OnOutside, OnPublish, OnToolError, Profile, Setting, SettingError, SettingRow,
    Switch, Text,
};
use super::tool_limits::ToolLimits;
use crate::units::{Count, MicroUsd, Ratio, RunMillis, Tokens};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Declares the sections of the policy; see the module's head for what one line yields.
macro_rules! settings {
    ($($(#[doc = $about:literal])* $section:ident $field:ident {
        $($(#[doc = $doc:literal])* $key:ident: $type:ty = $default:expr, $source:literal;)*
    })*) => {
        $(
            $(#[doc = $about])*
            #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
            pub struct $section { $($(#[doc = $doc])* pub $key: $type,)* }

            impl Default for $section {
                fn default() -> Self {
                    Self { $($key: $default,)* }
                }
            }
        )*

        /// All thresholds of a session, frozen at its start.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        pub struct Policy {
            /// Which reading of the loop rules holds.
            pub profile: Profile,
            $($(#[doc = $about])* pub $field: $section,)*
        }

        impl Policy {
            /// Sets a known setting; `None` when there is none of that name.
            pub(super) fn set_known(&mut self, path: &str, text: &str) -> Option<Result<(), SettingError>> {
                match path {
                    "profile" => Some(Setting::read(text).map(|value| self.profile = value)),
                    $($(concat!(stringify!($field), ".", stringify!($key)) => {
                        Some(Setting::read(text).map(|value| self.$field.$key = value))
                    })*)*
                    _ => None,
                }
            }

            /// Every setting with its value, meaning and source, in the order of the reference.
            #[must_use]
            pub fn rows(&self) -> Vec<SettingRow> {
                let mut rows = alloc::vec![
                    row("profile", &self.profile, "Which reading of the loop rules holds.", "SPEC §4.2"),
                    $($(row(
                        concat!(stringify!($field), ".", stringify!($key)),
                        &self.$field.$key,
                        concat!($($doc, "\n",)*),
                        $source,
                    ),)*)*
                ];
                for row in rows.iter_mut().filter(|row| row.value == "auto") {
                    row.in_force = self.of_profile(row.path);
                }
                rows
            }
        }
    };
}

fn row(path: &'static str, value: &impl Setting, doc: &'static str, source: &'static str) -> SettingRow {
    SettingRow { path, value: value.show(), in_force: None, doc: doc.trim(), source, another: Some(value.another()) }
}

settings! {
    /// The seed's own keys: caps and loop counts.
    Safety safety {
        /// Iterations per session before a checkpoint waits for a person.
        max_iterations: Count = Count::new(100), "geometry: iteration cap";
        /// Failed iterations in a row before a blocker report waits for a person.
        max_consecutive_failures: Count = Count::new(3), "geometry: no-progress heuristic";
        /// Tool calls among which equal signatures are counted.
        signature_history_depth: Count = Count::new(10), "geometry: signature-based detection";
        /// Equal signatures that are noted.
        soft_loop_threshold: Count = Count::new(3), "geometry: signature-based detection";
        /// Equal signatures that hold the agent and ask the advisor.
        hard_loop_threshold: Count = Count::new(5), "geometry: signature-based detection";
    }
    /// The context gate, in per cent of the model's window.
    Context context {
        /// Warn the agent.
        warning_threshold: Count = Count::new(75), "geometry: context compaction gate";
        /// Write the briefing and restart the worker.
        mandatory_threshold: Count = Count::new(80), "geometry: context compaction gate";
        /// Block every tool call until the context is cleared.
        hard_block_threshold: Count = Count::new(85), "geometry: context compaction gate";
        /// The window when neither provider nor client says how large it is.
        default_window: Tokens = Tokens::new(200_000), "geometry: context compaction gate";
        /// Compactions without a change of the workspace that are a loop.
        spiral_compactions: Count = Count::new(3), "SPEC §6";
    }
    /// When work counts as verified.
    DirtyBits dirty_bits {
        /// The command that runs the tests; empty means: detect it.
        test_command: Text = Text::new(""), "SPEC §5.2";
        /// How often in a row a claim to be done is refused before it is released with its verdict.
        max_refusals: Count = Count::new(2), "SPEC §5.2";
        /// Paths whose change asks for documentation; empty means: report only.
        api_paths: List = List::new(""), "SPEC §5.2";
        /// Paths that count as documentation.
        docs_paths: List = List::new(""), "SPEC §5.2";
    }
    /// Who may do critical things.
    Identity identity {
        /// Roles that may do critical operations.
        authorized_roles: List = List::new("developer"), "geometry: agentic identity";
        /// The caller's correlation id; empty means: the session's id.
        workflow_binding: Text = Text::new(""), "geometry: agentic identity";
        /// The role of an agent, unless `--role` or `TRIPWIRE_ROLE` says otherwise.
        role: Text = Text::new("developer"), "SPEC §8.1";
        /// Folders whose files are source; `.` is the whole workspace.
        source_dirs: List = List::new("."), "phase 0: permission enforcement";
        /// Operations that need a checksum on the gold-standard list and an authorized role.
        critical_operations: List = List::new("git push"), "SPEC §8.3";
        /// Branches to which a push is critical; `*` matches anything.
        protected_branches: List = List::new("main,master,release/*"), "SPEC §8.3";
        /// Files whose contents are the agent's prompt.
        prompt_files: List = List::new("CLAUDE.md,AGENTS.md,GEMINI.md"), "geometry: agentic identity";
        /// Files whose contents say which tools the agent has.
        tool_files: List = List::new(".mcp.json"), "geometry: agentic identity";
        /// Files that configure the client that runs the agent.
        client_files: List = List::new(".claude/settings.json,.codex/config.toml,.gemini/settings.json"),
            "geometry: agentic identity";
    }
    /// The review gate.
    Review review {
        /// Whether staged changes are applied only after a review.
        required: Switch = Switch::Off, "phase 0: mechanical review gating";
    }
    /// The judge of commands.
    JudgeSettings judge {
        /// Whether commands that publish wait for a person (`hold`) or pass (`allow`).
        publish: OnPublish = OnPublish::Hold, "SPEC §12";
        /// Hosts to which publishing passes; `*` stands for any text.
        publish_hosts: List = List::new(""), "SPEC §12";
        /// Whether commands that stand in text from outside wait for a person (`hold`) or pass (`allow`).
        outside: OnOutside = OnOutside::Hold, "SPEC §14";
    }
    /// Secrets in the record.
    Secrets secrets {
        /// Values that are no secrets although they look like one; `*` stands for any text.
        allow: NarrowList = NarrowList::default(), "SPEC §14";
        /// What the gateway does with a model request that carries a secret of the workspace: `note` or `hold` it.
        outbound: OnOutbound = OnOutbound::Note, "SPEC §14";
    }
    /// Caps that end an iteration or a session.
    Limits limits {
        /// Steps per iteration; our own loop sets 10, under someone else's agent it is off unless set.
        max_steps: Limit<Count> = Limit::Off, "phase 0: guaranteed cycle termination";
        /// Whether the step cap only notes.
        max_steps_soft: Switch = Switch::Off, "guardrails: budget enforcement";
        /// Hours per iteration.
        max_runtime_hours: Limit<Count> = Limit::At(Count::new(8)), "phase 0: wall-clock timeout";
        /// Milliseconds per session.
        max_session_runtime_ms: Limit<RunMillis> = Limit::Off, "SPEC §5.4";
        /// How deep sub-agents may nest.
        max_agent_depth: Count = Count::new(2), "SPEC §3 GATE-8";
        /// How many sub-agents may ever start.
        max_agents: Count = Count::new(12), "SPEC §3 GATE-8";
        /// Whether the role stops once three iterations leave the same workspace.
        stop_on_convergence: Switch = Switch::Off, "phase 0: stop_on_convergence";
        /// Whether the objective is an editing one, so that an iteration without a changed file fails.
        editing_objective: Switch = Switch::Off, "SPEC §5.1";
    }
    /// How activity is judged.
    Activity activity {
        /// Silence that counts as idle.
        idle_after_ms: RunMillis = RunMillis::new(30_000), "master spec §3.1";
        /// The shortest time between two changes of the reported mode.
        mode_dwell_ms: RunMillis = RunMillis::new(10_000), "master spec §3.2";
        /// The same for leaving LOOPING or RUNAWAY.
        alarm_dwell_ms: RunMillis = RunMillis::new(30_000), "master spec §3.2";
        /// Recent intervals shorter than this share of the baseline are a runaway.
        tempo_compression_ratio: Ratio = Ratio::from_per_mille(300), "master spec §4.3";
    }
    /// Budgets and rates of the sliding minute.
    Gate gate {
        /// Fresh input plus output tokens per sliding minute; `auto`: 50,000 in `strict`, 600,000 in `balanced`.
        max_tokens_per_minute: ByProfile<Tokens> = ByProfile::Auto, "master spec §4.1; balanced: measured";
        /// Tokens from which a warning is given; `auto`: 40,000 in `strict`, 480,000 in `balanced`.
        token_warning_threshold: ByProfile<Tokens> = ByProfile::Auto, "master spec §4.1; balanced: measured";
        /// Tool calls per sliding minute; `auto`: 60 in `strict`, 300 in `balanced`.
        max_tool_calls_per_minute: ByProfile<Count> = ByProfile::Auto, "master spec §4.2; balanced: measured";
        /// Tool calls from which a warning is given; `auto`: 45 in `strict`, 225 in `balanced`.
        tool_call_warning_threshold: ByProfile<Count> = ByProfile::Auto, "master spec §4.2; balanced: measured";
        /// The wait after a veto of priority 1 to 4.
        cooldown_duration_ms: RunMillis = RunMillis::new(60_000), "master spec §4.3";
        /// What a broken guard means.
        on_guard_failure: OnGuardFailure = OnGuardFailure::Hold, "SPEC §1.5";
    }
    /// System health.
    Health health {
        /// Below it the agent is paused and a person notified.
        soft_suspend_threshold: Ratio = Ratio::from_per_mille(600), "master spec §5.1";
        /// Below it everything stops; only a person's restart clears it.
        hard_stop_threshold: Ratio = Ratio::from_per_mille(300), "master spec §5.1";
        /// What is regained per minute while below the cap.
        recovery_rate: Ratio = Ratio::from_per_mille(10), "master spec §5.1";
        /// Recovery never goes beyond this.
        recovery_cap: Ratio = Ratio::from_per_mille(800), "master spec §5.1";
        /// What entering LOOPING costs.
        looping_cost: Ratio = Ratio::from_per_mille(150), "SPEC §3 GATE-4";
        /// What entering RUNAWAY costs.
        runaway_cost: Ratio = Ratio::from_per_mille(250), "SPEC §3 GATE-4";
        /// What an execution error, a mode flip or a failed call (from the 3rd in a row) costs.
        incident_cost: Ratio = Ratio::from_per_mille(50), "SPEC §3 GATE-4";
        /// Failed calls in a row from which each costs health.
        failed_calls_from: Count = Count::new(3), "SPEC §3 GATE-4";
    }
    /// The loop ladder beyond the seed's keys.
    Loops loops {
        /// Commands that the loop rules do not count; `*` stands for any text, paths count by their first part.
        ignore: List = List::new(""), "people: `tripwire tune`";
        /// Tools whose calls the loop rules do not count; `*` stands for any text.
        exempt_tools: List = List::new(""), "people: `tripwire tune`";
        /// Neighbouring outputs more similar than this count as the same.
        loop_similarity_threshold: Ratio = Ratio::from_per_mille(900), "master spec §4.3";
        /// Events among which outputs are compared (at most 5 are kept).
        loop_window_size: Count = Count::new(5), "master spec §4.3";
        /// Calls among which identical actions are counted in `strict`; up to `loop_repeat_threshold` it means: in a row.
        repeat_window: Count = Count::new(3), "guardrails: loop detection";
        /// Identical actions in a row that cause an override.
        loop_repeat_threshold: Count = Count::new(3), "guardrails: loop detection";
        /// Repeats after the override that are forgiven before the stop, plus one.
        loop_override_max_retries: Count = Count::new(1), "guardrails: loop detection";
        /// Equal signatures that end the session.
        infinite_loop_threshold: Count = Count::new(10), "geometry: signature-based detection";
        /// Repeats of one call with one result among 12 that are held.
        repeat_hold_threshold: Count = Count::new(5), "SPEC §4.1";
        /// Turns of a cycle that are overridden.
        cycle_override_turns: Count = Count::new(3), "SPEC §4, measured";
        /// Turns of a cycle with known results that are held.
        cycle_hold_turns: Count = Count::new(3), "SPEC §4, measured";
        /// Turns of a cycle that end the session after an override.
        cycle_stop_turns: Count = Count::new(5), "SPEC §4, measured";
        /// Equal errors among 12 calls that are overridden.
        error_override_threshold: Count = Count::new(4), "SPEC §4, measured";
        /// Equal errors with a text among 12 calls that are held.
        error_hold_threshold: Count = Count::new(5), "SPEC §4, measured";
        /// Equal errors among 12 calls that end the session after an override.
        error_stop_threshold: Count = Count::new(8), "SPEC §4, measured";
        /// Failures in a row, whatever they say, that are overridden.
        failing_override_threshold: Count = Count::new(5), "SPEC §4, measured";
        /// Failed edits among the last 8 that are overridden.
        edit_failures_threshold: Count = Count::new(5), "SPEC §4, measured";
        /// The share of words that two questions must have in common to be one in other words.
        reword_similarity: Ratio = Ratio::from_per_mille(400), "SPEC §4, measured";
        /// Rewordings with little news in the answer that are overridden.
        reword_threshold: Count = Count::new(2), "SPEC §4, measured";
        /// Calls among 4 that return only what was put into them that are overridden.
        echo_threshold: Count = Count::new(2), "SPEC §4, measured";
        /// Returns of what an override rested on, with the same result, that are held.
        ignored_hold_threshold: Count = Count::new(1), "SPEC §4, measured";
        /// Repeats of one task for other agents that are overridden.
        spawn_threshold: Count = Count::new(3), "SPEC §4, measured";
        /// Replies among 8 that say that the way before did not work that are overridden.
        restart_threshold: Count = Count::new(5), "SPEC §4, measured";
        /// Whether the first advisor is asked, at a hold for a loop, if it is one; its answer is journaled and decides nothing.
        model_check: Switch = Switch::Off, "SPEC §4";
        /// Refused calls in a row, whatever they were, that are noted.
        refusals_note_threshold: Count = Count::new(3), "SPEC §4.6";
        /// Refused calls in a row that hold the agent.
        refusals_hold_threshold: Count = Count::new(5), "SPEC §4.6";
        /// Refused calls among the window that end the session.
        refusals_stop_threshold: Count = Count::new(10), "SPEC §4.6";
        /// Calls among which refused ones are counted (at most 64).
        refusals_window: Count = Count::new(50), "SPEC §4.6";
        /// Requests for one call without a result of any call that are overridden.
        unanswered_override_threshold: Count = Count::new(5), "SPEC §4.6";
        /// Requests for one call without a result of any call that hold the agent.
        unanswered_hold_threshold: Count = Count::new(10), "SPEC §4.6";
    }
    /// Money for the whole agent tree of a session.
    Money money {
        /// The budget; off means that money is counted and not limited.
        budget_micro_usd: Limit<MicroUsd> = Limit::Off, "SPEC §3 GATE-8";
        /// The share at which the agent is warned.
        warning_share: Ratio = Ratio::from_per_mille(800), "SPEC §3 GATE-8";
        /// Prices of models over the built-in list, in dollars per million tokens: `model=INPUT/OUTPUT`, or `model=INPUT/CACHE
        /// READ/CACHE WRITE/LONG CACHE WRITE/OUTPUT`, with commas between models.
        prices: OwnPrices = OwnPrices::none(), "SPEC §3 GATE-8";
    }
    /// Held calls that wait for a person.
    Approvals approvals {
        /// How long a held call waits for an answer before it is refused; `auto`: 10 minutes on a terminal or while a console is
        /// open, else 0.
        wait: AnswerWait = AnswerWait::Auto, "SPEC §14";
    }
    /// Snapshots of the workspace, by which steps are taken back.
    Undo undo {
        /// Whether snapshots are taken.
        snapshots: Switch = Switch::On, "SPEC §12";
        /// Names of folders that no snapshot holds: what a tool can make again.
        exclude: List = List::new(
            "node_modules,target,.venv,venv,__pycache__,.tox,.mypy_cache,.pytest_cache,.ruff_cache,.gradle",
        ), "SPEC §12";
        /// Mebibytes of the largest file that is kept.
        file_mib_max: Count = Count::new(100), "SPEC §12";
        /// Mebibytes that all snapshots of a workspace may take.
        store_mib_max: Count = Count::new(4_096), "SPEC §12";
        /// Days that snapshots are kept.
        keep_days: Count = Count::new(14), "SPEC §12";
    }
    /// Who is notified.
    Notify notify {
        /// A command that is run with the message as its last argument on a soft suspend, a hold or a stop; empty: none.
        command: Text = Text::new(""), "SPEC §13";
        /// An address that gets each message as signed JSON by POST; empty: none. `env:NAME` and `file:PATH` name where it stands.
        webhook: Text = Text::new(""), "SPEC §14";
        /// The key that signs it, as `env:NAME` or `file:PATH`.
        webhook_key: Text = Text::new(""), "SPEC §14";
        /// The address of an ntfy topic, or where it stands.
        ntfy: Text = Text::new(""), "SPEC §14";
        /// The address of a Slack-compatible webhook, or where it stands.
        slack: Text = Text::new(""), "SPEC §14";
        /// Whether messages are shown on the desktop, by `notify-send`.
        desktop: Switch = Switch::Off, "SPEC §14";
        /// The address under which you expose the page of `tripwire web`, such as `https://box.example:8443`; with it a message about a
        /// held command carries a link that answers it once, within an hour. Empty: no links.
        link_base: Text = Text::new(""), "SPEC §14";
    }
    /// Budgets of one sandboxed command of our own loop.
    Sandbox sandbox {
        /// How long it may take.
        time_limit_ms: RunMillis = RunMillis::new(120_000), "SPEC §10";
        /// Mebibytes of memory of the whole tree.
        memory_mib: Count = Count::new(512), "SPEC §10";
        /// Processes and threads alive at once.
        processes: Count = Count::new(256), "SPEC §10";
        /// Thousandths of a processor that the whole tree may use; `off`: all.
        cpu_milli: Limit<Count> = Limit::Off, "SPEC §10";
        /// Mebibytes of all files written.
        disk_mib: Count = Count::new(320), "SPEC §10";
        /// Mebibytes kept of each output stream.
        output_mib: Count = Count::new(8), "SPEC §10";
        /// Hosts that a command may reach through the allow-list proxy, `NAME` or `NAME:PORT`, with spaces between; empty: none.
        allow_hosts: Text = Text::new(""), "SPEC §10";
    }
    /// Caps of tools.
    Tools tools {
        /// Lines that `read_file` returns at most.
        max_lines: Count = Count::new(500), "guardrails: read_file limit";
        /// Kibibytes of one result of a tool server that the agent gets; the whole is kept in memory.
        max_output_kib: Count = Count::new(1_024), "SPEC §14";
        /// Whether a tool that failed ends the run (`stop`) or the model goes on with its error (`continue`).
        on_tool_error: OnToolError = OnToolError::Continue, "agent loop: error handling";
        /// Repairs of an invalid plan or argument before SYSTEM_ERROR.
        repair_max_attempts: Count = Count::new(2), "guardrails: schema repair";
        /// Failed verifications in a session before another engine is taken.
        max_failed_verifications: Count = Count::new(3), "geometry: model fallback strategy";
        /// Limits of single tools: `SERVER/TOOL max_calls=5 per_minute=2 max_output=64KB approve=true`, with `;` between tools; in
        /// a manifest they may be nested below `tools`.
        limits: ToolLimits = ToolLimits::none(), "SPEC §14";
        /// Steps between two recitations in `todo.md`.
        recite_every: Count = Count::new(3), "agent loop: objective recitation";
    }
}
