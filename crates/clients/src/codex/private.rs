//! Codex CLI's own files, as a confined run copies them.

use crate::private_files::{CredentialFile, PrivateFiles, PrivateRoot};

pub(super) static PRIVATE: PrivateFiles = PrivateFiles {
    roots: &[PrivateRoot {
        variable: "CODEX_HOME",
        below_home: ".codex",
        folder: "",
        beside: &[],
        copied: &[
            "auth.json",
            "config.toml",
            "hooks.json",
            "requirements.toml",
            "installation_id",
            "version.json",
            "AGENTS.md",
            "AGENTS.override.md",
            "prompts",
            "rules",
            "skills",
        ],
        kept: &["sessions", "archived_sessions"],
    }],
    credential: Some(CredentialFile {
        name: "auth.json",
        fields: &[
            &["tokens", "id_token"],
            &["tokens", "access_token"],
            &["tokens", "refresh_token"],
            &["last_refresh"],
        ],
        hosts: &["auth.openai.com"],
    }),
};
