//! The simple commands of a line in their order, with how the status of each joins the next: a view of the tree that
//! `tripwire_shell` reads. It expands nothing and runs nothing; substitutions and here-documents stay data.
//!
//! bash runs little of a line that it refuses; what the line was meant to do is still counted, as far as it can be read.
//! How the call ended says what came of it.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use tripwire_shell::{
    Compound, Item, Join, Parsed, Piece, Redirect, RedirectKind, Script, Sense, Simple, SyntaxError, Wait, Word, parse,
    parse_up_to_refusal,
};

/// Simple commands that one command line may have; the rest is not looked at.
const COMMANDS_MAX: usize = 64;
/// Commands and compounds that are visited, functions each time they are called.
const VISITS_MAX: usize = 1_024;

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
    /// `&`: the shell does not wait for it.
    Background,
    /// Nothing: the line ends here.
    End,
}

/// What a command's status becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is what its joint makes of it.
    Plain,
    /// `!` turns it round.
    Negated,
    /// It is inside an `if`, a loop or a `case`, which may not run it at all.
    Block,
}

/// A program with its words and where its output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    /// The words without their quotes, the program first; none where only variables are set. What is only known once it
    /// runs is written as an empty expansion: `${NAME}`, `$()`.
    pub(super) words: Vec<String>,
    /// Files that its output is written to; where its errors go is of no interest.
    pub(super) writes: Vec<String>,
    /// The text of its here-document or here-string.
    pub(super) input: Option<String>,
    /// What follows.
    pub(super) joint: Joint,
    /// What its status becomes.
    pub(super) fate: Fate,
}

impl Command {
    /// The words as plain texts.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
}

/// The simple commands of a line.
pub(super) fn commands(line: &str) -> Vec<Command> {
    let mut view = View::default();
    view.script(&read(line), Position { joint: Joint::End, fate: Fate::Plain });
    view.done
}

/// Reads a line. One that bash refuses may have been recorded without its quotes, and brackets in plain text are what is
/// refused most: it is read once more with blanks for them, up to where that is refused too.
fn read(line: &str) -> Script {
    match parse(line) {
        Parsed { script, error: None } => script,
        Parsed { error: Some(SyntaxError::Refused(_)), .. } => parse_up_to_refusal(&line.replace(['(', ')'], " ")),
        Parsed { error: Some(SyntaxError::TooDeep), .. } => Script::default(),
    }
}

/// Where a command stands.
#[derive(Clone, Copy)]
struct Position {
    joint: Joint,
    fate: Fate,
}

impl Position {
    const fn before(self, joint: Joint) -> Self {
        Self { joint, ..self }
    }

    const fn in_block(self) -> Self {
        Self { fate: Fate::Block, ..self }
    }
}

#[derive(Default)]
struct View {
    done: Vec<Command>,
    functions: BTreeMap<String, Rc<tripwire_shell::Command>>,
    /// Functions that are being followed.
    running: Vec<String>,
    visits: usize,
}

impl View {
    fn script(&mut self, script: &Script, at: Position) {
        for (index, item) in script.items.iter().enumerate() {
            let next = script.items.get(index.saturating_add(1)).map(|next| next.join);
            let joint = match (item.wait, next) {
                (Wait::Background, _) => Joint::Background,
                (Wait::Foreground, Some(Join::And)) => Joint::And,
                (Wait::Foreground, Some(Join::Or)) => Joint::Or,
                (Wait::Foreground, Some(Join::Then)) => Joint::Then,
                (Wait::Foreground, None) => at.joint,
            };
            self.pipeline(item, at.before(joint));
        }
    }

    fn pipeline(&mut self, item: &Item, at: Position) {
        let fate = match item.sense {
            Sense::Negated if at.fate == Fate::Plain => Fate::Negated,
            Sense::Negated | Sense::Plain => at.fate,
        };
        let Some((last, before)) = item.pipeline.split_last() else { return };
        for command in before {
            self.command(command, Position { joint: Joint::Pipe, fate });
        }
        self.command(last, Position { fate, ..at });
    }

    fn command(&mut self, command: &tripwire_shell::Command, at: Position) {
        self.visits = self.visits.saturating_add(1);
        if self.visits > VISITS_MAX {
            return;
        }
        match command {
            tripwire_shell::Command::Simple(simple) => self.simple(simple, at),
            tripwire_shell::Command::Compound(compound, redirects) => {
                self.compound(compound, at);
                self.redirect_last(redirects);
            }
            tripwire_shell::Command::Function(name, body) => {
                self.functions.insert(name.clone(), Rc::clone(body));
                self.push(Vec::new(), &[], at);
            }
        }
    }

    fn simple(&mut self, simple: &Simple, at: Position) {
        let words: Vec<String> = simple.words.iter().map(text).collect();
        let function = words.first().filter(|name| !self.running.contains(name)).cloned();
        match function.and_then(|name| Some((Rc::clone(self.functions.get(&name)?), name))) {
            Some((body, name)) => {
                self.running.push(name);
                self.command(&body, at);
                self.running.pop();
                self.redirect_last(&simple.redirects);
            }
            None => self.push(words, &simple.redirects, at),
        }
    }

