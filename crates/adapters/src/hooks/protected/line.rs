//! A command line, split into its simple commands and judged by the paths that they name.
//!
//! It expands what a line says about itself (`cd`, assignments, `~`, `$HOME`, globs) and runs nothing.

use super::{Reach, plain, verbs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Simple commands of one line that are looked at; a longer line that names something protected is refused.
const COMMANDS_MAX: usize = 256;
/// How deep code may be nested in code.
const DEPTH_MAX: usize = 8;

/// What a command line would touch; none if it only reads or touches nothing protected.
pub(super) fn touches(reach: &Reach, text: &str, cwd: &Path) -> Option<String> {
    let inside = reach.holds(cwd) || reach.contains(cwd);
    let mut judge = Judge { reach, cwd: cwd.to_owned(), inside, variables: BTreeMap::new(), commands: 0 };
    judge.line(text, 0)
}

struct Judge<'a> {
    reach: &'a Reach,
    cwd: PathBuf,
    /// Whether a bare word may mean something protected here.
    inside: bool,
    variables: BTreeMap<String, String>,
    commands: usize,
}

impl Judge<'_> {
    fn line(&mut self, text: &str, depth: usize) -> Option<String> {
        if depth > DEPTH_MAX {
            return self.named(text);
        }
        let mut handed_on = None;
        for simple in split(text) {
            self.commands += 1;
            if self.commands > COMMANDS_MAX {
                return self.named(text);
            }
            let found = self.simple(&simple, depth);
            if found.is_some() {
                return found;
            }
            let names = simple.words.iter().find_map(|word| self.named(word));
            // What was read is handed on: to a program that reads too, or to one that does something with it.
            let (program, words) = simple.program();
            if let Some(path) = handed_on.take()
                && !verbs::reads(program, words)
            {
                return Some(path);
            }
            handed_on = if simple.joint == Joint::Pipe { names } else { None };
        }
        None
    }

    fn simple(&mut self, simple: &Simple, depth: usize) -> Option<String> {
        for code in &simple.code {
            if let Some(found) = self.line(code, depth + 1) {
                return Some(found);
            }
        }
        for assignment in simple.words.iter().take_while(|word| is_assignment(word)) {
            if let Some((name, value)) = assignment.split_once('=') {
                self.variables.insert(name.to_owned(), value.to_owned());
            }
        }
        let (program, words) = simple.program();
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

/// A program with its words, where its output goes, and the code inside it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Simple {
    words: Vec<String>,
    writes: Vec<String>,
    /// `$(…)` and backticks.
    code: Vec<String>,
    /// The body of a here-document.
    here: Option<String>,
    /// What stands behind it.
    joint: Joint,
}

/// What joins a command with the next one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// Its output goes into the next one.
    Pipe,
    /// Anything else.
    #[default]
    Other,
}

impl Simple {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.writes.is_empty() && self.code.is_empty()
    }

    /// The program that really runs, without its folder, and its words.
    fn program(&self) -> (&str, &[String]) {
        let mut words = self.words.as_slice();
        loop {
            let Some((first, rest)) = words.split_first() else { return ("", &[]) };
            let name = first.rsplit('/').next().unwrap_or(first);
            let skipped = is_assignment(first) || first.starts_with('-') || is_duration(first) || is_keyword(first);
            if !skipped && !verbs::wraps(name) {
                return (name, rest);
            }
            words = rest;
        }
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

fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "then" | "else" | "elif" | "fi" | "do" | "done" | "while" | "until" | "!" | "{" | "}")
}

/// Splits a line into its simple commands; quotes are respected, what is inside `$(…)` is kept as code.
fn split(text: &str) -> Vec<Simple> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
        done: Vec::new(),
        now: Simple::default(),
        word: None,
        redirect: Redirect::None,
        here: None,
    };
    reader.read();
    reader.done
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    done: Vec<Simple>,
    now: Simple,
    word: Option<String>,
    /// What the word that is read is for.
    redirect: Redirect,
    /// The word that ends a here-document, once its line is read.
    here: Option<String>,
}

