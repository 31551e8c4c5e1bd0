//! From words to arguments: braces, tildes, variables, substitutions, in bash's order.

use super::arithmetic;
use crate::line::field::{Atom, Field, Fill, Origin, StandIn, fits};
use crate::line::state::State;
use crate::line::stream::Stream;
use std::rc::Rc;
use tripwire_shell::{Flow, Operation, Parameter, Piece, Quote, Script, Word};

/// Most arguments that one word may become; a longer list is cut, and its rest judged as unknown.
const FIELDS_MAX: usize = 256;

/// Longest word whose braces are expanded; a longer one is held.
const BRACED_MAX: usize = 4_096;

/// A character outside quotes, or a piece.
#[derive(Debug, Clone)]
enum WordUnit {
    Bare(char),
    Piece(Piece),
}

/// The arguments while they are built.
#[derive(Default)]
struct Building {
    done: Vec<Field>,
    now: Option<Field>,
}

impl Building {
    fn now(&mut self) -> &mut Field {
        self.now.get_or_insert_with(Field::default)
    }

    fn split(&mut self) {
        self.done.extend(self.now.take());
    }
}

/// The shell whose words are expanded.
pub(crate) trait Shell {
    fn state(&self) -> &State;

    fn state_mut(&mut self) -> &mut State;

    /// Runs a substitution, and gives what it writes.
    fn substitute(&mut self, script: &Script) -> Stream;

    /// Keeps a script that reads what the command at hand writes: `>(…)`.
    fn add_outlet(&mut self, script: &Rc<Script>);

    /// Counts what an expansion makes; false where the line makes too much of itself.
    fn may_expand(&mut self, bytes: usize) -> bool;
}

/// All words as arguments.
pub(super) fn fields(shell: &mut dyn Shell, words: &[Word]) -> Vec<Field> {
    words.iter().flat_map(|word| split_word(shell, word)).collect()
}

/// One word as arguments.
pub(super) fn split_word(shell: &mut dyn Shell, word: &Word) -> Vec<Field> {
    let mut fields = Vec::new();
    let units = units(word);
    if units.len() > BRACED_MAX && first_brace(&units).is_some() && !shell.may_expand(usize::MAX) {
        return vec![Field::from_unknown(Origin::Output)];
    }
    for units in braces(units) {
        let mut building = Building::default();
        expand(shell, &units, &mut building);
        building.split();
        fields.append(&mut building.done);
    }
    fields
}

/// One word as one text: an assignment, a redirection's target, a here-document's body.
pub(super) fn one(shell: &mut dyn Shell, word: &Word) -> Field {
    let mut building = Building::default();
    expand(shell, &units(word), &mut building);
    building.split();
    let mut joined = Field::default();
    for (number, field) in building.done.into_iter().enumerate() {
        if number > 0 {
            joined.push_text(" ");
        }
        joined.atoms.extend(field.atoms);
    }
    joined
}

fn expand(shell: &mut dyn Shell, units: &[WordUnit], out: &mut Building) {
    let mut run = String::new();
    for (number, unit) in units.iter().enumerate() {
        match unit {
            WordUnit::Bare(letter) => run.push(*letter),
            WordUnit::Piece(piece) => {
                flush(shell, &mut run, out);
                expand_piece(shell, piece, out);
            }
        }
        if number + 1 == units.len() {
            flush(shell, &mut run, out);
        }
    }
}

fn flush(shell: &mut dyn Shell, run: &mut String, out: &mut Building) {
    if run.is_empty() {
        return;
    }
    let mut text = std::mem::take(run);
    if out.now.is_none() && text.starts_with('~') {
        let end = text.find('/').unwrap_or(text.len());
        let who = text.get(1..end).unwrap_or_default().to_owned();
        if let Some(folder) = home_of(shell, &who) {
            out.now().atoms.extend(folder);
            text = text.get(end..).unwrap_or_default().to_owned();
        }
    }
    out.now().push_pattern(&text);
}

fn home_of(shell: &dyn Shell, who: &str) -> Option<Vec<Atom>> {
    let text = |path: &std::path::Path| vec![Atom::Text(path.display().to_string())];
    match who {
        "" => Some(shell.state().variable("HOME").atoms),
        "+" => shell.state().cwd().map(text),
        "-" => Some(shell.state().variable("OLDPWD").atoms),
        "root" => Some(vec![Atom::Text("/root".to_owned())]),
        user if user.chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter)) => {
            let own = shell.state().variable("USER").known().is_some_and(|own| own == user);
            Some(match own {
                true => shell.state().variable("HOME").atoms,
                false => vec![Atom::Text(format!("/home/{user}"))],
            })
        }
        _ => None,
    }
}

