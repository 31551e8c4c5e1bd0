//! A small seeded generator, so that a failing seed fails again on every machine.

/// The state of the generator (splitmix64: every seed gives a full-length, well-mixed sequence).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator for one seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound; zero for the bound zero.
    pub fn below(&mut self, bound: usize) -> usize {
        let bits = usize::try_from(self.bits() >> 1).unwrap_or(0);
        bits.checked_rem(bound).unwrap_or(0)
    }

    /// Whether something of this probability happens.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.bits() % 1000 < u64::from(per_mille)
    }
}
