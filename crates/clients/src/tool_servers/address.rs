//! A tool server with an address in a client's settings: whether our guard can take its place, and what the guard reads of it.
//!
//! The guard gets the entry, as it stood there, in a variable: so an address and its headers are on no command line, and the
//! settings hold every byte that is to be restored.

use crate::launch::relaxed;
use serde_json::{Map, Value};
use std::borrow::Cow;
use toml_edit::{DocumentMut, Item};
use tripwire_core::explain::{ExitClass, Explain};

/// The variable in which the guard gets the entry.
pub const ENTRY_VARIABLE: &str = "TRIPWIRE_MCP_ENTRY";
/// The members that hold an address, the strongest first.
pub(crate) const ADDRESSES: [&str; 3] = ["httpUrl", "url", "serverUrl"];
/// The members that say how a server is reached; all others are the client's and stay.
const TRANSPORT: [&str; 8] =
    ["type", "httpUrl", "url", "serverUrl", "headers", "http_headers", "env_http_headers", "bearer_token_env_var"];
/// Members by which the client itself logs in.
const LOGIN: [&str; 8] = [
    "oauth",
    "auth",
    "authProviderType",
    "targetAudience",
    "targetServiceAccount",
    "headersHelper",
    "oauth_resource",
    "scopes",
];

/// Whether a member says how a server is reached.
pub(crate) fn is_transport(member: &str) -> bool {
    TRANSPORT.contains(&member)
}

/// Why our guard cannot take the place of an entry with these members and this `type`.
pub(crate) fn obstacle<'a>(members: impl IntoIterator<Item = &'a str>, kind: Option<&str>) -> Option<&'static str> {
    for member in members {
        if member == "command" {
            return Some("it has an address and a command");
        }
        if LOGIN.contains(&member) {
            return Some("HTTP, and the client itself logs in there");
        }
    }
    match kind {
        Some("sse") => Some("the older HTTP+SSE transport"),
        Some("ws" | "websocket") => Some("a WebSocket"),
        Some(_) | None => None,
    }
}

/// What the guard needs of an entry.
#[derive(Clone, PartialEq, Eq)]
pub struct AddressEntry {
    /// The address.
    pub url: String,
    /// The headers of every request. They may hold keys, and are never shown.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for AddressEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        formatter.debug_struct("AddressEntry").field("headers", &names).finish_non_exhaustive()
    }
}

/// An entry that the guard cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// It is neither JSON nor TOML.
    #[error("the entry of the tool server cannot be read: it is neither JSON nor TOML")]
    Syntax,
    /// It names no address.
    #[error("the entry of the tool server names no address")]
    NoAddress,
    /// A header is no text.
    #[error("the header `{0}` of the tool server's entry is not a text")]
    Header(String),
    /// A variable that should hold a token is not set.
    #[error("the variable `{0}`, which holds the tool server's token, is not set here")]
    Unset(String),
}

impl Explain for EntryError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Syntax | Self::NoAddress | Self::Header(_) => {
                "take the guard out with `tripwire init --mcp --remove`, look at the entry, and wrap it again".into()
            }
            Self::Unset(_) => "set it where the client is started".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::BadInput
    }
}

impl AddressEntry {
    /// Reads an entry as it stood in the settings; `env` gives the values of variables that it names.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn read(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, EntryError> {
        let entry = members(text).ok_or(EntryError::Syntax)?;
        let url = ADDRESSES.iter().find_map(|name| entry.get(*name)?.as_str()).ok_or(EntryError::NoAddress)?;
        let mut headers = Vec::new();
        for member in ["headers", "http_headers"] {
            for (name, value) in pairs(&entry, member) {
                let value = value.as_str().ok_or_else(|| EntryError::Header(name.clone()))?;
                headers.push((name.clone(), value.to_owned()));
            }
        }
        for (name, variable) in pairs(&entry, "env_http_headers") {
            let variable = variable.as_str().ok_or_else(|| EntryError::Header(name.clone()))?;
            // Its client leaves such a header out, too.
            headers.extend(env(variable).map(|value| (name.clone(), value)));
        }
        if let Some(variable) = entry.get("bearer_token_env_var").and_then(Value::as_str) {
            let token = env(variable).ok_or_else(|| EntryError::Unset(variable.to_owned()))?;
            headers.push(("authorization".to_owned(), format!("Bearer {token}")));
        }
        Ok(Self { url: url.to_owned(), headers })
    }

    /// The address without its query, which may hold a key.
    #[must_use]
    pub fn shown(text: &str) -> Option<String> {
        let entry = members(text)?;
        let url = ADDRESSES.iter().find_map(|name| entry.get(*name)?.as_str())?;
        let plain = url.split(['?', '#']).next().unwrap_or_default();
        let has_path = plain.split_once("://").is_none_or(|(_, rest)| rest.contains('/'));
        Some(if has_path { plain.to_owned() } else { format!("{plain}/") })
    }
}

