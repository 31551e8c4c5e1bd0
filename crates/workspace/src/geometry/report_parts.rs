//! One report file, several sessions: each has a part of its own, and acknowledging one leaves the others standing.
//!
//! A part ends with a line that names its session. Text without such a line belongs to no session: a person wrote it, or an
//! older version did.

use super::layout::Layout;
use super::reports::Report;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::input::ReportCause;
use tripwire_fs::file::{self, FileError, Removed, read_bounded};
use tripwire_fs::lock::{FileLock, Wait};

/// What the line at the end of a part begins and ends with.
const MARK: (&str, &str) = ("<!-- written by session ", " -->");
/// What stands behind the session in the line of a part that tells of a loop.
const OF_A_LOOP: &str = ", about a loop";
/// The line behind text of no session, where a session's part follows it.
const NO_SESSION: &str = "<!-- written by no session -->";
/// The largest report file that is read.
const BYTES_MAX: u64 = 4 << 20;
/// How long another session that writes a report is waited for.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// A report that nobody has read yet: nothing new begins.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}`{} is unread: nothing new begins", path.display(), of_sessions(writers))]
pub struct UnreadReportError {
    report: Report,
    path: PathBuf,
    writers: Vec<String>,
}

impl Explain for UnreadReportError {
    fn hint(&self) -> Cow<'_, str> {
        match self.report {
            Report::Checkpoint => "read it, then `tripwire ack checkpoint`".into(),
            Report::Blocker | Report::MissionBriefing | Report::Todo => "read it, then `tripwire ack blocker`".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Held
    }
}

fn of_sessions(writers: &[String]) -> String {
    if writers.is_empty() { String::new() } else { format!(" of {}", writers.join(", ")) }
}

/// Whether a report stands that keeps a new session from beginning (PROG-1, ITER-1).
///
/// # Errors
/// When one does.
pub fn nothing_unread(layout: &Layout) -> Result<(), UnreadReportError> {
    let standing = |report: &Report| report.path(layout).symlink_metadata().is_ok();
    [Report::Blocker, Report::Checkpoint].into_iter().find(standing).map_or(Ok(()), |report| unread(layout, report))
}

/// Whether a report stands that keeps somebody else's agent from beginning: one that only tells of loops does not, the engine
/// reports it.
///
/// # Errors
/// When one does.
pub fn nothing_unread_but_loops(layout: &Layout) -> Result<(), UnreadReportError> {
    let standing = |report: &Report| report.path(layout).symlink_metadata().is_ok();
    let binds = |report: &Report| standing(report) && report.about(layout) == ReportCause::Work;
    [Report::Blocker, Report::Checkpoint].into_iter().find(binds).map_or(Ok(()), |report| unread(layout, report))
}

fn unread(layout: &Layout, report: Report) -> Result<(), UnreadReportError> {
    Err(UnreadReportError { report, path: report.path(layout), writers: report.writers(layout) })
}

/// A part of a report file.
struct ReportPart {
    session: Option<String>,
    about: ReportCause,
    text: String,
}

impl Report {
    /// Writes the report of one session. Reports of other sessions in the same file stay.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_for(self, layout: &Layout, session: &str, about: ReportCause, text: &str) -> Result<(), FileError> {
        let _lock = lock(layout)?;
        let mut parts = self.parts(layout);
        parts.retain(|part| part.session.as_deref() != Some(session));
        // What is quoted in a report must not name a session of its own.
        let text = text.replace(MARK.0, "<! -- written by session ");
        parts.push(ReportPart { session: Some(session.to_owned()), about, text });
        self.write(layout, &joined(&parts))
    }

    /// Removes the report of one session; the file goes with the last part.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn remove_for(self, layout: &Layout, session: &str) -> Result<Removed, FileError> {
        let _lock = lock(layout)?;
        let mut parts = self.parts(layout);
        let before = parts.len();
        parts.retain(|part| part.session.as_deref() != Some(session));
        match (parts.len() < before, parts.is_empty()) {
            (false, _) => Ok(Removed::NotThere),
            (true, true) => self.remove(layout),
            (true, false) => self.write(layout, &joined(&parts)).map(|()| Removed::Now),
        }
    }

    /// The sessions whose reports stand, in the order in which they were written.
    #[must_use]
    pub fn writers(self, layout: &Layout) -> Vec<String> {
        self.parts(layout).into_iter().filter_map(|part| part.session).collect()
    }

    /// What all of it is about: one part that is not about a loop is enough for `Work`.
    #[must_use]
    pub fn about(self, layout: &Layout) -> ReportCause {
        let parts = self.parts(layout);
        let of_loops = !parts.is_empty() && parts.iter().all(|part| part.about == ReportCause::Loop);
        if of_loops { ReportCause::Loop } else { ReportCause::Work }
    }

    fn parts(self, layout: &Layout) -> Vec<ReportPart> {
        // A file that is not there or cannot be read has no parts; whether it is there is asked elsewhere.
        let bytes = read_bounded(&self.path(layout), BYTES_MAX).unwrap_or_default();
        let mut parts = Vec::new();
        let mut text = String::new();
        for line in String::from_utf8_lossy(&bytes).lines() {
            match line.strip_prefix(MARK.0).and_then(|rest| rest.strip_suffix(MARK.1)) {
                Some(session) => {
                    let text = std::mem::take(&mut text);
                    let of_loop = session.strip_suffix(OF_A_LOOP);
                    let about = if of_loop.is_some() { ReportCause::Loop } else { ReportCause::Work };
                    parts.push(ReportPart { session: Some(of_loop.unwrap_or(session).to_owned()), about, text });
                }
                None if line == NO_SESSION => {
                    parts.push(ReportPart { session: None, about: ReportCause::Work, text: std::mem::take(&mut text) });
                }
                None => text.extend([line, "\n"]),
            }
        }
        if !text.trim().is_empty() {
            parts.push(ReportPart { session: None, about: ReportCause::Work, text });
        }
        parts
    }
}

