//! Why the memory store gave or took nothing, and the bounds that it holds.

use super::pointer::{Pointer, PointerError};
use std::borrow::Cow;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::FileError;

/// Why the store gave or took nothing.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// Nothing is stored under this pointer.
    #[error("nothing is stored under `{pointer}`")]
    Missing {
        /// The pointer as it was asked for.
        pointer: String,
    },
    /// What is stored is not what was put.
    #[error("the content of `{pointer}` is damaged: {problem}")]
    Damaged {
        /// The pointer.
        pointer: Pointer,
        /// What is wrong.
        problem: String,
    },
    /// A short pointer that fits more than one content.
    #[error("`{prefix}` fits more than one pointer: {}", candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        /// The short pointer.
        prefix: String,
        /// Some that fit.
        candidates: Vec<Pointer>,
    },
    /// A content beyond [`ENTRY_BYTES_MAX`].
    #[error("a content of {bytes} bytes is larger than the {ENTRY_BYTES_MAX} that the memory store takes")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// An original with too many compressed forms.
    #[error("`{pointer}` has {FORMS_MAX} compressed forms already")]
    TooManyForms {
        /// The original.
        pointer: Pointer,
    },
    /// A text that is no pointer.
    #[error(transparent)]
    Pointer(#[from] PointerError),
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for MemoryError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Missing { .. } => "list what is stored: `tripwire memory list`".into(),
            Self::Damaged { .. } => "put the original again if you have it: `tripwire memory put FILE`".into(),
            Self::Ambiguous { .. } => "give more digits of the pointer".into(),
            Self::TooLarge { .. } => "split the content, or keep it as a file in the workspace".into(),
            Self::TooManyForms { .. } => "put a new original, or keep fewer forms".into(),
            Self::Pointer(error) => error.hint(),
            Self::File(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Damaged { .. } | Self::File(_) => ExitClass::DoesNotHold,
            Self::Missing { .. }
            | Self::Ambiguous { .. }
            | Self::TooLarge { .. }
            | Self::TooManyForms { .. }
            | Self::Pointer(_) => ExitClass::BadInput,
        }
    }
}

/// The largest content.
pub const ENTRY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most compressed forms of one original.
pub const FORMS_MAX: usize = 64;
