//! `find -regex`: simple expressions, as the patterns that fit the same paths.

/// Which letters have a meaning of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// The usual one of `find`: `\(a\|b\)`.
    Emacs,
    /// `-regextype posix-extended` and its like: `(a|b)`.
    Extended,
}

/// Most patterns that one expression becomes.
const PATTERNS_MAX: usize = 32;

/// The patterns of which one must fit the whole path; nothing if the expression says more than patterns can.
pub(crate) fn patterns(expression: &str, syntax: Syntax) -> Option<Vec<String>> {
    let mut reader = RegexReader { rest: expression.strip_prefix('^').unwrap_or(expression), syntax };
    let patterns = reader.branches()?;
    reader.rest.is_empty().then_some(patterns)
}

/// The patterns of which one must fit a line that holds the expression anywhere, as `grep` looks for it.
pub(crate) fn patterns_within(expression: &str, syntax: Syntax) -> Option<Vec<String>> {
    let before = if expression.starts_with('^') { "" } else { "*" };
    let after = if expression.ends_with('$') && !expression.ends_with("\\$") { "" } else { "*" };
    let branched = expression.contains('|') && (before.is_empty() || after.is_empty());
    let patterns = patterns(expression, syntax).filter(|_| !branched)?;
    Some(patterns.iter().map(|pattern| format!("{before}{pattern}{after}")).collect())
}

/// Reads an expression from its beginning.
struct RegexReader<'t> {
    rest: &'t str,
    syntax: Syntax,
}

/// One part of an expression.
enum RegexPart {
    /// Texts of which one stands here.
    OneOf(Vec<String>),
    /// `\|`
    Or,
    /// `\)`
    Close,
}

impl RegexReader<'_> {
    /// Branches up to a closing bracket or the end.
    fn branches(&mut self) -> Option<Vec<String>> {
        let mut done = Vec::new();
        let mut branch = vec![String::new()];
        while !self.rest.is_empty() {
            match self.part()? {
                RegexPart::Close => break,
                RegexPart::Or => done.append(&mut std::mem::replace(&mut branch, vec![String::new()])),
                RegexPart::OneOf(texts) => {
                    branch =
                        branch.iter().flat_map(|own| texts.iter().map(move |text| format!("{own}{text}"))).collect();
                }
            }
            if done.len() + branch.len() > PATTERNS_MAX {
                return None;
            }
        }
        done.append(&mut branch);
        Some(done)
    }

    fn part(&mut self) -> Option<RegexPart> {
        let extended = self.syntax == Syntax::Extended;
        let letter = self.take()?;
        let one = |text: &str| Some(RegexPart::OneOf(vec![text.to_owned()]));
        match letter {
            '\\' => match self.take()? {
                '(' if !extended => self.group(),
                ')' if !extended => Some(RegexPart::Close),
                '|' if !extended => Some(RegexPart::Or),
                letter if letter.is_alphanumeric() || matches!(letter, '+' | '?' | '{' | '<' | '>') => None,
                letter => self.once(&quoted(letter)),
            },
            '(' if extended => self.group(),
            ')' if extended => Some(RegexPart::Close),
            '|' if extended => Some(RegexPart::Or),
            '.' => match self.rest.chars().next() {
                Some('*') => self.take().and_then(|_| one("*")),
                Some('+') => self.take().and_then(|_| one("?*")),
                Some(_) | None => self.once("?"),
            },
            '[' => {
                let end = self.rest.get(1..)?.find(']')? + 2;
                let (set, rest) = self.rest.split_at_checked(end)?;
                self.rest = rest;
                if set.contains([':', '\\']) {
                    None
                } else {
                    self.once(&format!("[{}", set.replacen('^', "!", usize::from(set.starts_with('^')))))
                }
            }
            '$' if self.rest.is_empty() => one(""),
            // Within an expression both ends of a line say more: `(^|/)name`.
            '^' | '$' | '*' | '+' | '?' => None,
            '{' | '}' if extended => None,
            letter => self.once(&quoted(letter)),
        }
    }

    /// What stands between brackets.
    fn group(&mut self) -> Option<RegexPart> {
        let texts = self.branches()?;
        if self.is_repeated() { None } else { Some(RegexPart::OneOf(texts)) }
    }

    /// A text that nothing repeats.
    fn once(&self, text: &str) -> Option<RegexPart> {
        if self.is_repeated() { None } else { Some(RegexPart::OneOf(vec![text.to_owned()])) }
    }

    fn is_repeated(&self) -> bool {
        self.rest.starts_with(['*', '+', '?']) || self.rest.starts_with("\\{") || self.rest.starts_with('{')
    }

    fn take(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = self.rest.get(letter.len_utf8()..)?;
        Some(letter)
    }
}

