//! Our own loop as a machine: the real chain decides, a script stands for the world, time is simulated.

// The attribute tells clippy that helpers of tests may unwrap, too.
#[cfg(test)]
mod bed;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod engines;
#[cfg(test)]
mod replays;
#[cfg(test)]
mod workers;
