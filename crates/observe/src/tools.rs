//! The usual tools under the names that different clients give them.

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    /// It changes a file.
    Edit,
    /// It runs a command line.
    Shell,
    /// It shows a file, a folder or a page.
    Read,
    /// It searches.
    Search,
    /// It plans, thinks or keeps a list of tasks.
    Plan,
    /// It waits for something, or asks how far it is.
    Wait,
    /// Anything else.
    Other,
}

const EDIT: &[&str] = &[
    "edit",
    "write",
    "multiedit",
    "notebookedit",
    "apply_patch",
    "applypatch",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "str_replace",
    "text_editor",
    "write_file",
    "writefile",
    "replace",
    "edit_file",
    "create_file",
    "delete_file",
    "insert",
    "search_replace",
    "find_and_replace_code",
    "write_to_file",
    "replace_in_file",
    "apply_diff",
    "insert_content",
    "edit_notebook",
    "write_text_file",
    "move_file",
    "file_editor",
];
const SHELL: &[&str] = &[
    "bash",
    "shell",
    "sh",
    "exec_command",
    "exec",
    "run_shell_command",
    "run_terminal_cmd",
    "run_in_terminal",
    "terminal",
    "execute_command",
    "run_command",
    "local_shell",
    "local_shell_call",
    "execute_bash",
    "container.exec",
    "powershell",
    "run_bash",
    "shell_command",
    "computer_terminal",
    "developer__shell",
];
const READ: &[&str] = &[
    "read",
    "read_file",
    "readfile",
    "view",
    "open",
    "open_file",
    "open_files",
    "cat",
    "ls",
    "list",
    "list_directory",
    "list_dir",
    "listdir",
    "read_many_files",
    "read_multiple_files",
    "read_text_file",
    "webfetch",
    "web_fetch",
    "fetch",
    "visit_page",
    "notebookread",
    "inspect_code",
    "expand_folder",
    "expand_code_chunks",
    "view_image",
    "directory_tree",
    "page_down",
    "page_up",
    "inspect_file_as_text",
    "get_file_info",
    "read_media_file",
    "list_files",
    "recall",
];
const SEARCH: &[&str] = &[
    "grep",
    "glob",
    "search",
    "find",
    "websearch",
    "web_search",
    "google_web_search",
    "search_file_content",
    "search_files",
    "codebase_search",
    "grep_search",
    "file_search",
    "find_files",
    "ripgrep",
    "lookup",
    "find_on_page_ctrl_f",
    "find_next",
    "toolsearch",
    "glob_search",
    "grep_files",
];
const PLAN: &[&str] = &[
    "todowrite",
    "todo_write",
    "todoread",
    "update_plan",
    "write_todos",
    "think",
    "taskcreate",
    "taskupdate",
    "tasklist",
    "taskget",
    "exitplanmode",
    "enterplanmode",
    "exit_plan_mode",
    "sequentialthinking",
    "plan",
    "create_plan",
    "thought",
    "save_memory",
];
const WAIT: &[&str] = &[
    "taskoutput",
    "bashoutput",
    "wait",
    "sleep",
    "write_stdin",
    "check_status",
    "poll",
    "wait_for",
    "agentoutputtool",
    "monitor",
    "get_terminal_output",
    "wait_agent",
];

/// What a tool does, by its name; servers and namespaces before the name (`mcp__fs__write_file`) do not matter.
pub(super) fn kind(tool: &str) -> ToolKind {
    let lower = tool.trim().to_ascii_lowercase();
    let short = lower.rsplit(['/', ':', '.']).next().unwrap_or(&lower);
    let short = short.rsplit("__").next().unwrap_or(short);
    const TABLE: [(&[&str], ToolKind); 6] = [
        (EDIT, ToolKind::Edit),
        (SHELL, ToolKind::Shell),
        (READ, ToolKind::Read),
        (SEARCH, ToolKind::Search),
        (PLAN, ToolKind::Plan),
        (WAIT, ToolKind::Wait),
    ];
    let known = |name: &str| TABLE.iter().find(|(names, _)| names.contains(&name)).map(|(_, kind)| *kind);
    known(&lower).or_else(|| known(short)).unwrap_or(ToolKind::Other)
}

/// The sub-commands of the editor tools that only look.
pub(super) fn is_view(sub_command: &str) -> bool {
    matches!(sub_command.trim(), "view" | "read" | "open" | "ls" | "list" | "show" | "find" | "search" | "get")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_tools_are_known_under_the_names_of_many_clients() {
        for (name, expected) in [
            ("Edit", ToolKind::Edit),
            ("apply_patch", ToolKind::Edit),
            ("mcp__fs__write_file", ToolKind::Edit),
            ("functions.exec_command", ToolKind::Shell),
            ("Bash", ToolKind::Shell),
            ("run_shell_command", ToolKind::Shell),
            ("Read", ToolKind::Read),
            ("google_web_search", ToolKind::Search),
            ("TodoWrite", ToolKind::Plan),
            ("BashOutput", ToolKind::Wait),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    #[test]
    fn an_unknown_tool_is_other() {
        for name in ["", "editor_of_dreams", "get_reservation_details", "bashful", "__", "::"] {
            assert_eq!(kind(name), ToolKind::Other, "{name}");
        }
    }
}
