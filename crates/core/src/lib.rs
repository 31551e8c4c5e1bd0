//! The decision engine: a pure function from journaled inputs to decisions.
//!
//! Nothing here asks the world anything. Time, file contents, model replies and human acts arrive as
//! [`input::Input`]; what should happen leaves as [`effect::Effect`]. The walls are held by the compiler: no `std`,
//! no floats, no clocks, no hash maps (see this crate's `clippy.toml`).
#![no_std]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic
    )
)]

extern crate alloc;

pub mod chain;
pub mod counted;
pub mod decision;
pub mod effect;
pub mod enforcement;
pub mod explain;
pub mod family;
pub mod input;
pub mod label;
pub mod ledger;
pub mod limits;
pub mod percent;
pub mod policy;
pub mod prices;
pub mod record;
mod ring;
pub mod rules;
pub mod run;
pub mod sketch;
pub mod text;
pub mod units;
pub mod usage;
