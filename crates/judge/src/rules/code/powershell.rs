//! `Remove-Item` and its other names in the code that `pwsh` is given on its command line.
//!
//! Only what is plainly written is seen: commands between `;`, `|`, braces and line ends, with their quoted arguments. What
//! comes out of a listing through a pipe is judged as everything in the folder that is listed.

use crate::findings::{Findings, Run};
use crate::hold::{GuardRule, Hold};
use crate::line::call::Call;
use crate::line::field::{Field, Origin};
use crate::rules::delete::targets::{self, Manner};
use crate::site::Site;

/// Names of the command that deletes.
const REMOVERS: [&str; 7] = ["remove-item", "ri", "rm", "rmdir", "rd", "del", "erase"];
/// Names of the command that lists a folder.
const LISTERS: [&str; 4] = ["get-childitem", "gci", "ls", "dir"];
/// Options whose value is no path that is deleted.
const OTHER_VALUES: [&str; 6] = ["-filter", "-include", "-exclude", "-erroraction", "-ea", "-stream"];

/// Commands of the machine itself, and why they are held.
const OTHERS: [(&str, GuardRule, &str); 9] = [
    ("format-volume", GuardRule::Disk, "it makes a new file system over what is there"),
    ("clear-disk", GuardRule::Disk, "it erases a disk"),
    ("initialize-disk", GuardRule::Disk, "it changes the partitions of a disk"),
    ("remove-partition", GuardRule::Disk, "it changes the partitions of a disk"),
    ("stop-computer", GuardRule::System, "it switches the machine off"),
    ("restart-computer", GuardRule::System, "it switches the machine off or restarts it"),
    ("remove-localuser", GuardRule::System, "it deletes a user or a group"),
    ("clear-eventlog", GuardRule::System, "it deletes a log of the system"),
    ("remove-vm", GuardRule::Service, "it deletes a machine"),
];
/// Words of the language, and commands that change the shell itself.
const OWN_WORDS: [&str; 12] =
    ["if", "else", "elseif", "foreach", "for", "while", "function", "try", "catch", "return", "cd", "param"];
/// How deep texts of code may lie in one another.
const DEPTH_MAX: usize = 4;

/// Judges PowerShell's code.
pub(crate) fn judge(site: &Site<'_>, call: &Call) -> Findings {
    if !matches!(call.name().to_ascii_lowercase().as_str(), "pwsh" | "powershell" | "pwsh-preview") {
        return Findings::default();
    }
    let words: Vec<String> = call.words().iter().map(|word| word.to_ascii_lowercase()).collect();
    if words.iter().any(|word| word.len() > 1 && "-encodedcommand".starts_with(word.as_str())) {
        let reason = "code that was encoded would be run without anybody reading it";
        return Some(Hold::plain(GuardRule::PipeToShell, reason)).into();
    }
    let Some(at) = words.iter().position(|word| word.len() > 1 && "-command".starts_with(word.as_str())) else {
        return Findings::default();
    };
    let code: Vec<String> = call.args.iter().skip(at + 2).map(Field::to_code).collect();
    let mut findings = Findings::default();
    judge_code(site, call, &code.join(" "), &mut findings, DEPTH_MAX);
    findings
}

