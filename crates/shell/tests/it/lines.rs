//! What is read out of many small lines: `lines.txt` holds each line with its reading.
//!
//! A line begins with `$ `; `⏎` in it is a line end, `→` a tab, `␍` a carriage return. Below it stand the tree as
//! `drawing.rs` draws it (other control characters as `\u{…}`), and where the text is refused, why (`!`) and what can be read up to there (`~`). After a change
//! of the reader `TRIPWIRE_BLESS=1 cargo test -p tripwire-shell --test it` writes the readings again; read the difference.

use super::drawing;
use std::fmt::Write as _;
use tripwire_shell::{parse, parse_up_to_refusal};

fn written(line: &str) -> String {
    line.replace('⏎', "\n").replace('→', "\t").replace('␍', "\r")
}

fn shown(text: &str) -> String {
    let sign = |letter: char| match letter {
        '\n' => "⏎".to_owned(),
        '\t' => "→".to_owned(),
        '\r' => "␍".to_owned(),
        control if control.is_control() => control.escape_unicode().to_string(),
        other => other.to_string(),
    };
    text.chars().map(sign).collect()
}

/// What is read out of a line, as it stands in the table.
fn reading(line: &str) -> String {
    let text = written(line);
    let parsed = parse(&text);
    let mut reading = format!("  {}\n", shown(&drawing::script(&parsed.script)));
    if let Some(error) = parsed.error {
        let before = shown(&drawing::script(&parse_up_to_refusal(&text)));
        write!(reading, "  ! {error}\n  ~ {before}\n").unwrap();
    }
    reading
}

/// Each line of the table with its reading.
fn entries(table: &str) -> Vec<(&str, String)> {
    let mut entries: Vec<(&str, String)> = Vec::new();
    for row in table.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        match (row.strip_prefix("$ "), entries.last_mut()) {
            (Some(line), _) => entries.push((line, String::new())),
            (None, Some((_, reading))) => *reading += &format!("{row}\n"),
            (None, None) => panic!("`{row}` belongs to no line"),
        }
    }
    entries
}

/// The table with what is read now.
fn written_again(table: &str) -> String {
    let keeps = |row: &&str| row.is_empty() || row.starts_with('#') || row.starts_with("$ ");
    let again = |row: &str| match row.strip_prefix("$ ") {
        Some(line) => format!("{row}\n{}", reading(line)),
        None => format!("{row}\n"),
    };
    table.lines().filter(keeps).map(again).collect()
}

#[test]
fn each_line_is_read_as_the_table_says() {
    let table = include_str!("lines.txt");
    if std::env::var_os("TRIPWIRE_BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/lines.txt");
        std::fs::write(path, written_again(table)).unwrap();
        return;
    }
    let mut wrong = String::new();
    for (line, expected) in entries(table) {
        let now = reading(line);
        if now != expected {
            write!(wrong, "`{line}` is read as\n{now}and not\n{expected}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_text_that_is_read_whole_is_read_the_same_up_to_its_end() {
    for (line, _) in entries(include_str!("lines.txt")) {
        let text = written(line);
        let parsed = parse(&text);
        if parsed.error.is_none() {
            let again = drawing::script(&parse_up_to_refusal(&text));
            assert_eq!(again, drawing::script(&parsed.script), "{line}");
        }
    }
}

#[test]
fn the_source_of_a_command_is_its_text_without_the_blanks_around_it() {
    for (line, sources) in [
        ("  rm -rf  x ; ls", &["rm -rf  x", "ls"][..]),
        ("a=1 b >c 2>&1 | d", &["a=1 b >c 2>&1", "d"]),
        ("if a b; then c  ; else d; fi", &["a b", "c", "d"]),
        ("while a; do b 'c d'; done", &["a", "b 'c d'"]),
        ("f() { g h; }; f x", &["g h", "f x"]),
        ("(a) && { b; } || ! c &", &["a", "b", "c"]),
        ("case $x in a) b c;; d) e; esac", &["b c", "e"]),
        ("for i in 1 2; do a $i; done", &["a $i"]),
        ("time -p  a b", &["a b"]),
        ("cat <<E | wc -l\nbody\nE\n", &["cat <<E", "wc -l"]),
    ] {
        assert_eq!(drawing::sources(&parse(line).script), sources, "{line}");
    }
}
