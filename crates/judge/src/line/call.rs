//! One program call as it would be made: its arguments after expansion, its input, where it runs.

use crate::line::field::Field;
use crate::line::stream::Stream;
use tripwire_shell::RedirectKind;

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The program and its arguments; never empty.
    pub(crate) args: Vec<Field>,
    /// Variables that are set for this call.
    pub(crate) env: Vec<(String, Field)>,
    pub(crate) stdin: Stream,
    pub(crate) place: Place,
}

/// Where a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Here: paths are paths of this machine.
    Here,
    /// On another machine, where every file is somebody's.
    Remote,
    /// In a container without folders of this machine: its files are its own.
    Container,
    /// In a container that sees folders of the workspace and no others.
    Mounted,
}

/// A redirection of output.
pub(crate) struct Redirection<'r> {
    pub(crate) kind: &'r RedirectKind,
    /// The file it writes to.
    pub(crate) target: &'r Field,
    pub(crate) place: Place,
    /// The call whose output it is; none for a redirection without a command.
    pub(crate) call: Option<&'r Call>,
}

impl Call {
    /// The program's name without its folder.
    pub(crate) fn name(&self) -> String {
        let word = self.args.first().map(Field::text).unwrap_or_default();
        let name = word.rsplit('/').next().unwrap_or_default().to_owned();
        name.strip_suffix(".exe").map_or(name.clone(), str::to_owned)
    }

    /// The same call of another program.
    pub(crate) fn with_args(&self, args: Vec<Field>) -> Self {
        Self { args, ..self.clone() }
    }

    /// The arguments as text; what is unknown is left out.
    pub(crate) fn words(&self) -> Vec<String> {
        self.args.iter().skip(1).map(Field::text).collect()
    }

    /// Whether one of these words is among the arguments, before a `--`.
    pub(crate) fn has_any(&self, options: &[&str]) -> bool {
        self.words().iter().take_while(|word| *word != "--").any(|word| {
            let (name, _) = word.split_once('=').unwrap_or((word, ""));
            options.contains(&name) || options.contains(&word.as_str())
        })
    }

    /// Whether one of these letters is among the short options, alone or joined with others.
    pub(crate) fn has_short(&self, letters: &[char]) -> bool {
        self.words()
            .iter()
            .take_while(|word| *word != "--")
            .any(|word| word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letters)))
    }

    /// The arguments that are no options; everything behind `--` is one.
    pub(crate) fn operands(&self) -> Vec<&Field> {
        let mut only_operands = false;
        let mut operands = Vec::new();
        for field in self.args.iter().skip(1) {
            let text = field.text();
            if !only_operands && text == "--" {
                only_operands = true;
            } else if only_operands || text == "-" || !text.starts_with('-') {
                operands.push(field);
            }
        }
        operands
    }

    /// The value of an option: `--name value`, `--name=value`, `-n value`, `-nvalue`.
    pub(crate) fn option(&self, names: &[&str]) -> Option<Field> {
        self.options(names).into_iter().next()
    }

    /// The values of an option that may be given more than once.
    pub(crate) fn options(&self, names: &[&str]) -> Vec<Field> {
        let mut values = Vec::new();
        let mut args = self.args.iter().skip(1);
        'args: while let Some(field) = args.next() {
            let text = field.text();
            for name in names {
                if text == *name || ends_cluster(&text, name) {
                    values.extend(args.next().cloned());
                    continue 'args;
                }
                let long = text.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
                let short = text.strip_prefix(name).filter(|_| !name.starts_with("--") && name.len() == 2);
                if let Some(value) = long.or(short) {
                    values.push(field.without_prefix(text.len() - value.len()));
                    continue 'args;
                }
            }
        }
        values
    }

    /// The text of a variable that is set for this call.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.env.iter().rev().find(|(own, _)| own == name).and_then(|(_, value)| value.known())
    }
}

/// Whether a run of short options ends with this one, so that its value follows: `-Atc` for `-c`.
pub(crate) fn ends_cluster(text: &str, name: &str) -> bool {
    let (Some(cluster), Some(letter)) = (text.strip_prefix('-'), name.strip_prefix('-')) else { return false };
    letter.len() == 1
        && cluster.len() > 1
        && cluster.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'0')
        && cluster.ends_with(letter)
        && !cluster.starts_with(letter)
}

/// Skips options, values of options, assignments and plain words; what is left is the program.
pub(crate) fn rest_of(args: &[Field], values: &[&str], skip: usize) -> (Vec<(String, Field)>, Vec<Field>) {
    let mut env = Vec::new();
    let mut at = 0;
    while let Some(field) = args.get(at) {
        let text = field.text();
        if text == "--" {
            at += 1;
            break;
        } else if values.contains(&text.as_str()) || joins_value(&text, values) {
            at += 2;
        } else if text.starts_with('-') && text.len() > 1 {
            at += 1;
        } else if let Some((name, _)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
            env.push((name.to_owned(), field.without_prefix(name.len() + 1)));
            at += 1;
        } else {
            break;
        }
    }
    let rest: Vec<Field> = args.get(at..).unwrap_or_default().iter().skip(skip).cloned().collect();
    // `sudo VAR=x cmd` and `timeout 5 -- cmd` leave something to skip once more.
    let rest =
        if rest.first().is_some_and(|field| field.text() == "--") { rest.into_iter().skip(1).collect() } else { rest };
    (env, rest)
}

/// Whether a run of short options ends with one that takes a value, and does not begin with one that has it already.
fn joins_value(text: &str, values: &[&str]) -> bool {
    let begins = text.get(..2).is_some_and(|first| values.contains(&first));
    !begins && values.iter().any(|value| ends_cluster(text, value))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
