//! The core from outside, through its public interface: the chain, our own loop, records, and promises over random streams.

// The attribute tells clippy that helpers of tests may unwrap, too.
#[cfg(test)]
mod chain;
#[cfg(test)]
mod expected;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod record_canonical;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod run;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod synthetic_loops;
#[cfg(test)]
mod words;
#[cfg(test)]
mod written;
