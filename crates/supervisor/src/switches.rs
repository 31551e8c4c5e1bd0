//! What switches a client's hooks off where it can be seen before the start: settings, flags and variables. Under such a
//! switch nothing would be guarded, so nothing is started.

use super::Wish;
use super::arrange::ArrangeError;
use super::program::Program;
use std::ffi::OsString;
use std::path::PathBuf;
use toml_edit::{DocumentMut, Item};
use tripwire_clients::hooks::Client;
use tripwire_clients::install::{read_settings, settings};

/// Claude Code runs no hooks with these.
const CLAUDE_FLAGS: [&str; 2] = ["--bare", "--safe-mode"];
/// The variable for the same.
const CLAUDE_SIMPLE: &str = "CLAUDE_CODE_SIMPLE";
/// The setting of Codex, in a file or behind `-c`.
const CODEX_SETTING: &str = "features.hooks";

/// Refuses a client whose hooks something switches off.
///
/// # Errors
/// When something does.
pub(super) fn none_is_off(wish: &Wish, program: Program, command: &[OsString]) -> Result<(), ArrangeError> {
    let (starter, own) = command.split_at_checked(program.arguments).unwrap_or((command, &[]));
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let own: Vec<String> = own.iter().take_while(|word| *word != "--").map(text).collect();
    let found = match program.client {
        Client::Claude => by_claude_words(&own)
            .or_else(|| by_variable(wish, &starter.iter().map(text).collect::<Vec<_>>()))
            .or_else(|| by_settings(Client::Claude, claude_files(wish))),
        Client::Codex => match by_codex_words(&own) {
            Said::Off(word) => Some(word),
            Said::On => None,
            Said::Nothing => by_codex_file(wish),
        },
        Client::Gemini => by_settings(Client::Gemini, gemini_files(wish)),
    };
    found.map_or(Ok(()), |by| Err(ArrangeError::SwitchedOff { by }))
}

fn by_claude_words(own: &[String]) -> Option<String> {
    own.iter().find(|word| CLAUDE_FLAGS.contains(&word.as_str())).map(|word| format!("`{word}`"))
}

/// The variable in the environment, or before the client in the command line, as `env` takes it.
fn by_variable(wish: &Wish, starter: &[String]) -> Option<String> {
    let given = starter.iter().filter_map(|word| word.strip_prefix(CLAUDE_SIMPLE)?.strip_prefix('='));
    let named = wish.env.iter().filter(|(name, _)| name == CLAUDE_SIMPLE).map(|(_, value)| value.to_string_lossy());
    let mut values = given.map(str::to_owned).chain(named.map(std::borrow::Cow::into_owned));
    let is_on = |value: &String| !["", "0", "false", "no", "off"].contains(&value.to_ascii_lowercase().trim());
    values.find(is_on).map(|value| format!("`{CLAUDE_SIMPLE}={value}`"))
}

/// The files that Claude Code reads: the person's and the workspace's.
fn claude_files(wish: &Wish) -> Vec<PathBuf> {
    let own = wish.homes.claude.clone().or_else(|| wish.homes.home.as_ref().map(|home| home.join(".claude")));
    let folders = [wish.cwd.join(".claude"), wish.workspace.root().join(".claude")].into_iter().chain(own);
    folders.flat_map(|folder| ["settings.json", "settings.local.json"].map(|name| folder.join(name))).collect()
}

/// The workspace's own; the person's is replaced for the run.
fn gemini_files(wish: &Wish) -> Vec<PathBuf> {
    [wish.cwd.as_path(), wish.workspace.root()].map(|folder| folder.join(".gemini/settings.json")).to_vec()
}

fn by_settings(client: Client, files: Vec<PathBuf>) -> Option<String> {
    files.into_iter().find_map(|file| {
        let switch = settings::switched_off(&read_settings(&file)?, client)?;
        Some(format!("`{switch}` in `{}`", file.display()))
    })
}

/// What a command line says about the hooks of Codex.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Off(String),
    On,
    Nothing,
}

/// The last word counts, as it does for the client.
fn by_codex_words(own: &[String]) -> Said {
    let mut said = Said::Nothing;
    for (index, word) in own.iter().enumerate() {
        let next = || own.get(index + 1).cloned().unwrap_or_default();
        let (flag, value) = match word.split_once('=') {
            Some((flag @ ("--disable" | "--enable" | "--config"), value)) => (flag.to_owned(), value.to_owned()),
            Some(_) | None if word.starts_with("-c") && word.len() > 2 && !word.starts_with("--") => {
                ("-c".to_owned(), word.trim_start_matches("-c").trim_start_matches('=').to_owned())
            }
            Some(_) | None => (word.clone(), next()),
        };
        let shown = if flag == *word { format!("`{word} {value}`") } else { format!("`{word}`") };
        said = match (flag.as_str(), value.as_str()) {
            ("--disable", "hooks") => Said::Off(shown),
            ("--enable", "hooks") => Said::On,
            ("-c" | "--config", setting) => match setting.split_once('=') {
                Some((name, value)) if name.trim() == CODEX_SETTING && value.trim() == "false" => Said::Off(shown),
                Some((name, value)) if name.trim() == CODEX_SETTING && value.trim() == "true" => Said::On,
                Some(_) | None => said,
            },
            _ => said,
        };
    }
    said
}

/// The person's configuration, and the workspace's.
fn by_codex_file(wish: &Wish) -> Option<String> {
    let own = wish.homes.codex.clone().or_else(|| wish.homes.home.as_ref().map(|home| home.join(".codex")));
    let folders = [wish.cwd.join(".codex"), wish.workspace.root().join(".codex")].into_iter().chain(own);
    let is_off = |file: &PathBuf| {
        let document = read_settings(file).and_then(|text| text.parse::<DocumentMut>().ok());
        let switch = document.and_then(|document| document.get("features")?.get("hooks").and_then(Item::as_bool));
        switch == Some(false)
    };
    let file = folders.map(|folder| folder.join("config.toml")).find(is_off)?;
    Some(format!("`{CODEX_SETTING} = false` in `{}`", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn const_5_flags_that_switch_hooks_off_are_seen_in_every_spelling() {
        for line in ["--bare -p x", "-p x --safe-mode"] {
            assert!(by_claude_words(&words(line)).is_some(), "{line}");
        }
        assert_eq!(by_claude_words(&words("-p --barefoot x")), None);
        for (line, shown) in [
            ("exec --disable hooks x", "`--disable hooks`"),
            ("exec --disable=hooks x", "`--disable=hooks`"),
            ("-c features.hooks=false exec x", "`-c features.hooks=false`"),
            ("-cfeatures.hooks=false exec x", "`-cfeatures.hooks=false`"),
            ("--config features.hooks=false exec x", "`--config features.hooks=false`"),
            ("--config=features.hooks=false exec x", "`--config=features.hooks=false`"),
            ("--enable hooks --disable hooks exec x", "`--disable hooks`"),
        ] {
            assert_eq!(by_codex_words(&words(line)), Said::Off(shown.to_owned()), "{line}");
        }
        for line in ["exec --disable web_search x", "-c features.hooksy=false x", "exec hooks", "-c model=m x"] {
            assert_eq!(by_codex_words(&words(line)), Said::Nothing, "{line}");
        }
        for line in ["--disable hooks -c features.hooks=true x", "exec --enable=hooks x"] {
            assert_eq!(by_codex_words(&words(line)), Said::On, "{line}");
        }
    }
}
