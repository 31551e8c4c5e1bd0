//! The files of `--record`.

use crate::error::Problem;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tripwire_agent::engines::cassette::{Binding, Recorder};

/// A new cassette; one that is there is never written over.
pub(super) fn recorder(file: &Path, about: &str) -> Result<Recorder, Problem> {
    Recorder::create(file, about, Binding::Loose).map_err(|error| {
        if error.kind() == ErrorKind::AlreadyExists {
            Problem::Exists { file: file.to_owned() }
        } else {
            Problem::open(file, error)
        }
    })
}

/// `run.jsonl` and `advisor` give `run.advisor.jsonl`.
pub(super) fn beside(file: &Path, part: &str) -> PathBuf {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or("jsonl");
    file.with_extension(format!("{part}.{extension}"))
}
