//! The texts in a piece of code of another language: what stands in quotes, and what of it the language itself runs.
//!
//! Each text is replaced by one character of its own, so that the rest of the code can be searched for calls without
//! meeting a name that only stands in a text or a comment.

/// The languages whose quotes are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    /// `'…'`, `"…"`, three quotes, prefixes.
    Python,
    /// Back quotes are texts.
    JavaScript,
    /// `q(…)`, `qq{…}`, `qx[…]`, back quotes run.
    Perl,
    /// `%q(…)`, `%x(…)`, back quotes run.
    Ruby,
    /// Back quotes run.
    Php,
    /// `--` begins a comment.
    Lua,
    /// What stands beside a pipe runs.
    Awk,
    /// Double and single quotes, nothing else.
    Other,
}

/// One text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Literal {
    /// What it says, with something unknown as a variable of a shell.
    pub(crate) text: String,
    /// Whether the language runs it as a command.
    pub(crate) runs: Runs,
}

/// Whether a text is a command by its quotes alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// Back quotes, `qx`, `%x`.
    Itself,
    /// It is only a text.
    No,
}

/// Code with its texts taken out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Skeleton {
    /// The code; each text is one character.
    pub(crate) code: Vec<char>,
    /// The texts, in their order.
    literals: Vec<Literal>,
}

/// The characters that stand for texts: a range that nobody writes.
const FIRST: u32 = 0xF_0000;
/// Most texts that are told apart.
const LITERALS_MAX: usize = 60_000;

impl Skeleton {
    /// Takes the texts out of some code.
    pub(crate) fn of(code: &str, language: Language) -> Self {
        let mut scanner = Scanner { code: code.chars().collect(), at: 0, language, out: Self::default() };
        while let Some(letter) = scanner.peek(0) {
            if scanner.comment() || scanner.literal(letter) {
                continue;
            }
            scanner.at += 1;
            scanner.out.code.push(letter);
        }
        scanner.out
    }

    /// The text that a character stands for.
    pub(crate) fn literal(&self, letter: char) -> Option<&Literal> {
        let index = usize::try_from(u32::from(letter).checked_sub(FIRST)?).ok()?;
        self.literals.get(index)
    }

    /// Where the arguments of calls of this name begin.
    pub(crate) fn calls_of(&self, name: &str) -> Vec<usize> {
        let name: Vec<char> = name.chars().collect();
        let code = &self.code;
        let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
        let mut found = Vec::new();
        for (at, window) in code.windows(name.len()).enumerate() {
            let after = at + name.len();
            let whole = window == name.as_slice()
                && !at.checked_sub(1).and_then(|before| code.get(before)).is_some_and(is_part)
                && !code.get(after).is_some_and(is_part);
            if whole {
                found.push(after);
            }
        }
        found
    }

    pub(crate) fn literals(&self) -> &[Literal] {
        &self.literals
    }
}

/// How many quotes end a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closed {
    ByOne,
    ByThree,
}

struct Scanner {
    code: Vec<char>,
    at: usize,
    language: Language,
    out: Skeleton,
}

