//! What each rule is, in the words that `tripwire explain` prints; one file per family of names.

mod activity;
mod constitution;
mod endings;
mod entry;
mod gate;
mod loops;
mod own_loop;
mod people;
mod records;
mod sandbox;
mod tool_servers;

pub use self::entry::RuleEntry;

use alloc::string::String;

/// The families, in the order of the specification.
const FAMILIES: [&[RuleEntry]; 10] = [
    constitution::ENTRIES,
    activity::ENTRIES,
    gate::ENTRIES,
    loops::ENTRIES,
    endings::ENTRIES,
    people::ENTRIES,
    own_loop::ENTRIES,
    sandbox::ENTRIES,
    records::ENTRIES,
    tool_servers::ENTRIES,
];

/// Every rule, in the order of the specification.
pub fn entries() -> impl Iterator<Item = &'static RuleEntry> {
    FAMILIES.into_iter().flatten()
}

/// The entry of a name, however it is capitalised.
#[must_use]
pub fn find(id: &str) -> Option<&'static RuleEntry> {
    entries().find(|entry| entry.id.eq_ignore_ascii_case(id.trim()))
}

/// The entry whose name is nearest to a mistyped one; `None` when nothing is near.
///
/// `LOOP3`, `loop_3` and `LOPP-3` all mean `LOOP-3`: separators are not compared, and up to two letters may be wrong.
#[must_use]
pub fn nearest(id: &str) -> Option<&'static RuleEntry> {
    let asked = letters(id);
    let allowed = asked.len().checked_div(3).unwrap_or(0).min(2);
    entries()
        .map(|entry| (crate::policy::edit_distance(&asked, &letters(entry.id)), entry))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= allowed)
        .map(|(_, entry)| entry)
}

/// The letters and digits of a name in lower case, cut short: what people type varies in everything else.
fn letters(id: &str) -> String {
    const LONGEST: usize = 32;
    id.chars().filter(char::is_ascii_alphanumeric).take(LONGEST).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::rules::Rule;
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::vec::Vec;

    /// How many names of each family the specification has.
    const NAMES: [(&str, u32); 25] = [
        ("CONST", 6),
        ("CHAIN", 6),
        ("ACT", 3),
        ("INTENT", 2),
        ("GATE", 8),
        ("LOOP", 7),
        ("PROG", 1),
        ("DIRTY", 1),
        ("ITER", 1),
        ("TERM", 1),
        ("CTX", 4),
        ("CTRL", 4),
        ("FLOOR", 3),
        ("PERM", 1),
        ("REVIEW", 1),
        ("IDENT", 1),
        ("RUN", 5),
        ("MEM", 1),
        ("TOOL", 3),
        ("MCP", 4),
        ("BOX", 5),
        ("LOG", 4),
        ("REPLAY", 1),
        ("SECRET", 2),
        ("UNDO", 1),
    ];

    #[test]
    fn every_name_of_the_specification_has_an_entry() {
        for (family, count) in NAMES {
            for number in 1..=count {
                let id = format!("{family}-{number}");
                assert!(find(&id).is_some(), "{id} is not explained");
            }
            assert!(find(&format!("{family}-{}", count + 1)).is_none(), "{family} has more names than the table");
        }
    }

    #[test]
    fn every_rule_that_can_decide_has_an_entry() {
        for rule in Rule::ALL {
            assert!(find(rule.id()).is_some(), "{} is not explained", rule.id());
        }
    }

    #[test]
    fn every_entry_belongs_to_a_name_of_the_specification() {
        for entry in entries() {
            let whole = entry.id.split('.').next().unwrap();
            let (family, number) = whole.split_once('-').unwrap();
            let known = NAMES.iter().find(|(name, _)| *name == family).map(|(_, count)| *count);
            assert!(known.is_some_and(|count| number.parse::<u32>().unwrap() <= count), "{}", entry.id);
        }
    }

    #[test]
    fn no_name_is_explained_twice() {
        let all: Vec<&str> = entries().map(|entry| entry.id).collect();
        let distinct: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), distinct.len());
    }

    #[test]
    fn every_setting_that_an_entry_names_exists() {
        let rows = Policy::default().rows();
        for entry in entries() {
            for setting in entry.settings {
                assert!(rows.iter().any(|row| row.path == *setting), "{} names `{setting}`", entry.id);
            }
        }
    }

    #[test]
    fn every_setting_is_explained_by_some_rule() {
        for row in Policy::default().rows() {
            let explained = entries().any(|entry| entry.settings.contains(&row.path));
            assert!(explained, "no rule explains `{}`", row.path);
        }
    }

    #[test]
    fn no_field_is_empty_or_shouts_in_fragments() {
        for entry in entries() {
            for text in [entry.what, entry.threshold, entry.source, entry.fires, entry.quiet] {
                assert!(text.len() >= 8, "{}: `{text}`", entry.id);
                assert!(text.ends_with(['.', '`', '"']), "{}: `{text}` is no sentence", entry.id);
                assert!(!text.contains("  "), "{}: `{text}` has a gap", entry.id);
            }
            let sentences = entry.what.matches(". ").count() + 1;
            assert!((2..=5).contains(&sentences), "{}: {sentences} sentences", entry.id);
            assert!(!entry.title.is_empty() && entry.title.len() <= 60, "{}: `{}`", entry.id, entry.title);
            assert_ne!(entry.fires, entry.quiet, "{}", entry.id);
        }
    }

    #[test]
    fn a_name_is_found_however_it_is_capitalised() {
        assert_eq!(find("loop-1.EXACT").map(|entry| entry.id), Some("LOOP-1.exact"));
        assert_eq!(find(" gate-2 ").map(|entry| entry.id), Some("GATE-2"));
        assert_eq!(find("GATE-99"), None);
    }

    #[test]
    fn a_mistyped_name_finds_its_neighbour_and_nonsense_finds_none() {
        let near = |id| nearest(id).map(|entry| entry.id);
        assert_eq!(near("LOOP1"), Some("LOOP-1"));
        assert_eq!(near("loop_1_exact"), Some("LOOP-1.exact"));
        assert_eq!(near("LOPP-3"), Some("LOOP-3"));
        assert_eq!(near("REVEIW-1"), Some("REVIEW-1"));
        assert_eq!(near("bananas and custard"), None);
        assert_eq!(near(""), None);
        assert_eq!(near(&"x".repeat(100_000)), None);
    }
}
