//! `tripwire step`: the guard for anything that has no client of ours: inputs in, decisions out, all of it journaled.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace::{self, Acting, Which};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use tripwire_authority::identity::Configuration;
use tripwire_authority::{Confinement, Surroundings, Who};
use tripwire_core::decision::{Decision, DecisionRecord};
use tripwire_core::input::{Input, What};
use tripwire_core::policy::Policy;
use tripwire_core::record::canonical;
use tripwire_session::driver::Driver;
use tripwire_session::formats::stream::Inputs;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;

/// Feed inputs into a session: journal each, decide, print the decision. Many processes may do so at once.
///
/// The lines are those of `tripwire decide`. They are stamped with this machine's clock, whatever time they carry;
/// with `--times own` their own times apply, in milliseconds since the session's start. Without a session a new one
/// starts under `.geometry/MANIFEST.yaml`. The exit code is the session's state after the last line.
#[derive(Debug, Args)]
pub(crate) struct StepArgs {
    /// The inputs; `-` reads standard input.
    #[arg(default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    which: Which,
    /// Begin a new session.
    #[arg(long, conflicts_with = "session")]
    new: bool,
    /// Which times apply: this machine's clock (`now`) or the lines' own (`own`).
    #[arg(long, value_name = "WHEN", default_value = "now")]
    times: Times,
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    form: Form,
}

/// When the lines happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Times {
    /// Now, by this machine's clock.
    Now,
    /// When they say, in milliseconds since the session's start.
    Own,
}

/// Runs the verb.
pub(crate) fn run(args: &StepArgs) -> Result<Exit, Problem> {
    let name = print::name(&args.file);
    let inputs = Inputs::new(print::open(&args.file)?);
    let workspace = args.which.place.open()?;
    let mut driver = session(args, &workspace)?;
    let mut inputs = inputs.redacting(driver.redactor()?.clone());
    let mut out = Out::lock();
    let mut exit = Exit::Done;
    loop {
        let item = match inputs.next_input() {
            Ok(Some(item)) => item,
            Ok(None) => return Ok(exit),
            Err(error) => return Err(Problem::in_file(name, error)),
        };
        let mut item = item;
        authorize(args, &driver, workspace.root(), &mut item.input.what);
        let input = item.input.clone();
        let taken = match args.times {
            Times::Own => driver.take_at(*item.input, clock::now())?,
            Times::Now => driver.take_now(item.input.what, clock::now)?,
        };
        for decision in taken.before.iter().chain([&taken.decision]) {
            print(args, &driver, &input, decision, &mut out)?;
        }
        out.flush()?;
        crate::notify::notify(&driver, &taken);
        exit = Exit::of(&driver.view(), &taken.decision.safety);
    }
}

/// Gives a request the facts of authority of the role that was named; without one it stays as it came, and a
/// request that came without any is refused.
fn authorize(args: &StepArgs, driver: &Driver, root: &Path, what: &mut What) {
    if let (What::Request(request), Some(role)) = (what, args.acting.named()) {
        let who = Who::role(&role);
        let at = Surroundings { root, confinement: Confinement::Open };
        request.authority = Some(driver.authority_for_action(who, &request.action, at));
    }
}

/// The session that is meant, taken up or begun.
fn session(args: &StepArgs, workspace: &Workspace) -> Result<Driver, Problem> {
    let layout = workspace.layout();
    let meant = if args.new { None } else { args.which.find_if_any(layout)? };
    let signing = workspace::signing(workspace);
    Ok(match meant {
        Some(session) => Driver::resume(layout, &session)?.signed_by(signing),
        None => {
            let change = |policy: &mut Policy| policy.set_role(args.acting.named().as_deref());
            Driver::begin_signed(layout, signing, clock::now(), Configuration::default(), change)?
        }
    })
}

fn print(args: &StepArgs, driver: &Driver, input: &Input, decision: &Decision, out: &mut Out) -> Result<(), Problem> {
    if args.form.json || !print::is_terminal() {
        return out.line(&canonical::to_string(&DecisionRecord::new(driver.session().as_str(), decision))?);
    }
    crate::print::decision::decision(input, decision).iter().try_for_each(|line| out.line(line))
}
