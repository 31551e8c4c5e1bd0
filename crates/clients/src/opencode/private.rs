//! opencode's own files, as a confined run copies them: its configuration, and its data with the credentials.

use crate::private_files::{CredentialFile, PrivateFiles, PrivateRoot};

pub(super) static PRIVATE: PrivateFiles = PrivateFiles {
    roots: &[
        PrivateRoot {
            variable: "XDG_CONFIG_HOME",
            below_home: ".config",
            folder: "opencode",
            beside: &[],
            copied: &[
                "opencode.json",
                "opencode.jsonc",
                "config.json",
                "AGENTS.md",
                "agent",
                "agents",
                "command",
                "commands",
                "mode",
                "modes",
                "plugin",
                "plugins",
                "skill",
                "skills",
                "themes",
                "tool",
                "tools",
            ],
            kept: &[],
        },
        PrivateRoot {
            variable: "XDG_DATA_HOME",
            below_home: ".local/share",
            folder: "opencode",
            beside: &[],
            copied: &["auth.json", "mcp-auth.json"],
            kept: &["storage", "project", "opencode.db", "opencode.db-shm", "opencode.db-wal"],
        },
    ],
    credential: Some(CredentialFile {
        name: "auth.json",
        fields: &[&["*", "access"], &["*", "refresh"], &["*", "expires"]],
        hosts: &["console.anthropic.com", "platform.claude.com", "auth.openai.com", "api.github.com", "github.com"],
    }),
};
