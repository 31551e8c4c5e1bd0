//! A command line, read by the judge's parser and judged by the paths that its commands name.
//!
//! It expands what a line says about itself (`cd`, assignments, `~`, `$HOME`, globs) and runs nothing.

use super::{Reach, plain, verbs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tripwire_host::judge::{Joint, PlainCommand, plain_commands};

/// Simple commands of one line that are looked at; a longer line that names something protected is refused.
const COMMANDS_MAX: usize = 256;
/// How deep code may be nested in code.
const DEPTH_MAX: usize = 8;

/// What a command line would touch; none if it only reads or touches nothing protected.
pub(super) fn touches(reach: &Reach, text: &str, cwd: &Path) -> Option<String> {
    let inside = reach.holds(cwd) || reach.contains(cwd);
    let mut judge = Judge { reach, cwd: cwd.to_owned(), inside, variables: BTreeMap::new(), seen: 0 };
    judge.line(text, 0)
}

struct Judge<'a> {
    reach: &'a Reach,
    cwd: PathBuf,
    /// Whether a bare word may mean something protected here.
    inside: bool,
    variables: BTreeMap<String, String>,
    /// Commands that were looked at.
    seen: usize,
}

impl Judge<'_> {
    fn line(&mut self, text: &str, depth: usize) -> Option<String> {
        if depth > DEPTH_MAX {
            return self.named(text);
        }
        match plain_commands(text) {
            Some(commands) => self.commands(&commands, depth),
            // bash runs nothing of what it cannot parse; another shell may read it differently.
            None => self.named(text),
        }
    }

    fn commands(&mut self, commands: &[PlainCommand], depth: usize) -> Option<String> {
        let mut handed_on = None;
        for command in commands {
            self.seen += 1;
            if self.seen > COMMANDS_MAX {
                return commands.iter().flat_map(|command| &command.words).find_map(|word| self.named(word));
            }
            let found = self.simple(command, depth);
            if found.is_some() {
                return found;
            }
            let names = command.words.iter().find_map(|word| self.named(word));
            // What was read is handed on: to a program that reads too, or to one that does something with it.
            let (program, words) = program(command);
            if let Some(path) = handed_on.take()
                && !verbs::reads(program, words)
            {
                return Some(path);
            }
            handed_on = if command.joint == Joint::Pipe { names } else { None };
        }
        None
    }

    fn simple(&mut self, simple: &PlainCommand, depth: usize) -> Option<String> {
        for inner in &simple.inner {
            if let Some(found) = self.commands(inner, depth) {
                return Some(found);
            }
        }
        for assignment in simple.words.iter().take_while(|word| is_assignment(word)) {
            if let Some((name, value)) = assignment.split_once('=') {
                self.variables.insert(name.to_owned(), value.to_owned());
            }
        }
        let (program, words) = program(simple);
        if program == "tripwire" && !verbs::only_looks(words) {
            return Some(format!("tripwire {}", words.join(" ")));
        }
        if verbs::interprets(program) {
            let code: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
            let inner = code.iter().find_map(|code| self.line(code, depth + 1));
            return inner.or_else(|| simple.here.as_ref().and_then(|body| self.line(body, depth + 1)));
        }
        if matches!(program, "cd" | "pushd") {
            let to = words.iter().find(|word| !word.starts_with('-')).cloned().unwrap_or_else(|| "~".to_owned());
            self.cwd = self.resolve(&to);
            self.inside = self.reach.holds(&self.cwd) || self.reach.contains(&self.cwd);
            return None;
        }
        if let Some(target) = simple.writes.iter().find(|target| self.holds(target)) {
            return Some(target.clone());
        }
        if verbs::moves(program) {
            let taken = |word: &&String| !word.starts_with('-') && self.takes_along(word);
            if let Some(word) = words.iter().find(taken) {
                return Some(word.clone());
            }
        }
        if program.is_empty() || verbs::reads(program, words) {
            return None;
        }
        let takes_code = verbs::takes_code(program);
        words.iter().chain(simple.here.iter()).find_map(|word| {
            // Words with spaces are prose, such as a commit's message, unless the program takes code.
            if takes_code || !word.contains(char::is_whitespace) { self.named(word) } else { None }
        })
    }

    /// The protected path that a word, or a piece of code in it, names.
    fn named(&self, word: &str) -> Option<String> {
        let apart = |c: char| c.is_whitespace() || "'\"`=:,()[]{}<>|&;".contains(c);
        // Brackets and braces are also parts of patterns, so the word as a whole is looked at too.
        let mut pieces = std::iter::once(word).chain(word.split(apart));
        pieces.find(|piece| !piece.is_empty() && self.holds(piece)).map(str::to_owned)
    }

    fn holds(&self, word: &str) -> bool {
        // A bare word leads nowhere protected unless the line has gone there: nearly every word of every line.
        if !word.contains(['.', '/', '~', '$', '*', '?', '[']) && !self.inside {
            return false;
        }
        let path = self.resolve(word);
        self.reach.holds(&path) || (word.contains(['*', '?', '[']) && self.matches(&path))
    }

    /// Whether a pattern may mean something protected: some protected path, or what is in it, fits.
    fn matches(&self, pattern: &Path) -> bool {
        use super::Entry;
        self.reach.entries.iter().any(|entry| match entry {
            Entry::Folder(path) => fits(pattern, path),
            Entry::File(path) => fits(pattern, path) && pattern.components().count() >= path.components().count(),
            Entry::Settings(folder) => {
                let pattern_parts = pattern.components().count();
                fits(pattern, &folder.join("settings.json")) && pattern_parts > folder.components().count()
            }
        })
    }

    /// Whether taking this away takes something protected along. Whole workspaces and homes are another rule's matter.
    fn takes_along(&self, word: &str) -> bool {
        let path = self.resolve(word);
        let folder = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        matches!(folder, ".claude" | ".codex" | ".gemini" | ".geometry") && self.reach.contains(&path)
    }

    fn resolve(&self, word: &str) -> PathBuf {
        let word = self.expand(word);
        let path = match (word.strip_prefix('~'), &self.reach.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            (Some(_) | None, _) => PathBuf::from(&word),
        };
        plain(&self.cwd.join(path))
    }

    /// Puts the values of known variables in; an unknown one stays as it is written.
    fn expand(&self, word: &str) -> String {
        if !word.contains('$') {
            return word.to_owned();
        }
        let mut out = String::new();
        let mut rest = word;
        while let Some(at) = rest.find('$') {
            let (before, after) = (rest.get(..at).unwrap_or_default(), rest.get(at + 1..).unwrap_or_default());
            out.push_str(before);
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let (name, next) = braced.unwrap_or_else(|| {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                after.split_at(end)
            });
            match self.value(name) {
                Some(value) => out.push_str(&value),
                None => {
                    out.push('$');
                    out.push_str(name);
                }
            }
            rest = next;
        }
        out + rest
    }

    fn value(&self, name: &str) -> Option<String> {
        match name {
            "HOME" => self.reach.home.as_ref().map(|home| home.to_string_lossy().into_owned()),
            "PWD" => Some(self.cwd.to_string_lossy().into_owned()),
            other => self.variables.get(other).cloned(),
        }
    }
}

