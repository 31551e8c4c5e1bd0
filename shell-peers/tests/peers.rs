//! The shell reader against two parsers that we did not write: the real bash, and tree-sitter-bash.
//!
//! bash says which texts are command lines. tree-sitter says which commands with which words a text holds. Each
//! difference has a name and a reason here, and a difference that no longer occurs fails the test as well.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::process::Stdio;
use tree_sitter::{Node, Parser};
use tripwire_shell::{self as shell, Command, Compound, Piece, Redirect, RedirectKind, Script, Word};

/// One command: its words, where they are plain text.
type Words = Vec<Option<String>>;

/// A difference that is meant: its name, why it is there, and which texts it explains.
type Difference = (&'static str, &'static str, fn(&str) -> bool);

/// Texts that bash refuses and we accept, or the other way round.
const SYNTAX: [Difference; 1] = [(
    "open-test",
    "bash complains about a `[[` that the text's end leaves open and still reports success; it runs nothing of it",
    |text| text.contains("[[") && !text.contains("]]"),
)];

/// Texts in which tree-sitter sees other commands than we do.
const COMMANDS: [Difference; 8] = [
    ("time", "a keyword of bash, a program to tree-sitter", |text| has_word(text, "time")),
    ("coproc", "a keyword of bash, a program to tree-sitter", |text| has_word(text, "coproc")),
    ("double-negation", "tree-sitter takes the second `!` as a program", |text| text.contains("! !")),
    ("dash", "tree-sitter loses a `-` that stands before `<<`", |text| text.contains("- <<")),
    ("process-id", "tree-sitter takes `$$` behind text as text", |text| text.contains(".$$")),
    ("nested-backquotes", "tree-sitter does not unescape what is between backquotes", |text| text.contains("\\`")),
    ("inner-backquotes", "tree-sitter sees no backquotes in here-documents and in `${…}`", |text| {
        text.contains('`') && (text.contains("<<") || text.contains("${"))
    }),
    ("numbered-input", "tree-sitter takes the number before `<<<` as a word", |text| text.contains("0<<<")),
];

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric()).any(|own| own == word)
}

/// Shell that people write: each line is a text of its own, with `⏎` for a line end.
const CORPUS: &str = include_str!("corpus.txt");

fn texts() -> Vec<String> {
    let tables = [
        include_str!("../../crates/judge/tests/it/lines.jsonl"),
        include_str!("../../crates/judge/tests/it/more.jsonl"),
        include_str!("../../crates/judge/tests/it/git_lines.jsonl"),
    ];
    let of_table = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line.get("command").and_then(|command| command.as_str()).unwrap().to_owned()
    };
    let tables = tables.iter().flat_map(|table| table.lines()).map(of_table);
    tables.chain(CORPUS.lines().filter(|line| !line.is_empty()).map(|line| line.replace('⏎', "\n"))).collect()
}

/// Runs the real bash with an empty environment; `None` if there is none here.
///
/// It is looked for before the environment is emptied: a program is found by the `PATH` that the child will have.
fn bash(arguments: &[&str]) -> Option<std::process::Output> {
    let folders = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join("bash"));
    let mut command = std::process::Command::new(places.find(|place| place.is_file())?);
    command.env_clear().env("PATH", "/nonexistent").env("LC_ALL", "C.UTF-8").args(["--norc", "--noprofile"]);
    command.args(arguments).current_dir("/").stdin(Stdio::null()).output().ok()
}

/// What the real bash says about many texts, each in a bash of its own; `None` without bash.
fn bash_accepts(text: &str) -> Option<bool> {
    bash(&["-n", "-c", text]).map(|output| output.status.success())
}

fn explained<'d>(differences: &'d [Difference], text: &str) -> Option<&'d str> {
    differences.iter().find(|(_, _, explains)| explains(text)).map(|(name, ..)| *name)
}

