//! A tree as one line of text that a person can compare with the command line it was read from.
//!
//! A command is its words, each in brackets: `[rm] [-rf] [x'y z']`. In a word, bare text stands as it is, quoted text in
//! single quotes, and what is expanded inside double quotes begins with `"`. What only says the usual (`;`, foreground,
//! no `!`) is not drawn.

use std::fmt::Write as _;
use tripwire_shell::{
    Assign, Assignment, Command, Compound, Flow, Item, Join, Parameter, Piece, Quote, Redirect, RedirectKind, Script,
    Sense, Simple, Wait, Word,
};

/// A script: its pipelines, each behind what joins it to the one before.
pub(crate) fn script(script: &Script) -> String {
    let mut text = String::new();
    for (number, item) in script.items.iter().enumerate() {
        let join = match (item.join, number) {
            (Join::Then, 0) => "",
            (Join::Then, _) => "; ",
            (Join::And, _) => "&& ",
            (Join::Or, _) => "|| ",
        };
        text.push_str(if number > 0 { " " } else { "" });
        write!(text, "{join}{}", pipeline(item)).unwrap();
    }
    text
}

fn pipeline(item: &Item) -> String {
    let sense = if item.sense == Sense::Negated { "! " } else { "" };
    let wait = if item.wait == Wait::Background { " &" } else { "" };
    format!("{sense}{}{wait}", item.pipeline.iter().map(command).collect::<Vec<_>>().join(" | "))
}

fn command(command: &Command) -> String {
    match command {
        Command::Simple(simple) => self::simple(simple),
        Command::Compound(compound, redirects) => {
            format!("{}{}", self::compound(compound), redirects.iter().map(redirect).collect::<String>())
        }
        Command::Function(name, body) => format!("function {name} {}", self::command(body)),
    }
}

fn compound(compound: &Compound) -> String {
    let braced = |scripts: &[Script]| scripts.iter().map(|part| format!(" {{{}}}", script(part))).collect::<String>();
    match compound {
        Compound::Subshell(body) => format!("({})", script(body)),
        Compound::Group(body) => format!("{{{}}}", script(body)),
        Compound::If(parts) => format!("if{}", braced(parts)),
        Compound::Loop(condition, body) => format!("loop {{{}}} {{{}}}", script(condition), script(body)),
        Compound::For(name, items, body) => {
            let items = items.as_ref().map(|items| format!(" in {}", words(items))).unwrap_or_default();
            format!("for {name:?}{items} {{{}}}", script(body))
        }
        Compound::Case(patterns, arms) => format!("case {}{}", words(patterns), braced(arms)),
        Compound::Test(parts) => format!("test {}", words(parts)),
    }
}

fn simple(simple: &Simple) -> String {
    let set = simple.assignments.iter().map(|one| format!("set {}", assignment(one)));
    let declared = simple.declared.iter().map(|one| format!("declared {}", assignment(one)));
    let all: Vec<String> = set.chain(simple.words.iter().map(word)).chain(declared).collect();
    format!("{}{}", all.join(" "), simple.redirects.iter().map(redirect).collect::<String>())
}

fn assignment(assignment: &Assignment) -> String {
    let subscript = if assignment.subscript.pieces.is_empty() { String::new() } else { word(&assignment.subscript) };
    let how = match assignment.how {
        Assign::Set => "=",
        Assign::Append => "+=",
    };
    let value = match &assignment.elements {
        Some(elements) => format!("({}){}", words(elements), pieces(&assignment.value)),
        None => word(&assignment.value),
    };
    format!("{}{subscript}{how}{value}", assignment.name)
}

fn redirect(redirect: &Redirect) -> String {
    let fd = redirect.fd.map(|fd| fd.to_string()).unwrap_or_default();
    let target = word(&redirect.target);
    match &redirect.kind {
        RedirectKind::Read => format!(" {fd}read{target}"),
        RedirectKind::Write => format!(" {fd}write{target}"),
        RedirectKind::Append => format!(" {fd}append{target}"),
        RedirectKind::ReadWrite => format!(" {fd}read-write{target}"),
        RedirectKind::Duplicate => format!(" {fd}duplicate{target}"),
        RedirectKind::HereString => format!(" {fd}here-string{target}"),
        RedirectKind::HereDocument(body) => {
            let body = body.get().map_or_else(|| "no body".to_owned(), word);
            format!(" {fd}here-document{target} {body}")
        }
    }
}

fn words(words: &[Word]) -> String {
    words.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// A word in its brackets.
pub(crate) fn word(word: &Word) -> String {
    format!("[{}]", pieces(word))
}

fn pieces(word: &Word) -> String {
    word.pieces.iter().map(piece).collect()
}

fn piece(piece: &Piece) -> String {
    let mark = |quote: &Quote| match quote {
        Quote::Double => "\"",
        Quote::None => "",
    };
    match piece {
        Piece::Bare(text) => text.clone(),
        Piece::Quoted(text) => format!("'{text}'"),
        Piece::Parameter(parameter, quote) => format!("{}{}", mark(quote), self::parameter(parameter)),
        Piece::Command(script, quote) => format!("{}$({})", mark(quote), self::script(script)),
        Piece::Process(script, Flow::In) => format!("<({})", self::script(script)),
        Piece::Process(script, Flow::Out) => format!(">({})", self::script(script)),
        Piece::Arithmetic(inside) => format!("$(({}))", pieces(inside)),
    }
}

fn parameter(parameter: &Parameter) -> String {
    match &parameter.operation {
        None => format!("${{{}}}", parameter.name),
        Some((operation, argument)) => format!("${{{} {operation:?} {}}}", parameter.name, word(argument)),
    }
}

/// The sources of all simple commands of a script, outermost first, as far as no expansion hides them.
pub(crate) fn sources(script: &Script) -> Vec<&str> {
    script.items.iter().flat_map(|item| &item.pipeline).flat_map(command_sources).collect()
}

fn command_sources(command: &Command) -> Vec<&str> {
    match command {
        Command::Simple(simple) => vec![simple.source.as_str()],
        Command::Function(_, body) => command_sources(body),
        Command::Compound(compound, _) => match compound {
            Compound::Subshell(body) | Compound::Group(body) | Compound::For(_, _, body) => sources(body),
            Compound::If(scripts) | Compound::Case(_, scripts) => scripts.iter().flat_map(sources).collect(),
            Compound::Loop(condition, body) => [sources(condition), sources(body)].concat(),
            Compound::Test(_) => Vec::new(),
        },
    }
}
