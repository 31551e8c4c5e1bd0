//! The first page of help: the verbs in groups, in the order in which a person meets them.

use clap::Command;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;

/// The groups of verbs; a verb in none of them is not shown.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["scan", "run", "init", "doctor", "check", "agent", "gateway", "mcp", "fleet"]),
    ("Control", &["stop", "pause", "resume", "ack", "allow", "approvals", "set", "arm", "disarm"]),
    ("Undo", &["undo", "redo", "diff"]),
    ("Look", &["status", "ls", "watch", "web", "report", "cost", "log", "why", "verify", "export", "replay"]),
    ("Tune", &["tune", "explain", "policy", "not-a-loop", "judge", "review", "identity", "memory"]),
    ("Plumbing", &["serve", "step", "decide", "hook", "statusline", "sandbox", "completions"]),
];

/// The parser with the page that these words may ask for. Writing a page costs more than all other work of the parser, so without
/// such a word there is none.
pub(crate) fn for_words(command: Command, words: &[OsString]) -> Command {
    if words.get(1).is_some_and(|first| first == "-h") {
        short(command)
    } else if words.iter().any(|word| may_ask_for_help(word)) {
        grouped(command)
    } else {
        command
    }
}

/// `help`, `--help`, or flags of one letter with an `h` among them.
fn may_ask_for_help(word: &OsStr) -> bool {
    match word.as_encoded_bytes() {
        b"help" | b"--help" => true,
        [b'-', b'-', ..] => false,
        [b'-', letters @ ..] => letters.contains(&b'h'),
        _ => false,
    }
}

/// The parser with its verbs in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let mut template = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (title, verbs) in GROUPS {
        template.push_str(&format!("\n{title}:\n"));
        for verb in verbs.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            // A text that cannot be written to a string does not exist.
            writeln!(template, "  {:<12} {about}", verb.get_name()).unwrap_or_default();
        }
    }
    template.push_str("\nOptions:\n{options}{after-help}");
    command.help_template(template)
}

/// The short page: what a newcomer needs, and where the rest is.
fn short(command: Command) -> Command {
    let mut template = "{about-with-newline}\n{usage-heading} {usage}\n\n".to_owned();
    for (title, verbs) in GROUPS {
        // A text that cannot be written to a string does not exist.
        writeln!(template, "{:<9} {}", format!("{title}:"), verbs.join(", ")).unwrap_or_default();
    }
    template.push_str(FIRST_STEPS);
    command.help_template(template)
}

const FIRST_STEPS: &str = "
First steps:
  tripwire scan                       your past sessions: what would be stopped
  tripwire run --budget 5usd claude   one guarded run, nothing installed
  tripwire init                       guard every session of your agents

`tripwire --help` explains every command, `tripwire COMMAND -h` one of them.";

#[cfg(test)]
mod tests {
    use super::{GROUPS, for_words};
    use crate::Cli;
    use clap::CommandFactory as _;
    use std::ffi::OsString;

    #[test]
    fn whoever_asks_for_help_reads_a_page_with_groups_and_nobody_else_has_one_written() {
        for line in ["--help", "help", "-Vh", "--version --help", "-V --verbose -h"] {
            let words: Vec<OsString> = format!("tripwire {line}").split(' ').map(OsString::from).collect();
            let page = for_words(Cli::command(), &words).try_get_matches_from(&words).unwrap_err();
            assert!(page.to_string().contains("\nPlumbing:\n  serve "), "{line}: {page}");
        }
        let words = ["tripwire", "-h"].map(OsString::from);
        let page = for_words(Cli::command(), &words).try_get_matches_from(&words).unwrap_err();
        assert!(page.to_string().contains("\nPlumbing: serve, "), "{page}");
        let words = ["tripwire", "run", "--", "claude", "--helpful"].map(OsString::from);
        let page = for_words(Cli::command(), &words).render_help();
        assert!(!page.to_string().contains("Plumbing:"), "{page}");
    }

    #[test]
    fn every_verb_that_is_not_hidden_stands_in_one_group() {
        let parser = crate::command();
        let mut verbs: Vec<&str> =
            parser.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        verbs.sort_unstable();
        listed.sort_unstable();
        assert_eq!(verbs, listed);
    }
}
