//! The sandbox.

use super::entry::RuleEntry;

/// BOX.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "BOX-1",
        title: "Confinement",
        what: "Shell and code see only approved paths, no secrets, no network unless a host is allowed by name, and no \
               way to their parent. Protected places are read-only with every folder above them pinned. The whole tree of \
               processes ends with the call.",
        threshold: "Anything outside the allow-list.",
        settings: &["sandbox.allow_hosts"],
        source: "Agent loop §4; SPEC §10.",
        fires: "`cat ~/.ssh/id_ed25519` inside the sandbox: no such file.",
        quiet: "`cargo test` inside the workspace.",
    },
    RuleEntry {
        id: "BOX-2",
        title: "A missing layer is a refusal",
        what: "Every layer of the sandbox must be there before anything runs. A missing one is named and nothing is \
               executed. `tripwire doctor` says what is missing and how to get it.",
        threshold: "One missing layer.",
        settings: &["gate.on_guard_failure"],
        source: "SPEC §1.5 and §10.",
        fires: "A kernel without Landlock: refused, and the layer is named.",
        quiet: "All layers are present.",
    },
    RuleEntry {
        id: "BOX-3",
        title: "Deterministic capture",
        what: "Commands run without a terminal, with stdin closed and a fixed environment. Output and exit code are \
               captured the same way each time. A prompt for input ends at once instead of hanging.",
        threshold: "None: it holds for every run.",
        settings: &[],
        source: "Agent loop §4; SPEC §10.",
        fires: "A command that asks for a password reads end of file.",
        quiet: "A command that asks for nothing is not affected.",
    },
    RuleEntry {
        id: "BOX-4",
        title: "Budgets of a run",
        what: "Memory, processes, processor time, file size and time of a run are bounded. Crossing a bound ends the run and \
               says which; processor time is only dealt out. As root the limit on processes comes from a control group, \
               because the older limit does not bind root.",
        threshold: "The bounds of the sandbox settings.",
        settings: &[
            "sandbox.time_limit_ms",
            "sandbox.memory_mib",
            "sandbox.processes",
            "sandbox.cpu_milli",
            "sandbox.disk_mib",
            "sandbox.output_mib",
        ],
        source: "SPEC §10.",
        fires: "A fork bomb: ended by the bound on processes.",
        quiet: "A build with eight compilers at once.",
    },
    RuleEntry {
        id: "BOX-5",
        title: "A client in the sandbox",
        what: "`tripwire run --sandbox` puts a client's whole tree into the same layers: no key, no file outside of the \
               workspace but programs, no host but the run's gateway and those that were allowed. The client's own files are \
               a private copy, of which only known fields of a renewed credential come back. What a wall saw is journaled.",
        threshold: "None: it holds for every run that asks for it.",
        settings: &[],
        source: "SPEC §14.",
        fires: "The agent asks for a host that was not allowed: refused, and written down.",
        quiet: "A commit, a development server on the sandbox's own loopback, a test run.",
    },
];
