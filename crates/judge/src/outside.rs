//! Text from outside of the workspace: what of it a later command is a copy of, and what is sent away after it was read.
//!
//! A page, an issue or a tool server's answer may contain instructions for the agent that reads it. Lines of such texts that
//! could be commands are remembered by their fingerprints, with the event at which they came. A command that is one of them,
//! and one that sends a secret away after such a text was read, waits for a person (`FLOOR-3`). This catches simple cases and
//! proves nothing: a command that the agent rephrases, and text that came by a file, are not seen.

use crate::facts::Facts;
use crate::judge::Judge;
use crate::losses;
use crate::reading::{CallReading, CommandReading};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tripwire_core::chain::event::Flag;
use tripwire_core::input::{FloorFact, FloorWeight};
use tripwire_core::label::{Fingerprint, Label, cut};
use tripwire_core::policy::OnOutside;
use tripwire_core::units::EventIndex;
use tripwire_observe::{RawCall, observe, shell_calls};
use tripwire_secrets::Redactor;

/// Texts that are remembered; the oldest goes first.
const TEXTS_MAX: usize = 8;
/// Lines of one text that are remembered.
const LINES_MAX: usize = 64;
/// So much of a text is read.
const TEXT_BYTES_MAX: usize = 256 * 1_024;
/// Shorter lines are said by everybody: `ls -la`, `npm install`, `mise run lint`.
const LINE_BYTES_MIN: usize = 16;
/// Longer ones are prose.
const LINE_BYTES_MAX: usize = 512;
/// So much of a call is shown to a person.
const SHOWN_BYTES_MAX: usize = 120;
/// The rule as verdicts and refusals write it.
const NAME: &str = "outside";

/// Tools that bring a page or search the web, in small letters and without `_` and `-`.
const WEB_TOOLS: [&str; 12] = [
    "webfetch",
    "websearch",
    "googlewebsearch",
    "fetch",
    "fetchurl",
    "readurl",
    "browse",
    "browsertool",
    "openurl",
    "visitwebpage",
    "duckduckgosearch",
    "websearchtool",
];
/// Programs that print what a host sends.
const FETCHERS: [&str; 9] = ["curl", "wget", "http", "https", "xh", "lynx", "w3m", "links", "fetch"];
/// Programs that print what people wrote into a tracker, and the words at which they do.
const TRACKERS: [&str; 4] = ["gh", "glab", "tea", "jira"];
const TRACKER_WORDS: [&str; 9] = ["issue", "pr", "mr", "api", "gist", "discussion", "release", "search", "view"];

/// Where a text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextOrigin {
    /// A page or a search of the web.
    Web,
    /// The answer of a tool server.
    ToolServer,
    /// An issue, a review or the like, which anybody may write.
    Tracker,
}

impl TextOrigin {
    const fn words(self) -> &'static str {
        match self {
            Self::Web => "the web",
            Self::ToolServer => "a tool server",
            Self::Tracker => "a tracker",
        }
    }
}

/// One text from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideText {
    origin: TextOrigin,
    /// The call that brought it, for people.
    shown: String,
    lines: Vec<Fingerprint>,
}

impl OutsideText {
    /// The text that a call brought, if it came from outside.
    #[must_use]
    pub fn of(facts: &Facts, call: &RawCall<'_>) -> Option<Self> {
        let output = call.output.filter(|_| facts.outside == OnOutside::Hold)?;
        let origin = origin(facts, call.tool, call.args)?;
        let mut lines = Vec::new();
        for line in candidates(cut(output, TEXT_BYTES_MAX)) {
            let line = Fingerprint::of(line.as_bytes());
            if lines.len() < LINES_MAX && !lines.contains(&line) {
                lines.push(line);
            }
        }
        let shown =
            shell_calls(call.tool, call.args).first().map_or_else(|| call.args.to_owned(), |line| line.command.clone());
        Some(Self { origin, shown: cut(&format!("{} {shown}", call.tool), SHOWN_BYTES_MAX).to_owned(), lines })
    }

    /// The same text, without the secrets of the call that brought it; of its lines there are fingerprints alone.
    #[must_use]
    pub fn without_secrets(self, redactor: &Redactor) -> Self {
        Self { shown: redactor.redact(&self.shown).into_owned(), ..self }
    }
}

/// The texts from outside that a session has read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutsideTexts(Vec<(EventIndex, OutsideText)>);

impl OutsideTexts {
    /// A text came, at this event.
    pub fn add(&mut self, text: OutsideText, at: EventIndex) {
        self.0.push((at, text));
        let surplus = self.0.len().saturating_sub(TEXTS_MAX);
        self.0.drain(..surplus);
    }

    /// The texts with their events, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &(EventIndex, OutsideText)> + ExactSizeIterator {
        self.0.iter()
    }

    /// What is known of a call that is about to be made: whether it is a copy from outside, or sends a secret away after
    /// something from outside was read.
    #[must_use]
    pub fn fact_of(&self, facts: &Facts, call: &RawCall<'_>, reading: &CallReading) -> Option<FloorFact> {
        let (newest, last) = self.0.last()?;
        let found = match (self.source_of(call, reading), sent(reading)) {
            (Some((at, text)), _) => (*at, copied(text, *at)),
            (None, Some((secret, host))) => (*newest, sends(&secret, &host, last, *newest)),
            (None, None) => return None,
        };
        let (at, reason) = found;
        let fact = Judge::fact_of_policy(facts, &format!("{} {}", call.tool, call.args), reading, &reason);
        Some(FloorFact { rule: Label::cut(NAME), weight: FloorWeight::FromOutside(at), ..fact })
    }

    /// The text in which a command of the call stood, unless it is one of everyday work that goes nowhere.
    fn source_of(&self, call: &RawCall<'_>, reading: &CallReading) -> Option<&(EventIndex, OutsideText)> {
        let lines = shell_calls(call.tool, call.args);
        // A line as it was given, and each command in it. What a longer script holds beside commands, such as the text of a message,
        // is no order.
        let own = lines.iter().filter(|line| !line.command.contains('\n')).map(|line| plain(&line.command));
        let commands = reading.commands.iter().map(CommandReading::text);
        let asked = own.chain(commands).filter(|line| is_command(line));
        let asked: Vec<Fingerprint> = asked.map(|line| Fingerprint::of(line.as_bytes())).collect();
        let has = |text: &OutsideText| asked.iter().any(|line| text.lines.contains(line));
        let found = self.0.iter().rev().find(|(_, text)| has(text))?;
        (!is_everyday(call, reading)).then_some(found)
    }
}

