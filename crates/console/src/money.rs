//! Amounts of money as people read them: a budget of half a cent is not nothing.

use tripwire_core::units::MicroUsd;

/// What was spent: dollars to the cent; what is less than a cent, in cents and exactly.
#[must_use]
pub fn dollars(micro_usd: u64) -> String {
    match micro_usd {
        1..MICRO_PER_CENT => exactly(micro_usd),
        0 | MICRO_PER_CENT.. => exactly(micro_usd - micro_usd % MICRO_PER_CENT),
    }
}

/// A limit that a person set, with every digit.
#[must_use]
pub fn exactly(micro_usd: u64) -> String {
    MicroUsd::new(micro_usd).in_dollars()
}

const MICRO_PER_CENT: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_are_shown_and_large_ones_stay_short() {
        let spent: Vec<_> = [0, 7, 5_000, 10_000, 23_456, 5_000_000].map(dollars).into();
        assert_eq!(spent, ["$0.00", "0.0007¢", "0.5¢", "$0.01", "$0.02", "$5.00"]);
        let limits: Vec<_> = [5_000, 15_000, 500_000, 5_000_000, 12_345_678].map(exactly).into();
        assert_eq!(limits, ["0.5¢", "$0.015", "$0.50", "$5.00", "$12.345678"]);
    }
}