/// A letter that stands for itself in a pattern; any letter for an opening bracket, which a pattern cannot hold.
fn quoted(letter: char) -> String {
    match letter {
        '*' | '?' => format!("[{letter}]"),
        '[' => "?".to_owned(),
        letter => letter.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simple_expression_is_a_row_of_patterns() {
        for (expression, expected) in [
            (r".*\.pyc", &["*.pyc"] as &[_]),
            (r".*\.\(pyc\|pyo\)$", &["*.pyc", "*.pyo"]),
            (r"^\./a[0-9].", &["./a[0-9]?"]),
            (r".+~", &["?*~"]),
            (r".*/a\*\[b\]", &["*/a[*]?b]"]),
        ] {
            assert_eq!(patterns(expression, Syntax::Emacs).unwrap(), expected, "{expression}");
        }
        for (expression, expected) in [
            (r".*\.(js|ts)", &["*.js", "*.ts"] as &[_]),
            (r"a\(b\)\|c", &["a(b)|c"]),
            ("(a|b)(c|d)", &["ac", "ad", "bc", "bd"]),
            ("a|b", &["a", "b"]),
            ("[^a]b", &["[!a]b"]),
            ("a$", &["a"]),
            ("a.", &["a?"]),
        ] {
            assert_eq!(patterns(expression, Syntax::Extended).unwrap(), expected, "{expression}");
        }
        assert_eq!(patterns("(a|b)", Syntax::Emacs).unwrap(), ["(a|b)"]);
        assert_eq!(patterns("a{1}", Syntax::Extended), None);
        assert_eq!(patterns("a}", Syntax::Extended), None);
        assert_eq!(patterns("a}", Syntax::Emacs).unwrap(), ["a}"]);
    }

    #[test]
    fn an_expression_of_too_many_branches_is_none() {
        let branches = |count: usize| vec!["a"; count].join("|");
        assert_eq!(patterns(&branches(32), Syntax::Extended).map(|found| found.len()), Some(32));
        assert_eq!(patterns(&branches(33), Syntax::Extended), None);
        assert_eq!(patterns(&"(a|b)".repeat(5), Syntax::Extended).map(|found| found.len()), Some(32));
        assert_eq!(patterns(&"(a|b)".repeat(6), Syntax::Extended), None);
    }

    #[test]
    fn an_expression_within_a_line_fits_around_it() {
        for (expression, expected) in [("md", "*md*"), ("^a", "a*"), (r"\.py$", "*.py"), ("^a$", "a")] {
            assert_eq!(patterns_within(expression, Syntax::Emacs).unwrap(), [expected], "{expression}");
        }
        for expression in ["^a|b", "a|b$", "^a|b$"] {
            assert_eq!(patterns_within(expression, Syntax::Extended), None, "{expression}");
        }
        assert_eq!(patterns_within("a|b", Syntax::Extended).unwrap(), ["*a*", "*b*"]);
        assert_eq!(patterns_within(r"a\$", Syntax::Extended).unwrap(), ["*a$*"]);
    }

    #[test]
    fn an_expression_that_says_more_is_none() {
        for expression in [r".*a*", r"a\{2\}", r"\w.*", r"x\(ab\)*", "[[:digit:]].*", r"\(^a\|b\)"] {
            assert_eq!(patterns(expression, Syntax::Emacs), None, "{expression}");
        }
        for expression in ["[a]*", ".?", "a$b", r"a\+", r"\<a", r"[\d]", "*a", "+", r"a\)b", "["] {
            assert_eq!(patterns(expression, Syntax::Emacs), None, "{expression}");
        }
        for expression in ["(a)?", "(^a)", "a+", "a)b"] {
            assert_eq!(patterns(expression, Syntax::Extended), None, "{expression}");
        }
    }
}
