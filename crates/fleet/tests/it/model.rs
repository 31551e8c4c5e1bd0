//! Every order of events that a small fleet can see, by exhaustion: budgets, takeovers, orders. Each model calls the product's own
//! transitions under their own names.

mod escrow;
mod fence;
mod kill;
