//! A simple, safe reading of a command line: which programs it names, and how their exit statuses are joined.
//!
//! It expands nothing and runs nothing. Quotes are respected, here-documents and substitutions are data. What it does
//! not understand it leaves as a word, which at worst hides a fact; it never invents one.

use alloc::string::String;
use alloc::vec::Vec;

/// Simple commands that one command line may have; the rest is not looked at.
const COMMANDS_MAX: usize = 64;

/// What stands between a simple command and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`: the next one runs only if this one succeeded.
    And,
    /// `||`: the next one runs only if this one failed.
    Or,
    /// `|`: the next one reads this one's output, and hides its status.
    Pipe,
    /// `;` or a line end: the next one runs whatever happened.
    Then,
    /// `&`: nobody waits for it.
    Background,
    /// Nothing: the line ends here.
    End,
}

/// One word of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    /// The word without its quotes.
    pub(super) text: String,
    /// Whether any part of it was quoted.
    pub(super) quoted: bool,
}

/// A program with its words and where its output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// The words, the program first.
    pub(super) words: Vec<Word>,
    /// Files that its output is written to.
    pub(super) writes: Vec<String>,
    /// What follows.
    pub(super) joint: Joint,
}

impl Command {
    /// The words as plain texts.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.words.iter().map(|word| word.text.as_str()).collect()
    }
}

/// Splits a command line into its simple commands.
pub(super) fn commands(line: &str) -> Vec<Command> {
    let mut reader = WordReader { rest: line, ..WordReader::default() };
    while reader.done.len() < COMMANDS_MAX && reader.step() {}
    reader.end(Joint::End);
    reader.done
}

#[derive(Default)]
struct WordReader<'a> {
    rest: &'a str,
    done: Vec<Command>,
    words: Vec<Word>,
    writes: Vec<String>,
    word: Option<Word>,
    /// The next word is the file of a redirection.
    redirect: Option<Redirect>,
    /// End marks of here-documents whose bodies start at the next line.
    heredocs: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
    Write,
    Read,
    HereDocument,
}