fn expand_piece(shell: &mut dyn Shell, piece: &Piece, out: &mut Building) {
    match piece {
        Piece::Bare(text) | Piece::Quoted(text) => out.now().push_text(text),
        Piece::Parameter(parameter, quote) => {
            let values = values_of(shell, parameter);
            insert_bounded(shell, values, *quote, out);
        }
        Piece::Command(script, quote) => {
            let value = match shell.substitute(script) {
                Stream::Known(text) => Field::of(text.trim_end_matches('\n')),
                Stream::Name(name) => Field::from_stand_in(name),
                Stream::Downloaded => Field::from_unknown(Origin::Downloaded),
                Stream::Decoded => Field::from_unknown(Origin::Decoded),
                Stream::Paths(paths) => Field::of(&paths.listed()),
                Stream::Changes(_) | Stream::Unknown | Stream::Closed => Field::from_unknown(Origin::Output),
            };
            insert_bounded(shell, vec![value], *quote, out);
        }
        Piece::Process(script, Flow::Out) => {
            shell.add_outlet(script);
            out.now().push_text("/dev/fd/63");
        }
        Piece::Process(script, Flow::In) => {
            let stream = shell.substitute(script);
            let name = shell.state_mut().keep_process(stream);
            out.now().push_text(&name);
        }
        Piece::Arithmetic(word) => {
            let number = number(shell, word);
            out.now().atoms.extend(number.atoms);
        }
    }
}

/// The number that an arithmetic expression gives, where it can be told.
fn number(shell: &mut dyn Shell, word: &Word) -> Field {
    let expression = one(shell, word);
    let text = expression.text();
    let state = shell.state();
    let known = |field: Field| field.known().filter(|_| !field.is_partly_unknown());
    let value = |name: &str| known(state.variable(name))?.parse::<i64>().ok();
    let known = (!expression.is_partly_unknown()).then(|| arithmetic::value(&text, &value)).flatten();
    let counted: Vec<String> = arithmetic::assigned(&text);
    for name in counted {
        shell.state_mut().variables.insert(name, Field::from_stand_in(StandIn::Number));
    }
    known.map_or_else(|| Field::from_stand_in(StandIn::Number), |known| Field::of(&known.to_string()))
}

/// Puts values into the arguments, unless the line makes too much of itself.
fn insert_bounded(shell: &mut dyn Shell, values: Vec<Field>, quote: Quote, out: &mut Building) {
    let bytes: usize = values.iter().map(Field::size).sum();
    if shell.may_expand(bytes) {
        let separators = shell.state().separators();
        insert(values, quote, &separators, out);
    } else {
        out.now().atoms.push(Atom::Unknown(Origin::Output, Fill::MaybeEmpty));
    }
}

/// The values of a parameter: one, or as many as there are for `$@` and arrays.
fn values_of(shell: &mut dyn Shell, parameter: &Parameter) -> Vec<Field> {
    let name = parameter.name.as_str();
    let Some((operation, word)) = &parameter.operation else {
        return match name {
            "@" | "*" => shell.state().positional.clone(),
            _ => vec![shell.state().variable(name)],
        };
    };
    let value = shell.state().variable(name);
    match operation {
        Operation::Default => match value.known() {
            Some(text) if !text.is_empty() => vec![value],
            Some(_) | None => vec![one(shell, word)],
        },
        Operation::Assign => match value.known() {
            Some(text) if !text.is_empty() => vec![value],
            Some(_) | None => {
                let value = one(shell, word);
                shell.state_mut().variables.insert(name.to_owned(), value.clone());
                vec![value]
            }
        },
        Operation::Demand => match value.unknown() {
            Some(origin) => {
                let _message = one(shell, word);
                vec![Field { atoms: vec![Atom::Unknown(origin.clone(), Fill::Demanded)] }]
            }
            None => vec![value],
        },
        Operation::Alternative => match value.known() {
            Some(text) if text.is_empty() => Vec::new(),
            Some(_) => vec![one(shell, word)],
            None => {
                // It is expanded for what it substitutes; what comes of it is not known.
                let _alternative = one(shell, word);
                vec![Field::from_unknown(Origin::Variable(name.to_owned()))]
            }
        },
        Operation::CutShortestEnd
        | Operation::CutLongestEnd
        | Operation::CutShortestStart
        | Operation::CutLongestStart => {
            let pattern = split_word(shell, word).into_iter().next().unwrap_or_default();
            vec![value.known().map_or(value, |text| Field::of(&cut(*operation, &text, &pattern.atoms)))]
        }
        Operation::Other => {
            let argument = word.literal().unwrap_or_default();
            let _run_for_what_it_substitutes = one(shell, word);
            match shell.state().arrays.get(name) {
                Some(elements) if matches!(argument, "[@]" | "[*]") => elements.clone(),
                _ => vec![Field::from_unknown(Origin::Variable(name.to_owned()))],
            }
        }
    }
}

/// Puts the values of an expansion into the arguments; outside quotes they are split at what `IFS` holds.
fn insert(values: Vec<Field>, quote: Quote, separators: &str, out: &mut Building) {
    for (number, value) in values.into_iter().enumerate() {
        if number > 0 {
            out.split();
        }
        match quote {
            Quote::Double => out.now().atoms.extend(value.atoms),
            Quote::None => {
                for atom in value.atoms {
                    match atom {
                        Atom::Text(text) | Atom::Glob(text) => insert_split(&text, separators, out),
                        Atom::Unknown(..) | Atom::StandIn(_) => out.now().atoms.push(atom),
                    }
                }
            }
        }
    }
}

