//! What a tool's name says by its words, for tools that nobody has listed: no agent's own names, only common verbs.

use alloc::string::String;

/// What the words of a tool's name say: in small letters, a blank between two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(String);

/// Tools that keep books: rewriting a plan is no work done.
const BOOKS: &[&str] = &["todo", "todos", "task", "tasks", "plan", "think", "thought", "memory", "note", "notes"];
/// Verbs that change something.
const CHANGES: &[&str] = &[
    "edit",
    "edits",
    "editing",
    "editor",
    "multiedit",
    "write",
    "patch",
    "replace",
    "insert",
    "create",
    "delete",
    "remove",
    "rename",
    "move",
    "append",
    "overwrite",
    "save",
    "undo",
    "update",
    "modify",
    "set",
    "add",
    "put",
    "navigate",
    "goto",
    "upload",
];
/// Verbs that run a command line.
const SHELLS: &[&str] =
    &["bash", "shell", "terminal", "exec", "execute", "run", "command", "cmd", "powershell", "sh", "console"];
/// Verbs that ask.
const ASKS: &[&str] = &["search", "websearch", "google", "query", "lookup", "find", "ask", "research", "retrieve"];
/// Words of tools that wait or poll.
const WAITS: &[&str] = &["wait", "sleep", "poll", "watch", "monitor"];
/// What such a tool looks at; by themselves these say nothing of what is done with it.
const WATCHED: &[&str] = &["status", "output"];
/// Further verbs that bring something about.
const ACTS: &[&str] = &[
    "apply", "post", "send", "push", "publish", "render", "generate", "make", "build", "merge", "close", "change",
    "format", "convert", "submit", "clear", "reset",
];

/// Words of tools that use a screen, a mouse or a keyboard.
const SCREEN: &[&str] = &[
    "press", "key", "keys", "hotkey", "keyboard", "mouse", "click", "tap", "swipe", "scroll", "hover", "drag", "type",
    "computer",
];
/// Verbs that look at something and leave it as it is.
const LOOKS: &[&str] = &[
    "get", "check", "list", "show", "fetch", "read", "view", "describe", "inspect", "validate", "verify", "test",
    "count", "open", "load", "ping", "browse", "visit", "is", "has",
];
/// Words of tools that hand a task to another agent.
const SPAWNS: &[&str] = &["spawn", "delegate", "subagent", "subagents", "handoff", "dispatch"];
/// Names of tools that do, by themselves.
const AGENTS: &[&str] = &["task", "agent", "new task", "run agent", "call agent", "start agent"];
/// Words of tools that type into a program that runs.
const TYPES: &[&str] = &["stdin", "process", "terminal", "pty", "tmux"];

impl Name {
    /// Splits `web_search`, `WebSearch` and `mcp__x__web-search` into their words.
    pub(super) fn of(tool: &str) -> Self {
        let mut words = String::with_capacity(tool.len().saturating_mul(2));
        let mut before = ' ';
        for c in tool.chars() {
            let boundary = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && before.is_ascii_lowercase());
            if boundary && !words.is_empty() && !words.ends_with(' ') {
                words.push(' ');
            }
            if c.is_ascii_alphanumeric() {
                words.push(c.to_ascii_lowercase());
            }
            before = c;
        }
        words.truncate(words.trim_end().len());
        Self(words)
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split(' ')
    }

    /// Whether one of the words is in a list.
    pub(super) fn has(&self, list: &[&str]) -> bool {
        self.words().any(|word| list.contains(&word))
    }

    /// Whether it changes something.
    pub(super) fn changes(&self) -> bool {
        self.has(CHANGES) && !self.has(BOOKS)
    }

    /// Whether it runs a command line.
    pub(super) fn runs(&self) -> bool {
        self.has(SHELLS)
    }

    /// Whether it asks.
    pub(super) fn asks(&self) -> bool {
        self.has(ASKS) && !self.has(CHANGES)
    }

    /// Whether what it does shows on a screen.
    pub(super) fn is_on_screen(&self) -> bool {
        self.has(SCREEN)
    }

    /// Whether it looks at something, or runs what it is given.
    pub(super) fn looks(&self) -> bool {
        let looks = self.has(LOOKS) || self.has(ASKS) || self.waits() || self.has(SHELLS);
        looks && !self.has(CHANGES)
    }

    /// Whether it hands a task to another agent.
    pub(super) fn spawns(&self) -> bool {
        let is_last = |agent: &&str| self.0.strip_suffix(*agent).is_some_and(|server| server.ends_with(' '));
        let served = self.0.starts_with("mcp ") && AGENTS.iter().any(is_last);
        served || AGENTS.contains(&self.0.as_str()) || self.has(SPAWNS)
    }

    /// Whether it types into a program that runs.
    pub(super) fn types(&self) -> bool {
        self.has(TYPES)
    }

    /// Whether it waits.
    pub(super) fn waits(&self) -> bool {
        self.has(WAITS) || (self.has(WATCHED) && !self.has(ACTS) && !self.has(CHANGES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_it_does_in_any_spelling() {
        for tool in ["web_search", "WebSearch", "mcp__x__web-search", "SEARCH"] {
            assert!(Name::of(tool).asks() && !Name::of(tool).changes(), "{tool}");
        }
        for tool in ["create_ticket", "fs.deleteFile", "str_replace_editor"] {
            assert!(Name::of(tool).changes(), "{tool}");
        }
        assert!(Name::of("run_it").runs());
        for tool in ["TaskOutput", "BashOutput", "job_status", "get_status", "wait_for", "mcp__ci__poll"] {
            assert!(Name::of(tool).waits(), "{tool}");
        }
        for tool in ["set_status", "update_status", "render_output", "write_output", "format_output"] {
            assert!(!Name::of(tool).waits(), "{tool}");
        }
        for tool in ["Task", "Agent", "spawn_agent", "mcp__team__run_agent", "delegate_to", "new_task"] {
            assert!(Name::of(tool).spawns(), "{tool}");
        }
        for tool in ["TaskOutput", "TaskCreate", "wait_agent", "user_agent", "AgentOutputTool"] {
            assert!(!Name::of(tool).spawns(), "{tool}");
        }
    }

    #[test]
    fn books_and_unknown_names_say_nothing() {
        for tool in ["todo_write", "update_plan", "bashful", "", "get_details", "researcher"] {
            let name = Name::of(tool);
            assert!(!name.changes() && !name.asks() && !name.runs() && !name.waits(), "{tool}");
        }
    }
}
