//! What a word becomes: known text, patterns, and what cannot be known before it runs.

use std::borrow::Cow;
use std::path::Path;
use tripwire_shell::glob::{self, Glob, GlobPart};

/// One argument after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) atoms: Vec<Atom>,
}

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Atom {
    /// Text that stands for itself.
    Text(String),
    /// A pattern outside quotes: `*`, `?`, `[…]`.
    Glob(String),
    /// Something that only running it would tell.
    Unknown(Origin, Fill),
    /// A number or a word that only running it would tell and that is no path. Within a line it is always written the
    /// same, so that what the line does to such a name is found again.
    StandIn(StandIn),
}

/// What stands in for a name that is no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StandIn {
    /// A number, or a date in numbers: `$$`, `$((n + 1))`, `$(date +%F)`.
    Number,
    /// A word: `$(uname -m)`.
    Word,
}

impl StandIn {
    /// How it is written.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Number => "0",
            Self::Word => "x",
        }
    }

    /// Whether it may be this text.
    fn may_be(self, text: &str) -> bool {
        let letters = |letter: char| match self {
            Self::Number => letter.is_ascii_digit() || "-_.:T".contains(letter),
            Self::Word => letter != '/',
        };
        !text.is_empty() && text.chars().all(letters)
    }

    /// Code that gives it again.
    const fn code(self) -> &'static str {
        match self {
            Self::Number => "$((unknown))",
            Self::Word => "$(uname)",
        }
    }
}

/// Where something unknown comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A variable that the line does not set.
    Variable(String),
    Downloaded,
    /// Something that was encoded so that nobody can read it.
    Decoded,
    /// What a local command writes.
    Output,
}

/// Whether something unknown may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    MaybeEmpty,
    /// The shell stops if it is: `${X:?}`.
    Demanded,
}

impl Atom {
    /// Its text; nothing if it is unknown.
    fn text(&self) -> &str {
        match self {
            Self::Text(part) | Self::Glob(part) => part,
            Self::StandIn(name) => name.text(),
            Self::Unknown(..) => "",
        }
    }
}

impl Field {
    /// A field of plain text.
    pub(crate) fn of(text: &str) -> Self {
        Self { atoms: vec![Atom::Text(text.to_owned())] }
    }

    /// The text, if all of it is known; a pattern counts as it is written.
    pub(crate) fn known(&self) -> Option<String> {
        let mut text = String::new();
        for atom in &self.atoms {
            match atom {
                Atom::Text(part) | Atom::Glob(part) => text.push_str(part),
                Atom::StandIn(name) => text.push_str(name.text()),
                Atom::Unknown(..) => return None,
            }
        }
        Some(text)
    }

    /// The text with everything unknown left out: enough to look at options.
    pub(crate) fn text(&self) -> String {
        self.borrowed_text().into_owned()
    }

