//! Held against the real bash: what it accepts we accept, and words become what it makes of them.
#![expect(clippy::print_stdout, reason = "a check that is left out must be heard")]

use super::expand::fields;
use super::invoke::Invoker;
use super::walk::Walker;
use crate::facts::Facts;
use crate::guard::Guard;
use crate::line::field::Field;
use crate::line::state::State;
use crate::world::World;
use std::process::{Command, Stdio};
use tripwire_shell as shell;

/// What the real bash says, with an empty environment; `None` if there is none here.
///
/// It is looked for before the environment is emptied: a program is found by the `PATH` that the child will have.
fn bash(arguments: &[&str]) -> Option<std::process::Output> {
    let folders = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join("bash"));
    let mut command = Command::new(places.find(|place| place.is_file())?);
    command
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("HOME", "/home/me")
        .env("LC_ALL", "C.UTF-8")
        .args(["--norc", "--noprofile"])
        .args(arguments);
    command.current_dir("/").stdin(Stdio::null()).output().ok()
}

/// Lines that parse, or do not, for a reason that is easily missed.
const SYNTAX: [&str; 56] = [
    "a",
    "a;",
    "a &",
    "a && b || c",
    "a |",
    "&& a",
    "a &&",
    "if a; then b; fi",
    "if a then b; fi",
    "if a; then fi",
    "for x in a b; do c; done",
    "for x do c; done",
    "for ((i=0;i<3;i++)); do a; done",
    "while a; do b; done",
    "while a; done",
    "case a in b) c;; esac",
    "case a in (b|c) d;; *) e;& esac",
    "case a in esac",
    "{ a; }",
    "{ a }",
    "( a )",
    "( a",
    "a )",
    "((1+2))",
    "( (a) )",
    "((a) | b)",
    "f() { a; }",
    "f() a",
    "function f { a; }",
    "function f() ( a )",
    "[[ a == b && ( c < d ) ]]",
    "[[ a",
    "a <<E\nb\nE",
    "a <<'E' | b\nc\nE\nd",
    "a <<-E\n\tb\n\tE",
    "a <<< b",
    "a < <(b)",
    "a > >(b)",
    "a 2>&1 &> c",
    "a >",
    "x=(a b)",
    "x=(a",
    "x[1]=2 y+=3 a",
    "echo \"$(a \"b\")\"",
    "echo `a \\`b\\``",
    "echo ${x:-${y}}",
    "echo ${x",
    "echo $((1+(2*3)))",
    "echo 'a",
    "echo \"a",
    "! a | b",
    "time -p a",
    "coproc a",
    "a; ; b",
    "a;; b",
    "echo a#b #c",
];

#[test]
fn what_bash_accepts_is_accepted_and_what_we_refuse_bash_refuses() {
    if bash(&["-c", ":"]).is_none() {
        println!("SKIPPED: there is no bash here to ask");
        return;
    }
    let mut accepted = 0;
    for line in SYNTAX {
        let theirs = bash(&["-n", "-c", line]).unwrap().status.success();
        let ours = shell::parse(line).error.is_none();
        assert!(ours || !theirs, "bash accepts `{line}`: {:?}", shell::parse(line).error);
        accepted += usize::from(theirs);
    }
    assert!(accepted > SYNTAX.len() / 2, "only {accepted} were accepted by bash");
}

/// Words without an effect, whose fields bash itself can print.
const WORDS: [&str; 40] = [
    "a b  c",
    "'a b' \"c d\"",
    "a'b'\"c\"d",
    r"a\ b",
    r#""a\"b\$c\d""#,
    "$'a\\tb\\x41\\101\\u00e9'",
    "{a,b}{1,2}",
    "x{a,{b,c}}y",
    "{1..4}",
    "{a}",
    "{a,b",
    "a{,b}",
    "~",
    "~/x",
    "'~'",
    "a~",
    "$HOME",
    "\"$HOME\"/x",
    "${HOME%/*}",
    "${HOME##*/}",
    "${HOME#/}",
    "${HOME%%e*}",
    "${UNSET:-d e}",
    "\"${UNSET:-d e}\"",
    "${HOME:+z}",
    "$((1))x",
    "$(echo a b)",
    "\"$(echo a b)\"",
    "`echo q`",
    "$(printf '%s-' a b)",
    "$(echo -n x)y",
    "\"\"",
    "'' a",
    "$EMPTY",
    "\"$EMPTY\"",
    "${HOME:?no}",
    "\\a\\*",
    "'*'",
    "a\\\nb",
    "{3..1}",
];

#[test]
fn words_become_what_bash_makes_of_them() {
    if bash(&["-c", ":"]).is_none() {
        println!("SKIPPED: there is no bash here to ask");
        return;
    }
    let facts = Facts { workspace: "/".into(), cwd: "/".into(), home: Some("/home/me".into()), ..Facts::default() };
    let world = World::new(&facts);
    for words in WORDS {
        // `$((1))` is known to be a number and no more; the same for ranges that run downwards.
        if words.contains("$((") || words == "{3..1}" {
            continue;
        }
        let line = format!("EMPTY=; printf '%s\\0' {words}");
        let output = bash(&["-c", &line]).unwrap();
        assert!(output.status.success(), "{words}: {output:?}");
        let theirs: Vec<String> =
            String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect();
        let mut state = State { cwds: vec!["/".into()], ..State::default() };
        state.variables.insert("HOME".to_owned(), Field::of("/home/me"));
        state.variables.insert("EMPTY".to_owned(), Field::of(""));
        let mut guard = Guard;
        let mut walker = Walker::new(&world, state, &mut guard, &Invoker);
        let script = shell::parse(&format!("x {words}")).script;
        let shell::Command::Simple(simple) = &script.items[0].pipeline[0] else { panic!("{words}") };
        let ours = fields(&mut walker, &simple.words[1..]);
        let mut ours: Vec<String> = ours.iter().map(|field| field.known().unwrap_or_else(|| field.shown())).collect();
        if ours.is_empty() {
            ours.push(String::new()); // `printf` without an argument prints its format once.
        }
        assert_eq!(ours, theirs, "{words}");
    }
}
