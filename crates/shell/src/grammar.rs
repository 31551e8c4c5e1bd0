//! The grammar: lists, pipelines, compounds, simple commands, redirections.

use super::ast::{Command, Compound, Item, Join, Piece, Redirect, RedirectKind, Script, Sense, Simple, Wait};
use super::dollar::quoted;
use super::lexer::{Lexer, is_meta};
use super::pending::{Expands, Pending, Tabs};
use super::syntax_error::SyntaxError;
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::OnceCell;

/// Words that end a list; who began the list says which one it must be.
const CLOSING: [&str; 8] = ["then", "do", "done", "fi", "elif", "else", "esac", "}"];

impl Lexer<'_> {
    /// A list up to its end: a closing word, a closing parenthesis, `;;`, or the end of the text.
    pub(super) fn script(&mut self) -> Result<Script, SyntaxError> {
        let outermost = self.depth == 0;
        let mut items = Vec::new();
        match self.list(&mut items) {
            Ok(()) => Ok(Script { items }),
            Err(error) => {
                if outermost {
                    self.before_refusal = items;
                }
                Err(error)
            }
        }
    }

    fn list(&mut self, items: &mut Vec<Item>) -> Result<(), SyntaxError> {
        let mut join = Join::Then;
        loop {
            let end = self.at;
            self.skip_lines()?;
            if join == Join::Then
                && self.depth == 0
                && self.text.get(end..self.at).is_some_and(|gap| gap.contains('\n'))
            {
                self.line = self.at;
            }
            if self.at_list_end() {
                if join != Join::Then {
                    return Err(SyntaxError::Refused("a command is missing after `&&` or `||`"));
                }
                return Ok(());
            }
            let (sense, pipeline) = self.pipeline()?;
            self.skip_blanks();
            let separator = self.separator();
            let wait = separator.as_ref().map_or(Wait::Foreground, |(wait, _)| *wait);
            items.push(Item { join, wait, sense, pipeline });
            join = match separator? {
                (_, Some(next)) => next,
                (_, None) => return Ok(()),
            };
        }
    }

    /// What stands behind a pipeline: whether it runs beside, and how the next one is joined, if there is one.
    fn separator(&mut self) -> Result<(Wait, Option<Join>), SyntaxError> {
        if self.take("&&") {
            return Ok((Wait::Foreground, Some(Join::And)));
        }
        if self.take("||") {
            return Ok((Wait::Foreground, Some(Join::Or)));
        }
        if self.rest().starts_with(";;") || self.rest().starts_with(";&") {
            return Ok((Wait::Foreground, None));
        }
        if self.take("&") {
            return Ok((Wait::Background, Some(Join::Then)));
        }
        if self.take(";") {
            return Ok((Wait::Foreground, Some(Join::Then)));
        }
        match self.peek() {
            Some(b'\n') => Ok((Wait::Foreground, Some(Join::Then))),
            None | Some(b')') => Ok((Wait::Foreground, None)),
            // A closing word needs no separator behind a compound: `{ { a; } }`.
            Some(_) if self.at_list_end() => Ok((Wait::Foreground, None)),
            Some(_) => Err(SyntaxError::Refused("an unexpected word or bracket")),
        }
    }

    fn at_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => self.peek_at(1) == Some(b';') || self.peek_at(1) == Some(b'&'),
            Some(_) => CLOSING.contains(&self.keyword()),
        }
    }

    /// The run of plain characters here: a keyword, if it is one.
    fn keyword(&self) -> &str {
        let rest = self.rest();
        let plain = |byte: &u8| byte.is_ascii_alphabetic() || b"{}[]!".contains(byte);
        let length = rest.bytes().take_while(plain).count();
        let ends = rest.as_bytes().get(length).is_none_or(|byte| is_meta(*byte));
        if ends { rest.get(..length).unwrap_or_default() } else { "" }
    }

    fn take_keyword(&mut self, expected: &str) -> bool {
        let there = self.keyword() == expected;
        if there {
            self.at += expected.len();
        }
        there
    }

    fn demand_keyword(&mut self, expected: &'static str, else_say: &'static str) -> Result<(), SyntaxError> {
        self.skip_lines()?;
        if self.take_keyword(expected) { Ok(()) } else { Err(SyntaxError::Refused(else_say)) }
    }

    fn pipeline(&mut self) -> Result<(Sense, Vec<Command>), SyntaxError> {
        let mut commands = Vec::new();
        let mut sense = Sense::Plain;
        loop {
            self.skip_blanks();
            let before = self.at;
            loop {
                if self.take_keyword("!") {
                    sense = Sense::Negated;
                } else if self.take_keyword("coproc") {
                    sense = Sense::Negated; // It runs beside the shell: nothing behind it knows how it ended.
                    self.skip_blanks();
                    self.coprocess_name();
                } else if !self.take_keyword("time") {
                    break;
                }
                self.skip_blanks();
                if self.take("-p ") {
                    self.skip_blanks();
                }
            }
            // `!` and `time` may stand alone.
            let alone = self.at > before && commands.is_empty() && matches!(self.peek(), None | Some(b';' | b'\n'));
            if alone && !self.text.get(before..self.at).unwrap_or_default().contains("coproc") {
                return Ok((sense, commands));
            }
            commands.push(self.command()?);
            self.skip_blanks();
            if self.rest().starts_with("||") || !self.take("|") {
                return Ok((sense, commands));
            }
            self.take("&");
            self.skip_lines()?;
        }
    }

    /// `coproc NAME compound`: the name is one only if a compound follows.
    fn coprocess_name(&mut self) {
        let before = self.at;
        let name = self.name();
        self.skip_blanks();
        let compound = self.peek() == Some(b'(')
            || matches!(self.keyword(), "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[");
        if name.is_empty() || !compound || self.rest().starts_with("()") {
            self.at = before;
        }
    }

    fn command(&mut self) -> Result<Command, SyntaxError> {
        self.enter()?;
        let command = self.command_inside()?;
        self.leave();
        Ok(command)
    }

    fn command_inside(&mut self) -> Result<Command, SyntaxError> {
        let compound = match (self.peek(), self.keyword()) {
            (Some(b'('), _) => self.parenthesis()?,
            (_, "{") => {
                self.at += 1;
                Compound::Group(self.group()?)
            }
            (_, "if") => self.if_clause()?,
            (_, keyword @ ("while" | "until")) => {
                self.at += keyword.len();
                let condition = self.script()?;
                Compound::Loop(condition, self.body()?)
            }
            (_, keyword @ ("for" | "select")) => {
                self.at += keyword.len();
                self.for_clause()?
            }
            (_, "case") => self.case_clause()?,
            (_, "[[") => self.test()?,
            (_, "function") => {
                self.at += "function".len();
                self.skip_blanks();
                let name = self.function_name();
                self.skip_blanks();
                if self.take("(") {
                    self.skip_blanks();
                    self.take(")");
                }
                return self.function(name);
            }
            _ => return self.simple(),
        };
        let redirects = self.redirects()?;
        Ok(Command::Compound(compound, redirects))
    }

    fn parenthesis(&mut self) -> Result<Compound, SyntaxError> {
        if self.peek_at(1) == Some(b'(') && self.is_arithmetic() {
            self.at += 2;
            let inside = self.pieces(super::lexer::Until::Arithmetic)?;
            return Ok(Compound::Test(vec![inside]));
        }
        self.at += 1;
        let body = self.script()?;
        if self.take(")") { Ok(Compound::Subshell(body)) } else { Err(SyntaxError::Refused("a `(` is not closed")) }
    }

    fn body(&mut self) -> Result<Script, SyntaxError> {
        self.demand_keyword("do", "a loop has no `do`")?;
        let body = self.script()?;
        self.demand_keyword("done", "a loop has no `done`")?;
        Ok(body)
    }

    fn if_clause(&mut self) -> Result<Compound, SyntaxError> {
        let mut parts = Vec::new();
        self.at += "if".len();
        loop {
            parts.push(self.script()?);
            self.demand_keyword("then", "an `if` has no `then`")?;
            parts.push(self.script()?);
            self.skip_lines()?;
            if self.take_keyword("elif") {
                continue;
            }
            if self.take_keyword("else") {
                parts.push(self.script()?);
            }
            self.demand_keyword("fi", "an `if` has no `fi`")?;
            return Ok(Compound::If(parts));
        }
    }

    fn for_clause(&mut self) -> Result<Compound, SyntaxError> {
        self.skip_blanks();
        if self.rest().starts_with("((") && self.is_arithmetic() {
            self.at += 2;
            let head = self.pieces(super::lexer::Until::Arithmetic)?;
            self.skip_blanks();
            self.take(";");
            return Ok(Compound::For(String::new(), Some(vec![head]), self.for_body()?));
        }
        let name = self.name();
        if name.is_empty() {
            return Err(SyntaxError::Refused("a `for` names no variable"));
        }
        self.skip_lines()?;
        let words = if self.take_keyword("in") {
            let mut words = Vec::new();
            while let Some(word) = self.word()? {
                words.push(word);
            }
            Some(words)
        } else {
            None
        };
        self.skip_blanks();
        self.take(";");
        Ok(Compound::For(name, words, self.for_body()?))
    }

    /// The body of a `for`: between `do` and `done`, or, as bash and zsh read it too, between braces.
    fn for_body(&mut self) -> Result<Script, SyntaxError> {
        self.skip_lines()?;
        if self.take_keyword("{") { self.group() } else { self.body() }
    }

    /// What stands behind an opening brace, with the closing one.
    fn group(&mut self) -> Result<Script, SyntaxError> {
        let body = self.script()?;
        self.demand_keyword("}", "a `{` is not closed")?;
        Ok(body)
    }

    fn case_clause(&mut self) -> Result<Compound, SyntaxError> {
        self.at += "case".len();
        let word = self.word()?.ok_or(SyntaxError::Refused("a `case` has no word"))?;
        self.demand_keyword("in", "a `case` has no `in`")?;
        let mut words = vec![word];
        let mut arms = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take_keyword("esac") {
                return Ok(Compound::Case(words, arms));
            }
            self.take("(");
            while let Some(pattern) = self.word()? {
                words.push(pattern);
                self.skip_blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.skip_blanks();
            if !self.take(")") {
                return Err(SyntaxError::Refused("a `case` is not closed"));
            }
            arms.push(self.script()?);
            let _last_arm_may_end_without = self.take(";;&") || self.take(";;") || self.take(";&");
        }
    }

    fn test(&mut self) -> Result<Compound, SyntaxError> {
        self.at += 2;
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take_keyword("]]") {
                return Ok(Compound::Test(words));
            }
            match self.word()? {
                Some(word) => words.push(word),
                None if self.peek().is_some() => self.at += 1,
                None => return Err(SyntaxError::Refused("a `[[` is not closed")),
            }
        }
    }

    fn function_name(&mut self) -> String {
        let rest = self.rest();
        let length = rest.bytes().take_while(|byte| !is_meta(*byte)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default().to_owned()
    }

    fn function(&mut self, name: String) -> Result<Command, SyntaxError> {
        self.skip_lines()?;
        let body = self.command()?;
        match body {
            Command::Compound(..) => Ok(Command::Function(name, Rc::new(body))),
            Command::Simple(_) | Command::Function(..) => Err(SyntaxError::Refused("a function has no body")),
        }
    }

    fn simple(&mut self) -> Result<Command, SyntaxError> {
        let start = self.at;
        let mut simple = Simple::default();
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
                continue;
            }
            if let Some(array) = self.declared_array(&simple)? {
                simple.declared.push(array);
                continue;
            }
            let Some(word) = self.word()? else { break };
            if simple.words.is_empty() && simple.assignments.is_empty() && self.is_function_head() {
                let name = word.literal().ok_or(SyntaxError::Refused("a function name is quoted"))?;
                return self.function(name.to_owned());
            }
            simple.words.push(word);
        }
        if simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty() {
            return Err(SyntaxError::Refused("a command is missing"));
        }
        simple.source = self.text.get(start..self.at).unwrap_or_default().trim_end().to_owned();
        Ok(Command::Simple(simple))
    }

    /// Takes the `()` of a function definition.
    fn is_function_head(&mut self) -> bool {
        let before = self.at;
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            if self.take(")") {
                return true;
            }
        }
        self.at = before;
        false
    }

    fn redirects(&mut self) -> Result<Vec<Redirect>, SyntaxError> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    /// One redirection, if one begins here.
    fn redirect(&mut self) -> Result<Option<Redirect>, SyntaxError> {
        let before = self.at;
        let rest = self.rest();
        let mut digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 && rest.starts_with('{') {
            let closed =
                rest.find('}').filter(|end| rest.as_bytes().get(end + 1).is_some_and(|next| b"<>".contains(next)));
            digits = closed.map_or(0, |end| end + 1);
        }
        let fd = rest.get(..digits).and_then(|text| text.parse().ok());
        self.at += digits;
        let operators = ["<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "&>>", "&>", "<", ">"];
        let found = operators.into_iter().find(|operator| self.rest().starts_with(operator));
        let Some(operator) = found.filter(|_| self.peek_at(1) != Some(b'(')) else {
            self.at = before;
            return Ok(None);
        };
        self.at += operator.len();
        if operator.starts_with("<<") && operator != "<<<" {
            let tabs = if operator == "<<-" { Tabs::Stripped } else { Tabs::Kept };
            return self.here_document(fd, tabs).map(Some);
        }
        let kind = match operator {
            "<<<" => RedirectKind::HereString,
            "<" => RedirectKind::Read,
            "<>" => RedirectKind::ReadWrite,
            "<&" | ">&" => RedirectKind::Duplicate,
            ">>" | "&>>" => RedirectKind::Append,
            _ => RedirectKind::Write,
        };
        let target = self.word()?.ok_or(SyntaxError::Refused("a redirection has no target"))?;
        Ok(Some(Redirect { fd, kind, target }))
    }

    fn here_document(&mut self, fd: Option<u32>, tabs: Tabs) -> Result<Redirect, SyntaxError> {
        let word = self.word()?.ok_or(SyntaxError::Refused("a here-document has no delimiter"))?;
        let mut expands = Expands::Yes;
        let mut delimiter = String::new();
        for piece in &word.pieces {
            match piece {
                Piece::Bare(text) => delimiter.push_str(text),
                Piece::Quoted(text) => {
                    expands = Expands::No;
                    delimiter.push_str(text);
                }
                Piece::Parameter(parameter, _) => delimiter.push_str(&format!("${}", parameter.name)),
                Piece::Command(..) | Piece::Process(..) | Piece::Arithmetic(_) => {
                    return Err(SyntaxError::Refused("a here-document's delimiter is not a plain word"));
                }
            }
        }
        let body = Rc::new(OnceCell::new());
        let target = quoted(&delimiter);
        self.pending.push(Pending { delimiter, expands, tabs, body: Rc::clone(&body) });
        Ok(Redirect { fd, kind: RedirectKind::HereDocument(body), target })
    }
}
