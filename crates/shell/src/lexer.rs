//! The characters of a command line: blanks, quotes, and the edges of words.

use super::ast::{Flow, Item, Piece, Quote, Script, Word};
use super::pending::Pending;
use super::syntax_error::{DEPTH_MAX, SyntaxError};
use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// Where the parser stands.
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Where the line begins that is being read: what stands before it is complete and would run.
    pub(super) line: usize,
    /// Here-documents whose bodies begin after the next line end.
    pub(super) pending: Vec<Pending>,
    /// The pipelines outside of any compound that were read before the text was refused.
    pub(super) before_refusal: Vec<Item>,
}

/// What ends a run of word pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// A blank or an operator.
    WordEnd,
    /// The closing double quote.
    DoubleQuote,
    /// The closing brace of a parameter expansion.
    Brace,
    /// The end of the text: a here-document's body, in which quotes are plain characters.
    End,
    /// The two closing parentheses of an arithmetic expansion.
    Arithmetic,
    /// A `|` or the closing parenthesis of an extended pattern.
    Choice,
}

impl<'a> Lexer<'a> {
    pub(super) const fn new(text: &'a str, depth: usize) -> Self {
        Self { text, at: 0, depth, line: 0, pending: Vec::new(), before_refusal: Vec::new() }
    }

    /// The whole text as a script.
    pub(super) fn whole(&mut self) -> Result<Script, SyntaxError> {
        let script = self.script()?;
        if self.at < self.text.len() {
            return Err(SyntaxError::Refused("an unexpected word or bracket"));
        }
        Ok(script)
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn peek_at(&self, offset: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + offset).copied()
    }

    pub(super) fn take(&mut self, expected: &str) -> bool {
        let there = self.rest().starts_with(expected);
        if there {
            self.at += expected.len();
        }
        there
    }

