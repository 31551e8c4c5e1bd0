//! One definition per flag: the reference page, the man pages and the completions all come from the parser itself.
//!
//! Everything takes a `clap::Command`, so the generator knows nothing about the commands it describes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use crate::typescript::declarations;
use clap::builder::StyledStr;
use clap::{Arg, Command};
use clap_complete::Shell;
use serde_json::Value;

/// The generated page, relative to the repository; it is committed, so that a reader without a build finds it.
pub const PAGE: &str = "docs/reference/cli.md";

/// The generated schema of the stdio protocol, committed for the same reason.
pub const SCHEMA: &str = "docs/reference/stdio.schema.json";

/// The generated types of the Node package, committed because they are published as they are.
pub const TYPES: &str = "packaging/npm/lib/protocol.d.ts";

/// Where the man pages go; they are made for a release and not committed.
pub const MAN_FOLDER: &str = "target/man";

/// Where the shell completions go; not committed either.
pub const COMPLETIONS_FOLDER: &str = "target/completions";

/// The reference could not be written or is not what the parser says.
#[derive(Debug)]
pub enum ReferenceError {
    /// The disk refused.
    Io {
        /// The file or folder that could not be used.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The committed page was not made from this parser.
    Stale {
        /// The file.
        file: &'static str,
        /// The first line that differs.
        line: usize,
    },
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, cause } => write!(f, "cannot write `{}`: {cause}", path.display()),
            Self::Stale { file, line } => {
                write!(f, "`{file}` differs from the code at line {line}; run `cargo xtask reference`")
            }
        }
    }
}

impl std::error::Error for ReferenceError {}

/// Writes page, schema, types, man pages and completions below `root` and says which files they are.
pub fn write(command: &Command, schema: &Value, root: &Path) -> Result<Vec<PathBuf>, ReferenceError> {
    let mut written = Vec::new();
    let texts = [(PAGE, markdown(command)), (SCHEMA, schema_text(schema)), (TYPES, declarations(schema))];
    for (name, text) in texts {
        let file = root.join(name);
        if let Some(folder) = file.parent() {
            make_folder(folder)?;
        }
        fs::write(&file, text).map_err(|cause| failed(&file, cause))?;
        written.push(file);
    }
    let Pages { man, completions } = write_pages(command, root)?;
    written.extend([man, completions]);
    Ok(written)
}

/// Where the pages that are not committed went.
#[derive(Debug)]
pub struct Pages {
    /// The folder of the man pages.
    pub man: PathBuf,
    /// The folder of the completions.
    pub completions: PathBuf,
}

/// Writes man pages and completions below `root`.
pub fn write_pages(command: &Command, root: &Path) -> Result<Pages, ReferenceError> {
    let man = root.join(MAN_FOLDER);
    make_folder(&man)?;
    clap_mangen::generate_to(command.clone(), &man).map_err(|cause| failed(&man, cause))?;
    let completions = root.join(COMPLETIONS_FOLDER);
    make_folder(&completions)?;
    let name = command.get_name().to_owned();
    for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::Zsh] {
        clap_complete::generate_to(shell, &mut command.clone(), &name, &completions)
            .map_err(|cause| failed(&completions, cause))?;
    }
    Ok(Pages { man, completions })
}

/// Fails when the committed page or schema is not what [`write()`] would write, so that a test can hold them.
pub fn check(command: &Command, schema: &Value, root: &Path) -> Result<(), ReferenceError> {
    check_file(PAGE, &markdown(command), root)?;
    check_file(SCHEMA, &schema_text(schema), root)?;
    check_file(TYPES, &declarations(schema), root)
}

fn check_file(file: &'static str, expected: &str, root: &Path) -> Result<(), ReferenceError> {
    let path = root.join(file);
    let committed = fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?;
    if committed == expected {
        return Ok(());
    }
    let same =
        committed.lines().zip(expected.lines()).take_while(|(committed, expected)| committed == expected).count();
    Err(ReferenceError::Stale { file, line: same + 1 })
}

fn schema_text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// The reference page: every command with its usage, arguments and options, in the parser's order.
pub fn markdown(command: &Command) -> String {
    let mut command = command.clone();
    command.build();
    let mut page = format!(
        "# Command line reference\n\nMade by `cargo xtask reference` from the parser of `{}`; do not edit.\n",
        command.get_name()
    );
    section(&command, command.get_name(), &mut page);
    page
}

/// The page of one verb, its inner verbs below it. The command above it must have been built.
pub(crate) fn verb_page(command: &Command, full_name: &str) -> String {
    let mut page = String::new();
    section(command, full_name, &mut page);
    page.replacen("\n## ", "# ", 1)
}

fn section(command: &Command, full_name: &str, page: &mut String) {
    let mut text = format!("\n## `{full_name}`\n\n");
    let about = command.get_long_about().or_else(|| command.get_about());
    paragraph(about, &mut text);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    text.push_str(&format!("```text\n{usage}\n```\n\n"));
    let visible = |argument: &&Arg| !argument.is_hide_set();
    table("argument", command.get_positionals().filter(visible), &mut text);
    table("option", command.get_arguments().filter(|argument| !argument.is_positional()).filter(visible), &mut text);
    let children: Vec<&Command> =
        command.get_subcommands().filter(|child| !child.is_hide_set() && child.get_name() != "help").collect();
    commands(&children, &mut text);
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    paragraph(after, &mut text);
    page.push_str(text.trim_end());
    page.push('\n');
    for child in children {
        section(child, &format!("{full_name} {}", child.get_name()), page);
    }
}

