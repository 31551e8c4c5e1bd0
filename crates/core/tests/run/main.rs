//! Our own loop as a machine: the real chain decides, a script stands for the world, time is simulated.

mod bed;
mod calls;
mod endings;
mod engines;
mod replays;