    /// The same text; nothing is copied where the field is one piece, as nearly all are.
    pub(crate) fn borrowed_text(&self) -> Cow<'_, str> {
        match self.atoms.as_slice() {
            [Atom::Text(only)] => Cow::Borrowed(only),
            atoms => Cow::Owned(atoms.iter().map(Atom::text).collect()),
        }
    }

    /// How many bytes it holds.
    pub(crate) fn size(&self) -> usize {
        let part = |atom: &Atom| match atom {
            Atom::Text(part) | Atom::Glob(part) => part.len(),
            Atom::Unknown(..) | Atom::StandIn(_) => 1,
        };
        self.atoms.iter().map(part).sum()
    }

    /// The text as a person would write it.
    pub(crate) fn shown(&self) -> String {
        let part = |atom: &Atom| match atom {
            Atom::Text(part) | Atom::Glob(part) => part.clone(),
            Atom::StandIn(name) => name.text().to_owned(),
            Atom::Unknown(Origin::Variable(name), _) => format!("${{{name}}}"),
            Atom::Unknown(Origin::Downloaded | Origin::Decoded | Origin::Output, _) => "$(…)".to_owned(),
        };
        self.atoms.iter().map(part).collect()
    }

    /// The first thing that is not known.
    pub(crate) fn unknown(&self) -> Option<&Origin> {
        self.atoms.iter().find_map(|atom| match atom {
            Atom::Unknown(origin, _) => Some(origin),
            Atom::Text(_) | Atom::Glob(_) | Atom::StandIn(_) => None,
        })
    }

    /// Whether anything in it comes from the network or was encoded.
    pub(crate) fn foreign(&self) -> Option<&Origin> {
        self.atoms.iter().find_map(|atom| match atom {
            Atom::Unknown(origin @ (Origin::Downloaded | Origin::Decoded), _) => Some(origin),
            Atom::Unknown(Origin::Variable(_) | Origin::Output, _)
            | Atom::Text(_)
            | Atom::Glob(_)
            | Atom::StandIn(_) => None,
        })
    }

    /// Adds text, joined to what is there.
    pub(crate) fn push_text(&mut self, text: &str) {
        if let Some(Atom::Text(before)) = self.atoms.last_mut() {
            before.push_str(text);
        } else {
            self.atoms.push(Atom::Text(text.to_owned()));
        }
    }

    /// Adds text whose pattern characters mean something.
    pub(crate) fn push_pattern(&mut self, text: &str) {
        for part in glob::parts(text) {
            match part {
                GlobPart::Text(text) => self.push_text(text),
                GlobPart::Wildcard(wildcard) => self.atoms.push(Atom::Glob(wildcard.to_owned())),
            }
        }
    }

    /// A field of text whose pattern characters mean something.
    pub(crate) fn of_pattern(text: &str) -> Self {
        let mut field = Self::default();
        field.push_pattern(text);
        field
    }

    /// The field with meaning in the pattern characters of its text.
    pub(crate) fn to_pattern(&self) -> Self {
        let mut out = Self::default();
        for atom in &self.atoms {
            match atom {
                Atom::Text(text) => out.push_pattern(text),
                Atom::Glob(_) | Atom::Unknown(..) | Atom::StandIn(_) => out.atoms.push(atom.clone()),
            }
        }
        out
    }

    /// A name of a listing; of one that stands for everything in a folder only the folder is known.
    pub(crate) fn of_listed(path: &str) -> Self {
        match path.strip_suffix('*') {
            Some(folder) if folder.ends_with('/') => {
                let mut field = Self::of(folder);
                field.atoms.push(Atom::Unknown(Origin::Output, Fill::MaybeEmpty));
                field
            }
            Some(_) | None => Self::of(path),
        }
    }

    /// Something that only running it would tell.
    pub(crate) fn from_unknown(origin: Origin) -> Self {
        Self { atoms: vec![Atom::Unknown(origin, Fill::MaybeEmpty)] }
    }

    /// A name that is no path, and nothing else.
    pub(crate) fn from_stand_in(name: StandIn) -> Self {
        Self { atoms: vec![Atom::StandIn(name)] }
    }

    /// Whether a part of it is only told by running it.
    pub(crate) fn is_partly_unknown(&self) -> bool {
        self.atoms.iter().any(|atom| matches!(atom, Atom::Unknown(..) | Atom::StandIn(_)))
    }

    /// Whether it is a number, known or not.
    pub(crate) fn is_number(&self) -> bool {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self.atoms.as_slice() {
            [Atom::Text(text)] => digits(text),
            [Atom::StandIn(StandIn::Number)] => true,
            _ => false,
        }
    }

    /// A path as an argument.
    pub(crate) fn of_path(path: &Path) -> Self {
        Self::of(&path.display().to_string())
    }

    /// The field without its first bytes of text: the value behind an option's name.
    pub(crate) fn without_prefix(&self, bytes: usize) -> Self {
        let mut left = bytes;
        let mut rest = self.clone();
        for atom in &mut rest.atoms {
            match atom {
                Atom::Text(text) => {
                    let cut = left.min(text.len());
                    left -= cut;
                    *text = text.get(cut..).unwrap_or_default().to_owned();
                }
                Atom::StandIn(name) if left > 0 => {
                    left = left.saturating_sub(name.text().len());
                    *atom = Atom::Text(String::new());
                }
                Atom::Glob(_) | Atom::Unknown(..) | Atom::StandIn(_) => {}
            }
        }
        rest
    }

    /// Several fields as one, with blanks between them.
    pub(crate) fn joined(fields: &[Self]) -> Self {
        let mut out = Self::default();
        for (number, field) in fields.iter().enumerate() {
            if number > 0 {
                out.push_text(" ");
            }
            out.atoms.extend(field.atoms.iter().cloned());
        }
        out
    }

    /// The field as code: what is unknown stays a variable that is unknown.
    pub(crate) fn to_code(&self) -> String {
        let part = |atom: &Atom| match atom {
            Atom::Text(text) | Atom::Glob(text) => text.clone(),
            Atom::StandIn(name) => name.code().to_owned(),
            Atom::Unknown(Origin::Variable(name), Fill::Demanded) => format!("${{{name}:?}}"),
            Atom::Unknown(Origin::Variable(name), Fill::MaybeEmpty) => format!("${{{name}}}"),
            Atom::Unknown(Origin::Downloaded | Origin::Decoded | Origin::Output, _) => "${unknown_output}".to_owned(),
        };
        self.atoms.iter().map(part).collect()
    }

    /// Arguments as code that would give the same arguments.
    pub(crate) fn quoted(fields: &[Self]) -> String {
        let one = |field: &Self| {
            let part = |atom: &Atom| match atom {
                Atom::Text(text) => format!("'{}'", text.replace('\'', r"'\''")),
                Atom::Glob(glob) => glob.clone(),
                Atom::Unknown(..) | Atom::StandIn(_) => {
                    format!("\"{}\"", Self { atoms: vec![atom.clone()] }.to_code())
                }
            };
            field.atoms.iter().map(part).collect::<String>()
        };
        fields.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// The field with an item in the place of its holder.
    pub(crate) fn filled(&self, holder: &str, item: &Self) -> Self {
        let mut out = Self::default();
        for atom in &self.atoms {
            match atom {
                Atom::Text(text) => {
                    for (number, part) in text.split(holder).enumerate() {
                        if number > 0 {
                            out.atoms.extend(item.atoms.iter().cloned());
                        }
                        if !part.is_empty() {
                            out.push_text(part);
                        }
                    }
                }
                Atom::Glob(_) | Atom::Unknown(..) | Atom::StandIn(_) => out.atoms.push(atom.clone()),
            }
        }
        out
    }
}

