//! One program call as it would be made: its arguments after expansion, its input, where it runs.

use super::field::Field;
use super::stream::Stream;

/// One call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// The program and its arguments; never empty.
    pub(super) args: Vec<Field>,
    /// Variables that are set for this call.
    pub(super) env: Vec<(String, Field)>,
    /// What it reads.
    pub(super) stdin: Stream,
    /// Where it runs.
    pub(super) place: Place,
}

/// Where a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Here: paths are paths of this machine.
    Here,
    /// On another machine, where every file is somebody's.
    Remote,
    /// In a container without folders of this machine: its files are its own.
    Container,
    /// In a container that sees folders of the workspace and no others.
    Mounted,
}

impl Call {
    /// The program's name without its folder.
    pub(super) fn name(&self) -> String {
        let word = self.args.first().map(Field::text).unwrap_or_default();
        let name = word.rsplit('/').next().unwrap_or_default().to_owned();
        name.strip_suffix(".exe").map_or(name.clone(), str::to_owned)
    }

    /// The same call of another program.
    pub(super) fn with_args(&self, args: Vec<Field>) -> Self {
        Self { args, ..self.clone() }
    }

    /// The arguments as text; what is unknown is left out.
    pub(super) fn words(&self) -> Vec<String> {
        self.args.iter().skip(1).map(Field::text).collect()
    }

    /// Whether one of these words is among the arguments, before a `--`.
    pub(super) fn has_any(&self, options: &[&str]) -> bool {
        self.words().iter().take_while(|word| *word != "--").any(|word| {
            let (name, _) = word.split_once('=').unwrap_or((word, ""));
            options.contains(&name) || options.contains(&word.as_str())
        })
    }

    /// Whether one of these letters is among the short options, alone or joined with others.
    pub(super) fn has_short(&self, letters: &[char]) -> bool {
        self.words()
            .iter()
            .take_while(|word| *word != "--")
            .any(|word| word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letters)))
    }

    /// The arguments that are no options; everything behind `--` is one.
    pub(super) fn operands(&self) -> Vec<&Field> {
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
    pub(super) fn option(&self, names: &[&str]) -> Option<Field> {
        self.options(names).into_iter().next()
    }

    /// The values of an option that may be given more than once.
    pub(super) fn options(&self, names: &[&str]) -> Vec<Field> {
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
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.env.iter().rev().find(|(own, _)| own == name).and_then(|(_, value)| value.known())
    }
}

/// Whether a run of short options ends with this one, so that its value follows: `-Atc` for `-c`.
pub(super) fn ends_cluster(text: &str, name: &str) -> bool {
    let (Some(cluster), Some(letter)) = (text.strip_prefix('-'), name.strip_prefix('-')) else { return false };
    letter.len() == 1
        && cluster.len() > 1
        && cluster.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'0')
        && cluster.ends_with(letter)
        && !cluster.starts_with(letter)
}

impl Field {
    /// The field without its first bytes of text: the value behind an option's name.
    pub(super) fn without_prefix(&self, bytes: usize) -> Self {
        let mut left = bytes;
        let mut rest = self.clone();
        for atom in &mut rest.atoms {
            if let super::field::Atom::Text(text) = atom {
                let cut = left.min(text.len());
                left -= cut;
                *text = text.get(cut..).unwrap_or_default().to_owned();
            }
        }
        rest
    }
}
