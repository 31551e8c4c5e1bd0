//! What begins with `$` or a backquote.

use super::ast::{Operation, Parameter, Piece, Quote, Script, Word};
use super::lexer::{Lexer, Pieces, Until};
use super::syntax_error::SyntaxError;
use alloc::borrow::ToOwned as _;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

impl Lexer<'_> {
    pub(super) fn dollar(&mut self, quote: Quote, out: &mut Pieces) -> Result<(), SyntaxError> {
        self.at += 1;
        match self.peek() {
            Some(b'\'') if quote == Quote::None => {
                self.at += 1;
                let text = self.ansi_c()?;
                out.quoted(&text);
            }
            Some(b'"') if quote == Quote::None => {} // A translated string: the quote follows.
            Some(b'(') if self.peek_at(1) == Some(b'(') && self.is_arithmetic() => {
                self.at += 2;
                out.push(Piece::Arithmetic(self.pieces(Until::Arithmetic)?));
            }
            Some(b'(') => {
                self.at += 1;
                out.push(Piece::Command(self.substituted()?, quote));
            }
            Some(b'{') => {
                self.at += 1;
                out.push(Piece::Parameter(self.braced()?, quote));
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let name = self.name();
                out.push(Piece::Parameter(Parameter { name, operation: None }, quote));
            }
            Some(byte) if byte.is_ascii_digit() || b"@*#?-$!".contains(&byte) => {
                self.at += 1;
                let name = char::from(byte).to_string();
                out.push(Piece::Parameter(Parameter { name, operation: None }, quote));
            }
            _ => out.quoted("$"),
        }
        Ok(())
    }

    /// A script up to its closing parenthesis.
    pub(super) fn substituted(&mut self) -> Result<Rc<Script>, SyntaxError> {
        self.enter()?;
        let script = self.script()?;
        if !self.take(")") {
            return Err(SyntaxError::Refused("a command substitution is not closed"));
        }
        self.leave();
        Ok(Rc::new(script))
    }

    /// A script between backquotes: unescaped first, then read.
    pub(super) fn backquoted(&mut self) -> Result<Rc<Script>, SyntaxError> {
        let mut inner = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((offset, next)) = chars.next() {
            match next {
                '`' => {
                    self.at += offset + 1;
                    self.enter()?;
                    let script = Lexer::new(&inner, self.depth).whole()?;
                    self.leave();
                    return Ok(Rc::new(script));
                }
                '\\' => match chars.next() {
                    Some((_, escaped @ ('`' | '\\' | '$'))) => inner.push(escaped),
                    Some((_, other)) => inner.extend(['\\', other]),
                    None => break,
                },
                other => inner.push(other),
            }
        }
        Err(SyntaxError::Refused("a backquote is not closed"))
    }

    pub(super) fn name(&mut self) -> String {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        self.at += length;
        rest.get(..length).unwrap_or_default().to_owned()
    }

    /// What stands in `${…}`.
    fn braced(&mut self) -> Result<Parameter, SyntaxError> {
        let before = self.at;
        let indirect = (self.peek() == Some(b'!') || self.peek() == Some(b'#')) && self.peek_at(1) != Some(b'}');
        if indirect {
            self.at += 1;
        }
        let mut name = self.name();
        if name.is_empty() {
            let special = self.peek().filter(|byte| b"@*#?-$!".contains(byte));
            name = special.map(|byte| char::from(byte).to_string()).unwrap_or_default();
            self.at += name.len();
        }
        let operators = [
            (":-", Operation::Default),
            (":=", Operation::Assign),
            (":?", Operation::Demand),
            (":+", Operation::Alternative),
            ("%%", Operation::CutLongestEnd),
            ("##", Operation::CutLongestStart),
            ("%", Operation::CutShortestEnd),
            ("#", Operation::CutShortestStart),
            ("-", Operation::Default),
            ("=", Operation::Assign),
            ("?", Operation::Demand),
            ("+", Operation::Alternative),
        ];
        if !indirect && self.take("}") {
            return Ok(Parameter { name, operation: None });
        }
        let found = operators.into_iter().find(|(text, _)| !indirect && self.rest().starts_with(text));
        let operation = match found {
            Some((text, operation)) => {
                self.at += text.len();
                operation
            }
            None => Operation::Other,
        };
        let argument = self.pieces(Until::Brace)?;
        if name.is_empty() && self.text.get(before..self.at).is_none_or(|text| text.len() < 2) {
            return Err(SyntaxError::Refused("an empty expansion"));
        }
        Ok(Parameter { name, operation: Some((operation, argument)) })
    }

    /// Whether what begins with two parentheses ends with two as well.
    pub(super) fn is_arithmetic(&self) -> bool {
        let mut open = 0_usize;
        let bytes = self.rest().as_bytes();
        for (offset, byte) in bytes.iter().enumerate() {
            match byte {
                b'(' => open += 1,
                b')' if open == 2 => return bytes.get(offset + 1) == Some(&b')'),
                b')' => open = open.saturating_sub(1),
                b'\n' if open < 2 => return false,
                _ => {}
            }
        }
        false
    }

    /// `$'…'` with its escapes.
    fn ansi_c(&mut self) -> Result<String, SyntaxError> {
        let mut out: Vec<u8> = Vec::new();
        loop {
            let Some(next) = self.rest().chars().next() else {
                return Err(SyntaxError::Refused("a quote is not closed"));
            };
            self.at += next.len_utf8();
            match next {
                '\'' => return Ok(String::from_utf8_lossy(&out).into_owned()),
                '\\' => self.escape(&mut out),
                other => out.extend(other.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) {
        let Some(kind) = self.rest().chars().next() else { return };
        self.at += kind.len_utf8();
        let plain = match kind {
            'n' => Some(b'\n'),
            't' => Some(b'\t'),
            'r' => Some(b'\r'),
            'a' => Some(7),
            'b' => Some(8),
            'e' | 'E' => Some(27),
            'f' => Some(12),
            'v' => Some(11),
            _ => None,
        };
        if let Some(byte) = plain {
            return out.push(byte);
        }
        match kind {
            'x' => out.extend(self.number(16, 2).map(|value| u8::try_from(value & 0xff).unwrap_or_default())),
            'u' => self.unicode(4, out),
            'U' => self.unicode(8, out),
            '0'..='7' => {
                self.at -= 1;
                out.extend(self.number(8, 3).map(|value| u8::try_from(value & 0xff).unwrap_or_default()));
            }
            'c' => {
                let control = self.rest().bytes().next().unwrap_or_default();
                self.at += usize::from(control.is_ascii());
                out.push(control & 0x1f);
            }
            other @ ('\\' | '\'' | '"' | '?') => out.extend(other.encode_utf8(&mut [0; 4]).bytes()),
            other => {
                out.push(b'\\');
                out.extend(other.encode_utf8(&mut [0; 4]).bytes());
            }
        }
    }

    fn unicode(&mut self, digits: usize, out: &mut Vec<u8>) {
        if let Some(letter) = self.number(16, digits).and_then(char::from_u32) {
            out.extend(letter.encode_utf8(&mut [0; 4]).bytes());
        }
    }

    fn number(&mut self, radix: u32, digits: usize) -> Option<u32> {
        let rest = self.rest();
        let length = rest.chars().take(digits).take_while(|digit| digit.is_digit(radix)).count();
        self.at += length;
        u32::from_str_radix(rest.get(..length)?, radix).ok()
    }
}

/// A word of one quoted text, for code that builds words.
pub(super) fn quoted(text: &str) -> Word {
    Word { pieces: vec![Piece::Quoted(text.to_owned())] }
}
