//! Tables of clients and of the verbs with which they delete: one line for each, and no code.

use crate::line::call::Call;

/// One line: the clients, the words that their command begins with, what must be given beside them, and why it is held.
pub(super) type VerbLine = (&'static str, &'static str, &'static str, &'static str);

/// The reason of the first line that fits. A word of a line is one of several (`delete|rm`), any (`*`), or a beginning
/// (`delete-*`). Of the options one must be given, or none if they begin with `!`.
pub(super) fn reason(table: &[VerbLine], client: &str, words: &[&str], call: &Call) -> Option<&'static str> {
    let fits = |line: &&VerbLine| {
        line.0.split(' ').any(|own| own == client) && begins_with(words, line.1) && has_options(call, line.2)
    };
    table.iter().find(fits).map(|line| line.3)
}

fn begins_with(words: &[&str], wanted: &str) -> bool {
    let one = |word: &str, choice: &str| match choice.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == choice,
    };
    wanted
        .split(' ')
        .filter(|wanted| !wanted.is_empty())
        .enumerate()
        .all(|(at, wanted)| words.get(at).is_some_and(|word| wanted.split('|').any(|choice| one(word, choice))))
}

fn has_options(call: &Call, options: &str) -> bool {
    let given = |options: &str| call.has_any(&options.split(' ').collect::<Vec<_>>());
    match options.strip_prefix('!') {
        Some(unless) => !given(unless),
        None => options.is_empty() || given(options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::call::Place;
    use crate::line::field::Field;
    use crate::line::stream::Stream;

    #[test]
    fn a_line_fits_the_beginning_of_a_command_and_its_options() {
        let table: &[VerbLine] =
            &[("a b", "group|g delete*", "", "1"), ("a", "* run", "--all", "2"), ("c", "rm", "!-n", "3")];
        let found = |line: &str| {
            let args: Vec<Field> = line.split(' ').map(Field::of).collect();
            let call = Call { args, env: Vec::new(), stdin: Stream::Closed, place: Place::Here };
            let words: Vec<&str> = line.split(' ').skip(1).filter(|word| !word.starts_with('-')).collect();
            reason(table, line.split(' ').next().unwrap(), &words, &call)
        };
        for (line, expected) in [
            ("a group delete x", Some("1")),
            ("b g delete-all", Some("1")),
            ("a show group delete", None),
            ("c group delete", None),
            ("a x run --all", Some("2")),
            ("a x run", None),
            ("c rm x", Some("3")),
            ("c rm -n x", None),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }
}
