//! What a word says about itself: its literal text, and whether it is written like an assignment.

use super::drawing;
use tripwire_shell::{Command, Word, parse};

/// The words of a line that is one simple command.
fn words(line: &str) -> Vec<Word> {
    let parsed = parse(line);
    let mut commands = parsed.script.items.into_iter().flat_map(|item| item.pipeline);
    match commands.next() {
        Some(Command::Simple(simple)) => simple.words,
        other => panic!("`{line}` is no simple command: {other:?}"),
    }
}

#[test]
fn only_a_word_of_bare_text_is_literal() {
    for (line, literal) in [
        ("abc", Some("abc")),
        ("a*{b,c}~", Some("a*{b,c}~")),
        ("'abc'", None),
        ("ab'c'", None),
        ("$a", None),
        ("a$b", None),
        ("''", None),
        ("$(a)", None),
    ] {
        assert_eq!(words(line)[0].literal(), literal, "{line}");
    }
    assert_eq!(Word::default().literal(), None);
}

#[test]
fn a_word_is_split_where_an_assignment_would_be() {
    for (line, expected) in [
        ("env a=b", Some("a [b]")),
        ("env a=", Some("a []")),
        ("env A_1=b=c", Some("A_1 [b=c]")),
        ("env a=$b'c'", Some("a [${b}'c']")),
        ("env a=b$c", Some("a [b${c}]")),
        ("env 1=b", Some("1 [b]")),
        ("env =b", None),
        ("env a-b=c", None),
        ("env a", None),
        ("env 'a=b'", None),
        ("env $a=b", None),
        ("env a$b=c", None),
    ] {
        let split = words(line)[1].split_assignment();
        let drawn = split.map(|(name, value)| format!("{name} {}", drawing::word(&value)));
        assert_eq!(drawn.as_deref(), expected, "{line}");
    }
    assert!(Word::default().split_assignment().is_none());
}
