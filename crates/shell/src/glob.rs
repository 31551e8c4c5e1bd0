//! Shell patterns: `*`, `?` and `[…]`, as bash reads them in words and git in names of branches and files.

use alloc::vec::Vec;

/// A part of a pattern as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobPart<'t> {
    /// Text that stands for itself.
    Text(&'t str),
    /// `*`, `?` or `[…]`.
    Wildcard(&'t str),
}

/// A pattern that texts are matched against. `*` reaches over slashes: to match otherwise, match part by part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Glob {
    units: Vec<GlobUnit>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobUnit {
    AnyText,
    AnyLetter,
    Letter(char),
    Class(Vec<(char, char)>, ClassSense),
    /// Any text but what one of these fits: `!(a|b)`.
    Except(Vec<Glob>),
    /// What one of these fits, once or more: `+(a|b)`.
    Repeat(Vec<Glob>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClassSense {
    Inside,
    Outside,
}

impl Glob {
    /// The pattern that a text is. A bracket that nothing closes stands for itself.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut glob = Self::default();
        for part in parts(text) {
            match part {
                GlobPart::Text(text) => glob.push_text(text),
                GlobPart::Wildcard(wildcard) => glob.push_wildcard(wildcard),
            }
        }
        glob
    }

    /// Adds text that stands for itself.
    pub fn push_text(&mut self, text: &str) {
        self.units.extend(text.chars().map(GlobUnit::Letter));
    }

    /// Adds a wildcard as it is written.
    pub fn push_wildcard(&mut self, wildcard: &str) {
        self.units.push(match wildcard {
            "*" => GlobUnit::AnyText,
            "?" => GlobUnit::AnyLetter,
            group if group.starts_with("!(") => GlobUnit::Except(choices_of(group)),
            group if group.starts_with("+(") => GlobUnit::Repeat(choices_of(group)),
            class => class_of(class),
        });
    }

    /// Adds something that fits any text.
    pub fn push_any(&mut self) {
        self.units.push(GlobUnit::AnyText);
    }

    /// Whether a text fits. Linear in the text for each star.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        if self.units.iter().any(|unit| matches!(unit, GlobUnit::Except(_) | GlobUnit::Repeat(_))) {
            let mut tries = TRIES_MAX;
            return fits_from(&self.units, &text, &mut tries);
        }
        let (mut at, mut in_text, mut star) = (0, 0, None);
        while in_text < text.len() {
            let letter = text.get(in_text).copied().unwrap_or_default();
            match self.units.get(at) {
                Some(GlobUnit::AnyText) => {
                    star = Some((at, in_text));
                    at += 1;
                }
                Some(unit) if unit.takes(letter) => {
                    at += 1;
                    in_text += 1;
                }
                Some(_) | None => match star {
                    Some((back, from)) => {
                        at = back + 1;
                        in_text = from + 1;
                        star = Some((back, in_text));
                    }
                    None => return false,
                },
            }
        }
        self.units.iter().skip(at).all(|unit| *unit == GlobUnit::AnyText)
    }
}

/// Most ways in which a text is tried; one that needs more is taken to fit.
const TRIES_MAX: usize = 20_000;

/// Whether a text fits units among which there are groups.
fn fits_from(units: &[GlobUnit], text: &[char], tries: &mut usize) -> bool {
    *tries = tries.saturating_sub(1);
    if *tries == 0 {
        return true;
    }
    let Some((unit, rest)) = units.split_first() else { return text.is_empty() };
    let fits_one = |choices: &[Glob], text: &[char], tries: &mut usize| {
        choices.iter().any(|choice| fits_from(&choice.units, text, tries))
    };
    for end in 0..=text.len() {
        let (head, tail) = text.split_at(end);
        let takes = match unit {
            GlobUnit::AnyText => true,
            GlobUnit::Except(choices) => !fits_one(choices, head, tries),
            GlobUnit::Repeat(choices) => {
                if !head.is_empty() && fits_one(choices, head, tries) && fits_from(units, tail, tries) {
                    return true;
                }
                fits_one(choices, head, tries)
            }
            GlobUnit::AnyLetter | GlobUnit::Letter(_) | GlobUnit::Class(..) => {
                matches!(head, [letter] if unit.takes(*letter))
            }
        };
        if takes && fits_from(rest, tail, tries) {
            return true;
        }
        if head.len() == 1 && matches!(unit, GlobUnit::AnyLetter | GlobUnit::Letter(_) | GlobUnit::Class(..)) {
            return false;
        }
    }
    false
}

/// The choices of a group: `!(a|b)`.
fn choices_of(group: &str) -> Vec<Glob> {
    let inside = group.get(2..group.len().saturating_sub(1)).unwrap_or_default();
    let mut depth = 0_usize;
    let mut between = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == '|' && depth == 0
    };
    inside.split(&mut between).map(Glob::of).collect()
}