fn joined(parts: &[ReportPart]) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(part.text.trim_start_matches('\n'));
        if !text.ends_with('\n') {
            text.push('\n');
        }
        match &part.session {
            Some(session) => {
                let about = if part.about == ReportCause::Loop { OF_A_LOOP } else { "" };
                text.extend([MARK.0, session, about, MARK.1, "\n"]);
            }
            None => text.extend([NO_SESSION, "\n"]),
        }
    }
    text
}

/// Two sessions that write at the same moment must not lose each other's report.
fn lock(layout: &Layout) -> Result<FileLock, FileError> {
    file::make_folder(&layout.state())?;
    FileLock::take(&layout.state().join("reports.lock"), Wait::Until(Instant::now() + LOCK_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_testing::TestDir;

    #[test]
    fn iter_1_each_session_has_its_part_and_the_last_takes_the_file_with_it() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        let read = || std::fs::read_to_string(layout.checkpoint()).unwrap_or_default();
        Report::Checkpoint.write_for(&layout, "a", ReportCause::Work, "# First\n").unwrap();
        Report::Checkpoint
            .write_for(&layout, "b", ReportCause::Work, "# Second\n<!-- written by session c -->\n")
            .unwrap();
        assert_eq!(Report::Checkpoint.writers(&layout), ["a", "b"], "what is quoted names no session");
        Report::Checkpoint.write_for(&layout, "a", ReportCause::Work, "# Third\n").unwrap();
        assert!(!read().contains("First") && read().contains("Second") && read().contains("Third"), "{}", read());
        assert_eq!(Report::Checkpoint.remove_for(&layout, "b").unwrap(), Removed::Now);
        assert_eq!((Report::Checkpoint.writers(&layout), read().contains("Second")), (vec!["a".to_owned()], false));
        assert_eq!(Report::Checkpoint.remove_for(&layout, "b").unwrap(), Removed::NotThere);
        assert_eq!(Report::Checkpoint.remove_for(&layout, "a").unwrap(), Removed::Now);
        assert!(!layout.checkpoint().exists());
    }

    #[test]
    fn iter_1_what_a_person_wrote_is_no_sessions_and_stays() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        std::fs::write(layout.blocker_report(), "wait for me\n").unwrap();
        assert!(Report::Blocker.writers(&layout).is_empty());
        Report::Blocker.write_for(&layout, "a", ReportCause::Work, "# Blocked\n").unwrap();
        Report::Blocker.remove_for(&layout, "a").unwrap();
        let left = std::fs::read_to_string(layout.blocker_report()).unwrap();
        assert!(left.starts_with("wait for me\n") && !left.contains("Blocked"), "{left}");
    }

    #[test]
    fn prog_1_a_report_that_only_tells_of_loops_keeps_nobody_elses_agent_from_beginning() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        Report::Blocker.write_for(&layout, "a", ReportCause::Loop, "# A loop\n").unwrap();
        assert_eq!(
            (Report::Blocker.about(&layout), Report::Blocker.writers(&layout)),
            (ReportCause::Loop, vec!["a".to_owned()])
        );
        assert!(nothing_unread(&layout).is_err() && nothing_unread_but_loops(&layout).is_ok());
        Report::Blocker.write_for(&layout, "b", ReportCause::Work, "# No progress\n").unwrap();
        assert_eq!(Report::Blocker.about(&layout), ReportCause::Work);
        assert!(nothing_unread_but_loops(&layout).is_err());
    }
}
