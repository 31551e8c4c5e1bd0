//! What the programs of a command line do, as far as it matters here.

/// Programs that read files and write none.
const READERS: &[&str] = &[
    "cat",
    "ls",
    "head",
    "tail",
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
    "du",
    "test",
    "[",
    "echo",
    "printf",
    "md5sum",
    "sha256sum",
    "pwd",
    "true",
    "cut",
    "tr",
    "nl",
    "od",
    "strings",
    "realpath",
    "readlink",
    "basename",
    "dirname",
    "column",
    "fold",
    "tac",
];

/// Programs that take something away together with what is inside it.
const MOVERS: &[&str] = &["rm", "mv", "rmdir", "unlink", "shred", "rimraf", "trash", "srm", "wipe"];

/// Programs whose words are nothing but options and files.
const FILES: &[&str] = &["cp", "tee", "touch", "mkdir", "ln", "install", "truncate", "chmod", "chown", "rsync", "dd"];

/// The name of our own program.
pub(super) const OURS: &str = "tripwire";

/// The verbs of `tripwire` by which a person lets something go on that was held.
const COMMANDS: &[&str] = &["resume", "ack", "allow", "disarm", "tune"];

/// The verbs of `tripwire` that only look.
const LOOKS: &[&str] = &[
    "status",
    "ls",
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

/// Whether a command only reads. In doubt it does not: that matters only if it names something protected as well.
pub(super) fn reads(program: &str, words: &[String]) -> bool {
    let has = |starts: &[&str]| words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
    let cluster = |letter: char| words.iter().any(|word| is_cluster(word) && word.contains(letter));
    let files = words.iter().filter(|word| !word.starts_with('-')).count();
    match program {
        "find" | "gfind" => !has(&["-fprint", "-fls"]),
        "sed" | "gsed" => !cluster('i') && !has(&["--in-place", "--i"]),
        "sort" => !cluster('o') && !has(&["--o"]),
        "tree" | "less" => !cluster('o') && !cluster('O') && !has(&["--log-file", "--LOG-FILE"]),
        // The second file is written.
        "uniq" => files < 2,
        "xxd" => files < 2 && !cluster('r'),
        "awk" | "gawk" | "mawk" => {
            !has(&["-f", "-i", "--file", "--include"])
                && !words.iter().any(|word| word.contains(['>', '|']) || word.contains("system"))
        }
        "git" => git_reads(words),
        other => READERS.contains(&other),
    }
}

/// Whether a word is a run of short options.
fn is_cluster(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// Whether git only looks; what is set before its verb may be anything.
fn git_reads(words: &[String]) -> bool {
    const LOOKS: &[&str] =
        &["status", "diff", "log", "show", "ls-files", "ls-tree", "blame", "grep", "check-ignore", "rev-parse"];
    let verb = words.iter().find(|word| *word != "--no-pager");
    verb.is_some_and(|verb| LOOKS.contains(&verb.as_str()))
        && !words
            .iter()
            .any(|word| word.starts_with("--output") || word.starts_with("-O") || word.starts_with("--open"))
}

/// Whether a command takes folders away.
pub(super) fn moves(program: &str) -> bool {
    MOVERS.contains(&program)
}

/// Whether a program's words are files, whatever they look like.
pub(super) fn takes_files(program: &str) -> bool {
    FILES.contains(&program) || MOVERS.contains(&program)
}

/// Whether a program makes the same file again under another name.
pub(super) fn copies(program: &str) -> bool {
    matches!(program, "cp" | "ln" | "mv" | "install")
}

/// Whether an option of `cp` names the target, which then stands anywhere.
pub(super) fn names_target(word: &str) -> bool {
    word.starts_with("--t") || (is_cluster(word) && word.contains('t'))
}

/// Whether a program's arguments may be code of another language.
pub(super) fn takes_code(program: &str) -> bool {
    const LANGUAGES: &[&str] =
        &["python", "perl", "node", "ruby", "php", "awk", "gawk", "mawk", "deno", "bun", "ssh", "osascript"];
    LANGUAGES.iter().any(|language| program.starts_with(language))
}

/// Whether `tripwire` with these words only looks.
pub(super) fn only_looks(words: &[String]) -> bool {
    words.first().is_none_or(|verb| LOOKS.contains(&verb.as_str()))
}

/// Whether these words are a command by which a person lets something go on.
pub(super) fn commands(words: &[String]) -> bool {
    match words {
        [verb, ..] if COMMANDS.contains(&verb.as_str()) => true,
        [verb, what, ..] => verb == "review" && what == "decide",
        [_] | [] => false,
    }
}