    pub(super) fn enter(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(SyntaxError::TooDeep) } else { Ok(()) }
    }

    pub(super) const fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Blanks, continued lines, comments.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') if self.at_word_start() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    fn at_word_start(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.text.as_bytes().get(at).copied());
        before.is_none_or(is_meta)
    }

    /// Blanks and line ends; the bodies of here-documents are read on the way.
    pub(super) fn skip_lines(&mut self) -> Result<(), SyntaxError> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.at += 1;
            self.read_bodies()?;
        }
    }

    /// The next word, if one begins here.
    pub(super) fn word(&mut self) -> Result<Option<Word>, SyntaxError> {
        self.skip_blanks();
        let starts = match self.peek() {
            None => false,
            Some(b'<' | b'>') => self.peek_at(1) == Some(b'('),
            Some(byte) => !is_meta(byte),
        };
        if !starts {
            return Ok(None);
        }
        self.pieces(Until::WordEnd).map(Some)
    }

    /// Pieces of a word up to its end.
    pub(super) fn pieces(&mut self, until: Until) -> Result<Word, SyntaxError> {
        self.enter()?;
        let mut out = Pieces::default();
        let mut parens = 0_usize;
        loop {
            let Some(byte) = self.peek() else {
                break match until {
                    Until::WordEnd | Until::End => {}
                    Until::DoubleQuote => return Err(SyntaxError::Refused("a double quote is not closed")),
                    Until::Brace | Until::Arithmetic => return Err(SyntaxError::Refused("an expansion is not closed")),
                    Until::Choice => return Err(SyntaxError::Refused("a bracket is not closed")),
                };
            };
            match until {
                Until::WordEnd | Until::Choice if byte == b'(' => {
                    // A pattern of bash's own, or a qualifier of zsh's: `!(keep)`, `*(N)`.
                    if let Some(sign) = out.take_pattern_sign() {
                        let choices = self.choices()?;
                        out.push_choices(sign, choices);
                        continue;
                    }
                    if until == Until::WordEnd {
                        break;
                    }
                    parens += 1;
                }
                Until::WordEnd if is_meta(byte) => {
                    if matches!(byte, b'<' | b'>') && self.peek_at(1) == Some(b'(') {
                        self.at += 2;
                        let flow = if byte == b'<' { Flow::In } else { Flow::Out };
                        out.push(Piece::Process(self.substituted()?, flow));
                        continue;
                    }
                    break;
                }
                Until::Choice if byte == b')' && parens > 0 => parens -= 1,
                Until::Choice if matches!(byte, b'|' | b')') && parens == 0 => break,
                Until::DoubleQuote if byte == b'"' => break self.at += 1,
                Until::Brace if byte == b'}' => break self.at += 1,
                Until::Arithmetic if byte == b'(' => parens += 1,
                Until::Arithmetic if byte == b')' && parens > 0 => parens -= 1,
                Until::Arithmetic if byte == b')' => {
                    self.at += 1;
                    if !self.take(")") {
                        return Err(SyntaxError::Refused("an arithmetic expansion is not closed"));
                    }
                    break;
                }
                Until::WordEnd | Until::DoubleQuote | Until::Brace | Until::Arithmetic | Until::Choice | Until::End => {
                }
            }
            self.piece(until, &mut out)?;
        }
        self.leave();
        Ok(Word { pieces: out.done() })
    }

    fn piece(&mut self, until: Until, out: &mut Pieces) -> Result<(), SyntaxError> {
        let quote = if matches!(until, Until::DoubleQuote | Until::End) { Quote::Double } else { Quote::None };
        match self.peek() {
            Some(b'\\') => self.backslash(quote, out),
            Some(b'\'') if quote == Quote::None && until != Until::Arithmetic => {
                self.at += 1;
                let end = self.rest().find('\'').ok_or(SyntaxError::Refused("a single quote is not closed"))?;
                out.quoted(self.rest().get(..end).unwrap_or_default());
                self.at += end + 1;
            }
            Some(b'"') if until != Until::End => {
                self.at += 1;
                let inner = self.pieces(Until::DoubleQuote)?;
                out.quoted("");
                inner.pieces.into_iter().for_each(|piece| out.push(piece));
            }
            Some(b'`') => {
                self.at += 1;
                let script = self.backquoted()?;
                out.push(Piece::Command(script, quote));
            }
            Some(b'$') => self.dollar(quote, out)?,
            Some(_) => {
                let rest = self.rest();
                let first = rest.chars().next().map_or(1, char::len_utf8);
                let stop = |byte: u8| is_meta(byte) || matches!(byte, b'\\' | b'\'' | b'"' | b'`' | b'$' | b'}');
                let more = rest.bytes().skip(first).take_while(|byte| !stop(*byte)).count();
                let run = rest.get(..first + more).unwrap_or(rest);
                match quote {
                    Quote::Double => out.quoted(run),
                    Quote::None if until == Until::Choice => out.bare_choice(run),
                    Quote::None => out.bare(run),
                }
                self.at += run.len();
            }
            None => {}
        }
        Ok(())
    }

    fn backslash(&mut self, quote: Quote, out: &mut Pieces) {
        self.at += 1;
        let next = self.rest().chars().next();
        self.at += next.map_or(0, char::len_utf8);
        match (quote, next) {
            (_, Some('\n')) => {}
            (_, None) => out.quoted("\\"),
            (Quote::Double, Some(other)) if !matches!(other, '$' | '`' | '"' | '\\') => {
                out.quoted("\\");
                out.quoted(other.encode_utf8(&mut [0; 4]));
            }
            (Quote::Double | Quote::None, Some(other)) => out.quoted(other.encode_utf8(&mut [0; 4])),
        }
    }

    /// The bracket of an extended pattern: `(a|b)`.
    fn choices(&mut self) -> Result<Vec<Word>, SyntaxError> {
        let mut choices = Vec::new();
        loop {
            self.at += 1;
            choices.push(self.pieces(Until::Choice)?);
            if self.peek() == Some(b')') {
                self.at += 1;
                return Ok(choices);
            }
        }
    }
}