/// What the next word is for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Redirect {
    #[default]
    None,
    Write,
    Read,
    Here,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(c) = self.rest.next() {
            match c {
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(escaped),
                },
                '\'' => {
                    self.word.get_or_insert_default();
                    while let Some(inner) = self.rest.next().filter(|inner| *inner != '\'') {
                        self.push(inner);
                    }
                }
                '"' => self.double_quoted(),
                '`' => self.backticks(),
                '$' if self.rest.peek() == Some(&'(') => self.substitution(),
                '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                '>' | '<' => self.redirected(c),
                '\n' => {
                    self.end(Joint::Other);
                    self.here_document();
                }
                ';' | '(' | ')' => self.end(Joint::Other),
                '&' if self.rest.next_if_eq(&'>').is_some() => self.redirected('>'),
                '&' => self.end(Joint::Other),
                '|' => {
                    let or = self.rest.next_if_eq(&'|').is_some();
                    self.end(if or { Joint::Other } else { Joint::Pipe });
                }
                c if c.is_whitespace() => self.end_word(),
                c => self.push(c),
            }
        }
        self.end(Joint::Other);
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return,
                '\\' => {
                    if let Some(escaped) = self.rest.next() {
                        self.push(escaped);
                    }
                }
                '`' => self.backticks(),
                '$' if self.rest.peek() == Some(&'(') => self.substitution(),
                other => self.push(other),
            }
        }
    }

    fn backticks(&mut self) {
        let mut code = String::new();
        while let Some(c) = self.rest.next().filter(|c| *c != '`') {
            code.push(c);
        }
        self.now.code.push(code);
    }

    fn substitution(&mut self) {
        let (mut code, mut depth) = (String::new(), 0_u32);
        for c in self.rest.by_ref() {
            match c {
                '(' => depth = depth.saturating_add(1),
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
            code.push(c);
        }
        self.now.code.push(code.trim_start_matches('(').to_owned());
    }

    fn redirected(&mut self, sign: char) {
        // A number before the sign is a descriptor and no word.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.redirect = match (sign, self.rest.peek()) {
            ('<', Some('<')) => {
                self.rest.next();
                if self.rest.next_if_eq(&'<').is_some() {
                    Redirect::None
                } else {
                    self.rest.next_if_eq(&'-');
                    Redirect::Here
                }
            }
            ('<', Some('>')) => {
                self.rest.next();
                Redirect::Write
            }
            ('<', _) => Redirect::Read,
            (_, _) => {
                while self.rest.next_if(|c| matches!(c, '>' | '|')).is_some() {}
                if self.rest.next_if_eq(&'&').is_some() { Redirect::Read } else { Redirect::Write }
            }
        };
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.redirect) {
            Redirect::None => self.now.words.push(word),
            Redirect::Write => self.now.writes.push(word),
            Redirect::Read => {}
            Redirect::Here => self.here = Some(word),
        }
    }

    fn end(&mut self, joint: Joint) {
        self.end_word();
        self.now.joint = joint;
        if !self.now.is_empty() {
            self.done.push(std::mem::take(&mut self.now));
        }
    }

    /// Takes the body of a here-document to the command that it belongs to.
    fn here_document(&mut self) {
        let Some(end) = self.here.take() else { return };
        let mut body = String::new();
        let mut line = String::new();
        for c in self.rest.by_ref() {
            if c != '\n' {
                line.push(c);
                continue;
            }
            if line.trim() == end {
                line.clear();
                break;
            }
            body.push_str(&line);
            body.push('\n');
            line.clear();
        }
        if line.trim() != end {
            body.push_str(&line);
        }
        if let Some(last) = self.done.last_mut() {
            last.here = Some(body);
        }
    }
}
