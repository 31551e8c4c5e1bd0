//! One page per rule, from the catalogue that `tripwire explain` reads, with its settings in both profiles and the scenarios
//! that show it; and one page of all settings.

use std::collections::BTreeMap;

use serde_json::Value;
use tripwire_core::policy::{Policy, Profile, SettingRow};
use tripwire_core::rules::{RuleEntry, entries};

use super::text::{cell, prose};

/// The page that lists all rules.
pub(crate) const LIST: &str = "docs/rules.md";

/// The page of all settings.
pub(crate) const SETTINGS: &str = "docs/settings.md";

/// A scenario as its head tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Where it is, relative to the repository.
    pub(crate) path: String,
    rule: String,
    must: String,
    title: String,
}

impl Shown {
    /// Reads the head of a file of scenarios; nothing for one without a head.
    pub(crate) fn read(path: &str, text: &str) -> Option<Self> {
        let head: Value = serde_json::from_str(text.lines().next()?).ok()?;
        let field = |name: &str| head.pointer(&format!("/scenario/{name}")).and_then(Value::as_str).map(str::to_owned);
        Some(Self { path: path.to_owned(), rule: field("rule")?, must: field("must")?, title: field("title")? })
    }
}

/// The pages of the rules and of the settings, by path in the repository's terms.
pub(crate) fn pages(scenarios: &[Shown]) -> BTreeMap<String, String> {
    let (balanced, strict) = (rows(Profile::Balanced), rows(Profile::Strict));
    let mut pages = BTreeMap::from([(SETTINGS.to_owned(), settings(&balanced, &strict))]);
    let mut list = String::from(
        "# Rules\n\nEvery decision and every finding names its rule. `tripwire explain RULE` says the same as these pages, with \
         the values in force in your workspace.\n\n| rule | | acts |\n| --- | --- | --- |\n",
    );
    for entry in entries() {
        list.push_str(&format!(
            "| [{}](rules/{}.md) | {} | {} |\n",
            entry.id,
            file_name(entry.id),
            cell(entry.title),
            cell(entry.threshold)
        ));
        pages.insert(format!("docs/rules/{}.md", file_name(entry.id)), page(entry, &balanced, &strict, scenarios));
    }
    pages.insert(LIST.to_owned(), list);
    pages
}

/// The lines of the table of contents.
pub(crate) fn contents() -> String {
    let mut lines = String::from("- [All rules](rules.md)\n");
    for entry in entries() {
        lines.push_str(&format!("  - [{}: {}](rules/{}.md)\n", entry.id, entry.title, file_name(entry.id)));
    }
    lines
}

fn file_name(id: &str) -> String {
    id.to_lowercase().replace('.', "-")
}

fn rows(profile: Profile) -> Vec<SettingRow> {
    Policy { profile, ..Policy::default() }.rows()
}

fn page(entry: &RuleEntry, balanced: &[SettingRow], strict: &[SettingRow], scenarios: &[Shown]) -> String {
    let mut page = format!("# {}: {}\n\n{}\n\n| | |\n| --- | --- |\n", entry.id, prose(entry.title), prose(entry.what));
    let rows =
        [("acts", entry.threshold), ("fires", entry.fires), ("stays quiet", entry.quiet), ("source", entry.source)];
    for (label, text) in rows {
        page.push_str(&format!("| {label} | {} |\n", cell(text)));
    }
    if !entry.settings.is_empty() {
        page.push_str("\n## Settings\n\n| setting | balanced | strict | meaning |\n| --- | --- | --- | --- |\n");
        let pairs = balanced.iter().zip(strict).filter(|(row, _)| entry.settings.contains(&row.path));
        page.extend(pairs.map(|(balanced, strict)| setting(balanced, strict)));
    }
    let shown: Vec<&Shown> = scenarios.iter().filter(|scenario| scenario.rule == entry.id).collect();
    if !shown.is_empty() {
        page.push_str("\n## Scenarios\n\n`tripwire decide --check FILE` runs each; they are in the repository.\n\n");
        page.push_str("| scenario | |\n| --- | --- |\n");
        for scenario in shown {
            let must = if scenario.must == "fire" { "fires" } else { "quiet" };
            page.push_str(&format!("| `{}` | {must}: {} |\n", scenario.path, cell(&scenario.title)));
        }
    }
    page.push_str(&format!("\n`tripwire explain {}` prints this with the values in force.\n", entry.id));
    page
}

fn settings(balanced: &[SettingRow], strict: &[SettingRow]) -> String {
    let mut page = String::from(
        "# Settings\n\nEverything that `.geometry/MANIFEST.yaml` may set, with its default in both profiles; `tripwire policy show` \
         prints what holds in a workspace, with the file and line that set it.\n\n\
         | setting | balanced | strict | meaning |\n| --- | --- | --- | --- |\n",
    );
    page.extend(balanced.iter().zip(strict).map(|(balanced, strict)| setting(balanced, strict)));
    page
}

fn setting(balanced: &SettingRow, strict: &SettingRow) -> String {
    let value = |row: &SettingRow| if row.shown().is_empty() { String::new() } else { format!("`{}`", row.shown()) };
    format!(
        "| `{}` | {} | {} | {} |\n",
        balanced.path,
        cell(&value(balanced)),
        cell(&value(strict)),
        cell(balanced.doc)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_its_page_with_settings_and_scenarios() {
        let text = r#"{"scenario":{"title":"It fires.","rule":"LOOP-1.exact","must":"fire","source":"x"}}"#;
        let shown = Shown::read("scenarios/a.jsonl", text).unwrap();
        let pages = pages(&[shown]);
        let page = &pages["docs/rules/loop-1-exact.md"];
        assert!(page.starts_with("# LOOP-1.exact: "), "{page}");
        assert!(page.contains("| `scenarios/a.jsonl` | fires: It fires. |"), "{page}");
        assert!(page.contains("\n## Settings\n"), "{page}");
        assert_eq!(pages.len(), entries().count() + 2, "one per rule, the list, the settings");
        assert!(pages[SETTINGS].contains("| `safety.hard_loop_threshold` | `5` | `5` |"), "{}", pages[SETTINGS]);
        assert!(contents().contains("  - [LOOP-1.exact: "));
    }

    #[test]
    fn a_file_without_a_head_is_no_scenario() {
        assert_eq!(Shown::read("a", "{\"timestamp\":1}"), None);
        assert_eq!(Shown::read("a", ""), None);
    }
}
