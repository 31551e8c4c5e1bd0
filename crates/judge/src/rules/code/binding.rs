//! Where the code of another language binds a name: functions that are called with it, blocks that are given it,
//! conditions that compare it, and other names for a call.

use super::literal::Skeleton;

/// A part of the code: where it begins, and where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The function whose head is open at the end of this text, and which of its parameters comes next: `def f(a, `.
pub(super) fn open_head(before: &str) -> Option<(String, usize)> {
    let heads = ["def ", "function "].iter().filter_map(|word| before.rsplit_once(word));
    let (_, head) = heads.min_by_key(|(_, head)| head.len())?;
    let (name, parameters) = head.split_once('(')?;
    let name = name.trim();
    let plain = |letter: char| is_name(letter) || letter.is_whitespace() || ",:[]".contains(letter);
    if name.is_empty() || !name.chars().all(is_name) || !parameters.chars().all(plain) {
        return None;
    }
    // The object of a method is no argument of its call.
    let own = usize::from(parameters.starts_with("self") || parameters.starts_with("cls"));
    Some((name.to_owned(), parameters.matches(',').count().saturating_sub(own)))
}

/// Where a function is called or mentioned, each time the place behind its name; not where it is defined.
pub(super) fn uses(skeleton: &Skeleton, name: &str) -> Vec<usize> {
    let defined = |behind: &usize| {
        let head: String = text(skeleton, behind.saturating_sub(name.chars().count() + 9), *behind);
        let head = head.trim_end_matches(name).trim_end();
        head.ends_with("def") || head.ends_with("function")
    };
    skeleton.calls_of(name).into_iter().filter(|behind| !defined(behind)).collect()
}

/// What stands before the dot of a method: `Path('x')` in `Path('x').unlink()`; `from` is where the method's name ends.
pub(super) fn receiver(skeleton: &Skeleton, method: &str, from: usize) -> Option<Span> {
    let dot = from.checked_sub(method.chars().count() + 1)?;
    if skeleton.code.get(dot) != Some(&'.') {
        return None;
    }
    Some(Span { start: expression_start(skeleton, dot), end: dot })
}

/// What a block of Ruby goes over: `Dir["x/*"]` in `Dir["x/*"].each { |name| … }`; `start` is where the name begins.
pub(super) fn block(skeleton: &Skeleton, start: usize) -> Option<Span> {
    let before = text(skeleton, 0, start);
    let before = before.trim_end().strip_suffix('|')?.trim_end();
    let before = before.strip_suffix('{').or_else(|| before.strip_suffix("do"))?.trim_end();
    let list = ["each", "map", "each_entry"].iter().find_map(|method| before.strip_suffix(method)?.strip_suffix('.'));
    let end = list.unwrap_or(before).chars().count();
    Some(Span { start: expression_start(skeleton, end), end })
}

/// The texts of which a name must be one for this place to be reached: the condition right before it is
/// `if name == 'text'` or `if name in ('a', 'b')`, and nothing else stands between the two.
pub(super) fn compared(skeleton: &Skeleton, name: &str, place: usize) -> Option<Vec<String>> {
    let before = text(skeleton, 0, place);
    let at = before.rfind("if ").or_else(|| before.rfind("if("))?;
    let (_, rest) = before.split_at_checked(at + "if".len())?;
    if rest.matches('\n').count() > 1 || rest.contains("else") || rest.contains(" or ") || rest.contains("||") {
        return None;
    }
    let rest = rest.trim_start_matches([' ', '(']).strip_prefix(name)?.trim_start();
    let (values, behind) = match rest.strip_prefix("===").or_else(|| rest.strip_prefix("==")) {
        Some(value) => {
            let value = value.trim_start();
            value.split_at_checked(value.chars().next()?.len_utf8())?
        }
        None => {
            let list = rest.strip_prefix("in ")?.trim_start().strip_prefix(['(', '[', '{'])?;
            list.split_once([')', ']', '}'])?
        }
    };
    if !opens_body(behind) {
        return None;
    }
    let letters: Vec<char> = values.chars().filter(|letter| !letter.is_whitespace() && *letter != ',').collect();
    let texts: Option<Vec<String>> =
        letters.iter().map(|letter| skeleton.literal(*letter).map(|literal| literal.text.clone())).collect();
    texts.filter(|texts| !texts.is_empty())
}

/// Behind the `=` of the only place where a name is given a value; none where there are more, or none.
pub(super) fn bound_once(skeleton: &Skeleton, name: &str) -> Option<usize> {
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let behind = |at: &usize| {
        let rest = skeleton.code.iter().enumerate().skip(*at).find(|(_, letter)| !letter.is_whitespace());
        let (place, letter) = rest?;
        let is_assigned = *letter == '=' && !matches!(skeleton.code.get(place + 1), Some('=' | '>'));
        is_assigned.then_some(place + 1)
    };
    let places: Vec<usize> = skeleton.calls_of(name).iter().filter_map(behind).collect();
    if let [only] = places.as_slice() { Some(*only) } else { None }
}

/// Whether what stands behind a condition leads into its body. A statement on the way is the body instead: behind
/// `if name == 'a': continue` every other name is reached.
fn opens_body(behind: &str) -> bool {
    let head = behind.split_once('\n').map(|(head, _)| head.trim_end());
    let opens = |head: &str| head.ends_with([':', '{']) || head == ")";
    !behind.contains([';', '}']) && head.is_none_or(opens)
}

/// Other names that the code gives a call: `import rmtree as name`, `const {rmSync: name} = …`.
pub(super) fn aliases(skeleton: &Skeleton, call: &str) -> Vec<String> {
    let alias = |behind: usize| {
        let next = text(skeleton, behind, behind + 40);
        let next = next.trim_start();
        let name = next.strip_prefix("as ").or_else(|| next.strip_prefix(':'))?.trim_start();
        let name: String = name.chars().take_while(|letter| is_name(*letter)).collect();
        Some(name).filter(|name| name.chars().next().is_some_and(char::is_alphabetic))
    };
    skeleton.calls_of(call).into_iter().filter_map(alias).collect()
}

/// Where an expression begins that ends here: names, dots, and what stands in brackets.
fn expression_start(skeleton: &Skeleton, end: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = end;
    while let Some(letter) = at.checked_sub(1).and_then(|before| skeleton.code.get(before)) {
        match letter {
            ')' | ']' => depth += 1,
            '(' | '[' if depth == 0 => break,
            '(' | '[' => depth -= 1,
            letter if depth == 0 && !is_name(*letter) && *letter != '.' && skeleton.literal(*letter).is_none() => break,
            _ => {}
        }
        at -= 1;
    }
    at
}

fn text(skeleton: &Skeleton, start: usize, end: usize) -> String {
    let end = end.min(skeleton.code.len());
    skeleton.code.get(start.min(end)..end).unwrap_or_default().iter().collect()
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() && u32::from(letter) < 0xF_0000 || letter == '_'
}
