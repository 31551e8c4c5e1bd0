//! `tripwire init`: our hooks into the settings of the clients that are here, and out again.

mod args;
mod purge;
mod report;
mod servers;

pub(crate) use args::InitArgs;

use crate::error::Problem;
use crate::exit::Exit;
use crate::print;
use crate::workspace;
use args::Place;
use purge::Purge;
use report::{InitReport, is_agreed};
use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use tripwire_clients::install::status_line::{self, StatusLine};
use tripwire_clients::install::{self, Found, InstallError, InstallPlan, Installation, Scope, StatusLineWish};
use tripwire_clients::{Client, Homes};
use tripwire_core::explain::Explain;
use tripwire_core::input::Mode;
use tripwire_fs::file::Removed;
use tripwire_workspace::Workspace;
use tripwire_workspace::mode::{Choice, word};

#[derive(Debug, thiserror::Error)]
#[error("no client is on the search path: claude, codex and gemini are known")]
struct NoClientError;

impl Explain for NoClientError {
    fn hint(&self) -> Cow<'_, str> {
        "name one with `tripwire init --client NAME`".into()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{client} has no hooks of ours")]
struct NoHooksError {
    client: &'static str,
}

impl Explain for NoHooksError {
    fn hint(&self) -> Cow<'_, str> {
        format!(
            "guard a run with `tripwire run {0}`, or its tool servers with `tripwire init --mcp --client {0}`",
            self.client
        )
        .into()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &InitArgs) -> Result<Exit, Problem> {
    if args.mcp {
        return servers::run(args);
    }
    let mut plan = Plan::of(args)?;
    plan.offer_status_line(args);
    let mut said = InitReport::new(args.form);
    let planned = plan.planned(args)?;
    let left = if args.remove { plan.purge_plan(args)? } else { Purge::default() };
    let purge = if args.purge { &left } else { &Purge::default() };
    for (client, change) in &planned.changes {
        said.tell(*client, change, args);
    }
    let exit = if args.remove && !planned.notes.is_empty() { Exit::NotKept } else { Exit::Done };
    purge.lines().iter().for_each(|line| said.line(line));
    said.purges(purge, args);
    let has_hooks = planned.changes.iter().any(|(_, change)| !change.is_nothing());
    let is_nothing = !has_hooks && purge.is_nothing();
    if !has_hooks {
        said.line(if args.remove { "nothing to remove: no hooks of tripwire are there" } else { "nothing to do" });
    }
    if args.print {
        planned.notes.iter().for_each(|note| said.line(note));
        return said.print(exit);
    }
    if !is_nothing {
        if !args.yes && !is_agreed(&said)? {
            return Ok(Exit::Held);
        }
        said.lines.clear();
        for (client, change) in planned.changes.iter().filter(|(_, change)| !change.is_nothing()) {
            change.carry_out()?;
            said.wrote(*client, change);
        }
        plan.forget_mode(&mut said)?;
        purge.carry_out()?;
        purge.lines().iter().for_each(|line| said.line(&line.replacen("delete ", "deleted", 1)));
    }
    if !args.purge {
        left.left(&plan.scope).iter().for_each(|line| said.line(line));
    }
    planned.notes.iter().for_each(|note| said.line(note));
    if planned.notes.is_empty() {
        plan.check_trust(&mut said)?;
    }
    if !args.remove {
        let limits = plan.clients.iter().filter_map(|client| client.limit_of_hooks());
        limits.for_each(|limit| said.line(&format!("note        {limit}")));
    }
    plan.say_mode(&mut said)?;
    said.print(exit)
}

/// What is to be done, and for whom.
struct Plan {
    clients: Vec<Client>,
    found: Vec<Found>,
    scope: Scope,
    program: PathBuf,
    choice: Option<Choice>,
    /// The workspace, where the hooks are its own.
    workspace: Option<Workspace>,
    remove: bool,
    status_line: StatusLineWish,
}

impl Plan {
    fn of(args: &InitArgs) -> Result<Self, Problem> {
        let found = install::detect(std::env::var_os("PATH"));
        let mut named: Vec<Client> = args.client.iter().map(|client| client.client()).collect();
        if args.remove {
            // A client without hooks has only servers to unwrap.
            named.retain(|client| !client.is_at_gateway());
        } else if let Some(client) = named.iter().find(|client| client.is_at_gateway()) {
            return Err(NoHooksError { client: client.name() }.into());
        }
        let clients = match (args.client.is_empty(), args.remove) {
            (false, _) => named,
            (true, true) => Client::ALL.to_vec(),
            (true, false) => found.iter().map(|found| found.client).collect(),
        };
        if clients.is_empty() && !args.remove {
            return Err(NoClientError.into());
        }
        let Place { workspace, scope, program } = Place::of(args)?;
        let choice = match &workspace {
            Some(workspace) => Some(Choice::of_workspace(workspace.layout())),
            None => workspace::state_home().map(|state| Choice::of_person(&state)),
        };
        let status_line = if args.statusline { StatusLineWish::Wanted } else { StatusLineWish::NotAsked };
        Ok(Self { clients, found, scope, program, choice, workspace, remove: args.remove, status_line })
    }

