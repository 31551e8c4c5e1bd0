//! What is promised about the clients on this machine, and whether it holds: is the client there, do its hooks call this
//! very program at every event, does anything switch them off, does the client trust them. Nothing is changed.

use crate::codex_hooks;
use crate::hooks::Client;
use crate::hooks::protected::Homes;
use crate::install::{self, Change, CodexFiles, Found, Scope, settings};
use crate::throwaway::Throwaway;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a client may take to tell its version.
const VERSION_WITHIN: Duration = Duration::from_secs(20);
/// Where programs are, if nobody says it.
pub(crate) const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The longest version that is shown.
const VERSION_BYTES_MAX: u64 = 200;

/// One promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// What it is about, as a name for scripts.
    pub id: String,
    /// Whether it holds.
    pub state: State,
    /// What was seen.
    pub proof: String,
    /// What a person can do; empty where there is nothing to do.
    pub fix: String,
}

/// Whether a promise holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It holds.
    Kept,
    /// Nothing is promised here: not installed, or a person's own choice.
    Off,
    /// It does not hold.
    Broken,
}

impl State {
    /// The word for people and scripts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kept => "ok",
            Self::Off => "off",
            Self::Broken => "BROKEN",
        }
    }
}

impl Promise {
    /// A promise that holds.
    #[must_use]
    pub fn kept(id: &str, proof: impl Into<String>) -> Self {
        Self { id: id.to_owned(), state: State::Kept, proof: proof.into(), fix: String::new() }
    }

    /// Nothing is promised.
    #[must_use]
    pub fn off(id: &str, proof: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id: id.to_owned(), state: State::Off, proof: proof.into(), fix: fix.into() }
    }

    /// A promise that does not hold.
    #[must_use]
    pub fn broken(id: &str, proof: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { id: id.to_owned(), state: State::Broken, proof: proof.into(), fix: fix.into() }
    }
}

/// The surroundings of a check-up.
#[derive(Debug)]
pub struct Patient<'a> {
    /// The person's folders.
    pub homes: &'a Homes,
    /// The workspace's folder.
    pub workspace: &'a Path,
    /// Our own program, as hooks should call it.
    pub program: &'a Path,
    /// Where programs are looked for.
    pub search: Option<&'a OsStr>,
}

