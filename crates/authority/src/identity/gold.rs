//! The gold-standard list: the configurations that people vouch for, signed as a whole.
//!
//! ```text
//! tripwire/gold-standard
//! {"at":"2026-02-28T15:30:00Z","checksum":"sha256:…","name":"nightly","parts":{…}}
//!
//! — tripwire-identity Az3grlgtz…
//! ```
//!
//! The file lies in the workspace, where an agent may reach it; the keys do not. A list that no trusted key signed is
//! worth nothing, whatever it says.

use super::configuration::{Configuration, Part};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::canonical::{self, CanonicalError};
use tripwire_fs::file::{self, FileError, ReadError, read_bounded};
use tripwire_journal::note::{self, Signer, Verifier};
use tripwire_workspace::geometry::layout::Layout;

/// One configuration that a person vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldEntry {
    /// When it was added.
    pub at: String,
    /// Its checksum.
    pub checksum: String,
    /// What people call it.
    pub name: String,
    /// Its parts, so that a refusal can say which one changed.
    pub parts: Configuration,
}

/// A list whose signature holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gold {
    entries: Vec<GoldEntry>,
}

/// Why there is no list that can be trusted.
#[derive(Debug, thiserror::Error)]
pub enum GoldError {
    /// There is none yet.
    #[error("there is no gold-standard list at `{}`", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// It is there, and no trusted key vouches for it.
    #[error("the signature of `{}` does not hold: {cause}", path.display())]
    Signature {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        cause: &'static str,
    },
    /// It is signed, but not a list.
    #[error("`{}` line {line}: {cause}", path.display())]
    Entry {
        /// The list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        cause: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// An entry has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Explain for GoldError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Missing { .. } => "vouch for this configuration with `tripwire identity sign`".into(),
            Self::Signature { path, .. } => format!(
                "trust the key that signed it with `tripwire identity trust KEY`, or remove `{}` and sign again",
                path.display()
            )
            .into(),
            Self::Entry { path, .. } => {
                format!("remove `{}` and sign again with `tripwire identity sign`", path.display()).into()
            }
            Self::Read(_) => "give yourself read access to it".into(),
            Self::Write(error) => error.hint(),
            Self::Canonical(_) => "this is a defect of tripwire; please report it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Missing { .. } => ExitClass::Refused,
            Self::Signature { .. } | Self::Entry { .. } | Self::Read(_) | Self::Write(_) | Self::Canonical(_) => {
                ExitClass::DoesNotHold
            }
        }
    }
}

impl Gold {
    /// Reads the list and checks that one of these keys signed it.
    ///
    /// # Errors
    /// When there is none, no key vouches for it, or it is damaged: then nothing on it counts.
    pub fn load(layout: &Layout, trusted: &[Verifier]) -> Result<Self, GoldError> {
        let path = layout.gold_standard();
        let bytes = match read_bounded(&path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(ReadError::File(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(GoldError::Missing { path });
            }
            Err(error) => return Err(error.into()),
        };
        let bad = |cause| GoldError::Signature { path: path.clone(), cause };
        let text = std::str::from_utf8(&bytes).map_err(|_| bad("it is not text"))?;
        if trusted.is_empty() {
            return Err(bad("no key is trusted"));
        }
        let body = note::opened(text, trusted).ok_or_else(|| bad("no trusted key signed these bytes"))?;
        let mut lines = body.lines();
        if lines.next() != Some(ORIGIN) {
            return Err(bad("what was signed is not a gold-standard list"));
        }
        let entry = |(index, line): (usize, &str)| {
            serde_json::from_str(line).map_err(|error| GoldError::Entry {
                path: path.clone(),
                line: index + 2,
                cause: error.to_string(),
            })
        };
        Ok(Self { entries: lines.enumerate().map(entry).collect::<Result<_, _>>()? })
    }

    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[GoldEntry] {
        &self.entries
    }

    /// The entry of a checksum.
    #[must_use]
    pub fn find(&self, checksum: &str) -> Option<&GoldEntry> {
        self.entries.iter().find(|entry| entry.checksum == checksum)
    }

    /// The entry that has most in common with a configuration, and the parts in which they differ.
    #[must_use]
    pub fn nearest(&self, parts: &Configuration) -> Option<(&GoldEntry, Vec<Part>)> {
        let differing = self.entries.iter().rev().map(|entry| (entry, entry.parts.differences(parts)));
        differing.min_by_key(|(_, differences)| differences.len())
    }

    /// Adds an entry; one with the same checksum is replaced.
    pub fn add(&mut self, entry: GoldEntry) {
        self.entries.retain(|known| known.checksum != entry.checksum);
        self.entries.push(entry);
    }

    /// Signs the list and writes it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, layout: &Layout, signer: &Signer) -> Result<(), GoldError> {
        let mut text = format!("{ORIGIN}\n");
        for entry in &self.entries {
            text.push_str(&canonical::to_string(entry)?);
            text.push('\n');
        }
        Ok(file::replace(&layout.gold_standard(), signer.seal(&text).as_bytes())?)
    }
}

const ORIGIN: &str = "tripwire/gold-standard";
const BYTES_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> GoldEntry {
        let parts = Configuration::default();
        GoldEntry { at: "now".to_owned(), checksum: format!("sha256:{name}"), name: name.to_owned(), parts }
    }

    #[test]
    fn ident_1_a_list_is_believed_only_with_the_signature_of_a_trusted_key() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(folder.path());
        let (mine, other) =
            (Signer::from_seed("tripwire-identity", &[1; 32]), Signer::from_seed("tripwire-identity", &[2; 32]));
        assert!(matches!(Gold::load(&layout, &[mine.verifier()]), Err(GoldError::Missing { .. })));
        let mut gold = Gold::default();
        gold.add(entry("a"));
        gold.add(entry("b"));
        gold.add(entry("a"));
        gold.save(&layout, &mine).unwrap();
        let read = Gold::load(&layout, &[other.verifier(), mine.verifier()]).unwrap();
        assert_eq!(read, gold);
        assert!(read.find("sha256:a").is_some() && read.find("sha256:c").is_none());
        for trusted in [vec![], vec![other.verifier()]] {
            assert!(matches!(Gold::load(&layout, &trusted), Err(GoldError::Signature { .. })));
        }
        let bytes = std::fs::read(layout.gold_standard()).unwrap();
        for position in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1;
            std::fs::write(layout.gold_standard(), &flipped).unwrap();
            assert!(Gold::load(&layout, &[mine.verifier()]).is_err(), "byte {position}");
        }
    }
}
