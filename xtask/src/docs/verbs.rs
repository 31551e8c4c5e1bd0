//! One page per verb, from the parser: the same text as `tripwire VERB --help`, its inner verbs below it, and the guides that
//! use it.

use std::collections::BTreeMap;

use clap::Command;

use super::text::{cell, prose};
use crate::reference;

/// The page that lists all verbs.
pub(crate) const LIST: &str = "docs/verbs.md";

/// The pages of the verbs by path in the repository's terms; `known` are the pages that people wrote.
pub(crate) fn pages(command: &Command, known: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut command = command.clone();
    command.build();
    let mut pages = BTreeMap::new();
    let mut list = String::from(
        "# Verbs\n\nOne page for each, made from the parser itself.\n\n| verb | meaning |\n| --- | --- |\n",
    );
    for verb in visible(&command) {
        let name = verb.get_name();
        let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
        list.push_str(&format!("| [`tripwire {name}`](verbs/{name}.md) | {} |\n", cell(&about)));
        pages.insert(path(name), page(verb, known));
    }
    if let Some(after) = command.get_after_help() {
        list.push_str(&format!("\n{}\n", prose(after.to_string().trim())));
    }
    pages.insert(LIST.to_owned(), list);
    pages
}

/// The lines of the table of contents.
pub(crate) fn contents(command: &Command) -> String {
    let mut lines = String::from("- [All verbs](verbs.md)\n");
    for verb in visible(command) {
        let name = verb.get_name();
        lines.push_str(&format!("  - [{name}](verbs/{name}.md)\n"));
    }
    lines
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

fn path(name: &str) -> String {
    format!("docs/verbs/{name}.md")
}

fn page(verb: &Command, known: &BTreeMap<String, String>) -> String {
    let name = verb.get_name();
    let mut page = prose(&reference::verb_page(verb, &format!("tripwire {name}")));
    let guides: Vec<String> = known
        .iter()
        .filter(|(path, text)| (path.starts_with("docs/guide/") || path.starts_with("docs/start/")) && uses(text, name))
        .map(|(path, text)| format!("[{}](../{})", title(text), path.trim_start_matches("docs/")))
        .collect();
    if !guides.is_empty() {
        page.push_str(&format!("\nUsed in: {}.\n", guides.join(" · ")));
    }
    page
}

/// Whether a page types the verb, or names it as a command.
fn uses(text: &str, verb: &str) -> bool {
    text.split(&format!("tripwire {verb}"))
        .skip(1)
        .any(|after| !after.starts_with(|next: char| next.is_alphanumeric() || next == '-'))
}

fn title(text: &str) -> String {
    let heading = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("?");
    heading.replace(['[', ']'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_inner_verbs_and_the_guides_that_use_it() {
        let inner = Command::new("trust").about("Trust a <thing>");
        let command = Command::new("tripwire")
            .subcommand(Command::new("mcp").about("Guard servers").subcommand(inner))
            .subcommand(Command::new("quiet").hide(true));
        let known = BTreeMap::from([
            ("docs/guide/mcp.md".to_owned(), "# Servers\n\n`tripwire mcp serve`\n".to_owned()),
            ("docs/guide/other.md".to_owned(), format!("# Other\n\n`{}x`\n", "tripwire mcp")),
        ]);
        let pages = pages(&command, &known);
        assert_eq!(pages.keys().collect::<Vec<_>>(), ["docs/verbs.md", "docs/verbs/mcp.md"]);
        let page = &pages["docs/verbs/mcp.md"];
        assert!(page.starts_with("# `tripwire mcp`\n\nGuard servers\n"), "{page}");
        assert!(page.contains("\n## `tripwire mcp trust`\n\nTrust a &lt;thing>\n"), "{page}");
        assert!(page.ends_with("Used in: [Servers](../guide/mcp.md).\n"), "{page}");
        assert!(pages["docs/verbs.md"].contains("| [`tripwire mcp`](verbs/mcp.md) | Guard servers |"));
    }
}
