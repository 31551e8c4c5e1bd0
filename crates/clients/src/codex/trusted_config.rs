//! The marks of trust in Codex's `config.toml`, and beside them the switch that keeps commands from getting an open
//! terminal: what is typed into one reaches no hook.

use super::app_server::NO_TERMINALS;
use std::collections::BTreeSet;
use toml_edit::{DocumentMut, Item, Table, value};

pub(super) fn with_marks(text: &str, marks: &[(String, String)]) -> Result<String, String> {
    let mut document = parse(text)?;
    let hooks = silent_table(document.as_table_mut(), "hooks")?;
    let state = silent_table(hooks, "state")?;
    for (key, hash) in marks {
        silent_table(state, key)?.insert("trusted_hash", value(hash));
    }
    for (key, _) in marks {
        // A table that holds something is written with its own line.
        if let Some(table) = state.get_mut(key).and_then(Item::as_table_mut) {
            table.set_implicit(false);
        }
    }
    let (section, switch) = switch();
    let features = document.entry(section).or_insert_with(|| Item::Table(Table::new()));
    let features = features.as_table_like_mut().ok_or_else(|| format!("`{section}` is not a table"))?;
    if features.get(switch).and_then(Item::as_bool) != Some(false) {
        features.insert(switch, value(false));
    }
    Ok(document.to_string())
}

/// The section and the name of the switch for open terminals.
fn switch() -> (&'static str, &'static str) {
    NO_TERMINALS.split_once('.').unwrap_or((NO_TERMINALS, ""))
}

/// A table, made if there is none, that gets no line of its own while it only holds tables.
fn silent_table<'a>(within: &'a mut Table, name: &str) -> Result<&'a mut Table, String> {
    let item = within.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    item.as_table_mut().ok_or_else(|| format!("`{name}` is not a table"))
}

pub(super) fn marks(text: &str, keys: &[String]) -> Result<Vec<(String, String)>, String> {
    let document = parse(text)?;
    let state = document.get("hooks").and_then(|hooks| hooks.get("state"));
    let hash = |key: &String| state?.get(key)?.get("trusted_hash")?.as_str().map(str::to_owned);
    Ok(keys.iter().filter_map(|key| Some((key.clone(), hash(key)?))).collect())
}

/// What becomes of the switch for open terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalSwitch {
    Stays,
    Goes,
}

pub(super) fn without_marks(text: &str, keys: &[String], becomes: TerminalSwitch) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(hooks) = document.get_mut("hooks").and_then(Item::as_table_mut) else { return Ok(text.to_owned()) };
    if let Some(state) = hooks.get_mut("state").and_then(Item::as_table_like_mut) {
        for key in keys {
            state.remove(key);
        }
    }
    let (section, switch) = switch();
    if let (TerminalSwitch::Goes, Some(features)) =
        (becomes, document.get_mut(section).and_then(Item::as_table_like_mut))
    {
        features.remove(switch);
        if features.is_empty() {
            document.remove(section);
        }
    }
    Ok(document.to_string())
}

pub(super) fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

/// The files whose hooks a configuration trusts: the first part of each key.
pub(super) fn trusted_files(text: &str) -> Result<BTreeSet<String>, String> {
    let document = parse(text)?;
    let state = document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Item::as_table_like);
    Ok(state.into_iter().flat_map(|state| state.iter()).filter_map(|(key, _)| file_of(key)).collect())
}

/// The file in a key of the form `FILE:EVENT:ENTRY:PLACE`.
pub(super) fn file_of(key: &str) -> Option<String> {
    key.rsplitn(4, ':').nth(3).map(str::to_owned)
}
