//! The sketching function: one-permutation MinHash over shingles of eight bytes.
//!
//! Every shingle is hashed once; the upper bits of the hash choose a lane, the lane keeps its smallest hash, and eight
//! bits of that remain. Two texts agree in a lane with the probability of their shared shingles (Jaccard).

use super::normal::normal_bytes;
use super::volatile::Volatility;
use tripwire_core::sketch::{LANES, Sketch};

/// Bytes of a shingle: one machine word. Shorter ones call unrelated English similar, longer ones make small changes
/// look large (the table in docs/concepts/observation.md).
const SHINGLE: usize = 8;
/// Zero bytes around the text, so that its first and last bytes are in as many shingles as all others.
const PAD: usize = SHINGLE.saturating_sub(1);

/// The similarity sketch of a text; none of a text that is empty once its volatile parts are gone.
#[must_use]
pub fn sketch_of(text: &str, volatility: Volatility) -> Option<Sketch> {
    sketch(&normal_bytes(text, volatility))
}

/// The sketch of a normalised text; none of an empty one, because nothing is similar to nothing.
#[must_use]
pub(super) fn sketch(normal: &[u8]) -> Option<Sketch> {
    if normal.is_empty() {
        return None;
    }
    let mut lanes = [u64::MAX; LANES];
    for shingle in normal.array_windows::<SHINGLE>() {
        insert(&mut lanes, *shingle);
    }
    // The two ends, each padded; a text shorter than a shingle is both.
    let mut edge = [0_u8; PAD.saturating_mul(2)];
    for (to, from) in edge.iter_mut().skip(PAD).zip(normal) {
        *to = *from;
    }
    for shingle in edge.array_windows::<SHINGLE>() {
        insert(&mut lanes, *shingle);
    }
    if normal.len() > PAD {
        let mut edge = [0_u8; PAD.saturating_mul(2)];
        for (to, from) in edge.iter_mut().take(PAD).rev().zip(normal.iter().rev()) {
            *to = *from;
        }
        for shingle in edge.array_windows::<SHINGLE>() {
            insert(&mut lanes, *shingle);
        }
    }
    Some(Sketch::from_lanes(filled(&lanes)))
}

/// Odd constants with well spread bits (from the fractional parts of the square roots of 5 and 7).
const MIX_A: u64 = 0x3c6e_f372_fe94_f82b;
const MIX_B: u64 = 0xa54f_f53a_5f1d_36f1;

/// A full mix of one word: both halves of a wide product, so that every bit of it reaches every bit of the result.
pub(super) fn mix(word: u64) -> u64 {
    let wide = u128::from(word ^ MIX_A).wrapping_mul(u128::from(MIX_B));
    let low = u64::try_from(wide & u128::from(u64::MAX)).unwrap_or(0);
    let high = u64::try_from(wide >> 64).unwrap_or(0);
    let folded = low ^ high;
    folded ^ (folded >> 32)
}

/// Puts one shingle into its lane.
fn insert(lanes: &mut [u64; LANES], shingle: [u8; SHINGLE]) {
    let hash = mix(u64::from_le_bytes(shingle));
    let lane = usize::try_from(hash >> 58).unwrap_or(0);
    if let Some(smallest) = lanes.get_mut(lane) {
        *smallest = (*smallest).min(hash);
    }
}

/// Eight bits of every lane; an empty one borrows from a lane that a fixed walk finds, the same for every text.
fn filled(lanes: &[u64; LANES]) -> [u8; LANES] {
    let mut bytes = [0_u8; LANES];
    for (index, byte) in (0_u64..).zip(bytes.iter_mut()) {
        let own = lanes.get(usize::try_from(index).unwrap_or(0)).copied().unwrap_or(u64::MAX);
        let hash = if own == u64::MAX { borrowed(lanes, index) } else { own };
        // The lane's number takes part: else a text of one shingle would be one byte, 64 times.
        let [low, ..] = mix(hash ^ index.wrapping_mul(MIX_B)).to_le_bytes();
        *byte = low;
    }
    bytes
}

/// The hash that an empty lane takes: tries in an order that depends on the lane alone, then the first one there is.
fn borrowed(lanes: &[u64; LANES], index: u64) -> u64 {
    /// With one lane full of 64 this finds it with a probability of 98 %; the rest falls through to the scan.
    const TRIES: u64 = 256;
    let at = |attempt: u64| {
        let place = mix(index.wrapping_mul(MIX_A) ^ attempt) >> 58;
        lanes.get(usize::try_from(place).unwrap_or(0)).copied()
    };
    let found = (1..=TRIES).filter_map(at).find(|hash| *hash != u64::MAX);
    found.or_else(|| lanes.iter().copied().find(|hash| *hash != u64::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_core::units::Ratio;

    fn similarity(one: &str, other: &str) -> Ratio {
        sketch(one.as_bytes()).unwrap().similarity(&sketch(other.as_bytes()).unwrap())
    }

    #[test]
    fn short_texts_are_equal_or_clearly_different() {
        for text in ["x", "ok", "12345678", "123456789", "file updated", "東京"] {
            assert_eq!(similarity(text, text), Ratio::ONE);
        }
        let pairs = [
            ("a", "b"),
            ("ok", "ko"),
            ("PASS 3", "PASS 4"),
            ("12345678", "12345679"),
            ("3 passed, 0 failed", "2 passed, 1 failed"),
            ("step 1 of the plan is done", "step 2 of the plan is done"),
            ("the build finished: 1", "the build finished: 2"),
        ];
        for (one, other) in pairs {
            assert!(similarity(one, other) < Ratio::from_per_mille(850), "{one} {other} {}", similarity(one, other));
        }
        assert_eq!(sketch(b""), None);
    }
}
