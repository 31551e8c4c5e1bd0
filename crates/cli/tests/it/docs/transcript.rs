//! What a block types, and whether what was printed is what the page shows.

use crate::docs::example::Example;

/// What stands for text that differs from run to run, or for lines that are left out.
const ANYTHING: &str = "…";

/// One command with what the page shows of its output; nothing shown, nothing compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) output: Vec<String>,
}

/// The commands of a block.
pub(crate) fn commands(example: &Example) -> Vec<Step> {
    if example.tag == "sh" {
        return vec![Step { command: example.text.clone(), output: Vec::new() }];
    }
    let mut steps: Vec<Step> = Vec::new();
    for line in example.text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), output: Vec::new() }),
            (None, Some(step)) => step.output.push(line.to_owned()),
            (None, None) => panic!("a console block begins with `$ `: {line}"),
        }
    }
    steps
}

/// The first line of the page that the output does not have where it should be.
pub(crate) fn differs(shown: &[String], printed: &str) -> Option<String> {
    if shown.is_empty() {
        return None;
    }
    let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
    let (mut at, mut skipping) = (0, false);
    for line in shown.iter().map(|line| line.trim_end()) {
        if line.trim() == ANYTHING {
            skipping = true;
            continue;
        }
        let rest = printed.get(at..).unwrap_or_default();
        let found = rest.iter().position(|printed| fits(line, printed)).filter(|found| skipping || *found == 0);
        let Some(found) = found else { return Some(line.to_owned()) };
        at += found + 1;
        skipping = false;
    }
    (at < printed.len() && !skipping).then(|| format!("(the end; there is more: {})", printed[at]))
}

/// Whether a printed line is the shown one, with anything in the place of each `…`.
fn fits(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split(ANYTHING);
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn output_fits_with_anything_in_its_gaps_and_nothing_else() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (page, printed) in [
        ("a\nb", "a\nb\n"),
        ("a …\n…\nd", "a 12 s\nb\nc\nd\n"),
        ("id …-… done", "id 7-8 done"),
        ("a\n…", "a\nmore\n"),
        ("", "whatever"),
    ] {
        assert_eq!(differs(&shown(page), printed), None, "{page}");
    }
    for (page, printed) in [("a\nb", "a\nc\n"), ("a", "a\nb\n"), ("a …x", "a 12"), ("…\nz", "a\nb\n"), ("b", "a\nb\n")]
    {
        assert!(differs(&shown(page), printed).is_some(), "{page}");
    }
}