impl Scanner {
    fn peek(&self, offset: usize) -> Option<char> {
        self.code.get(self.at + offset).copied()
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(offset, letter)| self.peek(offset) == Some(letter))
    }

    /// Skips a comment, if one begins here.
    fn comment(&mut self) -> bool {
        let line = match self.language {
            Language::Python | Language::Perl | Language::Ruby | Language::Awk => self.starts("#"),
            Language::JavaScript => self.starts("//"),
            Language::Php => self.starts("//") || self.starts("#"),
            Language::Lua => self.starts("--"),
            Language::Other => false,
        };
        // `$#x` and `a#b` in Perl and Ruby are no comments.
        let before = self.at.checked_sub(1).and_then(|at| self.code.get(at));
        if line && before.is_none_or(|letter| letter.is_whitespace() || ";{}()".contains(*letter)) {
            while self.peek(0).is_some_and(|letter| letter != '\n') {
                self.at += 1;
            }
            return true;
        }
        if matches!(self.language, Language::JavaScript | Language::Php) && self.starts("/*") {
            self.at += 2;
            while self.at < self.code.len() && !self.starts("*/") {
                self.at += 1;
            }
            self.at += 2;
            return true;
        }
        false
    }

    /// Takes a text, if one begins here.
    fn literal(&mut self, letter: char) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.code.get(at)).copied().unwrap_or(' ');
        let perl = self.language == Language::Perl && !before.is_alphanumeric() && !"_$@%&>{".contains(before);
        let ruby = self.language == Language::Ruby && !before.is_alphanumeric() && !")]".contains(before);
        let python = self.language == Language::Python;
        let found = match letter {
            '\'' | '"' if python && self.peek(1) == Some(letter) && self.peek(2) == Some(letter) => {
                Some((3, letter, Runs::No))
            }
            '\'' | '"' => Some((1, letter, Runs::No)),
            '`' => match self.language {
                Language::JavaScript => Some((1, '`', Runs::No)),
                Language::Perl | Language::Ruby | Language::Php => Some((1, '`', Runs::Itself)),
                Language::Python | Language::Lua | Language::Awk | Language::Other => None,
            },
            'q' if perl => self.perl_quote(),
            '%' if ruby => self.ruby_quote(),
            _ => None,
        };
        let Some((opening, close, runs)) = found else { return false };
        let closed = if opening == 3 && self.language == Language::Python { Closed::ByThree } else { Closed::ByOne };
        let open = self.code.get(self.at + opening - 1).copied().unwrap_or(letter);
        self.at += opening;
        let raw = self.until((open, close), closed);
        let formatted = self.language == Language::Python && self.drop_prefix();
        let text = if formatted { braces_unknown(&raw) } else { raw.replace("#{", "${") };
        self.keep(Literal { text, runs });
        true
    }

    /// `q(`, `qq{`, `qx[` with blanks between.
    fn perl_quote(&self) -> Option<(usize, char, Runs)> {
        let (mut length, runs) = match self.peek(1) {
            Some('x') => (2, Runs::Itself),
            Some('q') => (2, Runs::No),
            Some('w' | 'r') | None => return None,
            Some(_) => (1, Runs::No),
        };
        while self.peek(length) == Some(' ') {
            length += 1;
        }
        let open = self.peek(length).filter(|open| !open.is_alphanumeric() && !"_,;=)".contains(*open))?;
        Some((length + 1, closing(open), runs))
    }

    /// `%x(`, `%q[`, `%Q{`, `%(`.
    fn ruby_quote(&self) -> Option<(usize, char, Runs)> {
        let (length, runs) = match self.peek(1)? {
            'x' => (2, Runs::Itself),
            'q' | 'Q' => (2, Runs::No),
            '(' | '[' | '{' | '<' => (1, Runs::No),
            _ => return None,
        };
        let open = self.peek(length).filter(|open| "([{<|!/".contains(*open))?;
        Some((length + 1, closing(open), runs))
    }

    /// The text up to its end, with its escapes resolved; brackets nest.
    fn until(&mut self, (open, close): (char, char), closed: Closed) -> String {
        let mut text = String::new();
        let mut depth = 0_usize;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            if letter == '\\' {
                match self.peek(0) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                }
                self.at += 1;
            } else if letter == close && depth == 0 {
                if closed == Closed::ByOne {
                    return text;
                }
                if self.peek(0) == Some(close) && self.peek(1) == Some(close) {
                    self.at += 2;
                    return text;
                }
                text.push(letter);
            } else {
                depth += usize::from(open != close && letter == open);
                depth -= usize::from(open != close && letter == close);
                text.push(letter);
            }
        }
        text
    }

    /// Takes `f`, `r`, `b`, `rb` away that stand before a text; true if it is a formatted one.
    fn drop_prefix(&mut self) -> bool {
        let length =
            self.out.code.iter().rev().take_while(|letter| letter.is_alphanumeric() || **letter == '_').count();
        let from = self.out.code.len() - length;
        let prefix: String = self.out.code.get(from..).unwrap_or_default().iter().collect::<String>().to_lowercase();
        if length > 2 || !matches!(prefix.as_str(), "f" | "r" | "b" | "u" | "fr" | "rf" | "br" | "rb") {
            return false;
        }
        self.out.code.truncate(from);
        prefix.contains('f')
    }

    fn keep(&mut self, literal: Literal) {
        let index = self.out.literals.len().min(LITERALS_MAX);
        let mark = u32::try_from(index).ok().and_then(|index| char::from_u32(FIRST + index));
        self.out.code.push(mark.unwrap_or('"'));
        if index < LITERALS_MAX {
            self.out.literals.push(literal);
        }
    }
}

fn closing(open: char) -> char {
    match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    }
}

