//! A client started anew: the same command line with another prompt, or another client with its plain command line.
//!
//! A fresh worker is told to read the briefing. Where the old prompt stood in the command line must be known: each client's
//! flags that take a value are listed, and the first word that is neither a flag nor a value is the prompt.

use super::program::Program;
use std::ffi::OsString;
use tripwire_clients::hooks::Client;

/// What a fresh worker is told.
pub(crate) const CONTINUE: &str = "Read .geometry/MISSION_BRIEFING.md and continue";

/// The command line that starts the same client with a fresh context and this prompt.
pub(crate) fn replaced(program: Program, command: &[OsString], prompt: &str) -> Vec<OsString> {
    let (start, own) = command.split_at(program.arguments.min(command.len()));
    let mut words: Vec<OsString> = start.to_vec();
    let mut put = false;
    let mut rest = own.iter().peekable();
    let mut behind_dashes = false;
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if behind_dashes || !text.starts_with('-') {
            if is_subcommand(program.client, &text) && !put && !behind_dashes {
                words.push(word.clone());
            } else if !put {
                words.push(prompt.into());
                put = true;
            }
            continue;
        }
        let (name, joined) = text.split_once('=').map_or((text.as_ref(), false), |(name, _)| (name, true));
        if name == "--" {
            behind_dashes = true;
        }
        if resumes(program.client, name) {
            // A fresh context is the point: an old session is not taken up again.
            if !joined {
                rest.next_if(|value| !value.to_string_lossy().starts_with('-'));
            }
            continue;
        }
        if is_prompt_flag(program.client, name) {
            words.push(if joined { format!("{name}={prompt}").into() } else { word.clone() });
            if !joined && rest.next_if(|value| !value.to_string_lossy().starts_with('-')).is_some() {
                words.push(prompt.into());
            }
            put = put || joined || words.last().is_some_and(|last| last == prompt);
            continue;
        }
        words.push(word.clone());
        if !joined && takes_value(program.client, name) {
            words.extend(rest.next().cloned());
        }
    }
    if !put {
        words.push(prompt.into());
    }
    words
}

/// The command line of another client, from what the person wrote: its name alone, or its name with arguments.
pub(crate) fn fallback(client: Client, given: &[OsString], prompt: &str) -> Vec<OsString> {
    let mut words = given.to_vec();
    let plain: &[&str] = match client {
        Client::Claude | Client::Gemini => &["-p"],
        Client::Codex => &["exec"],
    };
    if words.len() == 1 {
        words.extend(plain.iter().map(OsString::from));
    }
    words.push(prompt.into());
    words
}

/// Words that are no prompt although they look like one.
fn is_subcommand(client: Client, word: &str) -> bool {
    match client {
        Client::Codex => ["exec", "e"].contains(&word),
        Client::Claude | Client::Gemini => false,
    }
}

/// Flags that name an old session.
fn resumes(client: Client, flag: &str) -> bool {
    let flags: &[&str] = match client {
        Client::Claude => &["-r", "--resume", "-c", "--continue", "--session-id", "--fork-session"],
        Client::Codex => &[],
        Client::Gemini => &["-r", "--resume", "--session-id"],
    };
    flags.contains(&flag)
}

/// Flags whose value is the prompt.
fn is_prompt_flag(client: Client, flag: &str) -> bool {
    match client {
        Client::Gemini => ["-p", "--prompt", "-i", "--prompt-interactive"].contains(&flag),
        Client::Claude | Client::Codex => false,
    }
}

/// Flags that take the next word as their value.
fn takes_value(client: Client, flag: &str) -> bool {
    let flags: &[&str] = match client {
        Client::Claude => &CLAUDE_VALUES,
        Client::Codex => &CODEX_VALUES,
        Client::Gemini => &GEMINI_VALUES,
    };
    flags.contains(&flag)
}

/// Claude Code's flags with a value.
const CLAUDE_VALUES: [&str; 28] = [
    "--output-format",
    "--input-format",
    "--permission-mode",
    "--model",
    "--fallback-model",
    "--settings",
    "--setting-sources",
    "--system-prompt",
    "--append-system-prompt",
    "--system-prompt-file",
    "--append-system-prompt-file",
    "--max-turns",
    "--max-budget-usd",
    "--effort",
    "--agent",
    "--agents",
    "--json-schema",
    "--permission-prompt-tool",
    "--add-dir",
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--tools",
    "--mcp-config",
    "--betas",
    "--plugin-dir",
    "--debug-file",
];

/// Codex's flags with a value.
const CODEX_VALUES: [&str; 22] = [
    "-c",
    "--config",
    "-m",
    "--model",
    "-s",
    "--sandbox",
    "-a",
    "--ask-for-approval",
    "-C",
    "--cd",
    "-p",
    "--profile",
    "-i",
    "--image",
    "-o",
    "--output-last-message",
    "--output-schema",
    "--add-dir",
    "--enable",
    "--disable",
    "--color",
    "--local-provider",
];

/// Gemini CLI's flags with a value.
const GEMINI_VALUES: [&str; 11] = [
    "-m",
    "--model",
    "--approval-mode",
    "-o",
    "--output-format",
    "--policy",
    "--allowed-tools",
    "--allowed-mcp-server-names",
    "-e",
    "--extensions",
    "--include-directories",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn again(line: &str) -> String {
        let command = words(line);
        let program = Program::find(&command).unwrap();
        let replaced = replaced(program, &command, "NEW");
        replaced.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ctx_3_the_prompt_is_replaced_wherever_it_stands() {
        for (line, expected) in [
            ("claude -p old --model m", "claude -p NEW --model m"),
            ("claude --model m -p --output-format json old", "claude --model m -p --output-format json NEW"),
            ("claude -p", "claude -p NEW"),
            ("claude -p --resume abc old", "claude -p NEW"),
            ("claude -c -p old", "claude -p NEW"),
            ("claude -p -- old", "claude -p -- NEW"),
            ("npx @openai/codex exec --json -s danger old", "npx @openai/codex exec --json -s danger NEW"),
            ("codex -c a=1 exec old", "codex -c a=1 exec NEW"),
            ("codex exec", "codex exec NEW"),
            ("gemini -p old -m x", "gemini -p NEW -m x"),
            ("gemini --prompt=old", "gemini --prompt=NEW"),
            ("gemini -m x old", "gemini -m x NEW"),
            ("gemini --resume latest -p old", "gemini -p NEW"),
        ] {
            assert_eq!(again(line), expected, "{line}");
        }
    }

    #[test]
    fn run_4_another_client_gets_its_plain_form_or_the_persons_own() {
        let line = |client, given| fallback(client, &words(given), "NEW").join(std::ffi::OsStr::new(" "));
        assert_eq!(line(Client::Codex, "codex"), "codex exec NEW");
        assert_eq!(line(Client::Gemini, "gemini"), "gemini -p NEW");
        assert_eq!(line(Client::Claude, "claude -p --model m"), "claude -p --model m NEW");
    }
}
