//! `tripwire init`: our hooks into the settings of the clients that are here, and out again.

use crate::exit::Exit;
use crate::hook::ClientName;
use crate::output::{self, Form, Out};
use crate::place::{self, Where};
use crate::problem::Problem;
use clap::Args;
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use tripwire_adapters::codex_hooks;
use tripwire_adapters::hooks::Client;
use tripwire_adapters::install::{self, Change, Found, InstallError, Scope};
use tripwire_core::input::Mode;
use tripwire_host::mode::{Choice, word};

/// Put tripwire's hooks into the settings of Claude Code, Codex and Gemini CLI.
///
/// What you wrote there stays as it is; the change is shown as a diff, the file as it was is kept beside it, and a second
/// run changes nothing. The hooks begin in `observe`: they decide and write down, and refuse nothing but what people,
/// explicit limits and the floor of irreversible commands refuse. `tripwire arm` lets them bind.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Only this client; may be repeated. By default all that are found.
    #[arg(long, value_name = "NAME")]
    client: Vec<ClientName>,
    /// Guard all your sessions (this is the default).
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// Guard the sessions in this workspace only.
    #[arg(long)]
    project: bool,
    /// Show what would be changed, and change nothing.
    #[arg(long)]
    print: bool,
    /// Take the hooks out again.
    #[arg(long)]
    remove: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

/// Runs the verb.
pub(crate) fn run(args: &InitArgs) -> Result<Exit, Problem> {
    let plan = Plan::of(args)?;
    let mut said = Said { form: args.form, lines: Vec::new(), changes: Vec::new() };
    let changes = plan.changes()?;
    for (client, change) in &changes {
        said.tell(*client, change, args);
    }
    if changes.iter().all(|(_, change)| change.is_nothing()) {
        said.line(if args.remove { "nothing to remove: no hooks of tripwire are there" } else { "nothing to do" });
        plan.trust_codex(args, &mut said)?;
        plan.say_mode(&mut said)?;
        return said.print(Exit::Done);
    }
    if args.print {
        return said.print(Exit::Done);
    }
    if !args.yes && !args.form.json && is_refused(&said)? {
        return Ok(Exit::Held);
    }
    said.lines.clear();
    for (client, change) in changes.iter().filter(|(_, change)| !change.is_nothing()) {
        change.carry_out()?;
        said.wrote(*client, change);
    }
    plan.trust_codex(args, &mut said)?;
    plan.say_mode(&mut said)?;
    said.print(Exit::Done)
}

