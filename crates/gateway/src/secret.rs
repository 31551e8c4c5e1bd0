//! A provider's key, and the comparison of tokens. Neither is printed, logged or compared byte by byte.

use std::fmt;
use tripwire_core::record::chain::Digest;

/// A key that never appears in a message.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The key, if it is one that a header can carry.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    /// The key itself, for the one header that carries it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

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
