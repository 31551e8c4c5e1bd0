//! The interpreter: follows a command line as a shell would, without running anything.
//!
//! Only this folder recurses: the walk meets calls, a call may hold code, and code is walked again. What a call means is
//! decided by an [`observer::Observer`], which is asked about each call in the surroundings that it would have.

mod abbreviations;
mod arithmetic;
mod assign;
mod builtin;
mod containers;
mod expand;
mod feed;
mod invoke;
pub(crate) mod observer;
mod output;
mod remember;
mod report;
mod runners;
mod scripts;
mod selection;
mod turns;
mod walk;
mod wrappers;

#[cfg(test)]
mod tests;

pub(crate) use self::report::Walked;

use self::invoke::Invoker;
use self::observer::Observer;
use self::walk::Walker;
use crate::line::state::State;
use crate::world::World;
use tripwire_shell::Script;

/// Walks a whole line, and gives its commands with why they are held.
pub(crate) fn interpret(world: &World, state: State, script: &Script, observer: &mut dyn Observer) -> Walked {
    let mut walker = Walker::new(world, state, observer, &Invoker);
    walker.line(script);
    walker.report.into_walked()
}
