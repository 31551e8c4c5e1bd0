//! A client started again: the same command line with another prompt, or another client with its plain command line.
//!
//! A fresh worker is told to read the briefing. Where the old prompt stood in the command line must be known: each client's
//! flags that take a value are listed, and the first word that is neither a flag nor a value is the prompt.

use super::program::Program;
use crate::client::Client;
use std::ffi::OsString;

/// What a fresh worker is told.
pub const CONTINUE: &str = "Read .geometry/MISSION_BRIEFING.md and continue";

/// The command line that starts the same client with a fresh context and this prompt.
#[must_use]
pub fn replaced(program: Program, command: &[OsString], prompt: &str) -> Vec<OsString> {
    let (start, own) = command.split_at(program.arguments.min(command.len()));
    let mut words: Vec<OsString> = start.to_vec();
    let form = program.client.adapter().launch.command_line;
    let mut put = false;
    let mut rest = own.iter().peekable();
    let mut behind_dashes = false;
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy();
        if behind_dashes || !text.starts_with('-') {
            if form.subcommands.contains(&text.as_ref()) && !put && !behind_dashes {
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
        if form.resume_flags.contains(&name) {
            // A fresh context is the point: an old session is not taken up again.
            if !joined {
                rest.next_if(|value| !value.to_string_lossy().starts_with('-'));
            }
            continue;
        }
        if form.prompt_flags.contains(&name) {
            words.push(if joined { format!("{name}={prompt}").into() } else { word.clone() });
            if !joined && rest.next_if(|value| !value.to_string_lossy().starts_with('-')).is_some() {
                words.push(prompt.into());
            }
            put = put || joined || words.last().is_some_and(|last| last == prompt);
            continue;
        }
        words.push(word.clone());
        if !joined && form.value_flags.contains(&name) {
            words.extend(rest.next().cloned());
        }
    }
    if !put {
        words.push(prompt.into());
    }
    words
}

/// The command line of another client, from what the person wrote: its name alone, or its name with arguments.
#[must_use]
pub fn fallback(client: Client, given: &[OsString], prompt: &str) -> Vec<OsString> {
    let mut words = given.to_vec();
    if words.len() == 1 {
        words.extend(client.adapter().launch.command_line.one_prompt.iter().map(OsString::from));
    }
    words.push(prompt.into());
    words
}

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
