//! Which command lines only read. In doubt a line does not: then the folder is looked at before and after it.

use crate::facts::Facts;
use crate::judge::Judge;
use crate::steps::{Doing, Step};
use crate::word::Word;
use tripwire_core::policy::Policy;

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

/// Programs and builtins that neither read nor write files.
const IDLE: &[&str] = &[
    "cd", "true", "false", ":", "sleep", "date", "whoami", "id", "uname", "hostname", "nproc", "which", "type", "wait",
];
/// Where a redirection changes nothing.
const NOWHERE: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];
/// What makes a search act on what it finds.
const SEARCH_ACTS: &[&str] = &["-delete", "-exec", "-ok", "-fprint", "-fls"];

/// Whether a command line only reads: every program in it is known to, and nothing is redirected into a file.
#[must_use]
pub fn line_only_reads(line: &str, facts: &Facts) -> bool {
    steps_only_read(&Judge::new(facts.clone()).steps(line, &Vec::new))
}

/// The same of a line whose steps are known.
#[must_use]
pub fn steps_only_read(steps: &[Step]) -> bool {
    !steps.is_empty()
        && steps.iter().all(|step| match &step.doing {
            Doing::Writes(word) => word.known().is_some_and(|word| NOWHERE.contains(&word.as_str())),
            Doing::Runs { program, words, .. } => {
                program.known().is_some_and(|program| runs_only_to_read(&program, words))
            }
        })
}

/// The same where no session is at hand.
#[must_use]
pub fn line_only_reads_in(line: &str, root: &std::path::Path, policy: &Policy) -> bool {
    line_only_reads(line, &Facts::here(root.to_owned(), root.to_owned(), policy))
}

fn runs_only_to_read(program: &str, words: &[Word]) -> bool {
    let words: Vec<String> = words.iter().map(Word::text).collect();
    let has = |starts: &[&str]| words.iter().any(|word| starts.iter().any(|start| word.starts_with(start)));
    match program {
        // A program of the same name elsewhere is another program.
        path if path.contains('/') => false,
        "find" | "gfind" => reads(program, &words) && !has(SEARCH_ACTS),
        // Their scripts can write and run; only the plainest are known.
        "sed" | "gsed" => reads(program, &words) && is_plain_sed(&words),
        "awk" | "gawk" | "mawk" => false,
        // Hooks of the repository may run, and may rewrite files.
        "git" => reads(program, &words) && !words.iter().any(|word| word == "add" || word == "commit"),
        other => IDLE.contains(&other) || reads(other, &words),
    }
}

/// Whether the words of `sed` are `-n`, a script that only prints lines by their numbers, and files.
fn is_plain_sed(words: &[String]) -> bool {
    let (options, others): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    let prints = |script: &&String| script.chars().all(|letter| letter.is_ascii_digit() || ",$p;~ ".contains(letter));
    options.iter().all(|option| *option == "-n") && others.first().is_some_and(prints)
}

/// Whether a command only reads. In doubt it does not: that matters only if it names something protected as well.
#[must_use]
pub fn reads(program: &str, words: &[String]) -> bool {
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
#[must_use]
pub fn is_cluster(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// Whether git only looks; what is set before its verb may be anything.
fn git_reads(words: &[String]) -> bool {
    const LOOKS: &[&str] = &[
        "add",
        "commit",
        "status",
        "diff",
        "log",
        "show",
        "ls-files",
        "ls-tree",
        "blame",
        "grep",
        "check-ignore",
        "rev-parse",
    ];
    let verb = words.iter().find(|word| *word != "--no-pager");
    verb.is_some_and(|verb| LOOKS.contains(&verb.as_str()))
        && !words
            .iter()
            .any(|word| word.starts_with("--output") || word.starts_with("-O") || word.starts_with("--open"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn only_reads(line: &str) -> bool {
        line_only_reads_in(line, Path::new("/w"), &Policy::default())
    }

    #[test]
    fn undo_1_lines_that_only_read_are_known_and_in_doubt_they_are_not() {
        for line in [
            "ls -la",
            "cat a b | grep x | wc -l",
            "cd src && ls",
            "git status",
            "git log --oneline | head -5",
            "rg foo src 2>/dev/null",
            "find . -name '*.rs'",
            "sed -n 1,20p src/a.rs",
            "pwd; echo done",
        ] {
            assert!(only_reads(line), "{line}");
        }
        for line in [
            "",
            "ls > out",
            "cat a >> b",
            "rm x",
            "python run.py",
            "./script.sh",
            "ls; ./script.sh",
            "echo $(rm x)",
            "find . -delete",
            "find . -exec rm {} +",
            "sed -i s/a/b/ x",
            "sed -n 'w out' x",
            "sed s/a/b/e x",
            "awk '{print > \"x\"}' y",
            "git commit -m x",
            "git checkout .",
            "xargs rm < list",
            "$PROGRAM x",
            "/opt/ls",
            "bash -c 'rm x'",
            "eval rm x",
            "cat <(rm x)",
            "tee out",
            "git stash",
            "sort -o x x",
        ] {
            assert!(!only_reads(line), "{line}");
        }
    }

    #[test]
    fn a_command_reads_unless_one_of_its_words_may_make_it_write() {
        let reads = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            reads(&words.next().unwrap(), &words.collect::<Vec<_>>())
        };
        for line in [
            "awk {print} y",
            "gawk -F, {print} y",
            "find . -name x",
            "sed -n 1p x",
            "sort x",
            "tree src",
            "less x",
            "uniq x",
            "xxd x",
            "cat x y",
            "git log",
        ] {
            assert!(reads(line), "{line}");
        }
        for line in [
            "awk {print>\"x\"} y",
            "awk {print|\"x\"} y",
            "awk {system(\"x\")} y",
            "awk -f script y",
            "gawk -i inplace {print} y",
            "find . -fprint x",
            "find . -fls x",
            "sed -i s/a/b/ x",
            "sed --in-place s/a/b/ x",
            "sort -o x x",
            "sort --output=x x",
            "tree -o x",
            "less -Ox y",
            "less --log-file=x y",
            "uniq x y",
            "xxd x y",
            "xxd -r x",
            "rm x",
        ] {
            assert!(!reads(line), "{line}");
        }
    }
}
