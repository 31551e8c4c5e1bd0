//! `Remove-Item` and its other names in the code that `pwsh` is given on its command line.
//!
//! Only what is plainly written is seen: commands between `;`, `|`, braces and line ends, with their quoted arguments. What
//! comes out of a listing through a pipe is judged as everything in the folder that is listed.

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

/// Judges PowerShell's code.
pub(crate) fn judge(site: &Site<'_>, call: &Call) -> Option<Hold> {
    if !matches!(call.name().to_ascii_lowercase().as_str(), "pwsh" | "powershell" | "pwsh-preview") {
        return None;
    }
    let words: Vec<String> = call.words().iter().map(|word| word.to_ascii_lowercase()).collect();
    if words.iter().any(|word| word.len() > 1 && "-encodedcommand".starts_with(word.as_str())) {
        let reason = "code that was encoded would be run without anybody reading it";
        return Some(Hold::plain(GuardRule::PipeToShell, reason));
    }
    let at = words.iter().position(|word| word.len() > 1 && "-command".starts_with(word.as_str()))?;
    let code: Vec<String> = call.args.iter().skip(at + 2).map(Field::to_code).collect();
    let mut piped = Vec::new();
    for command in commands(site, &code.join(" ")) {
        let Command { words, joined } = command;
        let Some((name, rest)) = words.split_first() else { continue };
        let name = name.text().to_ascii_lowercase();
        let mut targets = operands(rest);
        if REMOVERS.contains(&name.as_str()) && !has(rest, "-whatif") {
            if targets.is_empty() && joined == Joined::Piped {
                targets = std::mem::take(&mut piped);
            }
            let recursive = rest.iter().any(|word| word.text().to_ascii_lowercase().starts_with("-r"));
            let manner = if recursive { Manner::Recursive } else { Manner::Files };
            if let Some(hold) = targets::judge(site, call.place, manner, &targets) {
                return Some(hold);
            }
        } else if LISTERS.contains(&name.as_str()) {
            piped = if targets.is_empty() { vec![Field::of(".")] } else { targets };
        }
    }
    None
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
