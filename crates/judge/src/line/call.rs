//! One program call as it would be made: its arguments after expansion, its input, where it runs.

use crate::line::field::Field;
use crate::line::stream::Stream;
use std::borrow::Cow;
use tripwire_shell::RedirectKind;
use tripwire_shell::wrappers::{Head, ends_cluster};

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
    /// The files that the same command reads by `<`.
    pub(crate) reads: &'r [Field],
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
        Self { args, env: self.env.clone(), stdin: self.stdin.clone(), place: self.place }
    }

    /// The arguments as text; what is unknown is left out.
    pub(crate) fn words(&self) -> Vec<String> {
        self.args.iter().skip(1).map(Field::text).collect()
    }

    /// The arguments before a `--`, as text.
    fn before_end_of_options(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.args.iter().skip(1).map(Field::borrowed_text).take_while(|word| word != "--")
    }

    /// Whether one of these words is among the arguments, before a `--`.
    pub(crate) fn has_any(&self, options: &[&str]) -> bool {
        self.before_end_of_options().any(|word| {
            let (name, _) = word.split_once('=').unwrap_or((&word, ""));
            options.contains(&name) || options.contains(&word.as_ref())
        })
    }

    /// Whether it only shows what it would do. `--dry-run=none` does not.
    pub(crate) fn is_dry_run(&self) -> bool {
        let names = ["--dry-run", "--dryrun", "-dry-run", "--what-if", "-WhatIf", "--noop", "--no-act", "--simulate"];
        self.before_end_of_options().any(|word| {
            let (name, value) = word.split_once('=').unwrap_or((&word, ""));
            names.contains(&name) && !matches!(value, "none" | "false" | "no" | "0")
        })
    }

    /// Whether one of these letters is among the short options, alone or joined with others.
    pub(crate) fn has_short(&self, letters: &[char]) -> bool {
        self.before_end_of_options()
            .any(|word| word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letters)))
    }

    /// The arguments that are no options; everything behind `--` is one.
    pub(crate) fn operands(&self) -> Vec<&Field> {
        let mut only_operands = false;
        let mut operands = Vec::new();
        for field in self.args.iter().skip(1) {
            let text = field.borrowed_text();
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
            let text = field.borrowed_text();
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

/// Skips options, values of options, assignments and plain words; what is left is the program.
pub(crate) fn rest_of(args: &[Field], values: &[&str], skip: usize) -> (Vec<(String, Field)>, Vec<Field>) {
    let texts: Vec<Cow<'_, str>> = args.iter().map(Field::borrowed_text).collect();
    let head = Head::of(&texts, values, skip);
    let variable = |at: &usize| {
        let (name, _) = texts.get(*at)?.split_once('=')?;
        Some((name.to_owned(), args.get(*at)?.without_prefix(name.len() + 1)))
    };
    let env = head.assignments.iter().filter_map(variable).collect();
    (env, args.get(head.program..).unwrap_or_default().to_vec())
}

/// The arguments of a call that are neither options nor their values; behind `--` all are.
pub(crate) fn operands(args: &[Field], values: &[&str]) -> Vec<Field> {
    let mut out = Vec::new();
    let mut args = args.iter().skip(1);
    while let Some(field) = args.next() {
        let text = field.text();
        if text == "--" {
            out.extend(args.by_ref().cloned());
        } else if values.contains(&text.as_str()) {
            args.next();
        } else if text == "-" || !text.starts_with('-') {
            out.push(field.clone());
        }
    }
    out
}
