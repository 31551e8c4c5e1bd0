//! `tripwire fleet serve`: this machine's part in the fleet.

use super::args::FleetServeArgs;
use super::membership::Membership;
use super::questions::OpenQuestions;
use super::this_machine::{ThisMachine, Until};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print;
use std::time::{Duration, Instant};
use tripwire_fleet::machine::Part;
use tripwire_fleet::member::{Member, Served};

/// Runs the verb.
pub(super) fn run(args: &FleetServeArgs) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let log = membership.log()?;
    let host = ThisMachine {
        joined_ms: membership.joined_ms,
        own: None,
        until: Until::Time(args.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds))),
        copier: None,
        talk: Box::new(print::say),
        questions: OpenQuestions::default(),
    };
    let who = membership.as_member(Part::Service, membership.dead_man())?;
    print::say(&format!("`{}` serves in the fleet {}", membership.machine, membership.address));
    match Member::new(log.as_ref(), &host, who).serve() {
        Served::Left => Ok(Exit::Done),
        Served::Rival => {
            print::say("error: another process speaks for this machine");
            print::say("hint: end it, or join under another `--machine`");
            Ok(Exit::Refused)
        }
    }
}
