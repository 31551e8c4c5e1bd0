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
impl VerbLine {
    /// Commands that the line is about: each client, each choice of each word, each of the options that it asks for.
    fn examples(&self) -> Vec<String> {
        let words: Vec<Vec<String>> = self.verb.split(' ').map(|word| word.split('|').map(example).collect()).collect();
        let usual: Vec<String> = words.iter().filter_map(|choices| choices.first().cloned()).collect();
        let mut verbs = vec![usual.join(" ")];
        for (at, choices) in words.iter().enumerate() {
            for choice in choices.iter().skip(1) {
                let mut other = usual.clone();
                other.splice(at..=at, [choice.clone()]);
                verbs.push(other.join(" "));
            }
        }
        let options = match self.options {
            Options::With(options) => options,
            Options::Any | Options::Without(_) => &[""],
        };
        let command = |client: &str, verb: &str, option: &str| format!("{client} {verb} {option}").trim().to_owned();
        let of_client = |client: &&str| -> Vec<String> {
            let first =
                verbs.iter().take(1).flat_map(|verb| options.iter().map(|option| command(client, verb, option)));
            first.chain(verbs.iter().skip(1).map(|verb| command(client, verb, options.first().unwrap()))).collect()
        };
        self.clients.iter().flat_map(of_client).collect()
    }

    /// Commands beside it: another verb, nothing of what it asks for, or what keeps it from holding.
    fn look_alikes(&self) -> Vec<String> {
        let verb = self.verb.split(' ').map(|word| example(word.split('|').next().unwrap())).collect::<Vec<_>>();
        let listed = verb.split_last().map(|(_, before)| [before, &["list".to_owned()]].concat().join(" "));
        let options = match (self.options, self.verb) {
            (Options::Without(options), _) => return self.with_each(&verb.join(" "), options),
            (Options::Any, "") => return Vec::new(),
            (Options::With(_), "") => String::new(),
            (Options::Any | Options::With(_), _) => listed.unwrap(),
        };
        self.with_each(&options, &[""])
    }

    fn with_each(&self, verb: &str, options: &[&str]) -> Vec<String> {
        let lines = self.clients.iter().flat_map(|client| options.iter().map(move |option| (client, option)));
        lines.map(|(client, option)| format!("{client} {verb} {option}").trim().to_owned()).collect()
    }
}

/// A word that a choice stands for.
#[cfg(test)]
fn example(choice: &str) -> String {
    choice.replace('*', "thing")
}

/// Checks every line of a table through the judge: what it is about is held for this reason, and what stands beside it is not.
#[cfg(test)]
pub(super) fn check_each_line(table: &[VerbLine], rule: &str) {
    let facts = crate::Facts { workspace: "/w".into(), cwd: "/w".into(), ..crate::Facts::default() };
    let judge = crate::Judge::new(facts);
    let mut wrong = Vec::new();
    for line in table {
        for command in line.examples() {
            let verdict = judge.judge(&command);
            if verdict.rule.map(|rule| rule.name()) != Some(rule) {
                wrong.push(format!("`{command}` passes: {}", line.reason));
            }
        }
        for command in line.look_alikes() {
            let verdict = judge.judge(&command);
            if verdict.rule.is_some() {
                wrong.push(format!("`{command}` is held: {}", verdict.reason));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