/// How long a group is that begins here, its brackets included; 0 where none does.
fn group_length(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '(' => depth += 1,
            ')' if depth <= 1 => return at + 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return 0;
        }
    }
    0
}

/// How long a class is that begins here, its brackets included; 0 where nothing closes it. Its first letter may be a bracket.
fn class_length(text: &str) -> usize {
    let inside = text.char_indices().nth(2).and_then(|(begin, _)| Some((begin, text.get(begin..)?)));
    inside.and_then(|(begin, rest)| Some(begin + rest.find(']')? + 1)).unwrap_or(0)
}

/// The parts of a pattern, in their order.
pub fn parts(text: &str) -> impl Iterator<Item = GlobPart<'_>> {
    // Behind the last closing bracket none closes: looking for one again and again would cost the square.
    let end_of = |bracket| text.rfind(bracket).map_or(0, |at| at + 1);
    let (classes_end, groups_end) = (end_of(']'), end_of(')'));
    let mut rest = text;
    core::iter::from_fn(move || {
        let begin = text.len() - rest.len();
        let mut from = 0;
        loop {
            let Some(at) = rest.get(from..).and_then(|rest| rest.find(['*', '?', '[', '!', '+'])).map(|at| from + at)
            else {
                let last = core::mem::take(&mut rest);
                return (!last.is_empty()).then_some(GlobPart::Text(last));
            };
            let wildcard = rest.get(at..).unwrap_or_default();
            let length = match wildcard.as_bytes().first() {
                Some(b'!' | b'+') => group_length(text.get(begin + at..groups_end).unwrap_or_default()),
                Some(b'[') => class_length(text.get(begin + at..classes_end).unwrap_or_default()),
                _ => 1,
            };
            if length == 0 {
                from = at + 1;
            } else if at > 0 {
                let (plain, behind) = rest.split_at(at);
                rest = behind;
                return Some(GlobPart::Text(plain));
            } else {
                let (wildcard, behind) = rest.split_at(length);
                rest = behind;
                return Some(GlobPart::Wildcard(wildcard));
            }
        }
    })
}

impl GlobUnit {
    fn takes(&self, letter: char) -> bool {
        match self {
            Self::AnyText | Self::Except(_) | Self::Repeat(_) => false,
            Self::AnyLetter => true,
            Self::Letter(own) => *own == letter,
            Self::Class(ranges, sense) => {
                let inside = ranges.iter().any(|(low, high)| (*low..=*high).contains(&letter));
                inside == (*sense == ClassSense::Inside)
            }
        }
    }
}

fn class_of(class: &str) -> GlobUnit {
    let inside = class.trim_start_matches('[').trim_end_matches(']');
    let (sense, inside) = match inside.strip_prefix(['!', '^']) {
        Some(rest) => (ClassSense::Outside, rest),
        None => (ClassSense::Inside, inside),
    };
    let letters: Vec<char> = inside.chars().collect();
    let mut ranges = Vec::new();
    let mut at = 0;
    while let Some(low) = letters.get(at).copied() {
        let high = letters.get(at + 2).copied().filter(|_| letters.get(at + 1) == Some(&'-'));
        ranges.push((low, high.unwrap_or(low)));
        at += if high.is_some() { 3 } else { 1 };
    }
    GlobUnit::Class(ranges, sense)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[test]
    fn a_text_fits_the_pattern_that_bash_would_fit() {
        for (pattern, text, fitting) in [
            ("main", "main", true),
            ("main", "mainline", false),
            ("release/*", "release/1/2", true),
            ("release/*", "release", false),
            ("*", "", true),
            ("a*b*c", "axbxbc", true),
            ("a*b*c", "axbxb", false),
            ("v?.[0-9]", "v1.7", true),
            ("v?.[!0-9]", "v1.7", false),
            ("[a", "[a", true),
            ("[]a]", "]", true),
            ("x[a]", "xa", true),
            ("!(a|b)", "a", false),
            ("!(a|b)", "ab", true),
            ("!(*.md)", "x.md", false),
            ("!(*.md)", "x.rs", true),
            ("x!(a|!(b))y", "xby", true),
            ("x!(a|!(b))y", "xcy", false),
            ("part+([0-9])", "part12", true),
            ("part+([0-9])", "part", false),
            ("part+([0-9]).x", "part1a.x", false),
            ("a!b+(c", "a!b+(c", true),
            ("+(+(+(+(a|aa)|aaa)))b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true),
        ] {
            assert_eq!(Glob::of(pattern).fits(text), fitting, "{pattern} {text}");
        }
    }

    #[test]
    fn the_parts_of_a_pattern_are_the_pattern() {
        for pattern in ["", "a", "*", "a*b?c[de]f", "[", "a[b", "[]", "[]x]y[", "**", "!(a|b)c", "+(a", "a!(b(c)d)e"] {
            let written: String = parts(pattern)
                .map(|part| match part {
                    GlobPart::Text(text) | GlobPart::Wildcard(text) => text,
                })
                .collect();
            assert_eq!(written, pattern);
        }
    }
}
