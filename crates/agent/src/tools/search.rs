//! `search`: a regular expression over the files of the workspace, with the engine of ripgrep, in one fixed order.

use super::error::ToolError;
use super::read_file;
use super::tool::{Tool, ToolDone, Unfit, World};
use super::walk::{self, Next};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;
use std::time::Instant;
use tripwire_core::chain::gate::Permit;
use tripwire_core::input::Permission;
use tripwire_session::files::{Files, FilesError, WorkPath};
use tripwire_session::memory::MemoryStore;

/// Most matches of one answer.
const MATCHES_MAX: u64 = 200;
/// Most bytes of all shown lines together.
const TEXTS_BYTES_MAX: usize = super::tool::TEXT_BYTES_MAX / 2;
/// Most bytes of one shown line.
const LINE_BYTES_MAX: usize = 400;
/// Files larger than this are passed over, and the answer says so.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Most files of one search.
const FILES_MAX: u64 = 100_000;
/// Bounds of one compiled pattern, so that a short text cannot ask for a huge automaton.
const PATTERN_BYTES_MAX: usize = 1 << 22;
/// The seed's guidance for a search without a match.
pub(crate) const GUIDANCE: &str = "no matches found; try `ls`, check alternate naming, or broaden filters";

pub(crate) struct Search;

/// Arguments of `search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SearchArguments {
    /// The regular expression, in Rust's syntax.
    pattern: String,
    /// Take the pattern as plain text.
    #[serde(default)]
    literal: Option<bool>,
    /// Do not tell upper from lower case.
    #[serde(default)]
    ignore_case: Option<bool>,
    /// The folder or file to search, relative to the workspace; the workspace itself by default.
    #[serde(default)]
    path: Option<String>,
    /// Only files whose path fits this glob, such as `*.rs` or `src/**`.
    #[serde(default)]
    glob: Option<String>,
    /// Show at most so many matches; 200 is the most.
    #[serde(default)]
    max_matches: Option<u64>,
}

/// Result of `search`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Matches {
    /// The matching lines, in the order of paths and lines.
    matches: Vec<Match>,
    /// How many matches are shown.
    matches_shown: u64,
    /// Whether there are more: narrow the search.
    has_more: bool,
    /// How many files were looked at.
    files_searched: u64,
    /// What to do next when nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    guidance: Option<String>,
    /// Something to know about the search, such as files that were passed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// One matching line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Match {
    /// The file, relative to the workspace.
    path: String,
    /// The number of the line.
    line: u64,
    /// The line, cut if it is long.
    text: String,
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const ABOUT: &'static str = "Search the workspace's files with a regular expression. Files that the project ignores, \
        binary files and git's own are left out.";
    type Arguments = SearchArguments;
    type Result = Matches;

    fn check(arguments: &SearchArguments) -> Result<(), Unfit> {
        let unfit = |path, why: &str| Err(Unfit { path, why: why.to_owned() });
        if arguments.pattern.is_empty() {
            return unfit("/pattern", "an empty pattern matches every line");
        }
        if arguments.max_matches == Some(0) {
            return unfit("/max_matches", "at least 1 match must be shown");
        }
        Ok(())
    }

    fn needs(_: &SearchArguments, _: &MemoryStore) -> Vec<Permission> {
        vec![Permission::CanExecuteTasks]
    }

    fn run(permit: Permit, arguments: &SearchArguments, world: &mut World<'_>) -> Result<ToolDone<Matches>, ToolError> {
        let spent = world.spend(permit)?;
        let path = match arguments.path.as_deref() {
            Some(path) => world.files.path(path)?,
            None => WorkPath::root(),
        };
        exists(&path, world)?;
        let matcher = matcher(arguments)?;
        let glob = glob(arguments)?;
        let cap = arguments.max_matches.unwrap_or(MATCHES_MAX).min(MATCHES_MAX);
        let mut hunt = Hunt {
            files: world.files,
            cap,
            found: Vec::new(),
            bytes: 0,
            searched: 0,
            passed: 0,
            more: false,
            until: Instant::now().checked_add(world.time_left(world.limits.command_time)),
            late: Lateness::InTime,
        };
        hunt.tree(&path, &matcher, glob.as_ref());
        let observed = hunt
            .found
            .iter()
            .map(|hit| format!("{}:{}:{}", hit.path, hit.line, hit.text))
            .collect::<Vec<_>>()
            .join("\n");
        Ok(ToolDone::well(spent, hunt.result(arguments), observed))
    }
}

/// The place to search must be there: a search below a missing folder would only look like one without a match.
fn exists(path: &WorkPath, world: &World<'_>) -> Result<(), ToolError> {
    match world.files.folder(path) {
        Ok(()) => Ok(()),
        Err(FilesError::NotAFolder { .. }) => world.files.open(path).map(drop).map_err(ToolError::Files),
        Err(error) => Err(read_file::missing(error, world)),
    }
}

