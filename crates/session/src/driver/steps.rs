//! The newest steps word for word, for the briefing of a fresh worker (CTX-3): what was said, called, and what came back.
//!
//! Our own loop journals all of it. What someone else's agent did is journaled as digests, so its newest steps are kept in a
//! small file beside the session's state; losing it loses a help, not a fact.

use super::dir::SessionDir;
use crate::body::ReadBody;
use tripwire_core::label;
use tripwire_core::run::record::{Answer, Call, RunRecord};
use tripwire_fs::file::{self, FileError, InPlaceFile, read_bounded};

/// Steps that are kept.
pub(super) const STEPS_MAX: usize = 5;
/// The most that is kept of a model's words, of the arguments and of a result.
const PART_BYTES_MAX: usize = 2_000;
/// The most that is read back.
const FILE_BYTES_MAX: u64 = 256 * 1_024;

/// One call with its result, in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepWords<'a> {
    /// What the model said before it; empty where that is not known.
    pub said: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, as they were written.
    pub arguments: &'a str,
    /// The exit code, where there is one.
    pub exit_code: Option<i32>,
    /// What came back.
    pub output: &'a str,
}

impl StepWords<'_> {
    fn text(&self, dir: SessionDir<'_>) -> String {
        let mut text = String::new();
        if !self.said.trim().is_empty() {
            text.push_str(&format!("said: {}\n", part(self.said.trim())));
        }
        text.push_str(&format!("call: {} {}\n", self.tool, part(self.arguments)));
        if let Some(code) = self.exit_code {
            text.push_str(&format!("exit code: {code}\n"));
        }
        text.push_str(&format!("result:\n{}", part(self.output)));
        relative(&text, dir)
    }
}

/// A long text as its beginning and its end: what went wrong often stands last.
fn part(text: &str) -> String {
    if text.len() <= PART_BYTES_MAX {
        return text.to_owned();
    }
    let head = label::cut(text, PART_BYTES_MAX / 2);
    let mut from = text.len().saturating_sub(PART_BYTES_MAX / 2);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let tail = text.get(from..).unwrap_or_default();
    format!("{head}\n[… {} bytes …]\n{tail}", text.len().saturating_sub(head.len()).saturating_sub(tail.len()))
}

/// The text with paths below the workspace as such.
pub(super) fn relative(text: &str, dir: SessionDir<'_>) -> String {
    match dir.layout.workspace().and_then(|root| root.to_str()) {
        Some(root) => tripwire_observe::relative(text, &[root]),
        None => text.to_owned(),
    }
}

/// Keeps one more step of someone else's agent.
pub(super) fn keep(dir: SessionDir<'_>, step: &StepWords<'_>, known: &mut KnownSteps) -> Result<(), FileError> {
    let path = dir.layout.steps_of(dir.session);
    let mut file = match known.file.take().filter(|file| file.path() == path && file.is_as_written()) {
        Some(file) => file,
        None => {
            known.steps = kept(dir);
            InPlaceFile::at(&path)
        }
    };
    known.steps.push(step.text(dir));
    known.steps.drain(..known.steps.len().saturating_sub(STEPS_MAX));
    let text = serde_json::to_vec(&known.steps).unwrap_or_default();
    file.write(&file::filled_up(text, file.length()))?;
    known.file = Some(file);
    Ok(())
}

/// The steps as a process that stays left them, so that it need not read them again.
#[derive(Debug, Default)]
pub struct KnownSteps {
    steps: Vec<String>,
    file: Option<InPlaceFile>,
}

/// The steps that were kept, oldest first.
pub(super) fn kept(dir: SessionDir<'_>) -> Vec<String> {
    let bytes = read_bounded(&dir.layout.steps_of(dir.session), FILE_BYTES_MAX).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// The newest steps of our own loop, oldest first, from what it journaled.
pub(super) fn of_loop(page: &[String], dir: SessionDir<'_>) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut answer: Option<Answer> = None;
    let mut at: Option<usize> = None;
    for record in page.iter().filter_map(|body| learnt(body)) {
        match record {
            RunRecord::Answered(newest) => (answer, at) = (Some(newest), None),
            RunRecord::Checked(_) => at = Some(at.map_or(0, |at| at + 1)),
            RunRecord::Returned(returned) => {
                let Some((answer, at)) = answer.as_ref().zip(at) else { continue };
                let Some(Call { tool, arguments, .. }) = answer.calls.get(at) else { continue };
                // What was said belongs to the first call of the answer.
                let said = if at == 0 { answer.text.as_str() } else { "" };
                let output = returned.text.as_str();
                let words = StepWords { said, tool, arguments, exit_code: returned.exit_code, output };
                steps.push(words.text(dir));
            }
            RunRecord::Begun(_)
            | RunRecord::Resumed(_)
            | RunRecord::Failed(_)
            | RunRecord::Started
            | RunRecord::Advised(_)
            | RunRecord::NoAdvice(_)
            | RunRecord::Reviewed(_)
            | RunRecord::NoReview(_)
            | RunRecord::Applied(_)
            | RunRecord::Planned(_)
            | RunRecord::LoopJudged(_)
            | RunRecord::LoopNotJudged(_)
            | RunRecord::Waited => {}
        }
    }
    steps.drain(..steps.len().saturating_sub(STEPS_MAX));
    steps
}

fn learnt(body: &str) -> Option<RunRecord> {
    let body: ReadBody<'_> = serde_json::from_str(body).ok()?;
    serde_json::from_str(body.run?.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_workspace::geometry::layout::Layout;
    use tripwire_workspace::geometry::wall_clock::WallClock;
    use tripwire_workspace::session::SessionId;

    #[test]
    fn ctx_3_the_newest_steps_are_kept_word_for_word_and_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(&folder.path().join(".geometry"));
        let session = SessionId::first(WallClock::from_epoch_ms(1_790_000_000_000));
        let dir = SessionDir { layout: &layout, session: &session };
        let (mut staying, mut other) = (KnownSteps::default(), KnownSteps::default());
        for n in 0..7 {
            let command = format!("{{\"command\":\"cat {}/a{n}.txt\"}}", folder.path().display());
            let output = "x".repeat(9_000) + "the end";
            let words = StepWords { said: "", tool: "Bash", arguments: &command, exit_code: Some(1), output: &output };
            keep(dir, &words, if n == 4 { &mut other } else { &mut staying }).unwrap();
        }
        let steps = kept(dir);
        assert_eq!(steps.len(), STEPS_MAX);
        let last = steps.last().unwrap();
        assert!(last.contains("call: Bash {\"command\":\"cat a6.txt\"}\nexit code: 1\nresult:\nxxx"), "{last}");
        assert!(steps[2].contains("cat a4.txt"), "what another process kept is not lost");
        assert!(last.ends_with("the end") && last.len() < 3 * PART_BYTES_MAX, "{}", last.len());
    }
}
