//! The servers of a text of settings, and the text with our guard before them and without.

use super::entry::ToolServer;
use super::server_form::ServerForm;
use super::{edit, json, toml};
use crate::install::settings::SettingsError;

/// Why the servers in a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServersError {
    /// JSON that is none, or of another shape.
    Json(SettingsError),
    /// TOML that is none.
    Toml(String),
}

/// The servers in a text of settings.
///
/// # Errors
/// When the text is not what the client reads.
pub(crate) fn servers(text: &str, form: ServerForm) -> Result<Vec<ToolServer>, ServersError> {
    match form {
        ServerForm::McpServers { .. } | ServerForm::CommandLists => {
            json::servers(text, form).map_err(ServersError::Json)
        }
        ServerForm::TomlTables => toml::servers(text).map_err(ServersError::Toml),
    }
}

/// The text with our guard before every server that is started by a command.
///
/// # Errors
/// When the text is not what the client reads, or could not be restored to the same bytes.
pub(crate) fn guard_all(text: &str, form: ServerForm, program: &str) -> Result<String, ServersError> {
    let guarded = edit::with_guard(text, &servers(text, form)?, program);
    let is_restored = restored(&guarded, form).is_ok_and(|back| restored(text, form).is_ok_and(|open| back == open));
    if is_restored {
        return Ok(guarded);
    }
    let shape = SettingsError::Shape { member: form.member().to_owned(), wanted: "in a form that can be restored" };
    Err(match form {
        ServerForm::McpServers { .. } | ServerForm::CommandLists => ServersError::Json(shape),
        ServerForm::TomlTables => ServersError::Toml(shape.to_string()),
    })
}

/// The text without our guard, where it stands as `init` writes it.
///
/// # Errors
/// When the text is not what the client reads.
pub(crate) fn restored(text: &str, form: ServerForm) -> Result<String, ServersError> {
    Ok(edit::without_guard(text, &servers(text, form)?))
}

/// The same; a text that cannot be read stays as it is.
pub(crate) fn restored_or_same(text: &str, form: Option<ServerForm>) -> String {
    form.and_then(|form| restored(text, form).ok()).unwrap_or_else(|| text.to_owned())
}