/// Fails with everything that nobody explained, and with every explanation that nothing needed.
fn settle(differences: &[Difference], found: &[(String, String)]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut open = String::new();
    for (text, what) in found {
        match explained(differences, text) {
            Some(name) => *counts.entry(name.to_owned()).or_insert(0) += 1,
            None => open.push_str(&format!("{text:?}\n    {what}\n")),
        }
    }
    assert!(open.is_empty(), "differences without a name:\n{open}");
    for (name, reason, _) in differences {
        assert!(counts.contains_key(*name), "`{name}` no longer occurs: {reason}");
    }
    counts
}

#[test]
fn the_real_bash_accepts_and_refuses_what_we_do() {
    if bash_accepts(":").is_none() {
        println!("SKIPPED: there is no bash here to ask");
        return;
    }
    let mut found = Vec::new();
    let texts = texts();
    for text in texts.iter().filter(|text| !text.contains('\0')) {
        let ours = shell::parse(text).error;
        if bash_accepts(text) != Some(ours.is_none()) {
            found.push((text.clone(), format!("ours: {ours:?}")));
        }
    }
    let counts = settle(&SYNTAX, &found);
    println!("{} texts, {} differences: {counts:?}", texts.len(), found.len());
}

#[test]
fn tree_sitter_finds_the_same_commands() {
    let mut found = Vec::new();
    let (mut compared, mut commands) = (0, 0);
    for text in texts() {
        if let Some(count) = compare(&text, &mut found) {
            compared += 1;
            commands += count;
        }
    }
    let counts = settle(&COMMANDS, &found);
    println!("{compared} texts with {commands} commands, {} differences: {counts:?}", found.len());
    assert!(compared > 2_000, "only {compared} texts were compared");
}

/// Compares one text, if both accept it; how many commands it holds.
fn compare(text: &str, found: &mut Vec<(String, String)>) -> Option<usize> {
    let parsed = shell::parse(text);
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).unwrap();
    let tree = parser.parse(text, None).unwrap();
    if parsed.error.is_some() || tree.root_node().has_error() {
        return None;
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    of_script(&parsed.script, &mut ours);
    of_node(tree.root_node(), text, &mut theirs);
    if text.contains("<<") {
        // The body of a here-document hangs at its line's end there and at its operator here.
        ours.sort();
        theirs.sort();
    }
    if !same(&ours, &theirs) {
        found.push((text.to_owned(), format!("ours: {ours:?}\n    tree-sitter: {theirs:?}")));
    }
    Some(ours.len())
}

/// Whether both found the same commands; a word that tree-sitter does not resolve says nothing.
fn same(ours: &[Words], theirs: &[Words]) -> bool {
    let word = |pair: (&Option<String>, &Option<String>)| pair.1.is_none() || pair.0 == pair.1;
    let words = |pair: (&Words, &Words)| pair.0.len() == pair.1.len() && pair.0.iter().zip(pair.1).all(word);
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(words)
}

fn of_script(script: &Script, out: &mut Vec<Words>) {
    for command in script.items.iter().flat_map(|item| &item.pipeline) {
        of_command(command, out);
    }
}

fn of_command(command: &Command, out: &mut Vec<Words>) {
    match command {
        Command::Simple(simple) => {
            // tree-sitter takes `[` as a test and not as a command.
            let words: Words = simple.words.iter().map(plain).chain(simple.declared.iter().map(|_| None)).collect();
            let first = words.first().cloned().flatten().unwrap_or_default();
            if !words.is_empty() && first != "[" {
                out.push(words);
            }
            for one in &simple.assignments {
                of_word(&one.subscript, out);
                of_word(&one.value, out);
                one.elements.iter().flatten().for_each(|word| of_word(word, out));
            }
            simple.words.iter().for_each(|word| of_word(word, out));
            simple.declared.iter().flat_map(|one| one.elements.iter().flatten()).for_each(|word| of_word(word, out));
            of_redirects(&simple.redirects, out);
        }
        Command::Compound(compound, redirects) => {
            of_compound(compound, out);
            of_redirects(redirects, out);
        }
        Command::Function(_, body) => of_command(body, out),
    }
}

