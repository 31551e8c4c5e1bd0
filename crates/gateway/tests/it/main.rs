//! The gateway from outside: the wire formats under every way to cut and pack them.

// The attribute tells clippy that helpers of tests may unwrap, too.
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod wire;