fn matcher(arguments: &SearchArguments) -> Result<RegexMatcher, ToolError> {
    let bad = |why: String| ToolError::BadPattern {
        pattern: tripwire_core::label::cut(&arguments.pattern, LINE_BYTES_MAX).to_owned(),
        why,
    };
    RegexMatcherBuilder::new()
        .case_insensitive(arguments.ignore_case == Some(true))
        .fixed_strings(arguments.literal == Some(true))
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .build(&arguments.pattern)
        .map_err(|error| bad(one_line(&error.to_string())))
}

/// Regex errors draw a picture over several lines; the last one says it in words.
fn one_line(error: &str) -> String {
    let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(error);
    last.trim().trim_start_matches("error: ").to_owned()
}

fn glob(arguments: &SearchArguments) -> Result<Option<Override>, ToolError> {
    let Some(glob) = arguments.glob.as_deref().filter(|glob| !glob.is_empty()) else { return Ok(None) };
    let bad = |error: ignore::Error| ToolError::BadPattern {
        pattern: tripwire_core::label::cut(glob, LINE_BYTES_MAX).to_owned(),
        why: one_line(&error.to_string()),
    };
    let mut builder = OverrideBuilder::new("");
    builder.add(glob).map_err(bad)?;
    builder.build().map(Some).map_err(bad)
}

/// A search under way.
struct Hunt<'a> {
    files: &'a Files,
    cap: u64,
    found: Vec<Match>,
    bytes: usize,
    searched: u64,
    passed: u64,
    more: bool,
    /// When the search ends, whatever is left.
    until: Option<Instant>,
    late: Lateness,
}

/// Whether a search came to its end in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lateness {
    InTime,
    CutOff,
}

impl Hunt<'_> {
    fn tree(&mut self, below: &WorkPath, matcher: &RegexMatcher, glob: Option<&Override>) {
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .multi_line(false)
            .build();
        walk::walk(self.files, below, &mut |seen| {
            let path = seen.path;
            let chosen = glob.is_none_or(|glob| glob.matched(path.as_str(), false).is_whitelist());
            if !seen.kind.is_file() || !chosen {
                return Next::Continue(());
            }
            if self.until.is_some_and(|until| Instant::now() >= until) {
                self.late = Lateness::CutOff;
            }
            self.more |= self.searched >= FILES_MAX || self.late == Lateness::CutOff;
            if self.more {
                return Next::Break(());
            }
            self.file(&path, matcher, &mut searcher);
            Next::Continue(())
        });
    }

    /// What cannot be opened (secrets among it) is passed over and counted; a search is no way to read it.
    fn file(&mut self, path: &WorkPath, matcher: &RegexMatcher, searcher: &mut Searcher) {
        let opened = match self.files.open(path) {
            Ok(opened) if opened.bytes <= FILE_BYTES_MAX => opened,
            Ok(_) | Err(_) => {
                self.passed = self.passed.saturating_add(1);
                return;
            }
        };
        self.searched = self.searched.saturating_add(1);
        let mut lines = Lines { hunt: self, path };
        // A file that breaks while it is read counts as passed over, with what was found so far.
        if searcher.search_reader(matcher, opened.file, &mut lines).is_err() {
            self.passed = self.passed.saturating_add(1);
        }
    }

    fn result(self, arguments: &SearchArguments) -> Matches {
        let guidance = self.found.is_empty().then(|| {
            let filter = if arguments.glob.is_some() || arguments.path.is_some() {
                "; leave out `path` and `glob` to search everywhere"
            } else {
                ""
            };
            format!("{GUIDANCE} (`list` is the tool for `ls`{filter})")
        });
        let mut notes = Vec::new();
        if self.passed > 0 {
            notes.push(format!("{} files could not be searched or are too large", self.passed));
        }
        if self.late == Lateness::CutOff {
            notes.push("the search was cut off at its time limit; narrow it with `path` or `glob`".to_owned());
        }
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Matches {
            matches_shown: u64::try_from(self.found.len()).unwrap_or(u64::MAX),
            matches: self.found,
            has_more: self.more,
            files_searched: self.searched,
            guidance,
            note,
        }
    }
}

/// Takes the matching lines of one file.
struct Lines<'h, 'a> {
    hunt: &'h mut Hunt<'a>,
    path: &'h WorkPath,
}

impl Sink for Lines<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let text = String::from_utf8_lossy(found.bytes());
        let text = text.trim_end_matches(['\n', '\r']);
        let cut = tripwire_core::label::cut(text, LINE_BYTES_MAX);
        let shown = u64::try_from(self.hunt.found.len()).unwrap_or(u64::MAX);
        if shown >= self.hunt.cap || self.hunt.bytes.saturating_add(cut.len()) > TEXTS_BYTES_MAX {
            self.hunt.more = true;
            return Ok(false);
        }
        self.hunt.bytes = self.hunt.bytes.saturating_add(cut.len());
        let text = if cut.len() < text.len() { format!("{cut}…") } else { text.to_owned() };
        self.hunt.found.push(Match {
            path: self.path.to_string(),
            line: found.line_number().unwrap_or_default(),
            text,
        });
        Ok(true)
    }
}
