//! Tool servers and single tools.

use super::entry::RuleEntry;

/// MCP and TOOL.
pub(super) const ENTRIES: &[RuleEntry] = &[
    RuleEntry {
        id: "MCP-1",
        title: "Every call of a tool server is asked about",
        what: "`tripwire mcp` stands between a client and an MCP server. Each `tools/call` is a request to the engine, decided on \
               exactly what the server would read; what two readers may take differently is refused. A refusal is a tool \
               error with its reason; PAUSE and approvals hold the call; STOP refuses it.",
        threshold: "Every call, in whatever spelling.",
        settings: &[],
        source: "SPEC §14.",
        fires: "STOP stands and the client sends `tools\\/call`: refused, nothing reaches the server.",
        quiet: "A call that nothing speaks against reaches the server byte for byte.",
    },
    RuleEntry {
        id: "MCP-2",
        title: "Tools are pinned",
        what: "The tools that a server lists at first sight (names, descriptions, schemas, annotations) are pinned by SHA-256. A \
               tool that changes or is new later is left out of the list that the client gets, and calls to it are held as \
               TOOL_CHANGED until a person runs `tripwire mcp trust NAME`. Other tools go on.",
        threshold: "Any difference but the order.",
        settings: &[],
        source: "SPEC §14.",
        fires: "A description changes after the server was pinned: the tool is left out and its calls are held.",
        quiet: "The same tools come in another order or on other pages.",
    },
    RuleEntry {
        id: "MCP-3",
        title: "Arguments and results of tool servers",
        what: "Arguments that certainly do not fit a tool's declared inputSchema end before the server, a structured result that \
               does not fit its outputSchema is not passed on. A large result is cut, with a pointer to the whole in memory. \
               Binary content is recorded by its digest, secrets as placeholders.",
        threshold: "1,024 KiB of one result, or the tool's own `max_output`.",
        settings: &["tools.max_output_kib", "tools.limits"],
        source: "SPEC §14.",
        fires: "A required argument is missing: the call is answered with the place and the reason.",
        quiet: "A schema with keywords that nobody here knows.",
    },
    RuleEntry {
        id: "MCP-4",
        title: "Everything else passes",
        what: "Messages that are no calls and no lists of tools pass the guard byte for byte and in order, both ways. Unknown \
               methods, notifications, progress, cancellation and versions of the protocol to come are among them.",
        threshold: "Messages of at most 64 MiB.",
        settings: &[],
        source: "SPEC §14.",
        fires: "A server sends a message with a name twice: it is not passed on, and the side that waits for it gets an error.",
        quiet: "A method that nobody knows yet.",
    },
    RuleEntry {
        id: "TOOL-3",
        title: "Limits of single tools",
        what: "The policy may limit a tool by name, of an MCP server (`github/create_issue`, `github/*`) or a built-in one: calls \
               in a session, calls in a sliding minute, a person's leave for each call. What was refused does not count.",
        threshold: "As set; none by default.",
        settings: &["tools.limits"],
        source: "SPEC §14.",
        fires: "The sixth call of a tool with `max_calls: 5`.",
        quiet: "Any number of calls of another tool.",
    },
];
