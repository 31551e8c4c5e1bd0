//! `tripwire init`: our hooks into the settings of the clients that are here, and out again.

use crate::client_name::ClientName;
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace::{self, Where};
use clap::Args;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use tripwire_clients::codex_hooks::{self, Listed};
use tripwire_clients::hooks::Client;
use tripwire_clients::install::{self, Change, CodexFiles, Found, InstallError, Scope};
use tripwire_core::explain::Explain;
use tripwire_core::input::Mode;
use tripwire_workspace::Workspace;
use tripwire_workspace::mode::{Choice, word};

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

#[derive(Debug, thiserror::Error)]
#[error("no client is on the search path: claude, codex and gemini are known")]
struct NoClientError;

impl Explain for NoClientError {
    fn hint(&self) -> Cow<'_, str> {
        "name one with `tripwire init --client NAME`".into()
    }
}

/// Runs the verb.
pub(crate) fn run(args: &InitArgs) -> Result<Exit, Problem> {
    let plan = Plan::of(args)?;
    let mut said = InitReport { form: args.form, lines: Vec::new(), changes: Vec::new() };
    let planned = plan.planned()?;
    for (client, change) in &planned.changes {
        said.tell(*client, change, args);
    }
    let exit = if args.remove && !planned.notes.is_empty() { Exit::NotKept } else { Exit::Done };
    let is_nothing = planned.changes.iter().all(|(_, change)| change.is_nothing());
    if is_nothing {
        said.line(if args.remove { "nothing to remove: no hooks of tripwire are there" } else { "nothing to do" });
    }
    if args.print {
        planned.notes.iter().for_each(|note| said.line(note));
        return said.print(exit);
    }
    if !is_nothing {
        if !args.yes && !args.form.json && is_refused(&said)? {
            return Ok(Exit::Held);
        }
        said.lines.clear();
        for (client, change) in planned.changes.iter().filter(|(_, change)| !change.is_nothing()) {
            change.carry_out()?;
            said.wrote(*client, change);
        }
    }
    planned.notes.iter().for_each(|note| said.line(note));
    if planned.notes.is_empty() {
        plan.check_trust(&mut said)?;
    }
    plan.say_mode(&mut said)?;
    said.print(exit)
}