fn of_compound(compound: &Compound, out: &mut Vec<Words>) {
    match compound {
        Compound::Subshell(script) | Compound::Group(script) => of_script(script, out),
        Compound::If(parts) => parts.iter().for_each(|part| of_script(part, out)),
        Compound::Loop(condition, body) => {
            of_script(condition, out);
            of_script(body, out);
        }
        Compound::For(_, words, body) => {
            words.iter().flatten().for_each(|word| of_word(word, out));
            of_script(body, out);
        }
        Compound::Case(words, arms) => {
            words.iter().for_each(|word| of_word(word, out));
            arms.iter().for_each(|arm| of_script(arm, out));
        }
        Compound::Test(words) => words.iter().for_each(|word| of_word(word, out)),
    }
}

fn of_redirects(redirects: &[Redirect], out: &mut Vec<Words>) {
    for redirect in redirects {
        of_word(&redirect.target, out);
        if let RedirectKind::HereDocument(body) = &redirect.kind
            && let Some(body) = body.get()
        {
            of_word(body, out);
        }
    }
}

fn of_word(word: &Word, out: &mut Vec<Words>) {
    for piece in &word.pieces {
        match piece {
            Piece::Bare(_) | Piece::Quoted(_) => {}
            Piece::Parameter(parameter, _) => {
                parameter.operation.iter().for_each(|(_, word)| of_word(word, out));
            }
            Piece::Command(script, _) | Piece::Process(script, _) => of_script(script, out),
            Piece::Arithmetic(word) => of_word(word, out),
        }
    }
}

/// The text of a word in which nothing is expanded.
fn plain(word: &Word) -> Option<String> {
    let text = |piece: &Piece| match piece {
        Piece::Bare(text) | Piece::Quoted(text) => Some(text.clone()),
        Piece::Parameter(..) | Piece::Command(..) | Piece::Process(..) | Piece::Arithmetic(_) => None,
    };
    word.pieces.iter().map(text).collect()
}

fn of_node(node: Node<'_>, text: &str, out: &mut Vec<Words>) {
    if matches!(node.kind(), "command" | "declaration_command" | "unset_command") {
        out.push(words_of(node, text));
    }
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        of_node(child, text, out);
    }
}

/// The words of a command as tree-sitter cuts them.
fn words_of(node: Node<'_>, text: &str) -> Words {
    let mut words = Vec::new();
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        match child.kind() {
            "variable_assignment" | "variable_assignments" if node.kind() == "command" => {}
            "file_redirect" | "herestring_redirect" | "heredoc_redirect" | "comment" => {}
            "command_name" => words.push(child.child(0).and_then(|word| literal(word, text))),
            _ => words.push(literal(child, text)),
        }
    }
    words
}

/// The text of a node in which nothing is expanded.
fn literal(node: Node<'_>, text: &str) -> Option<String> {
    let own = text.get(node.byte_range())?;
    match node.kind() {
        "word" | "number" | "extglob_pattern" | "variable_name" | "special_variable_name" | "regex" => {
            Some(unescaped(own))
        }
        "raw_string" => Some(own.trim_start_matches('\'').trim_end_matches('\'').to_owned()),
        "ansi_c_string" => None,
        "string" => {
            let mut cursor = node.walk();
            let plain = node.named_children(&mut cursor).all(|child| child.kind() == "string_content");
            plain.then(|| in_double_quotes(own.get(1..own.len() - 1).unwrap_or_default()))
        }
        "concatenation" => {
            let mut cursor = node.walk();
            node.children(&mut cursor).map(|child| literal(child, text)).collect()
        }
        _ if node.child_count() == 0 => Some(unescaped(own)),
        _ => None,
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next().filter(|next| *next != '\n')),
            other => out.push(other),
        }
    }
    out
}