    /// Offers the status line where a client has one and nobody uses it yet: a person on a terminal is asked, others read
    /// of the flag.
    fn offer_status_line(&mut self, args: &InitArgs) {
        if self.remove || args.form.json || self.status_line == StatusLineWish::Wanted {
            return;
        }
        let homes = workspace::homes();
        let free = |client: &&Client| {
            let form = client.adapter().settings;
            let file = self.installation(&homes).file(**client).ok();
            let text = file.and_then(|file| install::read_settings(&file.path)).unwrap_or_default();
            form.status_line.is_some() && status_line::look(&text, form) == StatusLine::Absent
        };
        let titles: Vec<&str> = self.clients.iter().filter(free).map(|client| client.adapter().title).collect();
        if titles.is_empty() {
            return;
        }
        let titles = titles.join(", ");
        let asks = !args.yes && !args.print && std::io::stdin().is_terminal() && print::is_terminal();
        if !asks {
            print::say(&format!("note: `--statusline` also shows tripwire's line in the status bar of {titles}"));
        } else if print::agrees(&format!("also show tripwire's line in the status bar of {titles}? [y/N] ")) {
            self.status_line = StatusLineWish::Wanted;
        }
    }

    fn installation<'a>(&'a self, homes: &'a Homes) -> Installation<'a> {
        Installation { scope: &self.scope, homes, program: &self.program, status_line: self.status_line }
    }

    fn found(&self, client: Client) -> Option<&Path> {
        self.found.iter().find(|found| found.client == client).map(|found| found.program.as_path())
    }

    /// All changes, planned before any is carried out: one bad file must not leave half of them behind.
    fn planned(&self, args: &InitArgs) -> Result<InstallPlan, InstallError> {
        let homes = workspace::homes();
        let installation = self.installation(&homes);
        let mut plan = InstallPlan::default();
        for client in self.clients.iter().copied() {
            if self.remove {
                installation.plan_remove(client, &mut plan)?;
            } else {
                installation.plan_install(client, self.found(client), &mut plan)?;
            }
        }
        if self.remove {
            let servers = servers::remove_plan(args, &self.scope);
            // A file that holds hooks or their trust is restored as a whole.
            let is_new = |path: &Path| plan.changes.iter().all(|(_, known)| known.path != path);
            let more: Vec<_> = servers.changes.into_iter().filter(|(_, change)| is_new(&change.path)).collect();
            plan.changes.extend(more);
            plan.notes.extend(servers.notes);
        }
        Ok(plan)
    }

    /// What tripwire wrote where the hooks are taken out.
    fn purge_plan(&self, args: &InitArgs) -> Result<Purge, Problem> {
        match Purge::plan(self.workspace.as_ref()) {
            // A person who only removes the hooks is not asked about what runs.
            Err(_) if !args.purge => Ok(Purge::default()),
            planned => planned,
        }
    }

    /// Whether a client trusts the hooks is for the client to say.
    fn check_trust(&self, said: &mut InitReport) -> Result<(), Problem> {
        if self.remove {
            return Ok(());
        }
        let homes = workspace::homes();
        for client in self.clients.iter().copied() {
            let left = self.installation(&homes).left_to_do(client, self.found(client))?;
            left.iter().for_each(|line| said.line(line));
        }
        Ok(())
    }

    /// After all hooks were removed, the next installation only watches again.
    fn forget_mode(&self, said: &mut InitReport) -> Result<(), Problem> {
        let Some(choice) = self.choice.as_ref().filter(|_| self.remove) else { return Ok(()) };
        let homes = workspace::homes();
        let mut left = InstallPlan::default();
        for client in Client::ALL {
            self.installation(&homes).plan_remove(client, &mut left)?;
        }
        if left.changes.iter().all(|(_, change)| change.is_nothing()) && choice.forget()? == Removed::Now {
            said.line("mode        forgotten: hooks that are installed again begin in observe");
        }
        Ok(())
    }

    /// A first installation begins in `observe`; a choice that stands is kept.
    fn say_mode(&self, said: &mut InitReport) -> Result<(), Problem> {
        let Some(choice) = self.choice.as_ref().filter(|_| !self.remove) else { return Ok(()) };
        let mode = match choice.read() {
            Some(mode) => mode,
            None => {
                choice.write(Mode::Observe)?;
                if let Some(workspace) = &self.workspace {
                    workspace::keep_out_of_commits(workspace);
                }
                Mode::Observe
            }
        };
        said.line(&match mode {
            Mode::Observe => format!("mode        {}: only destructive commands are refused so far", word(mode)),
            Mode::Armed => format!("mode        {}: what the policy refuses is refused", word(mode)),
        });
        said.line(match mode {
            Mode::Observe => "next        work as always, look with `tripwire status`, then `tripwire arm`",
            Mode::Armed => "next        `tripwire status`",
        });
        Ok(())
    }
}
