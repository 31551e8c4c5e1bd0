//! Foreign bytes on their way into a record: text as text, anything else as base64 with a flag, large things as blobs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::blob::{BlobPointer, Blobs, INLINE_BYTES_MAX};
use super::error::JournalError;
use crate::storage::Storage;

/// Bytes from outside, in a form that a canonical record can hold and that gives the exact bytes back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Payload {
    /// Valid UTF-8.
    Text {
        /// The text.
        text: String,
    },
    /// Bytes that are no text.
    Binary {
        /// Their base64 form.
        base64: String,
        /// Always false: it shows a reader that this is not text.
        utf8: bool,
    },
    /// Bytes that are too large for a line.
    Blob {
        /// Where they are.
        blob: BlobPointer,
    },
}

impl Payload {
    /// Takes bytes in; large ones are stored durably first.
    ///
    /// # Errors
    /// A blob could not be stored.
    pub fn store<S: Storage>(bytes: &[u8], blobs: &Blobs<S>) -> Result<Self, JournalError> {
        if bytes.len() > PAYLOAD_BYTES_MAX {
            return Ok(Self::Blob { blob: blobs.put(bytes)? });
        }
        Ok(std::str::from_utf8(bytes).map_or_else(
            |_error| Self::Binary { base64: STANDARD.encode(bytes), utf8: false },
            |text| Self::Text { text: text.to_owned() },
        ))
    }

    /// Gives the exact bytes back.
    ///
    /// # Errors
    /// A blob is missing or damaged, or the base64 is not valid.
    pub fn load<S: Storage>(&self, blobs: &Blobs<S>) -> Result<Vec<u8>, JournalError> {
        match self {
            Self::Text { text } => Ok(text.clone().into_bytes()),
            Self::Binary { base64, .. } => STANDARD.decode(base64).map_err(|error| JournalError::Entry {
                position: 0,
                cause: format!("a binary payload is not base64: {error}"),
            }),
            Self::Blob { blob } => blobs.get(blob),
        }
    }
}

/// Half of what a line may hold, because control characters grow in JSON and a record has other members.
const PAYLOAD_BYTES_MAX: usize = INLINE_BYTES_MAX / 2;

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;
    use tripwire_core::record::canonical;

    use super::*;
    use crate::storage::simulated::SimulatedDisk;

    fn blobs() -> Blobs<SimulatedDisk> {
        Blobs::new(SimulatedDisk::new(1), PathBuf::from("/g/blobs"))
    }

    #[test]
    fn each_kind_of_bytes_has_its_form() {
        let blobs = blobs();
        let form = |bytes: &[u8]| canonical::to_string(&Payload::store(bytes, &blobs).unwrap()).unwrap();
        assert_eq!(form(b"plain"), "{\"text\":\"plain\"}");
        assert_eq!(form(&[0xff, 0xfe]), "{\"base64\":\"//4=\",\"utf8\":false}");
        assert!(form(&vec![b'x'; PAYLOAD_BYTES_MAX + 1]).starts_with("{\"blob\":{\"bytes\":32769,"));
        assert!(form(&vec![b'x'; PAYLOAD_BYTES_MAX]).starts_with("{\"text\":"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_come_back_through_json(bytes in prop::collection::vec(any::<u8>(), 0..200), copies in 1_usize..400) {
            let bytes = bytes.repeat(copies);
            let blobs = blobs();
            let payload = Payload::store(&bytes, &blobs)?;
            let text = canonical::to_string(&payload)?;
            let back: Payload = serde_json::from_str(&text)?;
            prop_assert_eq!(back.load(&blobs)?, bytes);
        }
    }
}