/// Shows the diff and asks on a terminal; a script has decided by calling.
fn is_refused(said: &Said) -> Result<bool, Problem> {
    let mut out = Out::lock();
    for line in &said.lines {
        out.line(line)?;
    }
    out.flush()?;
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    drop(out);
    if !output::is_terminal() {
        output::say("nothing was changed: the diff went into a pipe; `tripwire init --yes` writes it");
        return Ok(true);
    }
    let mut terminal = std::io::stderr().lock();
    // A question that cannot be shown is not answered with yes, because nothing is read then.
    drop(terminal.write_all(b"write this? [y/N] "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let agreed = read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes");
    if !agreed {
        output::say("nothing was changed");
    }
    Ok(!agreed)
}

/// What is to be done, and for whom.
struct Plan {
    clients: Vec<Client>,
    found: Vec<Found>,
    scope: Scope,
    program: PathBuf,
    choice: Option<Choice>,
    remove: bool,
}

impl Plan {
    fn of(args: &InitArgs) -> Result<Self, Problem> {
        let found = install::detect(std::env::var_os("PATH"));
        let named: Vec<Client> = args.client.iter().map(|client| client.client()).collect();
        let clients = match (named.is_empty(), args.remove) {
            (false, _) => named,
            (true, true) => Client::ALL.to_vec(),
            (true, false) => found.iter().map(|found| found.client).collect(),
        };
        if clients.is_empty() {
            return Err(Problem::NoClient);
        }
        let (scope, choice) = if args.project {
            let workspace = args.place.look()?;
            (Scope::Project(workspace.root().to_owned()), Some(Choice::of_workspace(workspace.layout())))
        } else {
            (Scope::User, place::state_home().map(|state| Choice::of_person(&state)))
        };
        let program =
            std::env::current_exe().and_then(|program| program.canonicalize()).map_err(Problem::OwnProgram)?;
        Ok(Self { clients, found, scope, program, choice, remove: args.remove })
    }

    fn file(&self, client: Client) -> Result<PathBuf, InstallError> {
        install::settings_file(client, &self.scope, &place::homes())
    }

    /// All changes, planned before any is carried out: one bad file must not leave half of them behind.
    fn changes(&self) -> Result<Vec<(Client, Change)>, InstallError> {
        let mut changes = Vec::new();
        for client in self.clients.iter().copied() {
            let file = self.file(client)?;
            if self.remove {
                if client == Client::Codex {
                    changes.push((client, Change::distrust((&file, &self.scope))?));
                }
                changes.push((client, Change::remove(client, (&file, &self.scope))?));
            } else {
                let command = install::command(&self.program, client);
                changes.push((client, Change::install(client, (&file, &self.scope), &command)?));
            }
        }
        Ok(changes)
    }

    /// Codex skips hooks that it does not trust, without a word: so they are trusted here, or the person is told how.
    fn trust_codex(&self, args: &InitArgs, said: &mut Said) -> Result<(), Problem> {
        if self.remove || args.print || !self.clients.contains(&Client::Codex) {
            return Ok(());
        }
        let by_hand = "codex skips hooks until they are trusted: start it and type `/hooks`";
        let Some(codex) = self.found.iter().find(|found| found.client == Client::Codex) else {
            said.line(&format!("note        {by_hand}"));
            return Ok(());
        };
        let file = self.file(Client::Codex)?;
        let folder = match &self.scope {
            Scope::Project(root) => root.clone(),
            Scope::User => file.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned),
        };
        let command = install::command(&self.program, Client::Codex);
        let listed = codex_hooks::list(Command::new(&codex.program), &folder);
        let trusted = listed.map_err(|why| format!("codex does not list its hooks: {why}")).and_then(|listed| {
            Change::trust((&file, &self.scope), &command, &listed).map_err(|error| format!("{error}; {}", error.hint()))
        });
        match trusted {
            Ok(change) if change.is_nothing() => {}
            Ok(change) => {
                change.carry_out()?;
                said.wrote(Client::Codex, &change);
            }
            Err(why) => said.line(&format!("NOT YET     {why}; {by_hand}")),
        }
        Ok(())
    }

    /// A first installation begins in `observe`; a choice that stands is kept.
    fn say_mode(&self, said: &mut Said) -> Result<(), Problem> {
        let Some(choice) = self.choice.as_ref().filter(|_| !self.remove) else { return Ok(()) };
        let mode = match choice.read() {
            Some(mode) => mode,
            None => {
                choice.write(Mode::Observe)?;
                Mode::Observe
            }
        };
        said.line(&match mode {
            Mode::Observe => format!("mode        {}: nothing but the floor is refused yet", word(mode)),
            Mode::Armed => format!("mode        {}: what the policy refuses is refused", word(mode)),
        });
        said.line(match mode {
            Mode::Observe => "next        work as always, look with `tripwire status`, then `tripwire arm`",
            Mode::Armed => "next        `tripwire status`",
        });
        Ok(())
    }
}

/// What the verb says.
struct Said {
    form: Form,
    lines: Vec<String>,
    changes: Vec<Value>,
}

impl Said {
    fn line(&mut self, line: &str) {
        self.lines.push(line.to_owned());
    }

    /// The change as it is planned.
    fn tell(&mut self, client: Client, change: &Change, args: &InitArgs) {
        self.changes.push(json!({
            "client": client.name(), "file": change.path, "changes": !change.is_nothing(), "diff": change.diff(),
            "written": !args.print && !change.is_nothing(),
        }));
        if change.is_nothing() {
            self.line(&format!("{:<11} `{}` stays as it is", client.name(), change.path.display()));
        } else {
            self.lines.extend(change.diff().lines().map(str::to_owned));
        }
        if client == Client::Codex && !args.remove && !change.is_nothing() {
            self.line(
                "codex       its `config.toml` gets the trust of these hooks, which Codex computes once they are there",
            );
        }
        if let Some(switch) = change.switched_off(client) {
            self.line(&format!("warning     `{switch}` in `{}` switches all hooks off", change.path.display()));
        }
    }

    fn wrote(&mut self, client: Client, change: &Change) {
        let verb = if change.after.is_some() { "wrote" } else { "removed" };
        self.line(&format!("{verb:<11} {} `{}`", client.name(), change.path.display()));
        if change.backup().exists() {
            self.line(&format!("            as it was: `{}`", change.backup().display()));
        }
    }

    fn print(&self, exit: Exit) -> Result<Exit, Problem> {
        let mut out = Out::lock();
        if self.form.json {
            out.line(&json!({ "changes": self.changes, "said": self.lines }).to_string())?;
        } else {
            for line in &self.lines {
                out.line(line)?;
            }
        }
        out.flush()?;
        Ok(exit)
    }
}