impl WordReader<'_> {
    /// Takes the next character; false at the end.
    fn step(&mut self) -> bool {
        let mut characters = self.rest.chars();
        let Some(character) = characters.next() else { return false };
        let after = characters.as_str();
        match character {
            '\'' => self.quote_single(after),
            '"' => self.quote_double(after),
            '\\' => {
                let escaped = characters.next();
                self.rest = characters.as_str();
                if let Some(escaped) = escaped.filter(|escaped| *escaped != '\n') {
                    self.push(escaped);
                }
            }
            '$' | '`' if after.starts_with('(') || character == '`' => self.substitution(character),
            '\n' => {
                self.rest = after;
                self.end(Joint::Then);
                self.skip_heredocs();
            }
            ' ' | '\t' | '\r' => {
                self.rest = after;
                self.end_word();
            }
            '#' if self.word.is_none() => {
                self.rest = after.find('\n').and_then(|at| after.get(at..)).unwrap_or_default();
            }
            ';' | '|' | '&' | '(' | ')' | '<' | '>' => self.operator(character),
            _ => {
                self.rest = after;
                self.push(character);
            }
        }
        true
    }

    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().text.push(character);
    }

    fn push_quoted(&mut self, text: &str) {
        let word = self.word.get_or_insert_default();
        word.text.push_str(text);
        word.quoted = true;
    }

    fn quote_single(&mut self, after: &str) {
        let (inside, rest) = after.split_once('\'').unwrap_or((after, ""));
        self.push_quoted(inside);
        let skipped = after.len().saturating_sub(rest.len()).saturating_add(1);
        self.rest = self.rest.get(skipped..).unwrap_or_default();
    }

    fn quote_double(&mut self, after: &str) {
        let mut inside = String::new();
        let mut characters = after.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => break,
                '\\' => inside.extend(characters.next()),
                _ => inside.push(character),
            }
        }
        self.push_quoted(&inside);
        let skipped = self.rest.len().saturating_sub(characters.as_str().len());
        self.rest = self.rest.get(skipped..).unwrap_or_default();
    }

    /// Takes `$( … )` or `` ` … ` `` whole, as data.
    fn substitution(&mut self, opening: char) {
        let mut depth = 0_usize;
        let mut end = self.rest.len();
        for (at, character) in self.rest.char_indices().skip(1) {
            match (opening, character) {
                ('`', '`') => depth = 0,
                ('`', _) => depth = 1,
                (_, '(') => depth = depth.saturating_add(1),
                (_, ')') => depth = depth.saturating_sub(1),
                (_, _) => {}
            }
            if depth == 0 {
                end = at.saturating_add(1);
                break;
            }
        }
        let (inside, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        let word = self.word.get_or_insert_default();
        word.text.push_str(inside);
        word.quoted = true;
        self.rest = rest;
    }

    fn operator(&mut self, character: char) {
        const TABLE: [(&str, Joint); 9] = [
            ("&&", Joint::And),
            ("||", Joint::Or),
            ("|&", Joint::Pipe),
            ("|", Joint::Pipe),
            (";;", Joint::Then),
            (";", Joint::Then),
            ("&", Joint::Background),
            ("(", Joint::Then),
            (")", Joint::Then),
        ];
        if matches!(character, '<' | '>') || self.rest.starts_with("&>") {
            return self.redirection();
        }
        // `&` inside `2>&1` was taken with its redirection; a parenthesis groups and joins nothing.
        if let Some((text, joint)) = TABLE.iter().find(|(text, _)| self.rest.starts_with(text)) {
            self.rest = self.rest.get(text.len()..).unwrap_or_default();
            if matches!(*text, "(" | ")") {
                self.end_word();
            } else {
                self.end(*joint);
            }
        }
    }

    fn redirection(&mut self) {
        // A digit directly before is the number of a descriptor, not a word.
        let descriptor = self.word.as_ref().is_some_and(|word| {
            !word.quoted && !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit())
        });
        let errors_only = descriptor && self.word.as_ref().is_some_and(|word| word.text == "2");
        if descriptor {
            self.word = None;
        } else {
            self.end_word();
        }
        const TABLE: [(&str, Option<Redirect>); 11] = [
            ("<<<", Some(Redirect::Read)),
            ("<<-", Some(Redirect::HereDocument)),
            ("<<", Some(Redirect::HereDocument)),
            ("&>>", Some(Redirect::Write)),
            ("&>", Some(Redirect::Write)),
            (">>", Some(Redirect::Write)),
            (">&", None),
            ("<&", None),
            (">|", Some(Redirect::Write)),
            (">", Some(Redirect::Write)),
            ("<", Some(Redirect::Read)),
        ];
        if let Some((text, kind)) = TABLE.iter().find(|(text, _)| self.rest.starts_with(text)) {
            self.rest = self.rest.get(text.len()..).unwrap_or_default();
            match kind {
                Some(Redirect::Write) if errors_only => self.redirect = Some(Redirect::Read),
                Some(kind) => self.redirect = Some(*kind),
                None => {
                    let number = self.rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
                    self.redirect = (number.len() == self.rest.len()).then_some(Redirect::Write);
                    self.rest = number;
                }
            }
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.redirect.take() {
            None => self.words.push(word),
            Some(Redirect::Write) => self.writes.push(word.text),
            Some(Redirect::Read) => {}
            Some(Redirect::HereDocument) => self.heredocs.push(word.text),
        }
    }

    fn end(&mut self, joint: Joint) {
        self.end_word();
        self.redirect = None;
        if self.words.is_empty() && self.writes.is_empty() {
            // A line that goes on after `&&` or `|` on the next line, or an empty one.
            return;
        }
        let words = core::mem::take(&mut self.words);
        let writes = core::mem::take(&mut self.writes);
        self.done.push(Command { words, writes, joint });
    }

    fn skip_heredocs(&mut self) {
        for mark in core::mem::take(&mut self.heredocs) {
            loop {
                let Some((line, rest)) = self.rest.split_once('\n') else {
                    self.rest = "";
                    break;
                };
                self.rest = rest;
                if line.trim_start_matches('\t').trim_end_matches('\r') == mark {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn read(line: &str) -> Vec<(String, Joint)> {
        commands(line).iter().map(|command| (command.texts().join("·"), command.joint)).collect()
    }

    #[test]
    fn commands_are_split_at_their_operators() {
        let expected =
            [("a·b", Joint::And), ("c", Joint::Or), ("d", Joint::Then), ("e", Joint::Pipe), ("f", Joint::End)];
        let expected: Vec<_> = expected.iter().map(|(text, joint)| (text.to_string(), *joint)).collect();
        assert_eq!(read("a b && c || d; e | f"), expected);
        assert_eq!(read("a b &&\nc ||\n d\ne|f"), expected);
    }

    #[test]
    fn quotes_comments_and_substitutions_are_data() {
        assert_eq!(read("echo 'a && b' \"c; d\" e\\ f"), vec![("echo·a && b·c; d·e f".into(), Joint::End)]);
        assert_eq!(
            read("echo $(cargo test | x) `y; z` # && no"),
            vec![("echo·$(cargo test | x)·`y; z`".into(), Joint::End)]
        );
        assert_eq!(read("(cd x && y)"), vec![("cd·x".into(), Joint::And), ("y".into(), Joint::End)]);
    }

    #[test]
    fn heredoc_bodies_are_skipped() {
        let line = "cat > a.py <<'EOF'\ncargo test && rm x\nEOF\nls";
        assert_eq!(read(line), vec![("cat".into(), Joint::Then), ("ls".into(), Joint::End)]);
        assert_eq!(commands(line)[0].writes, ["a.py"]);
        assert_eq!(read("cat <<EOF\nnever ends"), vec![("cat".into(), Joint::Then)]);
    }

    #[test]
    fn redirections_name_the_file_that_is_written_and_nothing_else() {
        for (line, writes) in [
            ("a > x", vec!["x"]),
            ("a >> x 2>&1", vec!["x"]),
            ("a &> x", vec!["x"]),
            ("a 2> x", vec![]),
            ("a 2>&1", vec![]),
            ("a < x", vec![]),
            ("a <<< x", vec![]),
            ("a >&2", vec![]),
        ] {
            let read = commands(line);
            assert_eq!(read[0].writes, writes, "{line}");
            assert_eq!(read[0].texts(), ["a"], "{line}");
        }
    }

    #[test]
    fn broken_lines_end_quietly() {
        for line in ["", "'", "\"", "\\", "$(", "`", "<<", ">", "&&", "|||", "a <<", "((((", "\"\\"] {
            assert!(commands(line).len() <= 1, "{line}");
        }
    }
}