/// Judges a text of code, up to the first command that is held.
fn judge_code(site: &Site<'_>, call: &Call, code: &str, findings: &mut Findings, depth: usize) {
    let mut piped = Vec::new();
    let mut removes_folder = false;
    for command in commands(site, code) {
        let Command { words, joined } = command;
        let Some((name, rest)) = words.split_first() else { continue };
        if std::mem::take(&mut removes_folder) {
            let folder = std::slice::from_ref(name);
            findings.hold = targets::judge(site, call.place, Manner::Recursive, folder);
        }
        let name = name.text().to_ascii_lowercase();
        removes_folder = name.ends_with("io.directory]::delete");
        let mut targets = operands(rest);
        if REMOVERS.contains(&name.as_str()) && !has(rest, "-whatif") {
            if targets.is_empty() && joined == Joined::Piped {
                targets = std::mem::take(&mut piped);
            }
            let recursive = rest.iter().any(|word| word.text().to_ascii_lowercase().starts_with("-r"));
            let manner = if recursive { Manner::Recursive } else { Manner::Files };
            findings.hold = targets::judge(site, call.place, manner, &targets);
        } else if LISTERS.contains(&name.as_str()) {
            piped = if targets.is_empty() { vec![Field::of(".")] } else { targets };
        } else if let Some((_, rule, reason)) = OTHERS.iter().find(|(own, ..)| *own == name) {
            findings.hold = (!has(rest, "-whatif")).then(|| Hold::plain(*rule, reason));
        } else if matches!(name.as_str(), "invoke-expression" | "iex") && depth > 0 {
            judge_code(site, call, &Field::joined(&targets).to_code(), findings, depth - 1);
        } else if matches!(name.as_str(), "clear-content" | "clc") {
            let emptied = [vec![Field::of("truncate"), Field::of("-s0")], targets].concat();
            findings.runs.push(Run::Program(call.with_args(emptied)));
        } else if is_program(&name) {
            findings.runs.push(Run::Program(call.with_args(words)));
        }
        if findings.hold.is_some() {
            return;
        }
    }
}

/// Whether a name is that of a program, and none of a command of the shell, which is named like `Get-Item`.
fn is_program(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._/".contains(letter);
    name.chars().all(plain) && !OWN_WORDS.contains(&name)
}

/// One command, and how it hangs together with the one before.
#[derive(Debug, Default)]
struct Command {
    words: Vec<Field>,
    joined: Joined,
}

/// Whether a command reads what the one before writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Joined {
    #[default]
    Not,
    Piped,
}

fn has(words: &[Field], option: &str) -> bool {
    words.iter().any(|word| word.text().eq_ignore_ascii_case(option))
}

/// The arguments that are paths.
fn operands(words: &[Field]) -> Vec<Field> {
    let mut operands = Vec::new();
    let mut skip = false;
    for word in words {
        let text = word.text().to_ascii_lowercase();
        let is_option = text.starts_with('-') && word.unknown().is_none();
        if !is_option && !skip {
            operands.push(word.clone());
        }
        skip = is_option && OTHER_VALUES.contains(&text.as_str());
    }
    operands
}

/// The commands of a text.
fn commands(site: &Site<'_>, code: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut command = Command::default();
    let mut word: Option<Field> = None;
    let mut quote = None;
    let mut letters = code.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (end, Some(open)) if end == open => quote = None,
            ('`', None | Some('"')) => {
                let escaped = letters.next().unwrap_or_default();
                word.get_or_insert_default().push_text(&escaped.to_string());
            }
            ('$', None | Some('"')) => {
                let mut name = String::new();
                while let Some(part) = letters.next_if(|next| next.is_alphanumeric() || matches!(next, ':' | '_')) {
                    name.push(part);
                }
                let value = variable(site, &name);
                word.get_or_insert_default().atoms.extend(value.atoms);
            }
            ('~', None) if word.is_none() => word = Some(site.state.variable("HOME")),
            (',' | ' ' | '\t', None) => command.words.extend(word.take()),
            (';' | '|' | '&' | '\n' | '{' | '}' | '(' | ')', None) => {
                command.words.extend(word.take());
                let joined = if letter == '|' { Joined::Piped } else { Joined::Not };
                commands.push(std::mem::replace(&mut command, Command { words: Vec::new(), joined }));
            }
            // A pattern is one inside quotes too: the command itself reads it.
            (letter, _) => word.get_or_insert_default().push_pattern(&letter.to_string()),
        }
    }
    command.words.extend(word);
    commands.push(command);
    commands
}

/// What a variable stands for.
fn variable(site: &Site<'_>, name: &str) -> Field {
    match name.to_ascii_lowercase().as_str() {
        "home" | "env:home" | "env:userprofile" => site.state.variable("HOME"),
        "pwd" | "env:pwd" => site.state.variable("PWD"),
        "true" | "false" | "null" => Field::of(""),
        other => Field::from_unknown(Origin::Variable(other.to_owned())),
    }
}
