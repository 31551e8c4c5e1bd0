//! How a file of settings names tool servers.

/// How servers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerForm {
    /// JSON: `mcpServers: {NAME: {command: TEXT, args: [TEXT]}}`, also in each member of this one.
    McpServers {
        /// A member of the file whose own members may hold such an object too.
        also_in: Option<&'static str>,
    },
    /// JSON: `mcp: {NAME: {command: [TEXT]}}`.
    CommandLists,
    /// TOML: `[mcp_servers.NAME]` with `command` and `args`.
    TomlTables,
}

impl ServerForm {
    /// The member of a file that holds the servers.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::McpServers { .. } => "mcpServers",
            Self::CommandLists => "mcp",
            Self::TomlTables => "mcp_servers",
        }
    }
}
