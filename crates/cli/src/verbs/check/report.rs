//! What was checked, for programs and for the page of a job: JSON, JUnit, Markdown.

use crate::exit::Exit;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use tripwire_console::report::escaped;
use tripwire_core::counted::{agreeing, counted};

/// One thing that was checked.
#[derive(Debug)]
pub(super) struct CheckedItem {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) exit: Exit,
    pub(super) problem: Option<String>,
    pub(super) took: Duration,
}

/// Everything that was checked.
#[derive(Debug, Default)]
pub(super) struct CheckReport {
    pub(super) items: Vec<CheckedItem>,
}

/// In which form a report is written, by the ending of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportForm {
    Json,
    JUnit,
    Markdown,
}

impl CheckReport {
    /// The worst of all: what does not hold weighs more than what cannot be read.
    pub(super) fn exit(&self) -> Exit {
        self.items.iter().map(|item| item.exit).max_by_key(|exit| exit.code()).unwrap_or(Exit::Done)
    }

    fn failed(&self) -> usize {
        self.items.iter().filter(|item| item.exit != Exit::Done).count()
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let item = |item: &CheckedItem| {
            json!({
                "kind": item.kind,
                "name": item.name,
                "holds": item.exit == Exit::Done,
                "exit": item.exit.code(),
                "problem": item.problem,
                "took_ms": u64::try_from(item.took.as_millis()).unwrap_or(u64::MAX),
            })
        };
        let items: Vec<Value> = self.items.iter().map(item).collect();
        json!({"version": 1, "exit": self.exit().code(), "failed": self.failed(), "checks": items})
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        let (all, failed) = (self.items.len(), self.failed());
        if failed == 0 {
            format!("check: {} {}", counted(all, "check"), agreeing(all, "holds", "hold"))
        } else {
            format!("check: {failed} of {} {} not hold", counted(all, "check"), agreeing(failed, "does", "do"))
        }
    }
}

impl ReportForm {
    /// The form of a file, for the parser of the command line.
    pub(super) fn of_file(text: &str) -> Result<(PathBuf, Self), String> {
        let file = PathBuf::from(text);
        let form = match file.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Self::Json,
            Some("xml") => Self::JUnit,
            Some("md") => Self::Markdown,
            Some(_) | None => return Err("name a file that ends in .json, .xml (JUnit) or .md".to_owned()),
        };
        Ok((file, form))
    }

    /// The report in this form.
    pub(super) fn text(self, report: &CheckReport) -> String {
        match self {
            Self::Json => format!("{:#}\n", report.json()),
            Self::JUnit => junit(report),
            Self::Markdown => markdown(report),
        }
    }
}

fn junit(report: &CheckReport) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tripwire check\" tests=\"{}\" failures=\"{}\">\n",
        report.items.len(),
        report.failed()
    );
    for item in &report.items {
        let (name, millis) = (escaped(&item.name), item.took.as_millis());
        let (whole, part) = (millis / 1_000, millis % 1_000);
        let mut case = format!("  <testcase classname=\"{}\" name=\"{name}\" time=\"{whole}.{part:03}\"", item.kind);
        match &item.problem {
            None => case.push_str("/>\n"),
            // A text that cannot be written to a string does not exist.
            Some(problem) => {
                writeln!(case, "><failure message=\"{}\"/></testcase>", escaped(&legal(problem))).unwrap_or_default()
            }
        }
        text.push_str(&case);
    }
    text.push_str("</testsuite>\n");
    text
}

/// XML has no form at all for most control characters.
fn legal(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

fn markdown(report: &CheckReport) -> String {
    let mut text = format!("## tripwire check\n\n{}\n\n| check | what | holds |\n| --- | --- | --- |\n", report.line());
    for item in &report.items {
        let holds = match &item.problem {
            None => "yes".to_owned(),
            Some(problem) => format!("**no**: {}", cell(problem)),
        };
        // A text that cannot be written to a string does not exist.
        writeln!(text, "| {} | {} | {holds} |", item.kind, cell(&item.name)).unwrap_or_default();
    }
    text
}

/// A text that cannot leave its cell.
fn cell(text: &str) -> String {
    escaped(&legal(text)).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> CheckReport {
        let item = |name: &str, exit, problem: Option<&str>| CheckedItem {
            kind: "scenario",
            name: name.to_owned(),
            exit,
            problem: problem.map(str::to_owned),
            took: Duration::from_millis(1_234),
        };
        CheckReport {
            items: vec![
                item("a.jsonl", Exit::Done, None),
                item("b|<c>\n.jsonl", Exit::DoesNotHold, Some("x < y & \"z\"\u{1}")),
                item("d.jsonl", Exit::Usage, Some("no JSON")),
            ],
        }
    }

    #[test]
    fn what_does_not_hold_weighs_more_than_what_cannot_be_read() {
        assert_eq!(report().exit(), Exit::DoesNotHold);
        assert_eq!(CheckReport::default().exit(), Exit::Done);
        assert_eq!(report().line(), "check: 2 of 3 checks do not hold");
    }

    #[test]
    fn names_and_problems_cannot_leave_their_place() {
        let xml = ReportForm::JUnit.text(&report());
        assert!(xml.contains("tests=\"3\" failures=\"2\"") && xml.contains("time=\"1.234\""), "{xml}");
        assert!(!xml.contains("<c>") && !xml.contains('\u{1}') && xml.contains("x &lt; y &amp;"), "{xml}");
        let page = ReportForm::Markdown.text(&report());
        assert_eq!(page.lines().filter(|line| line.starts_with("| scenario")).count(), 3, "{page}");
        assert!(page.contains("b\\|&lt;c&gt;"), "{page}");
        let json: serde_json::Value = serde_json::from_str(&ReportForm::Json.text(&report())).unwrap();
        assert_eq!((&json["exit"], &json["failed"]), (&json!(9), &json!(2)));
    }

    #[test]
    fn the_ending_names_the_form() {
        assert_eq!(ReportForm::of_file("a/b.xml").map(|(_, form)| form), Ok(ReportForm::JUnit));
        assert!(ReportForm::of_file("report").is_err() && ReportForm::of_file("a.txt").is_err());
    }
}