fn paragraph(text: Option<&StyledStr>, page: &mut String) {
    if let Some(text) = text {
        let text = text.to_string();
        page.push_str(&format!("{}\n\n", text.trim()));
    }
}

fn table<'a>(title: &str, arguments: impl Iterator<Item = &'a Arg>, page: &mut String) {
    let rows: Vec<String> =
        arguments.map(|argument| format!("| {} | {} |\n", spelling(argument), meaning(argument))).collect();
    if !rows.is_empty() {
        page.push_str(&format!("| {title} | meaning |\n| --- | --- |\n"));
        page.extend(rows);
        page.push('\n');
    }
}

fn commands(children: &[&Command], page: &mut String) {
    if children.is_empty() {
        return;
    }
    page.push_str("| command | meaning |\n| --- | --- |\n");
    for child in children {
        let about = child.get_about().map(ToString::to_string);
        page.push_str(&format!("| `{}` | {} |\n", child.get_name(), one_cell(&about.unwrap_or_default())));
    }
    page.push('\n');
}

fn spelling(argument: &Arg) -> String {
    let mut names = Vec::new();
    names.extend(argument.get_short().map(|short| format!("-{short}")));
    names.extend(argument.get_long().map(|long| format!("--{long}")));
    let mut text = names.join(", ");
    if argument.is_positional() || argument.get_action().takes_values() {
        let values: Vec<String> =
            argument.get_value_names().unwrap_or_default().iter().map(|value| format!("<{value}>")).collect();
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&values.join(" "));
    }
    one_cell(&format!("`{text}`"))
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut text = help.map(ToString::to_string).unwrap_or_default();
    let takes_values = argument.is_positional() || argument.get_action().takes_values();
    let listed: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| takes_values && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !listed.is_empty() {
        let _infallible = write!(text, " One of {}.", listed.join(", "));
    }
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .filter(|_| takes_values)
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    if !defaults.is_empty() {
        let _infallible = write!(text, " Default: {}.", defaults.join(", "));
    }
    one_cell(&text)
}

/// A table cell is one line and does not contain the bar that ends it.
fn one_cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn make_folder(folder: &Path) -> Result<(), ReferenceError> {
    fs::create_dir_all(folder).map_err(|cause| failed(folder, cause))
}

fn failed(path: &Path, cause: io::Error) -> ReferenceError {
    ReferenceError::Io { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use clap::{ArgAction, value_parser};

    use super::*;

    fn schema() -> Value {
        serde_json::json!({"protocol": 1})
    }

    fn command() -> Command {
        Command::new("trip")
            .version("1.2.3")
            .about("Guards a run")
            .after_help("Exit codes: 0 done, 2 usage.")
            .subcommand(
                Command::new("decide")
                    .about("Decides a stream")
                    .arg(
                        Arg::new("profile")
                            .long("profile")
                            .value_name("NAME")
                            .value_parser(["strict", "balanced"])
                            .default_value("balanced")
                            .help("Which counts hold,\nstrict | balanced"),
                    )
                    .arg(Arg::new("json").short('j').long("json").action(ArgAction::SetTrue).help("Print JSON"))
                    .arg(Arg::new("file").value_name("FILE").value_parser(value_parser!(PathBuf)).help("The events"))
                    .arg(Arg::new("secret").long("secret").hide(true)),
            )
            .subcommand(Command::new("inner").hide(true))
    }

    #[test]
    fn the_page_names_every_visible_command_flag_value_and_default() {
        let page = markdown(&command());
        for part in [
            "# Command line reference\n",
            "\n## `trip`\n\nGuards a run\n",
            "| `decide` | Decides a stream |\n",
            "Exit codes: 0 done, 2 usage.\n",
            "\n## `trip decide`\n\nDecides a stream\n",
            "trip decide [OPTIONS] [FILE]",
            "| `<FILE>` | The events |\n",
            "| `--profile <NAME>` | Which counts hold, strict \\| balanced One of `strict`, `balanced`. Default: `balanced`. |\n",
            "| `-j, --json` | Print JSON |\n",
        ] {
            assert!(page.contains(part), "{part:?} is not in:\n{page}");
        }
    }

    #[test]
    fn hidden_things_stay_hidden_and_the_page_is_the_same_twice() {
        let page = markdown(&command());
        assert!(!page.contains("secret"), "{page}");
        assert!(!page.contains("inner"), "{page}");
        assert_eq!(page, markdown(&command()));
    }

    #[test]
    fn writing_gives_page_man_and_completions_and_the_check_sees_a_stale_page() {
        let root = std::env::temp_dir().join(format!("xtask-reference-{}", std::process::id()));
        let written = write(&command(), &schema(), &root).unwrap();
        assert!(written.iter().all(|path| path.exists()), "{written:?}");
        let man = fs::read_to_string(root.join(MAN_FOLDER).join("trip-decide.1")).unwrap();
        assert!(man.contains("Decides a stream"));
        let bash = fs::read_to_string(root.join(COMPLETIONS_FOLDER).join("trip.bash")).unwrap();
        assert!(bash.contains("--profile"));
        check(&command(), &schema(), &root).unwrap();

        let changed = command().about("Guards two runs");
        let error = check(&changed, &schema(), &root).unwrap_err();
        assert!(matches!(error, ReferenceError::Stale { line: 7, .. }), "{error}");
        fs::remove_dir_all(&root).unwrap();
        let missing = check(&command(), &schema(), &root).unwrap_err();
        assert!(missing.to_string().contains("cli.md"), "{missing}");
    }
}
