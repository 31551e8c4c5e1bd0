//! The forms that a content can take: what a caller made of it, and how its bytes lie on disk.

use super::error::ENTRY_BYTES_MAX;
use serde::{Deserialize, Serialize};

/// A compressed form that loses something; the original stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A text that says the same in fewer words.
    Summary,
    /// A unified diff against an earlier content.
    Diff,
    /// A vector, as bytes of the caller's choice.
    Embedding,
}

/// How the bytes of a content lie on disk; both give exactly the same bytes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredAs {
    /// As they are, readable with any tool.
    Plain,
    /// Packed in the zlib format.
    Deflated,
}

/// Who may read a content; the stricter comes last, so that `max` gives the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Every role.
    Public,
    /// Only roles with the permission for private memories.
    Private,
}

/// Packs bytes.
pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, DEFLATE_LEVEL)
}

/// Unpacks bytes, up to the bound of a content: a small file cannot fill the memory.
pub(super) fn inflate(packed: &[u8]) -> Result<Vec<u8>, String> {
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, ENTRY_BYTES_MAX)
        .map_err(|error| format!("its packed bytes cannot be unpacked ({:?})", error.status))
}

/// A middle way between size and time.
const DEFLATE_LEVEL: u8 = 6;
