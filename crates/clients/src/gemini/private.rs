//! Gemini CLI's own files, as a confined run copies them.

use crate::private_files::{CredentialFile, PrivateFiles, PrivateRoot};

pub(super) static PRIVATE: PrivateFiles = PrivateFiles {
    roots: &[PrivateRoot {
        variable: "GEMINI_CLI_HOME",
        below_home: "",
        folder: ".gemini",
        beside: &[],
        copied: &[
            "oauth_creds.json",
            "google_accounts.json",
            "settings.json",
            "installation_id",
            "state.json",
            "projects.json",
            "trustedFolders.json",
            "GEMINI.md",
            "commands",
            "extensions",
            "policies",
            "skills",
        ],
        kept: &["tmp", "history"],
    }],
    credential: Some(CredentialFile {
        name: "oauth_creds.json",
        fields: &[&["access_token"], &["refresh_token"], &["id_token"], &["expiry_date"]],
        hosts: &["oauth2.googleapis.com"],
    }),
};
