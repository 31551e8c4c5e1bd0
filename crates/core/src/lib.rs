//! The decision engine: a pure function from journaled inputs to decisions.
//!
//! Nothing here asks the world anything. Time, file contents, model replies and human acts arrive as
//! [`input::Input`]; what should happen leaves as [`effect::Effect`]. The walls are held by the compiler: no `std`,
//! no floats, no clocks, no hash maps (see this crate's `clippy.toml`).
//!
//! ```
//! use tripwire_core::chain::Chain;
//! use tripwire_core::decision::Level;
//! use tripwire_core::input::Input;
//! use tripwire_core::policy::Policy;
//!
//! let mut chain = Chain::new(Policy::default())?;
//! let mut levels = Vec::new();
//! for second in 1..=3 {
//!     // One call with its result, as the journal holds it; `tripwire-observe` makes it from a raw call.
//!     let input: Input = serde_json::from_value(serde_json::json!({"at": second * 1000, "what": {"event": {
//!         "timestamp": second * 1000, "tokenCount": 10, "toolCalls": 1, "latencyMs": 5, "outputLength": 6,
//!         "action": {"tool": "Bash", "argsDigest": "make"}, "resultDigest": "no rule to make target",
//!     }}}))?;
//!     let decision = chain.step(&input).decision;
//!     levels.push(decision.findings.iter().map(|finding| finding.level).max());
//! }
//! // The same action with the same result for the third time: the agent is told to do something else.
//! assert_eq!(levels, [None, None, Some(Level::Override)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
pub mod visible;
