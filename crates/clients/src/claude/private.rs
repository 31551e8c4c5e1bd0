//! Claude Code's own files, as a confined run copies them.

use crate::private_files::{CredentialFile, PrivateFiles, PrivateRoot};

/// Its folder; the file beside it lies in the folder once the variable names one.
pub(super) static PRIVATE: PrivateFiles = PrivateFiles {
    roots: &[PrivateRoot {
        variable: "CLAUDE_CONFIG_DIR",
        below_home: ".claude",
        folder: "",
        beside: &[".claude.json"],
        copied: &[
            ".credentials.json",
            ".claude.json",
            "settings.json",
            "settings.local.json",
            "CLAUDE.md",
            "keybindings.json",
            "agents",
            "commands",
            "hooks",
            "output-styles",
            "plugins",
            "rules",
            "skills",
        ],
        kept: &["projects", "todos", "file-history"],
    }],
    credential: Some(CredentialFile {
        name: ".credentials.json",
        fields: &[
            &["claudeAiOauth", "accessToken"],
            &["claudeAiOauth", "refreshToken"],
            &["claudeAiOauth", "expiresAt"],
            &["claudeAiOauth", "refreshTokenExpiresAt"],
        ],
        hosts: &["console.anthropic.com", "platform.claude.com"],
    }),
};
