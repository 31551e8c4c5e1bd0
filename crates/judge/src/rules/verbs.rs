//! Tables of clients and of the verbs with which they delete: one line for each, and no code.

use crate::line::call::Call;

/// A command that is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct VerbLine {
    clients: &'static [&'static str],
    verb: &'static str,
    options: Options,
    reason: &'static str,
}

/// What the options of a command must say.
#[derive(Debug, Clone, Copy)]
enum Options {
    /// They do not matter.
    Any,
    /// One of these is given.
    With(&'static [&'static str]),
    /// None of these is given.
    Without(&'static [&'static str]),
}

/// A command of these clients is held for this reason if it begins with the words of the verb. Each of them is one of several
/// (`delete|rm`), any (`*`), or a beginning (`delete-*`).
pub(super) const fn held(clients: &'static [&'static str], verb: &'static str, reason: &'static str) -> VerbLine {
    VerbLine { clients, verb, options: Options::Any, reason }
}

impl VerbLine {
    /// The same, only where one of these options is given.
    pub(super) const fn with(self, options: &'static [&'static str]) -> Self {
        Self { options: Options::With(options), ..self }
    }

    /// The same, only where none of these options is given.
    pub(super) const fn without(self, options: &'static [&'static str]) -> Self {
        Self { options: Options::Without(options), ..self }
    }

    fn fits(&self, client: &str, words: &[&str], call: &Call) -> bool {
        let options_fit = || match self.options {
            Options::Any => true,
            Options::With(options) => call.has_any(options),
            Options::Without(options) => !call.has_any(options),
        };
        self.clients.contains(&client) && begins_with(words, self.verb) && options_fit()
    }
}

/// The reason of the first line that fits.
pub(super) fn reason(table: &[VerbLine], client: &str, words: &[&str], call: &Call) -> Option<&'static str> {
    table.iter().find(|line| line.fits(client, words, call)).map(|line| line.reason)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::call::Place;
    use crate::line::field::Field;
    use crate::line::stream::Stream;

    #[test]
    fn a_line_fits_the_beginning_of_a_command_and_its_options() {
        let table: &[VerbLine] = &[
            held(&["a", "b"], "group|g delete*", "1"),
            held(&["a"], "* run", "2").with(&["--all"]),
            held(&["c"], "rm", "3").without(&["-n"]),
        ];
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
