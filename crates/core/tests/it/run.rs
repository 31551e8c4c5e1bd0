//! Our own loop as a machine: the real chain decides, a script replaces the world, time is simulated.

mod calls;
mod endings;
mod engines;
mod fixture;
mod recorded;
mod recovery;
mod replays;
mod workers;