/// What of an entry may be a key and is not to be shown: the values of its headers, and the query of its address.
pub(crate) fn hidden(text: &str) -> Vec<String> {
    let entry = members(text).unwrap_or_default();
    let headers = ["headers", "http_headers"].into_iter().flat_map(|member| pairs(&entry, member));
    let values = headers.filter_map(|(_, value)| value.as_str());
    let addresses = ADDRESSES.iter().filter_map(|name| entry.get(*name)?.as_str());
    let queries = addresses.filter_map(|url| url.split_once('?').map(|(_, query)| query));
    values.chain(queries).filter(|value| !value.is_empty()).map(str::to_owned).collect()
}

/// The variables that an entry names: its client has to hand them down.
pub(crate) fn variables(entry: &Map<String, Value>) -> Vec<String> {
    let token = entry.get("bearer_token_env_var").and_then(Value::as_str).map(str::to_owned);
    let others = pairs(entry, "env_http_headers").filter_map(|(_, variable)| variable.as_str()).map(str::to_owned);
    token.into_iter().chain(others).collect()
}

/// The members of an entry: an object of JSON, an inline table of TOML, or the lines of a table.
pub(crate) fn members(text: &str) -> Option<Map<String, Value>> {
    if text.trim_start().starts_with('{') {
        if let Ok(object) = relaxed::object(text) {
            return Some(object);
        }
        return table(&format!("entry = {text}"))?.get("entry")?.as_object().cloned();
    }
    table(text)
}

fn table(text: &str) -> Option<Map<String, Value>> {
    let document = text.parse::<DocumentMut>().ok()?;
    Some(document.iter().map(|(name, item)| (name.to_owned(), value(item))).collect())
}

/// Texts and tables of TOML; what else there is does not matter here.
fn value(item: &Item) -> Value {
    if let Some(text) = item.as_str() {
        return Value::from(text);
    }
    item.as_table_like().map_or(Value::Null, |table| {
        Value::Object(table.iter().map(|(name, item)| (name.to_owned(), value(item))).collect())
    })
}

fn pairs<'a>(entry: &'a Map<String, Value>, member: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    entry.get(member).and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_6_an_entry_is_read_in_the_form_of_each_client() {
        let env = |name: &str| (name == "TOKEN").then(|| "t0".to_owned());
        let read = |text: &str| AddressEntry::read(text, &env).map(|entry| (entry.url, entry.headers));
        let with = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            Ok(("https://x/mcp".to_owned(), headers))
        };
        let json = r#"{ // mine
            "type": "http", "url": "https://x/mcp", "headers": {"Authorization": "Bearer k"}, }"#;
        assert_eq!(read(json), with(&[("Authorization", "Bearer k")]));
        assert_eq!(read(r#"{"httpUrl":"https://x/mcp","url":"https://other"}"#), with(&[]));
        let toml = "url = \"https://x/mcp\"\nbearer_token_env_var = \"TOKEN\"\nhttp_headers = { A = \"b\" }";
        assert_eq!(read(toml), with(&[("A", "b"), ("authorization", "Bearer t0")]));
        let inline = r#"{ url = "https://x/mcp", env_http_headers = { A = "TOKEN", B = "NONE" } }"#;
        assert_eq!(read(inline), with(&[("A", "t0")]));
        for (wrong, error) in [
            ("{", EntryError::Syntax),
            ("{}", EntryError::NoAddress),
            (r#"{"url":"u","headers":{"A":1}}"#, EntryError::Header("A".to_owned())),
            ("url = \"u\"\nbearer_token_env_var = \"NONE\"", EntryError::Unset("NONE".to_owned())),
        ] {
            assert_eq!(read(wrong), Err(error), "{wrong}");
        }
        assert!(!format!("{:?}", AddressEntry::read(json, &env).unwrap()).contains("Bearer"));
        assert_eq!(AddressEntry::shown(r#"{"url":"https://x?key=1"}"#).as_deref(), Some("https://x/"));
    }
}
