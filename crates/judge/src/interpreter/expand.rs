//! From words to arguments: braces, tildes, variables, substitutions, in bash's order.

use super::field::{Atom, Field, Fill, Origin, fits};
use super::stream::Stream;
use super::walk::Walker;
use tripwire_shell::{Flow, Operation, Parameter, Piece, Quote, Word};

/// Most arguments that one word may become; a longer list is cut, and its rest judged as unknown.
const FIELDS_MAX: usize = 256;

/// Longest word whose braces are expanded; a longer one is held.
const BRACED_MAX: usize = 4_096;

/// A character outside quotes, or a piece.
#[derive(Debug, Clone)]
enum Unit {
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

impl Walker<'_> {
    /// All words as arguments.
    pub(super) fn fields(&mut self, words: &[Word]) -> Vec<Field> {
        words.iter().flat_map(|word| self.split_word(word)).collect()
    }

    /// One word as arguments.
    pub(super) fn split_word(&mut self, word: &Word) -> Vec<Field> {
        let mut fields = Vec::new();
        let units = units(word);
        if units.len() > BRACED_MAX && first_brace(&units).is_some() && !self.may_expand(usize::MAX) {
            return vec![unknown(Origin::Output)];
        }
        for units in braces(units) {
            let mut building = Building::default();
            self.expand(&units, &mut building);
            building.split();
            fields.append(&mut building.done);
        }
        fields
    }

    /// One word as one text: an assignment, a redirection's target, a here-document's body.
    pub(super) fn one(&mut self, word: &Word) -> Field {
        let mut building = Building::default();
        self.expand(&units(word), &mut building);
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

    fn expand(&mut self, units: &[Unit], out: &mut Building) {
        let mut run = String::new();
        for (number, unit) in units.iter().enumerate() {
            match unit {
                Unit::Bare(letter) => run.push(*letter),
                Unit::Piece(piece) => {
                    self.flush(&mut run, out);
                    self.expand_piece(piece, out);
                }
            }
            if number + 1 == units.len() {
                self.flush(&mut run, out);
            }
        }
    }

    fn flush(&mut self, run: &mut String, out: &mut Building) {
        if run.is_empty() {
            return;
        }
        let mut text = std::mem::take(run);
        if out.now.is_none() && text.starts_with('~') {
            let end = text.find('/').unwrap_or(text.len());
            let who = text.get(1..end).unwrap_or_default().to_owned();
            if let Some(folder) = self.home_of(&who) {
                out.now().atoms.extend(folder);
                text = text.get(end..).unwrap_or_default().to_owned();
            }
        }
        out.now().push_pattern(&text);
    }

    fn home_of(&self, who: &str) -> Option<Vec<Atom>> {
        let text = |path: &std::path::Path| vec![Atom::Text(path.display().to_string())];
        match who {
            "" => Some(self.state.variable("HOME").atoms),
            "+" => self.state.cwd().map(text),
            "-" => Some(self.state.variable("OLDPWD").atoms),
            "root" => Some(vec![Atom::Text("/root".to_owned())]),
            user if user.chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter)) => {
                let own = self.state.variable("USER").known().is_some_and(|own| own == user);
                Some(match own {
                    true => self.state.variable("HOME").atoms,
                    false => vec![Atom::Text(format!("/home/{user}"))],
                })
            }
            _ => None,
        }
    }

    fn expand_piece(&mut self, piece: &Piece, out: &mut Building) {
        match piece {
            Piece::Bare(text) | Piece::Quoted(text) => out.now().push_text(text),
            Piece::Parameter(parameter, quote) => {
                let values = self.parameter(parameter);
                self.insert(values, *quote, out);
            }
            Piece::Command(script, quote) => {
                let value = match self.substitute(script) {
                    Stream::Known(text) => Field::of(text.trim_end_matches('\n')),
                    Stream::Downloaded => unknown(Origin::Downloaded),
                    Stream::Decoded => unknown(Origin::Decoded),
                    Stream::Paths(paths) => Field::of(&paths.listed()),
                    Stream::Changes(_) | Stream::Unknown | Stream::Closed => unknown(Origin::Output),
                };
                self.insert(vec![value], *quote, out);
            }
            Piece::Process(script, Flow::Out) => {
                self.outlets.push(std::rc::Rc::clone(script));
                out.now().push_text("/dev/fd/63");
            }
            Piece::Process(script, Flow::In) => {
                let stream = self.substitute(script);
                let name = self.state.keep_process(stream);
                out.now().push_text(&name);
            }
            Piece::Arithmetic(word) => {
                // Run for what it substitutes; the number itself can be no path.
                let _number = self.one(word);
                out.now().push_text("0");
            }
        }
    }

    /// Puts values into the arguments, unless the line makes too much of itself.
    fn insert(&mut self, values: Vec<Field>, quote: Quote, out: &mut Building) {
        let bytes: usize = values.iter().map(Field::size).sum();
        if self.may_expand(bytes) {
            let separators = self.state.separators();
            insert(values, quote, &separators, out);
        } else {
            out.now().atoms.push(Atom::Unknown(Origin::Output, Fill::MaybeEmpty));
        }
    }

    /// The values of a parameter: one, or as many as there are for `$@` and arrays.
    fn parameter(&mut self, parameter: &Parameter) -> Vec<Field> {
        let name = parameter.name.as_str();
        let Some((operation, word)) = &parameter.operation else {
            return match name {
                "@" | "*" => self.state.positional.clone(),
                _ => vec![self.state.variable(name)],
            };
        };
        let value = self.state.variable(name);
        match operation {
            Operation::Default => match value.known() {
                Some(text) if !text.is_empty() => vec![value],
                Some(_) | None => vec![self.one(word)],
            },
            Operation::Demand => match value.unknown() {
                Some(origin) => {
                    let _message = self.one(word);
                    vec![Field { atoms: vec![Atom::Unknown(origin.clone(), Fill::Demanded)] }]
                }
                None => vec![value],
            },
            Operation::Alternative => match value.known() {
                Some(text) if text.is_empty() => Vec::new(),
                Some(_) => vec![self.one(word)],
                None => {
                    // It is expanded for what it substitutes; what comes of it is not known.
                    let _alternative = self.one(word);
                    vec![unknown(Origin::Variable(name.to_owned()))]
                }
            },
            Operation::CutShortestEnd
            | Operation::CutLongestEnd
            | Operation::CutShortestStart
            | Operation::CutLongestStart => {
                let pattern = self.split_word(word).into_iter().next().unwrap_or_default();
                vec![value.known().map_or(value, |text| Field::of(&cut(*operation, &text, &pattern.atoms)))]
            }
            Operation::Other => {
                let argument = word.literal().unwrap_or_default();
                let _run_for_what_it_substitutes = self.one(word);
                match self.state.arrays.get(name) {
                    Some(elements) if matches!(argument, "[@]" | "[*]") => elements.clone(),
                    _ => vec![unknown(Origin::Variable(name.to_owned()))],
                }
            }
        }
    }
}