/// The choices of a group as a pattern, if nothing in them is quoted that would mean something in it.
fn plain_group(choices: &[Word]) -> Option<String> {
    let text = |piece: &Piece| match piece {
        Piece::Bare(text) => Some(text.clone()),
        Piece::Quoted(text) if !text.contains(['*', '?', '[', ']', '(', ')', '|', '!', '+', '{', '}', ',']) => {
            Some(text.clone())
        }
        Piece::Quoted(_) | Piece::Parameter(..) | Piece::Command(..) | Piece::Process(..) | Piece::Arithmetic(_) => {
            None
        }
    };
    let one = |word: &Word| word.pieces.iter().map(text).collect::<Option<String>>();
    let choices: Vec<String> = choices.iter().map(one).collect::<Option<_>>()?;
    (!choices.iter().any(|choice| choice.contains('{'))).then(|| choices.join("|"))
}

/// Whether a byte ends a word outside quotes.
pub(super) const fn is_meta(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'|' | b'&' | b';' | b'(' | b')' | b'<' | b'>')
}

/// Collects pieces and joins neighbours of one kind.
#[derive(Default)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    pub(super) fn bare(&mut self, text: &str) {
        if let Some(Piece::Bare(before)) = self.0.last_mut() {
            before.push_str(text);
        } else {
            self.0.push(Piece::Bare(text.to_owned()));
        }
    }

    pub(super) fn quoted(&mut self, text: &str) {
        if let Some(Piece::Quoted(before)) = self.0.last_mut() {
            before.push_str(text);
        } else {
            self.0.push(Piece::Quoted(text.to_owned()));
        }
    }

    pub(super) fn push(&mut self, piece: Piece) {
        match piece {
            Piece::Quoted(text) => self.quoted(&text),
            Piece::Bare(text) => self.bare(&text),
            Piece::Parameter(..) | Piece::Command(..) | Piece::Process(..) | Piece::Arithmetic(_) => self.0.push(piece),
        }
    }

    /// Takes the sign that makes a bracket behind it a pattern.
    fn take_pattern_sign(&mut self) -> Option<char> {
        let Some(Piece::Bare(text)) = self.0.last_mut() else { return None };
        let sign = text.chars().last().filter(|letter| "?*+@!".contains(*letter))?;
        text.pop();
        Some(sign)
    }

    /// An extended pattern. One of several is what a brace expansion gives; a group whose choices are plain stays as it is
    /// written. Any other is taken for any text, beside what its choices substitute.
    fn push_choices(&mut self, sign: char, choices: Vec<Word>) {
        if matches!(sign, '!' | '+')
            && let Some(group) = plain_group(&choices)
        {
            self.bare(&alloc::format!("{sign}({group})"));
            return;
        }
        let runs = |word: &Word| word.pieces.iter().any(|piece| !matches!(piece, Piece::Bare(_) | Piece::Quoted(_)));
        let any = || Word { pieces: vec![Piece::Bare("*".to_owned())] };
        let words: Vec<Word> = match sign {
            '@' => choices,
            '?' => core::iter::once(Word { pieces: Vec::new() }).chain(choices).collect(),
            _ => core::iter::once(any()).chain(choices.into_iter().filter(runs)).collect(),
        };
        let several = words.len() > 1;
        for (number, word) in words.into_iter().enumerate() {
            if several {
                self.bare(if number == 0 { "{" } else { "," });
            }
            word.pieces.into_iter().for_each(|piece| self.push(piece));
        }
        if several {
            self.bare("}");
        }
    }

    /// Text of a choice, in which the signs of a brace expansion mean nothing.
    fn bare_choice(&mut self, text: &str) {
        for part in text.split_inclusive(['{', ',', '}']) {
            let plain = part.trim_end_matches(['{', ',', '}']);
            self.bare(plain);
            let sign = part.get(plain.len()..).unwrap_or_default();
            if !sign.is_empty() {
                self.quoted(sign);
            }
        }
    }

    fn done(self) -> Vec<Piece> {
        self.0
    }
}
