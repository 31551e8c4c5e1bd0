//! No text of the repository names a path that exists only on the machine where it was written.
//!
//! A list of suspicious prefixes would raise false alarms: `/root` and `/home/alice` are honest examples in a project
//! about sandboxes. So the rule looks for the paths of *this* machine instead: the checkout, its neighbours, and the
//! homes of the person and the tools. A leak is written on the machine that leaks, so the check that runs there before
//! the commit sees it, and no check elsewhere mistakes an example for one.

use super::finding::{Finding, Rule};
use super::workspace::Workspace;

pub(crate) fn check(ws: &Workspace, machine_paths: &[String], findings: &mut Vec<Finding>) {
    for (path, text) in &ws.files {
        for needle in machine_paths {
            if !text.contains(needle.as_str()) {
                continue;
            }
            for (index, line) in text.lines().enumerate() {
                if names(line, needle) {
                    findings.push(Finding::new(
                        path,
                        index + 1,
                        Rule::MachinePath,
                        "a path of the machine this runs on; write it relative to the repository",
                    ));
                }
            }
        }
    }
}

/// The path as a whole: not the tail of a longer one, and not the head of a longer name.
fn names(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(start, found)| {
        let before = line.get(..start).and_then(|head| head.chars().next_back());
        let after = line.get(start + found.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(is_path_character) && !after.is_some_and(is_name_character)
    })
}

fn is_path_character(character: char) -> bool {
    is_name_character(character) || character == '/' || character == '~'
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let paths = ["/builds/q7/tripwire".to_owned()];
        printed(&member_files(&[("docs/a.md", text)]), |ws, findings| {
            check(ws, &paths, findings);
        })
    }

    #[test]
    fn a_path_of_this_machine_is_found_at_its_line() {
        for text in [
            "x\nsee /builds/q7/tripwire/docs\n",
            "x\n`/builds/q7/tripwire`\n",
            "x\nroot=/builds/q7/tripwire\n",
            "x\n/builds/q7/tripwire.\n",
        ] {
            let lines = found(text);
            assert_eq!(lines.len(), 1, "{text}");
            assert!(lines[0].starts_with("docs/a.md:2: machine-path:"), "{lines:?}");
        }
    }

    #[test]
    fn examples_and_longer_names_are_not_found() {
        for text in [
            "/home/alice/.ssh and /root/.ssh are unreadable\n",
            "/builds/q7/tripwire-docs\n",
            "https://host/builds/q7/tripwire\n",
            "/mnt/builds/q7/tripwire\n",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }
}
