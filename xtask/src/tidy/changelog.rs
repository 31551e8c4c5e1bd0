//! `CHANGELOG.md` keeps the shape of keepachangelog.com, so that a reader finds a change and a tool finds a version.

use super::finding::{Finding, Rule};
use super::workspace::Workspace;

const PATH: &str = "CHANGELOG.md";
const TITLE: &str = "# Changelog";
const UNRELEASED: &str = "[Unreleased]";

/// The kinds of change, in no required order.
const KINDS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];

pub(crate) fn check(ws: &Workspace, findings: &mut Vec<Finding>) {
    let Some(text) = ws.files.get(PATH) else {
        if ws.has_engine() {
            findings.push(finding(1, "the file is missing; start it with `# Changelog`"));
        }
        return;
    };
    if text.lines().next() != Some(TITLE) {
        findings.push(finding(1, format!("the first line must be `{TITLE}`")));
    }
    let mut state = State::default();
    for (index, line) in text.lines().enumerate() {
        state.read(index + 1, line, findings);
    }
    state.close_kind(findings);
    if state.releases == 0 {
        findings.push(finding(1, format!("there is no `## {UNRELEASED}` section")));
    }
}

fn finding(line: usize, message: impl Into<String>) -> Finding {
    Finding::new(PATH, line, Rule::Changelog, message)
}

/// What has been read so far.
#[derive(Default)]
struct State {
    releases: usize,
    last_version: Option<Version>,
    kinds_seen: Vec<String>,
    open_kind: Option<OpenKind>,
}

struct OpenKind {
    line: usize,
    entries: usize,
}

impl State {
    fn read(&mut self, line: usize, text: &str, findings: &mut Vec<Finding>) {
        if let Some(kind) = text.strip_prefix("### ") {
            self.close_kind(findings);
            self.kind(line, kind.trim(), findings);
        } else if let Some(release) = text.strip_prefix("## ") {
            self.close_kind(findings);
            self.release(line, release.trim(), findings);
            self.releases += 1;
            self.kinds_seen.clear();
        } else if text.starts_with("- ") {
            match &mut self.open_kind {
                Some(kind) => kind.entries += 1,
                None => findings.push(finding(line, "a change must stand under a kind, such as `### Added`")),
            }
        }
    }

    fn kind(&mut self, line: usize, kind: &str, findings: &mut Vec<Finding>) {
        if self.releases == 0 {
            findings.push(finding(line, format!("`### {kind}` stands under no version")));
        }
        if !KINDS.contains(&kind) {
            let message = format!("`{kind}` is no kind of change; use one of {}", KINDS.join(", "));
            findings.push(finding(line, message));
        }
        if self.kinds_seen.iter().any(|seen| seen == kind) {
            findings.push(finding(line, format!("`### {kind}` stands twice under one version")));
        }
        self.kinds_seen.push(kind.to_owned());
        self.open_kind = Some(OpenKind { line, entries: 0 });
    }

    fn close_kind(&mut self, findings: &mut Vec<Finding>) {
        if let Some(kind) = self.open_kind.take()
            && kind.entries == 0
        {
            findings.push(finding(kind.line, "this kind lists no change; remove it or add a `- ` line"));
        }
    }

    fn release(&mut self, line: usize, heading: &str, findings: &mut Vec<Finding>) {
        if self.releases == 0 {
            if heading != UNRELEASED {
                findings.push(finding(line, format!("the first section must be `## {UNRELEASED}`")));
            }
            return;
        }
        let Some(version) = parse_release(heading) else {
            let message = format!("`{heading}` must read `[1.2.3] - 2030-01-31`");
            findings.push(finding(line, message));
            return;
        };
        if self.last_version.is_some_and(|last| version >= last) {
            findings.push(finding(line, "versions must fall from top to bottom"));
        }
        self.last_version = Some(version);
    }
}

type Version = [u64; 3];

fn parse_release(heading: &str) -> Option<Version> {
    let (name, date) = heading.split_once(" - ")?;
    let version = numbers::<3>(name.strip_prefix('[')?.strip_suffix(']')?, '.')?;
    let [_, month, day] = numbers::<3>(date, '-')?;
    let is_date = date.len() == 10 && (1..=12).contains(&month) && (1..=31).contains(&day);
    is_date.then_some(version)
}

fn numbers<const N: usize>(text: &str, separator: char) -> Option<[u64; N]> {
    let parsed: Option<Vec<u64>> = text.split(separator).map(|part| part.parse().ok()).collect();
    parsed?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{member_files, printed};
    use super::*;

    fn found(text: &str) -> Vec<String> {
        printed(&member_files(&[(PATH, text)]), check)
    }

    const GOOD: &str = "# Changelog

Words.

## [Unreleased]

### Added
- The engine.

## [0.2.0] - 2030-02-01

### Fixed
- A bug,
  over two lines.

### Security
- Another.

## [0.1.0] - 2030-01-31
";

    #[test]
    fn the_usual_shape_is_fine() {
        assert_eq!(found(GOOD), Vec::<String>::new());
    }

    #[test]
    fn each_departure_from_the_shape_is_found_at_its_line() {
        for (from, to, line) in [
            ("# Changelog", "# History", 1),
            ("[Unreleased]", "[Next]", 5),
            ("### Added", "### New", 7),
            ("- The engine.\n", "", 7),
            ("### Added\n", "", 7),
            ("[0.2.0] - 2030-02-01", "0.2.0 - 2030-02-01", 10),
            ("2030-02-01", "2030-13-01", 10),
            ("2030-02-01", "1 Feb 2030", 10),
            ("### Security", "### Fixed", 16),
            ("[0.1.0]", "[0.3.0]", 19),
            ("[0.1.0]", "[0.2.0]", 19),
        ] {
            let lines = found(&GOOD.replacen(from, to, 1));
            assert_eq!(lines.len(), 1, "{from} -> {to}: {lines:?}");
            let place = format!("CHANGELOG.md:{line}: changelog:");
            assert!(lines[0].starts_with(&place), "{from} -> {to}: {lines:?}");
        }
        assert_eq!(found("# Changelog\n").len(), 1);
    }

    #[test]
    fn a_missing_changelog_matters_once_there_is_an_engine() {
        assert!(printed(&member_files(&[]), check).is_empty());
        let engine = member_files(&[("crates/core/src/chain.rs", "//! x\n")]);
        assert_eq!(printed(&engine, check).len(), 1);
    }
}
