//! What the programs of a command line do, as far as it matters here.

/// Programs that read files and write none.
const READERS: &[&str] = &[
    "cat",
    "ls",
    "head",
    "tail",
    "less",
    "more",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "wc",
    "stat",
    "file",
    "diff",
    "cmp",
    "jq",
    "tree",
    "du",
    "test",
    "[",
    "echo",
    "printf",
    "md5sum",
    "sha256sum",
    "cd",
    "pushd",
    "pwd",
    "true",
    "cut",
    "sort",
    "uniq",
    "tr",
    "nl",
    "od",
    "xxd",
    "strings",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "export",
    "column",
    "fold",
    "tac",
];

/// Programs that take something away together with what is inside it.
const MOVERS: &[&str] = &["rm", "mv", "rmdir", "unlink", "shred"];

/// Programs that run the words behind them.
const WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "nohup", "time", "timeout", "nice", "ionice", "command", "exec", "builtin", "setsid",
    "stdbuf", "xargs",
];

/// Programs that read a command line from an argument or from their input.
const INTERPRETERS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh", "eval"];

/// The verbs of `tripwire` that only look.
const LOOKS: &[&str] = &[
    "status",
    "log",
    "why",
    "explain",
    "verify",
    "replay",
    "scan",
    "decide",
    "judge",
    "policy",
    "doctor",
    "completions",
    "statusline",
    "help",
    "--help",
    "-h",
    "--version",
    "-V",
];

/// Whether a command only reads.
pub(super) fn reads(program: &str, words: &[String]) -> bool {
    let has = |starts: &[&str]| words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
    match program {
        "find" => !has(&["-delete", "-exec", "-ok", "-fprint", "-fls"]),
        // A `w` of its own in the script writes a file.
        "sed" => !has(&["-i", "--in-place"]) && !words.iter().any(|word| word.contains("w ") || word.contains("W ")),
        "sort" => !has(&["-o", "--output"]),
        "tree" => !has(&["-o"]),
        other => READERS.contains(&other),
    }
}

/// Whether a command takes folders away.
pub(super) fn moves(program: &str) -> bool {
    MOVERS.contains(&program)
}

/// Whether a program runs the words behind it.
pub(super) fn wraps(program: &str) -> bool {
    WRAPPERS.contains(&program)
}

/// Whether a program takes code.
pub(super) fn interprets(program: &str) -> bool {
    INTERPRETERS.contains(&program)
}

/// Whether a program's arguments may be code of another language.
pub(super) fn takes_code(program: &str) -> bool {
    const LANGUAGES: &[&str] =
        &["python", "perl", "node", "ruby", "php", "awk", "gawk", "deno", "bun", "ssh", "xargs", "osascript"];
    LANGUAGES.iter().any(|language| program.starts_with(language))
}

/// Whether `tripwire` with these words only looks.
pub(super) fn only_looks(words: &[String]) -> bool {
    words.first().is_none_or(|verb| LOOKS.contains(&verb.as_str()))
}
