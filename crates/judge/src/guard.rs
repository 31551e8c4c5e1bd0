//! The guard: the observer that judges every step of a line by the rules.

use crate::findings::{Findings, Run};
use crate::hold::Hold;
use crate::interpreter::observer::Observer;
use crate::line::call::{Call, Redirection};
use crate::line::field::Field;
use crate::line::state::State;
use crate::reading::CommandReading;
use crate::rules;
use crate::search::Search;
use crate::site::Site;
use crate::world::World;

/// Programs that a variable may stand before: if it is empty, they run.
const BEHIND_EMPTY: [&str; 12] =
    ["rm", "git", "find", "dd", "chmod", "chown", "shred", "mv", "sudo", "env", "bash", "sh"];

/// Judges every step of a line.
pub(crate) struct Guard;

impl Observer for Guard {
    fn call(&mut self, site: &Site<'_>, call: &Call) -> Findings {
        rules::judge(site, call)
    }

    /// A program that cannot be known is judged as if it were `rm`, because that is what it hides at worst.
    fn unknown_call(&mut self, site: &Site<'_>, call: &Call) -> Findings {
        let nothing_known = call.args.first().is_some_and(|first| first.text().is_empty());
        let behind = call.args.get(1..).unwrap_or_default();
        if nothing_known && behind.first().is_some_and(|name| BEHIND_EMPTY.contains(&name.text().as_str())) {
            let runs = vec![Run::Program(call.with_args(behind.to_vec()))];
            return Findings { runs, ..Findings::default() };
        }
        let commands: Vec<CommandReading> = rules::unknown_push(site, call).into_iter().collect();
        if !call.has_short(&['r', 'R']) {
            return Findings { commands, ..Findings::default() };
        }
        let args = [&[Field::of("rm")], behind].concat();
        let mut findings = rules::judge(site, &call.with_args(args));
        if let Some(hold) = &mut findings.hold {
            hold.reason = format!("the program cannot be known, and if it is `rm`: {}", hold.reason);
        }
        findings.commands = commands;
        findings
    }

    fn redirection(&mut self, site: &Site<'_>, redirection: &Redirection<'_>) -> Option<Hold> {
        rules::judge_redirection(site, redirection)
    }

    fn note_effects(&self, world: &World, state: &mut State, call: &Call) {
        rules::note_git_effects(world, state, call);
    }

    fn listed(&self, site: &Site<'_>, search: &Search) -> Vec<String> {
        search.listed(site)
    }

    fn needs_branch(&self) -> bool {
        true
    }

    fn follows_own_scripts(&self) -> bool {
        true
    }
}