fn insert_split(text: &str, separators: &str, out: &mut Building) {
    let blank = |letter: char| separators.contains(letter);
    if text.starts_with(blank) {
        out.split();
    }
    for (number, part) in text.split(blank).filter(|part| !part.is_empty()).enumerate() {
        if number > 0 {
            out.split();
        }
        out.now().push_pattern(part);
    }
    if text.ends_with(blank) {
        out.split();
    }
}

/// Removes what fits a pattern from an end of a text.
fn cut(operation: Operation, text: &str, pattern: &[Atom]) -> String {
    let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let tail = |at: &&usize| text.get(**at..).is_some_and(|tail| fits(pattern, tail));
    let head = |at: &&usize| text.get(..**at).is_some_and(|head| fits(pattern, head));
    let (kept, from_end) = match operation {
        Operation::CutShortestEnd => (ends.iter().rev().find(tail), true),
        Operation::CutLongestEnd => (ends.iter().find(tail), true),
        Operation::CutShortestStart => (ends.iter().find(head), false),
        Operation::CutLongestStart => (ends.iter().rev().find(head), false),
        Operation::Default | Operation::Assign | Operation::Demand | Operation::Alternative | Operation::Other => {
            (None, true)
        }
    };
    let Some(at) = kept else { return text.to_owned() };
    let part = if from_end { text.get(..*at) } else { text.get(*at..) };
    part.unwrap_or(text).to_owned()
}

fn units(word: &Word) -> Vec<WordUnit> {
    let mut units = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Bare(text) => units.extend(text.chars().map(WordUnit::Bare)),
            Piece::Quoted(_)
            | Piece::Parameter(..)
            | Piece::Command(..)
            | Piece::Process(..)
            | Piece::Arithmetic(_) => units.push(WordUnit::Piece(piece.clone())),
        }
    }
    units
}

/// Brace expansion: `{a,b}`, `{1..3}`. The work list bounds it.
fn braces(word: Vec<WordUnit>) -> Vec<Vec<WordUnit>> {
    let mut done = Vec::new();
    let mut todo = vec![word];
    while let Some(word) = todo.pop() {
        match first_brace(&word).filter(|_| done.len() + todo.len() < FIELDS_MAX) {
            Some((open, close, choices)) => {
                for choice in choices.into_iter().rev() {
                    let before = word.get(..open).unwrap_or_default();
                    let after = word.get(close + 1..).unwrap_or_default();
                    todo.push(before.iter().chain(&choice).chain(after).cloned().collect());
                }
            }
            None => done.push(word),
        }
    }
    done
}

/// The first brace that expands: where it opens, where it closes, and its choices.
fn first_brace(word: &[WordUnit]) -> Option<(usize, usize, Vec<Vec<WordUnit>>)> {
    let opens = word.iter().enumerate().filter(|(_, unit)| matches!(unit, WordUnit::Bare('{'))).map(|(at, _)| at);
    for open in opens.take(FIELDS_MAX) {
        let (mut depth, mut commas) = (0_usize, Vec::new());
        for (at, unit) in word.iter().enumerate().skip(open) {
            match unit {
                WordUnit::Bare('{') => depth += 1,
                WordUnit::Bare(',') if depth == 1 => commas.push(at),
                WordUnit::Bare('}') => depth -= 1,
                WordUnit::Bare(_) | WordUnit::Piece(_) => {}
            }
            if depth > 0 {
                continue;
            }
            let choices = if commas.is_empty() {
                range(word.get(open + 1..at).unwrap_or_default())
            } else {
                let edges: Vec<usize> = [open].into_iter().chain(commas).chain([at]).collect();
                let between = |pair: &[usize]| match pair {
                    [from, to] => word.get(from + 1..*to).unwrap_or_default().to_vec(),
                    _ => Vec::new(),
                };
                Some(edges.windows(2).map(between).collect())
            };
            if let Some(choices) = choices {
                return Some((open, at, choices));
            }
            break;
        }
    }
    None
}

fn range(inside: &[WordUnit]) -> Option<Vec<Vec<WordUnit>>> {
    let letter = |unit: &WordUnit| match unit {
        WordUnit::Bare(letter) => Some(*letter),
        WordUnit::Piece(_) => None,
    };
    let text: String = inside.iter().map(letter).collect::<Option<_>>()?;
    let (from, to) = text.split_once("..")?;
    let bare = |text: String| text.chars().map(WordUnit::Bare).collect();
    if let (Ok(from), Ok(to)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let (low, high) = (from.min(to), from.max(to));
        return Some((low..=high).take(FIELDS_MAX).map(|number| bare(number.to_string())).collect());
    }
    let mut letters = (from.chars(), to.chars());
    match (letters.0.next(), letters.0.next(), letters.1.next(), letters.1.next()) {
        (Some(from), None, Some(to), None) => {
            Some((from.min(to)..=from.max(to)).take(FIELDS_MAX).map(|letter| bare(letter.to_string())).collect())
        }
        _ => None,
    }
}