/// Whether a pattern fits a path or one of its ancestors' children on the way, part by part.
fn fits(pattern: &Path, path: &Path) -> bool {
    let mut patterns = pattern.components();
    for part in path.components() {
        let Some(wanted) = patterns.next() else { return false };
        let (wanted, part) = (wanted.as_os_str().to_string_lossy(), part.as_os_str().to_string_lossy());
        if !wildcard(wanted.as_bytes(), part.as_bytes()) {
            return false;
        }
    }
    true
}

/// The shell's `*`, `?` and `[…]`; a set counts as any one character, which can only refuse too much.
fn wildcard(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|at| wildcard(rest, text.get(at..).unwrap_or_default())),
        Some((b'?', rest)) => text.split_first().is_some_and(|(_, text)| wildcard(rest, text)),
        Some((b'[', rest)) => {
            let end = rest.iter().position(|byte| *byte == b']').map_or(rest.len(), |end| end + 1);
            text.split_first().is_some_and(|(_, text)| wildcard(rest.get(end..).unwrap_or_default(), text))
        }
        Some((byte, rest)) => text.split_first().is_some_and(|(first, text)| first == byte && wildcard(rest, text)),
    }
}

/// The program that really runs, without its folder, and its words.
fn program(command: &PlainCommand) -> (&str, &[String]) {
    let mut words = command.words.as_slice();
    loop {
        let Some((first, rest)) = words.split_first() else { return ("", &[]) };
        let name = first.rsplit('/').next().unwrap_or(first);
        let skipped = is_assignment(first) || first.starts_with('-') || is_duration(first);
        if !skipped && !verbs::wraps(name) {
            return (name, rest);
        }
        words = rest;
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn is_duration(word: &str) -> bool {
    let digits = word.trim_end_matches(['s', 'm', 'h']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
