//! The digest of a request's bytes. Requests are long, and ring's SHA-256 is faster than the portable one.

use ring::digest::{SHA256, digest};
use tripwire_core::record::chain::Digest;

/// The SHA-256 of a body.
pub(crate) fn request_digest(body: &[u8]) -> Digest {
    match digest(&SHA256, body).as_ref().try_into() {
        Ok(bytes) => Digest::from_bytes(bytes),
        // A SHA-256 always has this length.
        Err(_) => Digest::of(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_digest_that_everything_else_computes() {
        for length in [0, 1, 55, 56, 63, 64, 65, 4_096, 100_000] {
            let body: Vec<u8> = (0..length).map(|at: usize| (at % 251) as u8).collect();
            assert_eq!(request_digest(&body), Digest::of(&body), "{length}");
        }
    }
}