impl Patient<'_> {
    /// What is promised about one client.
    #[must_use]
    pub fn client(&self, client: Client, found: Option<&Found>) -> Vec<Promise> {
        let name = client.name();
        let mut promises = vec![match found {
            Some(found) => installed(found),
            None => Promise::off(name, "not on the search path", ""),
        }];
        let scopes = [(Scope::User, "user", ""), (Scope::Project(self.workspace.to_owned()), "project", " --project")];
        let mut seen = Vec::new();
        for (scope, word, flag) in scopes {
            let Ok(file) = install::settings_file(client, &scope, self.homes) else { continue };
            // A home that is the workspace has one file for both.
            if seen.contains(&file) {
                continue;
            }
            let id = format!("{name}.hooks.{word}");
            let again = format!("tripwire init --client {name}{flag}");
            promises.extend(self.hooks(client, &Spot { file: &file, scope, id, again }, found));
            seen.push(file);
        }
        if found.is_some() && promises.len() == 1 {
            let why = "no hooks are installed; sessions outside of `tripwire run` are not guarded";
            promises.push(Promise::off(&format!("{name}.hooks"), why, format!("tripwire init --client {name}")));
        }
        promises
    }

    /// The hooks in one file; nothing is said about a file without them.
    fn hooks(&self, client: Client, spot: &Spot<'_>, found: Option<&Found>) -> Vec<Promise> {
        let Spot { file, id, again, .. } = spot;
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => return vec![unreadable(id, file, &error.to_string())],
        };
        let (commands, complete) = match (settings::commands(&text, client), settings::is_complete(&text, client)) {
            (Ok(commands), Ok(complete)) => (commands, complete),
            (Err(error), _) | (Ok(_), Err(error)) => return vec![unreadable(id, file, &error.to_string())],
        };
        if commands.is_empty() {
            return Vec::new();
        }
        let shown = file.display();
        let mut promises = Vec::new();
        if let Err(error) = settings::is_read(&text, client) {
            let fix = format!("take them out of `{shown}`: no hook in it runs");
            promises.push(Promise::broken(id, format!("`{shown}`, {error}"), fix));
        } else if let Some(other) = commands.iter().find(|command| !self.is_called_by(command, client)) {
            promises.push(Promise::broken(id, format!("`{shown}` calls another program: `{other}`"), again.clone()));
        } else if !complete {
            promises.push(Promise::broken(
                id,
                format!(
                    "`{shown}` lacks some of the events, or calls not for every tool, or not in the form that refuses"
                ),
                again.clone(),
            ));
        } else {
            let events = settings::events(client).len();
            promises.push(Promise::kept(id, format!("`{shown}` calls this program at all {events} events")));
        }
        if let Some(switch) = settings::switched_off(&text, client) {
            let fix = format!("take `{switch}` out of `{shown}`");
            promises.push(Promise::broken(&format!("{id}.switch"), format!("`{switch}` switches all hooks off"), fix));
        }
        if let (Client::Codex, Some(found), Some(command)) = (client, found, commands.first()) {
            promises.push(self.trusted(spot, (&text, command), found));
        }
        promises
    }

    /// Whether a command calls this very program, as `init` writes it or by hand.
    fn is_called_by(&self, command: &str, client: Client) -> bool {
        install::called(command, client)
            .is_some_and(|called| install::is_same(&called.program, self.program, self.search))
    }

    /// Codex skips hooks that it does not trust, without a word; only its own word tells.
    fn trusted(&self, spot: &Spot<'_>, (text, command): (&str, &str), found: &Found) -> Promise {
        let id = &format!("{}.trust", spot.id);
        let (folder, fix) = match &spot.scope {
            Scope::Project(root) => {
                (root.clone(), "start codex in this workspace, trust the folder, and type `/hooks`".to_owned())
            }
            Scope::User => {
                let folder = spot.file.parent().map_or_else(|| PathBuf::from("/"), Path::to_owned);
                (folder, format!("{}, or start codex and type `/hooks`", spot.again))
            }
        };
        let listed = match codex_hooks::list(Command::new(&found.program), &folder) {
            Ok(listed) => listed,
            Err(why) => return Promise::broken(id, format!("codex does not list its hooks: {why}"), fix),
        };
        let looked = CodexFiles::find(&spot.scope, self.homes).and_then(|files| {
            Ok((files.is_trusted(&listed)?, Change::trust(&files, text, command, &listed)?.is_nothing()))
        });
        match looked {
            Ok((true, true)) => Promise::kept(id, "codex trusts the hooks and opens no terminals behind them"),
            Ok((false, _)) => Promise::broken(id, "codex does not trust the hooks and skips them", fix),
            Ok((true, false)) => Promise::broken(id, "codex opens terminals behind the hooks", spot.again.clone()),
            Err(error) => Promise::broken(id, error.to_string(), fix),
        }
    }
}

/// A file of hooks: what it is called in the report, and what writes it again.
struct Spot<'a> {
    file: &'a Path,
    scope: Scope,
    id: String,
    again: String,
}

fn unreadable(id: &str, file: &Path, why: &str) -> Promise {
    let fix = format!("mend `{}`: its client cannot read it either", file.display());
    Promise::broken(id, format!("`{}` cannot be read: {why}", file.display()), fix)
}

/// The client's path and version, by its own word.
fn installed(found: &Found) -> Promise {
    let (id, program) = (found.client.name(), found.program.display());
    match version(&found.program) {
        Ok(version) => Promise::kept(id, format!("{version} at `{program}`")),
        Err(why) => {
            let fix = format!("try `{program} --version`, and install the client again");
            Promise::broken(id, format!("`{program}` does not tell its version: {why}"), fix)
        }
    }
}

/// The first line that a program prints for `--version`, in an empty environment and a home of its own.
fn version(program: &Path) -> Result<String, String> {
    // Some clients make folders at home when they are only asked for their version.
    let home = Throwaway::make("version").map_err(|error| format!("no throw-away home can be made: {error}"))?;
    let mut command = Command::new(program);
    command.arg("--version").current_dir(home.path()).env_clear().env("HOME", home.path());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_else(|| USUAL_PATH.into())).env("LANG", "C.UTF-8");
    command.env("DO_NOT_TRACK", "1").env("DISABLE_TELEMETRY", "1").env("DISABLE_AUTOUPDATER", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let until = Instant::now() + VERSION_WITHIN;
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Ok(None) => break Err(format!("no answer within {} s", VERSION_WITHIN.as_secs())),
            Err(error) => break Err(error.to_string()),
        }
    };
    if ended.is_err() {
        // One that has ended meanwhile needs no end.
        drop(child.kill());
        drop(child.wait());
    }
    let status = ended?;
    let mut text = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(VERSION_BYTES_MAX).read_to_end(&mut text).map_err(|error| error.to_string())?;
    }
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    let text = String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned();
    if text.is_empty() { Err("it prints nothing".to_owned()) } else { Ok(text) }
}

#[cfg(test)]
mod tests;