    fn compound(&mut self, compound: &Compound, at: Position) {
        let (bodies, at): (Vec<&Script>, Position) = match compound {
            Compound::Subshell(body) | Compound::Group(body) => (vec![body], at),
            Compound::If(parts) | Compound::Case(_, parts) => (parts.iter().collect(), at.in_block()),
            Compound::Loop(condition, body) => (vec![condition, body], at.in_block()),
            Compound::For(_, _, body) => (vec![body], at.in_block()),
            Compound::Test(_) => return self.push(vec!["[[".to_owned()], &[], at),
        };
        if let Some((last, before)) = bodies.split_last() {
            before.iter().for_each(|body| self.script(body, at.before(Joint::Then)));
            self.script(last, at);
        }
    }

    fn push(&mut self, words: Vec<String>, redirects: &[Redirect], at: Position) {
        if self.done.len() < COMMANDS_MAX {
            let Position { joint, fate } = at;
            self.done.push(Command { words, writes: Vec::new(), input: None, joint, fate });
            self.redirect_last(redirects);
        }
    }

    /// Where the output of a compound goes, that of its last command goes.
    fn redirect_last(&mut self, redirects: &[Redirect]) {
        let Some(last) = self.done.last_mut() else { return };
        for redirect in redirects {
            match &redirect.kind {
                RedirectKind::HereDocument(body) => last.input = body.get().map(text),
                RedirectKind::HereString => last.input = Some(text(&redirect.target)),
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite if redirect.fd != Some(2) => {
                    last.writes.push(text(&redirect.target));
                }
                RedirectKind::Duplicate => {
                    let target = text(&redirect.target);
                    let is_descriptor = target.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                    last.writes.extend((!is_descriptor).then_some(target));
                }
                RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite | RedirectKind::Read => {}
            }
        }
    }
}

/// A word without its quotes.
fn text(word: &Word) -> String {
    let mut out = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Bare(text) | Piece::Quoted(text) => out.push_str(text),
            Piece::Parameter(parameter, _) => out.push_str(&format!("${{{}}}", parameter.name)),
            Piece::Command(..) => out.push_str("$()"),
            Piece::Process(..) => out.push_str("<()"),
            Piece::Arithmetic(_) => out.push_str("$(())"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

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
        assert_eq!(read("echo $(cargo test | x) `y; z` # && no"), vec![("echo·$()·$()".into(), Joint::End)]);
        assert_eq!(read("(cd x && y)"), vec![("cd·x".into(), Joint::And), ("y".into(), Joint::End)]);
        assert_eq!(read("A=b c $D \"${E:-f g}\""), vec![("c·${D}·${E}".into(), Joint::End)]);
    }

    #[test]
    fn heredoc_bodies_are_skipped() {
        let line = "cat > a.py <<'EOF'\ncargo test && rm x\nEOF\nls";
        assert_eq!(read(line), vec![("cat".into(), Joint::Then), ("ls".into(), Joint::End)]);
        assert_eq!(commands(line)[0].writes, ["a.py"]);
        assert_eq!(commands(line)[0].input.as_deref(), Some("cargo test && rm x\n"));
        assert_eq!(read("cat <<EOF\nnever ends").len(), 1);
    }

    #[test]
    fn redirections_name_the_file_that_is_written_and_nothing_else() {
        for (line, writes) in [
            ("a > x", vec!["x"]),
            ("a >> x 2>&1", vec!["x"]),
            ("a &> x", vec!["x"]),
            ("a >& x", vec!["x"]),
            ("(a) > x", vec!["x"]),
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
    fn compounds_and_functions_are_seen_through() {
        for (line, expected) in [
            ("if a; then b; else c; fi | d", "a b c d"),
            ("for x in 1 2; do a; done && b", "a b"),
            ("while a; do b; done", "a b"),
            ("case $x in a) b;; *) c;; esac", "b c"),
            ("{ a; b; }; c", "a b c"),
            ("f() { a; }; b; f", " b a"),
            ("f() { f; a; }; f", " f a"),
            ("time a; ! b", "a b"),
        ] {
            let read: Vec<String> = commands(line).iter().map(|command| command.texts().join("·")).collect();
            assert_eq!(read.join(" "), expected, "{line}");
        }
        let fates: Vec<Fate> = commands("a; ! b; if c; then d; fi").iter().map(|command| command.fate).collect();
        assert_eq!(fates, [Fate::Plain, Fate::Negated, Fate::Block, Fate::Block]);
    }

    #[test]
    fn of_a_line_that_bash_refuses_what_comes_before_the_refusal_is_seen() {
        for line in ["", "'", "\"", "`", "<<", ">", "&&", "|||", "a <<", "((((", "\"\\", "a '"] {
            assert!(commands(line).is_empty(), "{line}");
        }
        assert_eq!(read("a\nb &&&"), vec![("a".into(), Joint::Then), ("b".into(), Joint::End)]);
        assert_eq!(read("a && b 'c"), vec![("a".into(), Joint::End)]);
        assert_eq!(commands("echo it (really) > x")[0].writes, ["x"]);
        assert!(commands(&"(".repeat(200)).is_empty());
    }

    #[test]
    fn a_line_that_unrolls_without_end_is_cut() {
        let mut line = String::from("f0() { [[ 1 ]]; }\n");
        for number in 1..30 {
            let below = number - 1;
            line.push_str(&format!("f{number}() {{ f{below}; f{below}; }}\n"));
        }
        line.push_str("f29");
        assert_eq!(commands(&line).len(), COMMANDS_MAX);
    }
}