fn in_double_quotes(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(next @ ('$' | '`' | '"' | '\\')) => out.push(next),
                Some(next) => out.extend(['\\', next]),
            },
            other => out.push(other),
        }
    }
    out
}

/// Words that a generated line is made of.
const WORDS: [&str; 24] = [
    "a",
    "rm",
    "-rf",
    "--",
    "x=1",
    "'a b'",
    "\"a b\"",
    "a'b'\"c\"",
    "a\\ b",
    "$x",
    "\"$x\"",
    "${x}",
    "${x:-d}",
    "\"${x%/*}\"",
    "$(b c)",
    "\"$(b c)\"",
    "a=b",
    "<(b c)",
    "{a,b}",
    "*.c",
    "~",
    "$((1 + 2))",
    "\"\"",
    "a#b",
];
/// Redirections that may stand behind a generated command.
const REDIRECTS: [&str; 7] = ["", "", "", " > f", " 2>&1", " < f", " <<< \"a b\""];

/// Lines that bash accepts, grown from its grammar.
fn grown() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(WORDS.to_vec()), 0..4);
    let simple = (words, prop::sample::select(REDIRECTS.to_vec()))
        .prop_map(|(words, redirect)| format!("c {}{redirect}", words.join(" ")));
    simple.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        let shapes = [
            "{1} | {2}",
            "{1} && {2}",
            "{1} || {2}",
            "{1}; {2}",
            "{1}\n{2}",
            "( {1}; {2} )",
            "{ {1}; {2}; }",
            "if {1}; then {2}; fi",
            "if {1}; then {2}; else {1}; fi",
            "while {1}; do {2}; done",
            "for v in a $x; do {1}; {2}; done",
            "case $x in a|b) {1};; *) {2};; esac",
            "f() { {1}; {2}; }",
            "c \"$({1})\" $({2})",
            "( ! c a; {1}; {2} )",
            "[[ -n $x && a == b ]] && {1}",
            "x=$({1}) c",
        ];
        (two, prop::sample::select(shapes.to_vec()))
            .prop_map(|((one, two), shape)| shape.replace("{1}", &one).replace("{2}", &two))
    })
}

/// Pieces of which heaps are made; most heaps are no command lines.
const HEAP: [&str; 30] = [
    "a",
    " ",
    "\n",
    ";",
    "&",
    "&&",
    "|",
    "(",
    ")",
    "{ ",
    " }",
    "$(",
    "\"",
    "'",
    "`",
    "${x",
    "}",
    "if ",
    "; then ",
    "; fi",
    "for x in ",
    "; do ",
    "; done",
    "case x in ",
    ";;",
    " esac",
    "<",
    ">f",
    "f()",
    "[[ ",
];

proptest! {
    // tree-sitter has defects of its own, so the lines are the same in every run.
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        rng_seed: proptest::test_runner::RngSeed::Fixed(20),
        ..ProptestConfig::default()
    })]

    #[test]
    fn grown_lines_hold_the_same_commands_for_all_three(text in grown()) {
        prop_assert!(shell::parse(&text).error.is_none(), "{:?}: {text:?}", shell::parse(&text).error);
        prop_assert!(bash_accepts(&text) != Some(false), "bash refuses {text:?}");
        let mut found = Vec::new();
        compare(&text, &mut found);
        found.retain(|(text, _)| explained(&COMMANDS, text).is_none());
        prop_assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn whatever_heap_bash_accepts_we_accept(words in prop::collection::vec(prop::sample::select(HEAP.to_vec()), 0..14)) {
        let text = words.concat();
        let refused = shell::parse(&text).error;
        let explained = explained(&SYNTAX, &text).is_some();
        prop_assert!(refused.is_none() || explained || bash_accepts(&text) != Some(true), "{refused:?}: {text:?}");
    }
}
