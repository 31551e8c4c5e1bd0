//! How often a loop is walked, and with which values.

use crate::line::field::{Field, Origin, StandIn};
use crate::line::stream::Stream;

/// Most values of a loop that are tried one by one.
const LOOP_MAX: usize = 64;

/// The values of a loop; of too many the rest is tried as one value of which only the common part is known.
pub(super) fn bounded(mut values: Vec<Field>) -> Vec<Field> {
    if values.len() > LOOP_MAX {
        let rest = values.split_off(LOOP_MAX);
        values.push(summary(&rest));
    }
    values
}

/// What is left of many values: a number, or what begins as all of them do.
fn summary(values: &[Field]) -> Field {
    if values.iter().all(Field::is_number) {
        return Field::from_stand_in(StandIn::Number);
    }
    let texts: Vec<String> = values.iter().map(Field::text).collect();
    let first = texts.first().cloned().unwrap_or_default();
    let same = |at: &usize| texts.iter().all(|text| text.get(..*at) == first.get(..*at));
    let ends = first.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let common = ends.take_while(same).last().unwrap_or(0);
    let mut field = Field::of(first.get(..common).unwrap_or_default());
    field.atoms.extend(Field::from_unknown(Origin::Output).atoms);
    field
}

/// A loop reads its input line by line, if that is known; else once.
pub(super) fn of_lines(stdin: &Stream) -> Vec<Stream> {
    let lines: Vec<String> = match stdin {
        Stream::Known(text) => text.lines().map(str::to_owned).collect(),
        // Everything in a folder, too much to be named: each turn reads one of it.
        Stream::Paths(paths) if paths.0.iter().any(|path| path.ends_with("/*")) => Vec::new(),
        Stream::Paths(paths) => paths.0.clone(),
        Stream::Closed
        | Stream::Name(_)
        | Stream::Changes(_)
        | Stream::Downloaded
        | Stream::Decoded
        | Stream::Unknown => Vec::new(),
    };
    if lines.is_empty() {
        return vec![stdin.clone()];
    }
    let rest: Vec<Field> = lines.iter().skip(LOOP_MAX).map(|line| Field::of(line)).collect();
    let numbers = !rest.is_empty() && rest.iter().all(Field::is_number);
    let known = lines.into_iter().take(LOOP_MAX).map(Stream::Known);
    let left = match (rest.is_empty(), numbers) {
        (true, _) => None,
        (false, true) => Some(Stream::Name(StandIn::Number)),
        (false, false) => Some(Stream::Unknown),
    };
    known.chain(left).collect()
}
