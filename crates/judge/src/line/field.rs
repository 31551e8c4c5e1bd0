//! What a word becomes: known text, patterns, and what nobody can know before it runs.

/// One argument after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Field {
    /// In their order.
    pub(super) atoms: Vec<Atom>,
}

/// A part of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Atom {
    /// Text that stands for itself.
    Text(String),
    /// A pattern outside quotes: `*`, `?`, `[…]`.
    Glob(String),
    /// Something that only running it would tell.
    Unknown(Origin, Fill),
}

/// Where something unknown comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// A variable that the line does not set.
    Variable(String),
    /// The network.
    Downloaded,
    /// Something that was encoded so that nobody can read it.
    Decoded,
    /// What a local command writes.
    Output,
}

/// Whether something unknown may be empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// It may.
    MaybeEmpty,
    /// The shell stops if it is: `${X:?}`.
    Demanded,
}

impl Field {
    /// A field of plain text.
    pub(super) fn of(text: &str) -> Self {
        Self { atoms: vec![Atom::Text(text.to_owned())] }
    }

    /// The text, if all of it is known; a pattern counts as it is written.
    pub(super) fn known(&self) -> Option<String> {
        let mut text = String::new();
        for atom in &self.atoms {
            match atom {
                Atom::Text(part) | Atom::Glob(part) => text.push_str(part),
                Atom::Unknown(..) => return None,
            }
        }
        Some(text)
    }

    /// The text with everything unknown left out: enough to look at options.
    pub(super) fn text(&self) -> String {
        let part = |atom: &Atom| match atom {
            Atom::Text(part) | Atom::Glob(part) => part.clone(),
            Atom::Unknown(..) => String::new(),
        };
        self.atoms.iter().map(part).collect()
    }

    /// How many bytes it holds.
    pub(super) fn size(&self) -> usize {
        let part = |atom: &Atom| match atom {
            Atom::Text(part) | Atom::Glob(part) => part.len(),
            Atom::Unknown(..) => 1,
        };
        self.atoms.iter().map(part).sum()
    }

    /// The text as a person would write it.
    pub(super) fn shown(&self) -> String {
        let part = |atom: &Atom| match atom {
            Atom::Text(part) | Atom::Glob(part) => part.clone(),
            Atom::Unknown(Origin::Variable(name), _) => format!("${{{name}}}"),
            Atom::Unknown(Origin::Downloaded | Origin::Decoded | Origin::Output, _) => "$(…)".to_owned(),
        };
        self.atoms.iter().map(part).collect()
    }

    /// The first thing that is not known.
    pub(super) fn unknown(&self) -> Option<&Origin> {
        self.atoms.iter().find_map(|atom| match atom {
            Atom::Unknown(origin, _) => Some(origin),
            Atom::Text(_) | Atom::Glob(_) => None,
        })
    }

    /// Whether anything in it comes from the network or was encoded.
    pub(super) fn foreign(&self) -> Option<&Origin> {
        self.atoms.iter().find_map(|atom| match atom {
            Atom::Unknown(origin @ (Origin::Downloaded | Origin::Decoded), _) => Some(origin),
            Atom::Unknown(Origin::Variable(_) | Origin::Output, _) | Atom::Text(_) | Atom::Glob(_) => None,
        })
    }

    /// Adds text, joined to what is there.
    pub(super) fn push_text(&mut self, text: &str) {
        if let Some(Atom::Text(before)) = self.atoms.last_mut() {
            before.push_str(text);
        } else {
            self.atoms.push(Atom::Text(text.to_owned()));
        }
    }

    /// Adds text whose pattern characters mean something.
    pub(super) fn push_pattern(&mut self, text: &str) {
        let mut rest = text;
        // Behind the last closing bracket none closes: looking for one again and again would cost the square.
        let closes_until = text.rfind(']').unwrap_or(0);
        while let Some(at) = rest.find(['*', '?', '[']) {
            let closes = text.len() - rest.len() + at < closes_until;
            let (plain, pattern) = rest.split_at(at);
            if !plain.is_empty() {
                self.push_text(plain);
            }
            let length = match pattern.as_bytes().first() {
                Some(b'[') if !closes => 0,
                Some(b'[') => pattern.get(2..).and_then(|inside| inside.find(']')).map_or(0, |end| end + 3),
                _ => 1,
            };
            if length == 0 {
                self.push_text("[");
                rest = pattern.get(1..).unwrap_or_default();
                continue;
            }
            let (glob, more) = pattern.split_at(length);
            self.atoms.push(Atom::Glob(glob.to_owned()));
            rest = more;
        }
        if !rest.is_empty() {
            self.push_text(rest);
        }
    }
}

/// Whether a text fits a shell pattern. Linear in the text for each star.
pub(super) fn fits(pattern: &[Atom], text: &str) -> bool {
    let units = units(pattern);
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut in_text, mut star) = (0, 0, None);
    while in_text < text.len() {
        let letter = text.get(in_text).copied().unwrap_or_default();
        match units.get(at) {
            Some(Unit::Star) => {
                star = Some((at, in_text));
                at += 1;
            }
            Some(unit) if unit.takes(letter) => {
                at += 1;
                in_text += 1;
            }
            Some(Unit::Any | Unit::Letter(_) | Unit::Class(..)) | None => match star {
                Some((back, from)) => {
                    at = back + 1;
                    in_text = from + 1;
                    star = Some((back, from + 1));
                }
                None => return false,
            },
        }
    }
    units.iter().skip(at).all(|unit| *unit == Unit::Star)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Unit {
    Star,
    Any,
    Letter(char),
    Class(Vec<(char, char)>, Sense),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Inside,
    Outside,
}

impl Unit {
    fn takes(&self, letter: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::Letter(own) => *own == letter,
            Self::Class(ranges, sense) => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter));
                inside == (*sense == Sense::Inside)
            }
        }
    }
}

fn units(pattern: &[Atom]) -> Vec<Unit> {
    let mut units = Vec::new();
    for atom in pattern {
        match atom {
            Atom::Text(text) => units.extend(text.chars().map(Unit::Letter)),
            Atom::Glob(glob) if glob == "*" => units.push(Unit::Star),
            Atom::Glob(glob) if glob == "?" => units.push(Unit::Any),
            Atom::Glob(glob) => units.push(class(glob)),
            Atom::Unknown(..) => units.push(Unit::Star),
        }
    }
    units
}

fn class(glob: &str) -> Unit {
    let inside = glob.trim_start_matches('[').trim_end_matches(']');
    let (sense, inside) = match inside.strip_prefix(['!', '^']) {
        Some(rest) => (Sense::Outside, rest),
        None => (Sense::Inside, inside),
    };
    let letters: Vec<char> = inside.chars().collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(low) = letters.get(at).copied() {
        let high = letters.get(at + 2).copied().filter(|_| letters.get(at + 1) == Some(&'-'));
        ranges.push((low, high.unwrap_or(low)));
        at += if high.is_some() { 3 } else { 1 };
    }
    Unit::Class(ranges, sense)
}
