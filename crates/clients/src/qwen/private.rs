//! Qwen Code's own files, as a confined run copies them.

use crate::private_files::{PrivateFiles, PrivateRoot};

/// Its login is not among them: the gateway does not speak to the service that it is for.
pub(super) static PRIVATE: PrivateFiles = PrivateFiles {
    roots: &[PrivateRoot {
        variable: "QWEN_HOME",
        below_home: ".qwen",
        folder: "",
        beside: &[],
        copied: &[
            "settings.json",
            "installation_id",
            "trustedFolders.json",
            "QWEN.md",
            "agents",
            "commands",
            "extensions",
            "skills",
        ],
        kept: &["projects", "todos", "tmp", "history"],
    }],
    credential: None,
};
