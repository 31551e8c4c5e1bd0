//! Digests as labels: the first 32 hex digits of a SHA-256.

use sha2::{Digest as _, Sha256};
use tripwire_core::label::Label;

/// Hex digits of a digest: 128 bits, so that no two texts of one session meet by chance.
const DIGITS: usize = 32;

/// The digest of bytes.
pub(super) fn of(bytes: &[u8]) -> Label {
    label(&Sha256::digest(bytes).into())
}

/// The digest of lines whose order means nothing: the same lines in another order give the same digest.
///
/// Each line is hashed by itself and the hashes are added, which needs no memory for sorting.
pub(super) fn of_lines(bytes: &[u8]) -> Label {
    let mut sums = [0_u64; 4];
    let mut count = 0_u64;
    for line in bytes.split(|byte| *byte == b'\n') {
        let hash: [u8; 32] = Sha256::digest(line).into();
        let (words, _) = hash.as_chunks::<8>();
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*word));
        }
        count = count.saturating_add(1);
    }
    let mut hasher = Sha256::new_with_prefix(b"tripwire lines\n");
    hasher.update(count.to_le_bytes());
    for sum in sums {
        hasher.update(sum.to_le_bytes());
    }
    label(&hasher.finalize().into())
}

fn label(hash: &[u8; 32]) -> Label {
    Label::cut(core::str::from_utf8(&hex(hash)).unwrap_or_default())
}

/// The first digits of a finished hash.
pub(super) fn hex(hash: &[u8; 32]) -> [u8; DIGITS] {
    let digit =
        |nibble: u8| if nibble < 10 { b'0'.wrapping_add(nibble) } else { b'a'.wrapping_add(nibble.wrapping_sub(10)) };
    let mut digits = [b'0'; DIGITS];
    let (pairs, _) = digits.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(hash) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_start_of_the_sha_256() {
        assert_eq!(of(b"abc").as_str(), "ba7816bf8f01cfea414140de5dae2223");
        assert_eq!(of(b"").as_str(), "e3b0c44298fc1c149afbf4c8996fb924");
    }

    #[test]
    fn the_order_of_lines_does_not_matter_but_every_line_does() {
        assert_eq!(of_lines(b"a:1\nb:2\nc:3"), of_lines(b"c:3\na:1\nb:2"));
        for other in [&b"a:1\nb:2"[..], b"a:1\nb:2\nc:4", b"a:1\nb:2\nc:3\nc:3", b"a:1b:2\nc:3", b""] {
            assert_ne!(of_lines(b"a:1\nb:2\nc:3"), of_lines(other));
        }
    }
}
