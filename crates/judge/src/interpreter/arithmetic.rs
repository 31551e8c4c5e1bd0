//! `$((…))`: the number that an expression gives, where nothing in it is unknown.

/// Deepest nesting of brackets and signs.
const DEPTH_MAX: usize = 32;

/// The value of an expression; `variable` gives the number that a variable holds.
pub(super) fn value(text: &str, variable: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    let mut reader = Reader { rest: text.trim(), variable };
    let value = reader.sum(0)?;
    reader.rest.trim_start().is_empty().then_some(value)
}

/// The variables that an expression sets: `i++`, `--i`, `i += 2`, `i = 0`.
pub(super) fn assigned(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, behind) = rest.split_at(start);
        let end = behind.find(|letter| !is_part(letter)).unwrap_or(behind.len());
        let (name, after) = behind.split_at(end);
        let before = before.trim_end();
        let next = after.trim_start();
        let compared = next.starts_with("==");
        let set = next.starts_with('=') || ["+=", "-=", "*=", "/=", "%="].iter().any(|sign| next.starts_with(sign));
        let counted =
            next.starts_with("++") || next.starts_with("--") || before.ends_with("++") || before.ends_with("--");
        if !name.starts_with(|letter: char| letter.is_ascii_digit()) && ((set && !compared) || counted) {
            names.push(name.to_owned());
        }
        rest = after;
    }
    names
}

struct Reader<'r> {
    rest: &'r str,
    variable: &'r dyn Fn(&str) -> Option<i64>,
}

impl Reader<'_> {
    fn take(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start();
        let Some(after) = rest.strip_prefix(sign) else { return false };
        // `**`, `++` and the like are other signs.
        if sign != '(' && sign != ')' && after.starts_with([sign, '=']) {
            return false;
        }
        self.rest = after;
        true
    }

    fn sum(&mut self, depth: usize) -> Option<i64> {
        let mut value = self.product(depth)?;
        loop {
            if self.take('+') {
                value = value.checked_add(self.product(depth)?)?;
            } else if self.take('-') {
                value = value.checked_sub(self.product(depth)?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self, depth: usize) -> Option<i64> {
        let mut value = self.atom(depth)?;
        loop {
            if self.take('*') {
                value = value.checked_mul(self.atom(depth)?)?;
            } else if self.take('/') {
                value = value.checked_div(self.atom(depth)?)?;
            } else if self.take('%') {
                value = value.checked_rem(self.atom(depth)?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self, depth: usize) -> Option<i64> {
        if depth > DEPTH_MAX {
            return None;
        }
        if self.take('(') {
            let value = self.sum(depth + 1)?;
            return self.take(')').then_some(value);
        }
        if self.take('-') {
            return self.atom(depth + 1)?.checked_neg();
        }
        let rest = self.rest.trim_start();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (word, after) = rest.split_at(length);
        self.rest = after;
        match word.bytes().next()? {
            // `010` and `0x10` are other numbers than they look.
            b'0' if word.len() > 1 => None,
            b'0'..=b'9' => word.parse().ok(),
            _ => (self.variable)(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_expression_has_its_value_and_any_other_none() {
        let variable = |name: &str| (name == "n").then_some(7);
        for (text, expected) in [
            ("1+1", Some(2)),
            (" 2 * (3 + 4) - 1 ", Some(13)),
            ("n+1", Some(8)),
            ("-n", Some(-7)),
            ("10/3", Some(3)),
            ("10%3", Some(1)),
            ("1/0", None),
            ("m+1", None),
            ("n++", None),
            ("2**3", None),
            ("010", None),
            ("0", Some(0)),
            ("1 2", None),
            ("", None),
            ("(1", None),
            ("10-3-2", Some(5)),
            ("7*3%4", Some(1)),
            ("((2)+1)", Some(3)),
            ("(2)=1", None),
            ("2+=1", None),
            ("--2", None),
            ("- -2", Some(2)),
            ("x_1", None),
            ("9223372036854775807+1", None),
        ] {
            assert_eq!(value(text, &variable), expected, "{text}");
        }
        assert_eq!(value(&"(".repeat(100), &variable), None);
        let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!((value(&nested(32), &variable), value(&nested(33), &variable)), (Some(1), None));
        let negated = |times: usize| format!("{}1", "- ".repeat(times));
        assert_eq!((value(&negated(32), &variable), value(&negated(33), &variable)), (Some(1), None));
    }

    #[test]
    fn an_expression_sets_what_it_counts() {
        for (text, expected) in [
            ("i++", vec!["i"]),
            ("--i", vec!["i"]),
            ("i=1;i<61;i++", vec!["i", "i"]),
            ("a += b", vec!["a"]),
            ("a == b", vec![]),
            ("a <= 3 && b != 4", vec![]),
            ("n + 1", vec![]),
            ("++i", vec!["i"]),
            ("i--", vec!["i"]),
            ("a_1 -= 2", vec!["a_1"]),
            ("a*=b/=c%=2", vec!["a", "b", "c"]),
            ("2++", vec![]),
            ("1 = 2", vec![]),
        ] {
            assert_eq!(assigned(text), expected, "{text}");
        }
    }
}