/// A formatted text: what stands in braces is put in when it runs.
fn braces_unknown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        match after.split_once('}') {
            Some((_, behind)) => {
                out.push_str("${unknown}");
                rest = behind;
            }
            None => rest = after,
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{Language, Runs, Skeleton};

    fn texts(code: &str, language: Language) -> Vec<String> {
        Skeleton::of(code, language).literals().iter().map(|literal| literal.text.clone()).collect()
    }

    #[test]
    fn texts_end_where_the_language_ends_them() {
        assert_eq!(texts(r#"a("b\"c", 'd') # "no""#, Language::Python), ["b\"c", "d"]);
        assert_eq!(texts("x = '''a'b''' + f\"{c}d\"", Language::Python), ["a'b", "${unknown}d"]);
        assert_eq!(texts("f(`a ${b}`) // 'no'", Language::JavaScript), ["a ${b}"]);
        assert_eq!(texts("system(q(a (b) c)); print qq{d}; $q = 1;", Language::Perl), ["a (b) c", "d"]);
        assert_eq!(texts("%x(a) + %q[b] + 7 % 3", Language::Ruby), ["a", "b"]);
        assert_eq!(texts("os.execute('a') -- 'no'", Language::Lua), ["a"]);
    }

    #[test]
    fn quotes_of_each_language_begin_and_end_where_it_says() {
        for (code, language, expected) in [
            (r"a('b\n\tc\d')", Language::Python, &["b\n\tcd"] as &[&str]),
            ("'''a''b''' + 'c'", Language::Python, &["a''b", "c"]),
            ("''", Language::Python, &[""]),
            ("'a", Language::Python, &["a"]),
            ("rb'a' + fr'{b}c{d'", Language::Python, &["a", "${unknown}cd"]),
            ("abc'd'", Language::Python, &["d"]),
            ("x = '#{a}'", Language::Ruby, &["${a}"]),
            ("/* 'no' */ 'a'", Language::JavaScript, &["a"]),
            ("/*/ 'no' */ 'a'", Language::JavaScript, &["a"]),
            ("/* 'no'", Language::Php, &[]),
            ("/* 'a' */", Language::Python, &["a"]),
            ("# 'no'\n'a' // 'no'", Language::Php, &["a"]),
            ("x//'a'", Language::JavaScript, &["a"]),
            ("x; // 'no'", Language::JavaScript, &[]),
            ("$#x 'a' # 'no'", Language::Perl, &["a"]),
            ("# 'a'", Language::Other, &["a"]),
            ("# 'no'", Language::Awk, &[]),
            ("`a`", Language::Python, &[]),
            ("q (a)", Language::Perl, &["a"]),
            ("qq  {a{b}c}", Language::Perl, &["a{b}c"]),
            ("q<a> . q[b] . q!c!", Language::Perl, &["a", "b", "c"]),
            ("qw(a b) . qr(c)", Language::Perl, &[]),
            ("$q(a) @q(b) %q(c) &q(d) xq(e)", Language::Perl, &[]),
            ("q = 1; q, 2; q;", Language::Perl, &[]),
            ("q(a)", Language::Ruby, &[]),
            ("%Q{a} + %<b> + %[c] + %w(d)", Language::Ruby, &["a", "b", "c"]),
            ("x %(a)", Language::Ruby, &["a"]),
            ("x%(a) + y] %(b) + z) %(c)", Language::Ruby, &["b", "c"]),
            ("x]%(a)", Language::Ruby, &[]),
            ("%q|a| + %x!b! + %q/c/", Language::Ruby, &["a", "b", "c"]),
        ] {
            assert_eq!(texts(code, language), expected, "{code}");
        }
    }

    #[test]
    fn a_prefix_of_a_text_is_no_part_of_the_code() {
        let code = |text: &str| -> String {
            let skeleton = Skeleton::of(text, Language::Python);
            skeleton.code.iter().map(|letter| if skeleton.literal(*letter).is_some() { '_' } else { *letter }).collect()
        };
        for (text, expected) in
            [("f'a'", "_"), ("x(rb'a')", "x(_)"), ("of'a'", "of_"), ("bbb'a'", "bbb_"), ("z'a'", "z_")]
        {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn back_quotes_run_where_the_language_runs_them() {
        for (code, language) in
            [("`a`", Language::Perl), ("qx{a}", Language::Perl), ("`a`", Language::Ruby), ("`a`", Language::Php)]
        {
            assert_eq!(
                Skeleton::of(code, language).literals().first().map(|one| one.runs),
                Some(Runs::Itself),
                "{code}"
            );
        }
        for (code, language) in [("`a`", Language::JavaScript), ("q(a)", Language::Perl), ("'a'", Language::Php)] {
            assert_eq!(Skeleton::of(code, language).literals().first().map(|one| one.runs), Some(Runs::No), "{code}");
        }
    }

    #[test]
    fn the_rest_of_the_code_is_left_without_texts() {
        let code: String = Skeleton::of("a('rm', r\"x\")", Language::Python).code.into_iter().collect();
        assert!(code.starts_with("a(") && code.ends_with(')') && !code.contains("rm") && !code.contains('r'));
    }
}
