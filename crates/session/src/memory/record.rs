//! The record beside a content: who may see it, and which contents are compressed forms of which.

use super::error::{FORMS_MAX, MemoryError};
use super::form::{Form, Visibility};
use super::pointer::Pointer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What is known about a content beyond its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Who may read it.
    pub visibility: Visibility,
    /// Its compressed forms.
    pub forms: BTreeSet<FormRecord>,
    /// The originals that it is a compressed form of.
    pub origins: BTreeSet<OriginRecord>,
}

/// A compressed form of an original.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormRecord {
    /// The kind.
    pub form: Form,
    /// Its content.
    pub pointer: Pointer,
    /// Its size.
    pub bytes: u64,
}

/// The original of a compressed form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginRecord {
    /// The kind.
    pub form: Form,
    /// The original.
    pub original: Pointer,
}

impl Default for Record {
    /// A content whose record is lost counts as private: nothing becomes public by an accident.
    fn default() -> Self {
        Self { visibility: Visibility::Private, ..Self::unrestricted() }
    }
}

/// The record as it lies on disk.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OnDisk {
    format: u32,
    pointer: Pointer,
    visibility: Visibility,
    forms: BTreeSet<FormRecord>,
    origins: BTreeSet<OriginRecord>,
}

impl Record {
    /// Where a new content starts, before its first visibility is set.
    pub(super) const fn unrestricted() -> Self {
        Self { visibility: Visibility::Public, forms: BTreeSet::new(), origins: BTreeSet::new() }
    }

    /// Makes it at least as strict as asked.
    pub(super) fn restrict(&mut self, visibility: Visibility) {
        self.visibility = self.visibility.max(visibility);
    }

    /// The text of the file.
    pub(super) fn text(&self, pointer: &Pointer) -> String {
        let on_disk = OnDisk {
            format: RECORD_FORMAT,
            pointer: *pointer,
            visibility: self.visibility,
            forms: self.forms.clone(),
            origins: self.origins.clone(),
        };
        serde_json::to_string(&on_disk).map(|text| text + "\n").unwrap_or_default()
    }

    /// Reads the file; a record of another content or of a newer version is not taken for this one's.
    pub(super) fn parse(pointer: &Pointer, bytes: &[u8]) -> Result<Self, MemoryError> {
        let damaged = |problem: String| MemoryError::Damaged { pointer: *pointer, problem };
        let on_disk: OnDisk =
            serde_json::from_slice(bytes).map_err(|error| damaged(format!("its record cannot be read ({error})")))?;
        if on_disk.format != RECORD_FORMAT {
            return Err(damaged(format!(
                "its record has format {}, this version reads {RECORD_FORMAT}",
                on_disk.format
            )));
        }
        if on_disk.pointer != *pointer {
            return Err(damaged(format!("its record is that of `{}`", on_disk.pointer)));
        }
        if on_disk.forms.len() > FORMS_MAX {
            return Err(damaged("its record names too many forms".to_owned()));
        }
        Ok(Self { visibility: on_disk.visibility, forms: on_disk.forms, origins: on_disk.origins })
    }
}

/// The version that this code reads and writes.
const RECORD_FORMAT: u32 = 1;