/// Something that only running it would tell.
pub(super) fn unknown(origin: Origin) -> Field {
    Field { atoms: vec![Atom::Unknown(origin, Fill::MaybeEmpty)] }
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
                        Atom::Unknown(..) => out.now().atoms.push(atom),
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
        Operation::Default | Operation::Demand | Operation::Alternative | Operation::Other => (None, true),
    };
    let Some(at) = kept else { return text.to_owned() };
    let part = if from_end { text.get(..*at) } else { text.get(*at..) };
    part.unwrap_or(text).to_owned()
}

fn units(word: &Word) -> Vec<Unit> {
    let mut units = Vec::new();
    for piece in &word.pieces {
        match piece {
            Piece::Bare(text) => units.extend(text.chars().map(Unit::Bare)),
            Piece::Quoted(_)
            | Piece::Parameter(..)
            | Piece::Command(..)
            | Piece::Process(..)
            | Piece::Arithmetic(_) => units.push(Unit::Piece(piece.clone())),
        }
    }
    units
}

/// Brace expansion: `{a,b}`, `{1..3}`. The work list bounds it.
fn braces(word: Vec<Unit>) -> Vec<Vec<Unit>> {
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
fn first_brace(word: &[Unit]) -> Option<(usize, usize, Vec<Vec<Unit>>)> {
    let opens = word.iter().enumerate().filter(|(_, unit)| matches!(unit, Unit::Bare('{'))).map(|(at, _)| at);
    for open in opens.take(FIELDS_MAX) {
        let (mut depth, mut commas) = (0_usize, Vec::new());
        for (at, unit) in word.iter().enumerate().skip(open) {
            match unit {
                Unit::Bare('{') => depth += 1,
                Unit::Bare(',') if depth == 1 => commas.push(at),
                Unit::Bare('}') => depth -= 1,
                Unit::Bare(_) | Unit::Piece(_) => {}
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

fn range(inside: &[Unit]) -> Option<Vec<Vec<Unit>>> {
    let letter = |unit: &Unit| match unit {
        Unit::Bare(letter) => Some(*letter),
        Unit::Piece(_) => None,
    };
    let text: String = inside.iter().map(letter).collect::<Option<_>>()?;
    let (from, to) = text.split_once("..")?;
    let bare = |text: String| text.chars().map(Unit::Bare).collect();
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