/// Shows the diff and asks on a terminal; a script has decided by calling.
fn is_refused(said: &InitReport) -> Result<bool, Problem> {
    let mut out = Out::lock();
    for line in &said.lines {
        out.line(line)?;
    }
    out.flush()?;
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    drop(out);
    if !print::is_terminal() {
        print::say("nothing was changed: the diff went into a pipe; `tripwire init --yes` writes it");
        return Ok(true);
    }
    let mut terminal = std::io::stderr().lock();
    // A question that cannot be shown is not answered with yes, because nothing is read then.
    drop(terminal.write_all(b"write this? [y/N] "));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let agreed = read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes");
    if !agreed {
        print::say("nothing was changed");
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
    /// The workspace, where the hooks are its own.
    workspace: Option<Workspace>,
    remove: bool,
}

/// What would be changed, and what cannot be.
#[derive(Default)]
struct Planned {
    changes: Vec<(Client, Change)>,
    notes: Vec<String>,
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
            return Err(NoClientError.into());
        }
        let workspace = if args.project { Some(args.place.look()?) } else { None };
        let (scope, choice) = match &workspace {
            Some(workspace) => {
                (Scope::Project(workspace.root().to_owned()), Some(Choice::of_workspace(workspace.layout())))
            }
            None => (Scope::User, workspace::state_home().map(|state| Choice::of_person(&state))),
        };
        let program =
            std::env::current_exe().and_then(|program| program.canonicalize()).map_err(Problem::OwnProgram)?;
        Ok(Self { clients, found, scope, program, choice, workspace, remove: args.remove })
    }

    fn file(&self, client: Client) -> Result<PathBuf, InstallError> {
        install::settings_file(client, &self.scope, &workspace::homes())
    }

    /// All changes, planned before any is carried out: one bad file must not leave half of them behind.
    fn planned(&self) -> Result<Planned, InstallError> {
        let mut planned = Planned::default();
        for client in self.clients.iter().copied() {
            let file = self.file(client)?;
            if self.remove {
                if client == Client::Codex {
                    self.plan_distrust(&mut planned)?;
                }
                planned.changes.push((client, Change::remove(client, (&file, &self.scope))?));
                continue;
            }
            let command = install::command(&self.program, client);
            let change = Change::install(client, (&file, &self.scope), &command)?;
            if client == Client::Codex {
                let files = self.codex()?;
                files.check_config()?;
                match self.plan_trust(&files, &change, &command) {
                    Ok(trust) => planned.changes.extend([(client, change), (client, trust)]),
                    Err(why) => {
                        planned.changes.push((client, change));
                        planned.notes.push(format!("NOT YET     {why}: codex skips hooks until they are trusted"));
                        planned.notes.push("next        start codex and type `/hooks`".to_owned());
                    }
                }
            } else {
                planned.changes.push((client, change));
            }
        }
        Ok(planned)
    }

    fn codex(&self) -> Result<CodexFiles, InstallError> {
        CodexFiles::find(&self.scope, &workspace::homes())
    }

    /// Codex skips hooks that it does not trust, without a word: so they are trusted here, by the hashes that it tells.
    fn plan_trust(&self, files: &CodexFiles, hooks: &Change, command: &str) -> Result<Change, String> {
        let program = self.codex_program().ok_or_else(|| "codex is not on the search path".to_owned())?;
        let listed = if hooks.is_nothing() { self.listed(program) } else { codex_hooks::list_given(program, command) };
        let listed = listed.map_err(|why| format!("codex does not list its hooks: {why}"))?;
        let text = hooks.after.as_deref().unwrap_or_default();
        Change::trust(files, text, command, &listed).map_err(|error| error.to_string())
    }

    /// A configuration that cannot be read keeps no hook where it is: what stays in it is told.
    fn plan_distrust(&self, planned: &mut Planned) -> Result<(), InstallError> {
        let files = self.codex()?;
        let mut changes = vec![Change::distrust(&files)];
        if matches!(self.scope, Scope::Project(_)) {
            changes.extend(Some(Change::distrust_in_project(&files)).filter(|change| !is_nothing(change)));
        }
        for change in changes {
            match change {
                Ok(change) => planned.changes.push((Client::Codex, change)),
                Err(error @ InstallError::Config { .. }) => {
                    planned.notes.push(format!("NOT DONE    {error}"));
                    planned.notes.push(format!(
                        "            the trust of `{}` and `features.unified_exec_tty` stay in it, where they are: mend it and take \
                         them out",
                        files.hooks.display()
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn codex_program(&self) -> Option<&Path> {
        self.found.iter().find(|found| found.client == Client::Codex).map(|found| found.program.as_path())
    }

    /// The hooks that Codex finds where ours are.
    fn listed(&self, program: &Path) -> Result<Vec<Listed>, String> {
        let file = self.file(Client::Codex).map_err(|error| error.to_string())?;
        let folder = match &self.scope {
            Scope::Project(root) => root.clone(),
            Scope::User => file.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned),
        };
        codex_hooks::list(Command::new(program), &folder)
    }

    /// Whether Codex trusts the hooks is for Codex to say: it reads none in a folder that the person has not trusted.
    fn check_trust(&self, said: &mut InitReport) -> Result<(), Problem> {
        if self.remove || !self.clients.contains(&Client::Codex) {
            return Ok(());
        }
        let Some(program) = self.codex_program() else { return Ok(()) };
        let files = self.codex()?;
        let why = match self.listed(program) {
            Ok(listed) if files.is_trusted(&listed)? => return Ok(()),
            Ok(_) => "codex does not trust these hooks and skips them".to_owned(),
            Err(why) => format!("codex does not list its hooks: {why}"),
        };
        said.line(&format!("NOT YET     {why}"));
        said.line(match self.scope {
            Scope::Project(_) => "next        start codex in this workspace, trust the folder, and type `/hooks`",
            Scope::User => "next        start codex and type `/hooks`",
        });
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

fn is_nothing(change: &Result<Change, InstallError>) -> bool {
    change.as_ref().is_ok_and(Change::is_nothing)
}

/// What the verb says.
struct InitReport {
    form: Form,
    lines: Vec<String>,
    changes: Vec<Value>,
}

impl InitReport {
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
        if change.path.ends_with("config.toml") && !args.remove && !change.is_nothing() {
            self.line("codex       `hooks.state` makes it run these hooks, which it skips otherwise;");
            self.line("            `features.unified_exec_tty = false` closes the terminals of which no hook hears");
        }
        if let Some(switch) = change.switched_off(client) {
            self.line(&format!("warning     `{switch}` in `{}` switches all hooks off", change.path.display()));
        }
    }

    fn wrote(&mut self, client: Client, change: &Change) {
        let verb = if change.after.is_some() { "wrote" } else { "removed" };
        self.line(&format!("{verb:<11} {} `{}`", client.name(), change.path.display()));
        if let Some(backup) = change.backup().filter(|backup| backup.exists()) {
            self.line(&format!("            as it was: `{}`", backup.display()));
        }
        for left in change.left() {
            self.line(&format!("            `{}` stays: it is not what came back", left.display()));
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
