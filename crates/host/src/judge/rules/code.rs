//! Code of other languages given on the command line: `python -c`, `node -e`, `perl -e`, `ruby -e`, `php -r`.
//!
//! Only what is plainly written is seen: a recursive deletion or a shell command whose argument is a text. Code that
//! builds its path is held if it deletes recursively, because its target cannot be known.

use super::delete::{self, Manner};
use crate::judge::call::Call;
use crate::judge::field::Field;
use crate::judge::hold::{FloorRule, Hold};
use crate::judge::stream::Stream;
use crate::judge::walk::Walker;

/// Calls that delete a folder with everything in it.
const REMOVERS: [&str; 12] = [
    "shutil.rmtree(",
    "rmtree(",
    "fs.rmSync(",
    "rmSync(",
    "fs.rmdirSync(",
    "fs.rm(",
    "fs.promises.rm(",
    "FileUtils.rm_rf",
    "FileUtils.rm_r",
    "FileUtils.remove_dir",
    "remove_tree(",
    "rimraf(",
];
/// Calls that run a shell command.
const SHELLS: [&str; 16] = [
    "os.system(",
    "os.popen(",
    "subprocess.run(",
    "subprocess.call(",
    "subprocess.check_call(",
    "subprocess.check_output(",
    "subprocess.Popen(",
    "execSync(",
    "exec(",
    "spawnSync(",
    "system(",
    "system ",
    "shell_exec(",
    "passthru(",
    "popen(",
    "getoutput(",
];

/// Judges an interpreter's code.
pub(super) fn judge(walker: &mut Walker<'_>, call: &Call) -> Option<Hold> {
    let name = call.name();
    let language = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let option: &[&str] = match language {
        "python" | "pypy" => &["-c"],
        "node" | "nodejs" | "bun" => &["-e", "--eval", "-p", "--print", "-pe"],
        "perl" => &["-e", "-E", "-ne", "-pe"],
        "ruby" => &["-e"],
        "php" => &["-r"],
        "deno" => &["eval"],
        _ => return None,
    };
    let given = call.option(option);
    if let Some(origin) = given.as_ref().and_then(Field::foreign) {
        return Some(foreign(origin));
    }
    let from_stdin = given.is_none() && call.operands().first().is_none_or(|file| file.text() == "-");
    let code = match (given, &call.stdin) {
        (Some(code), _) => crate::judge::invoke::as_text(&code),
        (None, Stream::Known(text)) if from_stdin => text.clone(),
        (None, Stream::Downloaded) if from_stdin && !call.has_any(&["-m", "-V", "--version"]) => {
            return Some(foreign(&crate::judge::field::Origin::Downloaded));
        }
        (None, _) => return None,
    };
    judge_text(walker, call, &code)
}

fn foreign(_origin: &crate::judge::field::Origin) -> Hold {
    Hold::plain(FloorRule::PipeToShell, "code from the network would be run without anybody reading it")
}

fn judge_text(walker: &mut Walker<'_>, call: &Call, code: &str) -> Option<Hold> {
    let code = without_comments(code);
    for remover in REMOVERS {
        for (at, _) in code.match_indices(remover).filter(|(at, _)| !is_in_text(&code, *at)) {
            let arguments = code.get(at + remover.len()..).unwrap_or_default();
            let field = argument(walker, arguments);
            let hold = delete::fields(walker, call.place, Manner::Recursive, &[field]);
            if hold.is_some() {
                return hold;
            }
        }
    }
    for shell in SHELLS {
        for (at, _) in code.match_indices(shell).filter(|(at, _)| !is_in_text(&code, *at)) {
            let before = code.get(..at).and_then(|before| before.chars().last());
            if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
                continue;
            }
            let command = texts(code.get(at + shell.len()..).unwrap_or_default());
            if !command.is_empty() {
                let _written = walker.code(&command.join(" "), &Stream::Closed, call.place);
            }
        }
    }
    None
}

/// The first argument of a deletion: a text, or a home, or something unknown.
fn argument(walker: &Walker<'_>, arguments: &str) -> Field {
    let end = arguments.find([')', ',', ';', '\n']).unwrap_or(arguments.len());
    let first = arguments.get(..end).unwrap_or_default();
    let home = walker.state.variable("HOME");
    let names_home = ["homedir", "HOME", "Path.home", "Dir.home"].iter().any(|word| first.contains(word));
    match texts(arguments).first() {
        Some(text) if first.contains("expanduser") => {
            let mut field = home;
            field.push_text(text.strip_prefix('~').unwrap_or(text));
            field
        }
        _ if names_home => home,
        Some(text) if first.trim_start().starts_with(['\'', '"', '`']) && text.starts_with('~') && text.len() < 3 => {
            Field::of(text)
        }
        Some(text) if first.trim_start_matches([' ', '(']).starts_with(['\'', '"', '`']) => Field::of(text),
        _ => crate::judge::expand::unknown(crate::judge::field::Origin::Variable(first.trim().to_owned())),
    }
}

/// The texts at the start of an argument list: one, or the elements of a list.
fn texts(arguments: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = arguments.trim_start_matches(|letter: char| letter.is_whitespace() || "([{fr".contains(letter));
    while let Some(quote) = rest.chars().next().filter(|letter| "'\"`".contains(*letter)) {
        let Some((text, after)) = rest.get(1..).and_then(|inside| inside.split_once(quote)) else { break };
        found.push(text.to_owned());
        rest = after.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
        rest = rest.trim_start_matches('[').trim_start();
    }
    found
}

/// Whether a place in the code lies inside a text.
fn is_in_text(code: &str, at: usize) -> bool {
    let mut open = None;
    let mut escaped = false;
    for letter in code.get(..at).unwrap_or_default().chars() {
        match open {
            _ if escaped => escaped = false,
            Some(_) if letter == '\\' => escaped = true,
            Some(quote) if letter == quote || letter == '\n' => open = None,
            None if letter == '\'' || letter == '"' => open = Some(letter),
            Some(_) | None => {}
        }
    }
    open.is_some()
}

/// The code without lines that are only a comment.
fn without_comments(code: &str) -> String {
    let kept = |line: &&str| !line.trim_start().starts_with('#') && !line.trim_start().starts_with("//");
    code.lines().filter(kept).collect::<Vec<_>>().join("\n")
}
