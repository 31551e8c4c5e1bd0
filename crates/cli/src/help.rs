//! The first page of help: the verbs in groups, in the order in which a person meets them.

use clap::Command;
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
pub(crate) fn short(command: Command) -> Command {
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
    use super::GROUPS;

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
