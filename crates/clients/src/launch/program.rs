//! Which client a command line starts, and where in it the client's own arguments begin.
//!
//! People start clients by name, by path, through a package runner or behind another program (`npx`, `node`, `env`,
//! `timeout`). The client is found by the name of what is started; everything behind it is the client's.

use crate::client::Client;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use tripwire_shell::wrappers::{Kind, Wrapper};

/// A client in a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Which one.
    pub client: Client,
    /// The index of its first own argument.
    pub arguments: usize,
}

/// Programs that start a package or a script, which is named among their own arguments.
const SCRIPT_STARTERS: [&str; 7] = ["npm", "pnpm", "yarn", "node", "nodejs", "bun", "deno"];

/// How far into a command line a started program is looked for.
const LOOK_AHEAD: usize = 12;

impl Program {
    /// Finds the client in a command line.
    #[must_use]
    pub fn find(command: &[OsString]) -> Option<Self> {
        let first = command.first()?;
        if let Some(client) = client_of(first) {
            return Some(Self { client, arguments: 1 });
        }
        if !is_starter(&base_name(first)) {
            return None;
        }
        let ahead = command.iter().enumerate().skip(1).take(LOOK_AHEAD);
        ahead.filter_map(|(index, word)| Some(Self { client: client_of(word)?, arguments: index + 1 })).next()
    }

    /// The client that a person named; its arguments begin where they are found, else behind the program.
    #[must_use]
    pub fn named(client: Client, command: &[OsString]) -> Self {
        match Self::find(command) {
            Some(found) if found.client == client => found,
            Some(_) | None => {
                let any = client.adapter().launch.any_program.and_then(Client::named);
                Self { client: any.unwrap_or(client), arguments: 1 }
            }
        }
    }
}

/// Whether a program starts the one behind it for the same user, with the same files.
fn is_starter(name: &str) -> bool {
    let wrapper = Wrapper::find(name, None);
    SCRIPT_STARTERS.contains(&name) || wrapper.is_some_and(|found| matches!(found.kind, Kind::Same | Kind::Package))
}

/// The client that a word of a command line stands for: a program's name, a path to it, or a package.
fn client_of(word: &OsStr) -> Option<Client> {
    let text = word.to_string_lossy();
    if text.starts_with('-') || text.contains('=') {
        return None;
    }
    // A package's version comes behind a second `@`: `@openai/codex@0.166.0`.
    let package = text.get(1..).and_then(|rest| rest.find('@')).map_or(text.as_ref(), |at| &text[..=at]);
    let known = |client: &Client| {
        let known_by = client.adapter().launch.known_by;
        package == known_by.package || known_by.programs.contains(&base_name(word).as_str())
    };
    Client::every().find(known).or_else(|| match base_name(word).as_str() {
        "cli.js" | "index.js" => client_of_folder(Path::new(word)),
        _ => None,
    })
}

/// A script with an everyday name is known by the package that it lies in.
fn client_of_folder(script: &Path) -> Option<Client> {
    script.ancestors().skip(1).find_map(|folder| {
        let name = folder.file_name()?.to_str()?;
        Client::every().find(|client| client.adapter().launch.known_by.package_folder == name)
    })
}

fn base_name(word: &OsStr) -> String {
    Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(line: &str) -> Option<(Client, usize)> {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Program::find(&command).map(|found| (found.client, found.arguments))
    }

    #[test]
    fn clients_are_found_by_name_path_package_and_behind_starters() {
        for (line, client, arguments) in [
            ("claude -p x", Client::Claude, 1),
            ("/opt/a b/node_modules/.bin/claude", Client::Claude, 1),
            ("npx -y @anthropic-ai/claude-code@2.1.325 -p x", Client::Claude, 3),
            ("node /x/node_modules/@anthropic-ai/claude-code/cli.js -p", Client::Claude, 2),
            ("env A=claude codex exec x", Client::Codex, 3),
            ("npx @openai/codex exec x", Client::Codex, 2),
            ("node /x/@openai/codex/bin/codex.js exec", Client::Codex, 2),
            ("timeout -k 5 100 gemini -p x", Client::Gemini, 5),
            ("caffeinate -i claude -p x", Client::Claude, 3),
            ("node --no-warnings /x/@google/gemini-cli/bundle/gemini.js -p x", Client::Gemini, 3),
            ("node /x/@google/gemini-cli/dist/index.js", Client::Gemini, 2),
            ("opencode run x", Client::Opencode, 1),
            ("node /x/@qwen-code/qwen-code/cli.js -p x", Client::Qwen, 2),
            ("/venv/bin/aider --message x", Client::Aider, 1),
        ] {
            let line_found = if line.contains("a b") {
                let word = OsString::from(line);
                Program::find(&[word]).map(|found| (found.client, found.arguments))
            } else {
                find(line)
            };
            assert_eq!(line_found, Some((client, arguments)), "{line}");
        }
    }

    #[test]
    fn what_is_no_client_is_not_taken_for_one() {
        for line in [
            "bash -c claude",
            "sudo claude",
            "claudette",
            "make codex",
            "echo gemini",
            "node server.js",
            "env A=claude",
        ] {
            assert_eq!(find(line), None, "{line}");
        }
        assert_eq!(Program::find(&[]), None);
        let wrapped: Vec<OsString> = ["./my-claude", "-p"].map(OsString::from).to_vec();
        assert_eq!(Program::named(Client::Claude, &wrapped), Program { client: Client::Claude, arguments: 1 });
        let other: Vec<OsString> = ["./mine.py"].map(OsString::from).to_vec();
        assert_eq!(Program::named(Client::Gemini, &other).client, Client::GeminiApi, "any program that speaks its API");
        let own: Vec<OsString> = ["gemini", "-p"].map(OsString::from).to_vec();
        assert_eq!(Program::named(Client::Gemini, &own).client, Client::Gemini);
    }
}
