//! `tripwire scan --secrets`: keys and passwords that stand in old records, by place and kind, never by value.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use tripwire_clients::{Client, transcript_files};
use tripwire_core::counted::counted;
use tripwire_core::visible::visible;
use tripwire_fs::bounded;
use tripwire_secrets::Redactor;
use tripwire_workspace::Workspace;

/// The longest line that is read as a whole; of a longer one this much.
const LINE_BYTES_MAX: u64 = 16 << 20;
/// Folders within folders that are looked into below `.geometry`.
const DEPTH_MAX: usize = 6;
/// Lines of one file that are named; the others are counted.
const LINES_NAMED_MAX: usize = 5;

/// Which records are looked at.
pub(super) struct SecretSearch {
    /// The transcripts of these clients; of all, if none is named.
    pub(super) clients: Vec<Client>,
    /// Only records of this folder.
    pub(super) project: Option<PathBuf>,
}

/// Looks through the transcripts of the clients and the records of every workspace in which tripwire was used.
pub(super) fn run(search: &SecretSearch, form: Form) -> Result<Exit, Problem> {
    let redactor = redactor()?;
    let mut report = SecretReport { form, out: Out::lock(), files: 0, found: BTreeMap::new() };
    let roots: Vec<PathBuf> = match &search.project {
        Some(project) => vec![project.clone()],
        // Without a home nothing is known to look at, which is not the same as nothing found.
        None => workspace::known().ok_or(Problem::NoHome)?.list(),
    };
    for root in roots {
        if let Ok(workspace) = Workspace::locate(&root, &workspace::places()) {
            look_below(workspace.layout().folder(), DEPTH_MAX, &mut |file| report.look(&redactor, file))?;
        }
    }
    // A client's transcripts do not tell by their names whose folder they are about.
    for place in transcript_files::places(&workspace::homes()).iter().filter(|_| search.project.is_none()) {
        if search.clients.is_empty() || search.clients.contains(&place.client) {
            place.files().paths.iter().try_for_each(|file| report.look(&redactor, file))?;
        }
    }
    report.end()
}

/// What is looked for: the forms of keys, and the values in the environment and in the `.env` files of this workspace.
fn redactor() -> Result<Redactor, Problem> {
    workspace::redactor(&Workspace::locate(Path::new("."), &workspace::places())?)
}

/// Every file below a folder.
fn look_below(folder: &Path, depth: usize, look: &mut impl FnMut(&Path) -> Result<(), Problem>) -> Result<(), Problem> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() && depth > 0 => look_below(&path, depth - 1, look)?,
            Ok(found) if found.is_file() => look(&path)?,
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// What was found.
struct SecretReport {
    form: Form,
    out: Out,
    files: u64,
    /// Secrets by kind.
    found: BTreeMap<&'static str, u64>,
}

impl SecretReport {
    fn look(&mut self, redactor: &Redactor, file: &Path) -> Result<(), Problem> {
        self.files += 1;
        let places = match places(redactor, file) {
            Ok(places) => places,
            Err(error) => {
                print::say(&format!("skipped `{}`: {error}", file.display()));
                return Ok(());
            }
        };
        places.iter().for_each(|(_, kind)| *self.found.entry(kind).or_default() += 1);
        if self.form.json {
            for (line, kind) in places {
                self.out.line(&json!({"file": file.to_string_lossy(), "line": line, "kind": kind}).to_string())?;
            }
            return Ok(());
        }
        if let Some(others) = places.len().checked_sub(LINES_NAMED_MAX) {
            self.name(file, &places[..LINES_NAMED_MAX])?;
            return if others > 0 { self.out.line(&format!("  … and {}", counted(others, "other"))) } else { Ok(()) };
        }
        self.name(file, &places)
    }

    fn name(&mut self, file: &Path, places: &[(u64, &'static str)]) -> Result<(), Problem> {
        if places.is_empty() {
            return Ok(());
        }
        self.out.line(&visible(&file.display().to_string()))?;
        places.iter().try_for_each(|(line, kind)| self.out.line(&format!("  line {line:>6}  {kind}")))
    }

    fn end(mut self) -> Result<Exit, Problem> {
        let Self { form, out, files, found } = &mut self;
        let total: u64 = found.values().sum();
        if form.json {
            out.line(&json!({"summary": {"files": files, "secrets": total, "kinds": found}}).to_string())?;
        } else if total == 0 {
            out.line(&format!("no secrets in {}", counted(*files, "file")))?;
        } else {
            let kinds: Vec<String> = found.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            out.prose(&format!("{} in {}: {}", counted(total, "secret"), counted(*files, "file"), kinds.join(", ")))?;
            out.prose(
                "change these keys where they were given out; records are left as they are, because they are evidence",
            )?;
        }
        out.flush()?;
        Ok(if total == 0 { Exit::Done } else { Exit::NotKept })
    }
}

/// The secrets in a file: line and kind.
fn places(redactor: &Redactor, file: &Path) -> io::Result<Vec<(u64, &'static str)>> {
    let mut reader = BufReader::new(File::open(file)?);
    let mut places = Vec::new();
    let mut number = 0;
    while !reader.fill_buf()?.is_empty() {
        let line = bounded::read_line(&mut reader, LINE_BYTES_MAX)?;
        number += 1;
        let found = redactor.find(&String::from_utf8_lossy(&line));
        places.extend(found.into_iter().map(|span| (number, span.kind)));
    }
    Ok(places)
}
