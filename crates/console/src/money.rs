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

/// By how much a budget is raised at once; none for no cent, and for more than anybody means.
pub(crate) fn raise_of_cents(cents: u64) -> Option<MicroUsd> {
    (1..=RAISE_CENTS_MAX).contains(&cents).then(|| MicroUsd::new(cents.saturating_mul(MICRO_PER_CENT)))
}

/// What may be said of an amount that is none.
pub(crate) const RAISE_BOUNDS: &str = "a budget is raised by one cent at least and 100,000 dollars at most";

const MICRO_PER_CENT: u64 = 10_000;
/// The most by which a budget is raised at once, in cents.
const RAISE_CENTS_MAX: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_raised_within_bounds() {
        assert_eq!(raise_of_cents(500), Some(MicroUsd::new(5_000_000)));
        assert_eq!((raise_of_cents(0), raise_of_cents(RAISE_CENTS_MAX + 1)), (None, None));
    }

    #[test]
    fn small_amounts_are_shown_and_large_ones_stay_short() {
        let spent: Vec<_> = [0, 7, 5_000, 10_000, 23_456, 5_000_000].map(dollars).into();
        assert_eq!(spent, ["$0.00", "0.0007¢", "0.5¢", "$0.01", "$0.02", "$5.00"]);
        let limits: Vec<_> = [5_000, 15_000, 500_000, 5_000_000, 12_345_678].map(exactly).into();
        assert_eq!(limits, ["0.5¢", "$0.015", "$0.50", "$5.00", "$12.345678"]);
    }
}
