//! Patterns: what fits them, and the parts that they are made of.

use tripwire_shell::glob::{Glob, GlobPart, parts};

fn drawn(pattern: &str) -> String {
    let part = |part| match part {
        GlobPart::Text(text) => text.to_owned(),
        GlobPart::Wildcard(wildcard) => format!("<{wildcard}>"),
    };
    parts(pattern).map(part).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_wildcards_of_a_pattern_are_told_from_its_text() {
    for (pattern, expected) in [
        ("", ""),
        ("abc", "abc"),
        ("*", "<*>"),
        ("**", "<*> <*>"),
        ("a*", "a <*>"),
        ("*a", "<*> a"),
        ("a*b?c", "a <*> b <?> c"),
        ("[a]", "<[a]>"),
        ("a[bc]d", "a <[bc]> d"),
        ("[]a]", "<[]a]>"),
        ("[]]", "<[]]>"),
        ("[]", "[]"),
        ("[", "["),
        ("]", "]"),
        ("a[b", "a[b"),
        ("[a][b", "<[a]> [b"),
        ("[a]b]", "<[a]> b]"),
        ("x[!a-c]y", "x <[!a-c]> y"),
        ("[*]", "<[*]>"),
        ("[é]ü", "<[é]> ü"),
        ("é*ü", "é <*> ü"),
        ("!(a)", "<!(a)>"),
        ("+(a|b)", "<+(a|b)>"),
        ("x!(a)y", "x <!(a)> y"),
        ("x+(a)!(b)y", "x <+(a)> <!(b)> y"),
        ("!(a(b)c)d", "<!(a(b)c)> d"),
        ("!(a)b)", "<!(a)> b)"),
        ("!(a(b)", "!(a(b)"),
        ("!(a", "!(a"),
        ("!a)", "!a)"),
        ("+a(b)", "+a(b)"),
        ("!()", "<!()>"),
        ("a!b", "a!b"),
        ("a+", "a+"),
        ("+(a", "+(a"),
        ("!!(a)", "! <!(a)>"),
        ("a)*", "a) <*>"),
        ("a]*", "a] <*>"),
        ("@(a)", "@(a)"),
        ("!(é)x", "<!(é)> x"),
        ("[a!(b)", "[a <!(b)>"),
        ("[a]!(b", "<[a]> !(b"),
        ("a?", "a <?>"),
    ] {
        assert_eq!(drawn(pattern), expected, "{pattern}");
    }
}

/// For each pattern the texts that fit it and those that do not.
const FITS: &[(&str, &[&str], &[&str])] = &[
    ("", &[""], &["a"]),
    ("a", &["a"], &["", "b", "aa"]),
    ("?", &["a", "é", "*"], &["", "ab"]),
    ("*", &["", "a", "a/b"], &[]),
    ("**", &["", "a"], &[]),
    ("a*", &["a", "ab"], &["", "ba"]),
    ("*a", &["a", "ba", "aa"], &["", "ab"]),
    ("a*a", &["aa", "aba", "aaa"], &["a", "ab"]),
    ("*a*b", &["ab", "aab", "abab", "xaxb"], &["ba", "abx"]),
    ("*ab", &["ab", "aab", "abab", "aaab"], &["aba", "b"]),
    ("a?c", &["abc", "a?c"], &["ac", "abbc"]),
    ("a*?", &["ab", "abc"], &["a"]),
    ("[abc]", &["a", "b", "c"], &["d", "", "ab", "-"]),
    ("[a-c]", &["a", "b", "c"], &["d", "-", "`"]),
    ("[!a-c]", &["d", "-"], &["a", "b", "c", ""]),
    ("[^a]", &["b", "^"], &["a"]),
    ("[a-]", &["a", "-"], &["b"]),
    ("[-a]", &["a", "-"], &["b"]),
    ("[a-cx-z]", &["a", "c", "x", "z"], &["d", "w", "-"]),
    ("[a-cx]", &["b", "x"], &["y", "w"]),
    ("[ab-d]", &["a", "b", "c", "d"], &["e", "-"]),
    ("[]a]", &["a"], &["b"]),
    ("[[a]", &["a"], &["b"]),
    ("[0-9]*[a-f]", &["1f", "1xa"], &["f1", "1g"]),
    ("!(a)", &["", "b", "aa", "ab"], &["a"]),
    ("!(a|bc)", &["", "b", "abc"], &["a", "bc"]),
    ("x!(a)", &["x", "xb", "xaa"], &["xa", "a", ""]),
    ("!(a)x", &["x", "bx", "aax"], &["ax", "a"]),
    ("!(*.md|*.txt)", &["a.rs", "md", "a.md.rs"], &["a.md", ".txt"]),
    ("!(a?)", &["a", "abc", ""], &["ab"]),
    ("!()", &["a"], &[""]),
    ("+(a)", &["a", "aa", "aaa"], &["", "b", "ab", "ba"]),
    ("+(a|bc)", &["a", "bc", "abc", "bca"], &["", "b", "abcb"]),
    ("+([0-9])", &["1", "123"], &["", "a", "12a"]),
    ("x+(a)y", &["xay", "xaay"], &["xy", "xaby", "xaya"]),
    ("+(a*)", &["a", "ab", "aab"], &["", "ba"]),
    ("+(a|!(b))c", &["ac", "c", "abac"], &["bd"]),
    ("*+(a)", &["a", "ba", "baa"], &["", "ab"]),
    ("?+(a)", &["ba", "aa"], &["a", "bb"]),
    ("[b]+(a)", &["ba", "baa"], &["a", "ca", "b"]),
    ("b+(a)", &["ba"], &["ca", "b", "bba"]),
    ("!(a(b)|c)", &["a", "b"], &["a(b)", "c"]),
    ("+(a|(b|c))", &["a", "(b|c)", "a(b|c)"], &["b", "c"]),
];

#[test]
fn a_text_fits_exactly_the_patterns_that_bash_would_fit() {
    for (pattern, fitting, others) in FITS {
        for text in *fitting {
            assert!(Glob::of(pattern).fits(text), "`{text}` fits `{pattern}`");
        }
        for text in *others {
            assert!(!Glob::of(pattern).fits(text), "`{text}` does not fit `{pattern}`");
        }
    }
}

#[test]
fn a_pattern_is_put_together_from_text_wildcards_and_what_is_not_known() {
    let mut glob = Glob::default();
    assert!(glob.fits("") && !glob.fits("a"));
    glob.push_text("a*");
    assert!(glob.fits("a*") && !glob.fits("ab"), "text stands for itself");
    glob.push_wildcard("[0-9]");
    assert!(glob.fits("a*7") && !glob.fits("a*x"));
    glob.push_any();
    assert!(glob.fits("a*7") && glob.fits("a*7/x") && !glob.fits("a*"));
    glob.push_wildcard("?");
    assert!(glob.fits("a*7x") && !glob.fits("a*7"));
    let mut same = Glob::of("x*");
    assert_eq!(same, Glob::of("x*"));
    same.push_wildcard("!(y)");
    assert_ne!(same, Glob::of("x*"));
    assert!(same.fits("x") && !Glob::of("!(y)").fits("y"));
}

#[test]
fn a_text_that_needs_too_many_tries_is_taken_to_fit() {
    let text = |letters: usize| "a".repeat(letters);
    for (pattern, letters) in [("+(+(+(a)))b", 9), ("*+(a)b", 30), ("+(aa)b", 115), ("*+(b)", 140)] {
        assert!(!Glob::of(pattern).fits(&text(letters - 1)), "{pattern}: few tries tell that it does not fit");
        assert!(Glob::of(pattern).fits(&text(letters)), "{pattern}: too many do not");
    }
    assert!(!Glob::of("+(b)").fits(&text(1_000)), "one try for each letter");
}