fn copied(text: &OutsideText, at: EventIndex) -> String {
    let (origin, shown) = (text.origin.words(), &text.shown);
    format!(
        "it runs a command that stands in text from {origin}, read at step {at} (`{shown}`); nobody here asked for it"
    )
}

fn sends(secret: &str, host: &str, text: &OutsideText, at: EventIndex) -> String {
    let (origin, shown) = (text.origin.words(), &text.shown);
    format!("it sends `{secret}` to {host}, after text from {origin} was read at step {at} (`{shown}`)")
}

/// What is built, tested, installed or read without a host being named is done because a page says so every day.
fn is_everyday(call: &RawCall<'_>, reading: &CallReading) -> bool {
    let everyday = [Flag::Build, Flag::Test, Flag::Install, Flag::Read, Flag::Search];
    let flags = observe(&RawCall { output: None, ..*call }).flags;
    everyday.into_iter().any(|flag| flags.has(flag)) && hosts(&reading.commands).next().is_none()
}

/// A file with secrets that a call names beside a host.
fn sent(reading: &CallReading) -> Option<(String, String)> {
    let host = hosts(&reading.commands).next()?;
    // As a file that is there, and as it is written: `.env`, `@.env`, `file=@.env`.
    let written = reading.commands.iter().flat_map(|command| &command.words);
    let written = written.filter_map(|word| word.rsplit(['@', '=']).next()).map(Path::new);
    let mut named =
        reading.commands.iter().flat_map(|command| command.paths.iter().map(PathBuf::as_path)).chain(written);
    let secret = named.find(|path| losses::is_secret(path) && !path.to_string_lossy().contains(char::is_whitespace))?;
    let name = secret.file_name().unwrap_or(secret.as_os_str()).to_string_lossy();
    Some((name.into_owned(), host.to_owned()))
}

/// The hosts that commands name, but for this machine.
fn hosts(commands: &[CommandReading]) -> impl Iterator<Item = &str> {
    let own = |host: &&str| matches!(*host, "localhost" | "::1" | "[::1]" | "0.0.0.0") || host.starts_with("127.");
    commands.iter().flat_map(|command| command.hosts.iter().map(String::as_str)).filter(move |host| !own(host))
}

fn origin(facts: &Facts, tool: &str, args: &str) -> Option<TextOrigin> {
    if tool.starts_with("mcp__") {
        return Some(TextOrigin::ToolServer);
    }
    let plain: String = tool.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
    if WEB_TOOLS.contains(&plain.to_ascii_lowercase().as_str()) {
        return Some(TextOrigin::Web);
    }
    let lines = shell_calls(tool, args);
    let named = |names: &[&str]| names.iter().any(|name| lines.iter().any(|line| line.command.contains(name)));
    if !named(&FETCHERS) && !named(&TRACKERS) {
        return None;
    }
    let commands = Judge::read_call(facts, tool, args).commands;
    let fetches = |command: &&CommandReading| {
        command.words.first().is_some_and(|program| FETCHERS.contains(&program.as_str()))
            && hosts(std::slice::from_ref(command)).next().is_some()
    };
    let tracks = |command: &&CommandReading| {
        let [program, word, ..] = command.words.as_slice() else { return false };
        TRACKERS.contains(&program.as_str()) && TRACKER_WORDS.contains(&word.as_str())
    };
    if commands.iter().any(|command| fetches(&command)) {
        Some(TextOrigin::Web)
    } else {
        commands.iter().any(|command| tracks(&command)).then_some(TextOrigin::Tracker)
    }
}

/// The lines of a text that could be commands: whole ones without a prompt or a bullet, and what stands between backticks.
/// Escaped line breaks of JSON count as such.
fn candidates(text: &str) -> impl Iterator<Item = String> {
    text.split('\n').flat_map(|line| line.split("\\n")).flat_map(|line| {
        let spans = line.split('`').skip(1).step_by(2).map(plain);
        std::iter::once(plain(line)).chain(spans).filter(|line| is_command(line)).collect::<Vec<_>>()
    })
}

/// A line without its prompt and the folder of its program, with single spaces.
fn plain(line: &str) -> String {
    let line = line.trim().trim_matches('`');
    let bare =
        ["$ ", "> ", "# ", "% ", "- ", "* "].into_iter().find_map(|prompt| line.strip_prefix(prompt)).unwrap_or(line);
    let mut words = bare.split_whitespace();
    let program = words.next().map(|program| program.rsplit('/').next().unwrap_or(program));
    program.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn is_command(line: &str) -> bool {
    (LINE_BYTES_MIN..=LINE_BYTES_MAX).contains(&line.len()) && line.contains(' ')
}

#[cfg(test)]
mod tests;
