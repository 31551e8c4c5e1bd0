//! The tokens of callers: made from the system's randomness, and compared in a time that tells nothing.

use tripwire_core::record::chain::Digest;

/// Whether two digests are equal, in a time that does not depend on where they differ.
#[must_use]
pub fn same(one: &Digest, other: &Digest) -> bool {
    let different = one.as_bytes().iter().zip(other.as_bytes()).fold(0_u8, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(different) == 0
}

/// A new token from the system's randomness.
///
/// # Errors
/// When the system gives none.
pub fn new_token() -> std::io::Result<String> {
    let mut bytes = [0_u8; 24];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().fold("tw-".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}
