//! The tree of a command line.

use alloc::borrow::ToOwned as _;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

/// A list of pipelines.
#[derive(Debug, Clone, Default)]
pub struct Script {
    /// In the order in which they are written.
    pub items: Vec<Item>,
}

/// One pipeline, and how it hangs together with the one before.
#[derive(Debug, Clone)]
pub struct Item {
    /// What connects it with the one before.
    pub join: Join,
    /// Whether the shell waits for it.
    pub wait: Wait,
    /// Whether its success is the success of its commands.
    pub sense: Sense,
    /// The commands, each reading what the one before writes.
    pub pipeline: Vec<Command>,
}

/// What a pipeline's success says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// That its last command succeeded.
    Plain,
    /// `!`: that it did not.
    Negated,
}

/// What stands before a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// `;`, a new line, or nothing.
    Then,
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Whether a pipeline runs beside the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The shell waits.
    Foreground,
    /// `&`
    Background,
}

/// One command.
#[derive(Debug, Clone)]
pub enum Command {
    /// A program with its arguments.
    Simple(Simple),
    /// A compound with its redirections.
    Compound(Compound, Vec<Redirect>),
    /// A function is only defined, not run.
    Function(String, Rc<Command>),
}

/// The compounds of the language.
#[derive(Debug, Clone)]
pub enum Compound {
    /// `( … )`
    Subshell(Script),
    /// `{ …; }`
    Group(Script),
    /// `if`: conditions and branches in their order.
    If(Vec<Script>),
    /// `while` and `until`: condition, body.
    Loop(Script, Script),
    /// `for` and `select`.
    For(String, Option<Vec<Word>>, Script),
    /// `case`: the word with the patterns, and the arms.
    Case(Vec<Word>, Vec<Script>),
    /// `[[ … ]]`, `(( … ))`: nothing runs except what their words substitute.
    Test(Vec<Word>),
}

/// A program with its arguments.
#[derive(Debug, Clone, Default)]
pub struct Simple {
    /// `NAME=value` before the program.
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Arrays among the arguments of `declare` and its like.
    pub declared: Vec<Assignment>,
    /// Where its input and output go.
    pub redirects: Vec<Redirect>,
    /// The text as written, for the verdict.
    pub source: String,
}

/// One assignment.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// What stands in its brackets: it is expanded like any word.
    pub subscript: Word,
    /// Its value.
    pub value: Word,
    /// The elements, where it is an array.
    pub elements: Option<Vec<Word>>,
    /// Whether it is added to what is there.
    pub how: Assign,
}

/// The two forms of assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assign {
    /// `=`
    Set,
    /// `+=`
    Append,
}

/// One redirection.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// The descriptor, where it is given.
    pub fd: Option<u32>,
    /// What it does.
    pub kind: RedirectKind,
    /// The file, the text, or the delimiter.
    pub target: Word,
}

/// The redirections.
#[derive(Debug, Clone)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`
    Write,
    /// `>>`, `&>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `>&`, `<&`
    Duplicate,
    /// `<<`, with its body once it was read.
    HereDocument(Rc<OnceCell<Word>>),
    /// `<<<`
    HereString,
}

/// One word, as pieces.
#[derive(Debug, Clone, Default)]
pub struct Word {
    /// In the order in which they are written.
    pub pieces: Vec<Piece>,
}

/// A piece of a word.
#[derive(Debug, Clone)]
pub enum Piece {
    /// Text outside quotes: braces, tildes and patterns mean something.
    Bare(String),
    /// Text that stands for itself.
    Quoted(String),
    /// `$name`, `${…}`
    Parameter(Parameter, Quote),
    /// `$(…)` and backquotes.
    Command(Rc<Script>, Quote),
    /// `<(…)`, `>(…)`
    Process(Rc<Script>, Flow),
    /// `$((…))`: a number, and what it substitutes on the way.
    Arithmetic(Word),
}

/// Which way a process substitution goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// `<(…)`: the command reads what it writes.
    In,
    /// `>(…)`: it reads what the command writes.
    Out,
}

/// Whether an expansion stands inside double quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// It does, and is never split.
    Double,
    /// It does not.
    None,
}

/// A parameter expansion.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// The variable, number or special character.
    pub name: String,
    /// What is done with its value.
    pub operation: Option<(Operation, Word)>,
}

/// What is done with a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `:-`, `-`
    Default,
    /// `:=`, `=`: the same, and the variable has that value from then on.
    Assign,
    /// `:?`, `?`
    Demand,
    /// `:+`, `+`
    Alternative,
    /// `%`
    CutShortestEnd,
    /// `%%`
    CutLongestEnd,
    /// `#`
    CutShortestStart,
    /// `##`
    CutLongestStart,
    /// Substrings, replacements, changes of case, lengths, indirections, subscripts.
    Other,
}

impl Word {
    /// The name and the value, if it is written like an assignment.
    pub fn split_assignment(&self) -> Option<(String, Self)> {
        let (first, rest) = self.pieces.split_first()?;
        let Piece::Bare(text) = first else { return None };
        let (name, value) = text.split_once('=')?;
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let start = (!value.is_empty()).then(|| Piece::Bare(value.to_owned()));
        let pieces = start.into_iter().chain(rest.iter().cloned()).collect();
        plain.then(|| (name.to_owned(), Self { pieces }))
    }

    /// The text, if nothing in it is expanded: the only form in which a word can be a keyword or a name.
    pub fn literal(&self) -> Option<&str> {
        if let [Piece::Bare(text)] = self.pieces.as_slice() { Some(text) } else { None }
    }
}
