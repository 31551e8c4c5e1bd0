//! Who looks at what a line would do: the guard with its rules, or a reader that only keeps what it sees.

use crate::findings::Findings;
use crate::hold::Hold;
use crate::line::call::{Call, Redirection};
use crate::line::state::State;
use crate::search::Search;
use crate::site::Site;
use crate::world::World;

/// What the interpreter asks about each step of a line.
pub(crate) trait Observer {
    /// Looks at the call of a program that is known and hides no other.
    fn call(&mut self, site: &Site<'_>, call: &Call) -> Findings;

    /// Looks at a call whose program only running it would tell.
    fn unknown_call(&mut self, site: &Site<'_>, call: &Call) -> Findings;

    /// Looks at a redirection of output.
    fn redirection(&mut self, site: &Site<'_>, redirection: &Redirection<'_>) -> Option<Hold>;

    /// Notes what a call that was not held leaves behind, beside what every observer must know of it.
    fn note_effects(&self, world: &World, state: &mut State, call: &Call);

    /// What a search lists for the command behind it.
    fn listed(&self, site: &Site<'_>, search: &Search) -> Vec<String>;

    /// Whether it matters which branch HEAD is on: asking costs a process.
    fn needs_branch(&self) -> bool;

    /// Whether scripts that the run wrote are followed.
    fn follows_own_scripts(&self) -> bool;
}
