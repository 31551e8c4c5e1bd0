//! How deep commands and expansions may be nested: each form is read up to its bound and refused behind it.

use tripwire_shell::{Command, DEPTH_MAX, SyntaxError, parse, parse_up_to_refusal};

/// A form of nesting: what opens a level, what stands inside the innermost one, what closes a level, and how many levels
/// are read.
type Form = (&'static str, &'static str, &'static str, usize);

const FORMS: &[Form] = &[
    ("( ", "a", " )", 38),
    ("{ ", "a", "; }", 38),
    ("if ", "a", "; then b; fi", 38),
    ("while ", "a", "; do b; done", 38),
    ("for i in 1; do ", "a", "; done", 38),
    ("case a in b) ", "c", " ;; esac", 38),
    ("f() { ", "a", "; }", 19),
    ("$(", "a", ")", 12),
    ("<(", "a", ")", 12),
    ("\"$(", "a", ")\"", 9),
    ("${a:-", "b", "}", 38),
    ("$((", "1", "))", 38),
    ("@(", "a", ")", 38),
];

fn nested((open, inside, close, _): Form, levels: usize) -> String {
    format!("{}{inside}{}", open.repeat(levels), close.repeat(levels))
}

#[test]
fn every_form_is_read_up_to_the_same_depth_and_refused_behind_it() {
    let mut wrong = Vec::new();
    for form in FORMS {
        let deepest = (1..=DEPTH_MAX + 1).take_while(|levels| parse(&nested(*form, *levels)).error.is_none()).last();
        if deepest != Some(form.3) {
            wrong.push((form.0, deepest));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_text_that_is_nested_too_deep_says_so_and_none_of_it_is_read() {
    for form in FORMS {
        let text = format!("before\n{}", nested(*form, form.3 + 1));
        let parsed = parse(&text);
        assert_eq!(parsed.error, Some(SyntaxError::TooDeep), "{}", form.0);
        assert!(parsed.script.items.is_empty(), "{}: bash reads on, so what it would run cannot be told", form.0);
        assert_eq!(parse_up_to_refusal(&text).items.len(), 1, "{}", form.0);
    }
    assert_eq!(SyntaxError::TooDeep.to_string(), "it is nested more than 40 levels deep");
}

#[test]
fn levels_beside_each_other_do_not_add_up() {
    for form in FORMS {
        let beside =
            format!("{}\n", nested(*form, form.3)).repeat(3) + &"echo $(a) `b` ${c} $((1)) <(d) \"e\"; ".repeat(50);
        assert_eq!(parse(&beside).error, None, "{}", form.0);
    }
}

#[test]
fn a_subscript_ends_at_most_so_far_behind_its_first_blank() {
    let is_assignment = |subscript: &str| {
        let parsed = parse(&format!("a[{subscript}]=b c"));
        parsed.script.items.iter().flat_map(|item| &item.pipeline).any(|command| match command {
            Command::Simple(simple) => simple.assignments.len() == 1 && simple.words.len() == 1,
            Command::Compound(..) | Command::Function(..) => false,
        })
    };
    assert!(is_assignment(&"x".repeat(5_000)), "without a blank it may be as long as it likes");
    assert!(is_assignment(&format!("xx {}", "y".repeat(1_023))));
    assert!(!is_assignment(&format!("xx {}", "y".repeat(1_024))));
}