/// Whether a text fits a pattern; what is unknown in it fits anything.
pub(crate) fn fits(pattern: &[Atom], text: &str) -> bool {
    if let Some(fits) = fits_stand_in(pattern, text) {
        return fits;
    }
    let mut glob = Glob::default();
    for atom in pattern {
        match atom {
            Atom::Text(text) => glob.push_text(text),
            Atom::Glob(wildcard) => glob.push_wildcard(wildcard),
            Atom::Unknown(..) | Atom::StandIn(_) => glob.push_any(),
        }
    }
    glob.fits(text)
}

/// The same for a pattern of known text with one name that is no path in it.
fn fits_stand_in(pattern: &[Atom], text: &str) -> Option<bool> {
    let at = pattern.iter().position(|atom| matches!(atom, Atom::StandIn(_)))?;
    let Some(Atom::StandIn(name)) = pattern.get(at) else { return None };
    let known = |atoms: &[Atom]| {
        let plain = atoms.iter().all(|atom| matches!(atom, Atom::Text(_)));
        plain.then(|| Field { atoms: atoms.to_vec() }.text())
    };
    let (before, after) = (known(pattern.get(..at)?)?, known(pattern.get(at + 1..)?)?);
    let inside = text.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(after.as_str()));
    Some(inside.is_some_and(|inside| name.may_be(inside)))
}
