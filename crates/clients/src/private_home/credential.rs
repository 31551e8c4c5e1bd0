//! The credential file of a client: what of a renewed one comes back to the person's own.
//!
//! Known fields only, of the kind that they had; every other field of the person's file stays. A client renews its credential
//! by asking a host of its provider, so a change without a connection to one of these hosts was made by somebody else and is
//! not taken over.

use crate::private_files::CredentialFile;
use serde_json::Value;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tripwire_fs::file::{self, FileMode};

/// What became of a changed credential file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteBack {
    /// It did not change.
    Unchanged,
    /// These fields were carried over.
    Written(Vec<String>),
    /// Something in it was not carried over; beside it these fields were.
    Refused {
        /// What was not, and why.
        why: String,
        /// What was.
        written: Vec<String>,
    },
}

/// A credential file and its copy.
#[derive(Debug)]
pub(super) struct CredentialCopy {
    file: &'static CredentialFile,
    own: PathBuf,
    copy: PathBuf,
    before: Value,
}

/// A credential file is far smaller.
const BYTES_MAX: u64 = 1024 * 1024;

impl CredentialCopy {
    /// Notes what the file holds before the run; none if there is none, or if it is not of the client's form.
    pub(super) fn note(file: &'static CredentialFile, own: &Path, copy: &Path) -> io::Result<Option<Self>> {
        if !copy.exists() {
            return Ok(None);
        }
        let Some(before) = read(copy) else { return Ok(None) };
        Ok(Some(Self { file, own: own.canonicalize()?, copy: copy.to_owned(), before }))
    }

    pub(super) fn write_back(&self, reached: &dyn Fn(&str) -> bool) -> WriteBack {
        let refused =
            |why: &str| WriteBack::Refused { why: format!("`{}` {why}", self.file.name), written: Vec::new() };
        // A link in its place, a file that is too large or no JSON: nothing is taken over.
        let plain = fs::symlink_metadata(&self.copy).is_ok_and(|meta| meta.is_file());
        let Some(after) = plain.then(|| read(&self.copy)).flatten() else {
            return refused("is missing or no longer in the client's format");
        };
        if after == self.before {
            return WriteBack::Unchanged;
        }
        if !self.file.hosts.iter().any(|host| reached(host)) {
            return refused("was changed although no host that renews it was reached");
        }
        let Some(mut own) = read(&self.own) else { return refused("of the person cannot be read") };
        if own != self.before {
            return refused("of the person changed meanwhile: theirs stays");
        }
        let mut written = Vec::new();
        for path in self.file.fields {
            carry(&mut own, Changed { before: &self.before, after: &after }, path, "", &mut written);
        }
        if !written.is_empty()
            && let Err(error) = self.replace(&own)
        {
            return refused(&format!("of the person cannot be written: {error}"));
        }
        if own == after {
            WriteBack::Written(written)
        } else {
            let why = format!("`{}`: fields that no renewal changes were changed", self.file.name);
            WriteBack::Refused { why, written }
        }
    }

    fn replace(&self, value: &Value) -> io::Result<()> {
        let mode = fs::metadata(&self.own)?.permissions().mode() & 0o777;
        let text = serde_json::to_string_pretty(value)?;
        file::replace_with_mode(&self.own, text.as_bytes(), FileMode::Exact(mode)).map_err(|error| error.into_cause())
    }
}

/// A value before the run and after it.
#[derive(Clone, Copy)]
struct Changed<'a> {
    before: &'a Value,
    after: &'a Value,
}

impl<'a> Changed<'a> {
    fn member(self, name: &str) -> Option<Self> {
        Some(Self { before: self.before.get(name)?, after: self.after.get(name)? })
    }
}

/// Carries one field over where it was before and has the same kind now.
fn carry(own: &mut Value, changed: Changed<'_>, path: &[&str], at: &str, written: &mut Vec<String>) {
    let Changed { before, after } = changed;
    let Some((first, rest)) = path.split_first() else {
        let same_kind = std::mem::discriminant(before) == std::mem::discriminant(after);
        let plain = matches!(after, Value::String(_) | Value::Number(_));
        if same_kind && plain && before != after {
            *own = after.clone();
            written.push(at.to_owned());
        }
        return;
    };
    let names: Vec<String> = match (*first, before.as_object()) {
        ("*", Some(members)) => members.keys().cloned().collect(),
        (name, Some(_)) => vec![name.to_owned()],
        (_, None) => return,
    };
    for name in names {
        if let (Some(own), Some(changed)) = (own.get_mut(&name), changed.member(&name)) {
            let at = if at.is_empty() { name } else { format!("{at}.{name}") };
            carry(own, changed, rest, &at, written);
        }
    }
}

fn read(path: &Path) -> Option<Value> {
    let value: Value = serde_json::from_slice(&file::read_bounded(path, BYTES_MAX).ok()?).ok()?;
    value.is_object().then_some(value)
}
