//! The checks of the clients on this machine: is the client there, do its hooks call this
//! very program at every event, does anything switch them off, does the client trust them. Nothing is changed.

use crate::adapter::SandboxUse;
use crate::check_result::CheckResult;
use crate::client::Client;
use crate::homes::Homes;
use crate::install::called::{called, is_same};
use crate::install::{self, Found, Scope, SettingsFile, TrustCheck, TrustPlace, settings};
use crate::search_path;
use crate::temp_folder::TempFolder;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tripwire_fs::bounded;

/// How long a client may take to tell its version.
const VERSION_WITHIN: Duration = Duration::from_secs(20);
/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The longest version that is shown.
const VERSION_BYTES_MAX: u64 = 200;

/// The surroundings of a check of clients.
#[derive(Debug)]
pub struct ClientCheck<'a> {
    /// The person's folders.
    pub homes: &'a Homes,
    /// The workspace's folder.
    pub workspace: &'a Path,
    /// Our own program, as hooks should call it.
    pub program: &'a Path,
    /// Where programs are looked for.
    pub search: Option<&'a OsStr>,
}

impl ClientCheck<'_> {
    /// The checks of one client.
    #[must_use]
    pub fn client(&self, client: Client, found: Option<&Found>) -> Vec<CheckResult> {
        let name = client.name();
        let mut checks = vec![match found {
            Some(found) => installed(found),
            None => CheckResult::off(name, "not on the search path", ""),
        }];
        let scopes = [(Scope::User, "user", ""), (Scope::Project(self.workspace.to_owned()), "project", " --project")];
        let mut seen = Vec::new();
        for (scope, word, flag) in scopes {
            let Ok(file) = SettingsFile::find(client.adapter().settings, &scope, self.homes) else { continue };
            let file = file.path;
            // A home that is the workspace has one file for both.
            if seen.contains(&file) {
                continue;
            }
            let id = format!("{name}.hooks.{word}");
            let again = format!("tripwire init --client {name}{flag}");
            checks.extend(self.hooks(client, &HookFile { file: &file, scope, id, again }, found));
            seen.push(file);
        }
        if found.is_some() && checks.len() == 1 {
            let why = "no hooks are installed; sessions outside of `tripwire run` are not guarded";
            checks.push(CheckResult::off(&format!("{name}.hooks"), why, format!("tripwire init --client {name}")));
        }
        if found.is_some() {
            checks.push(sandbox(client));
        }
        checks
    }

    /// The clients on the search path that are guarded at the gateway alone.
    #[must_use]
    pub fn at_gateway(&self) -> Vec<CheckResult> {
        let is_there = |client: &Client| {
            let mut names = client.adapter().launch.known_by.programs.iter();
            names.any(|name| install::program(self.search, name).is_some())
        };
        Client::AT_GATEWAY.into_iter().filter(is_there).map(sandbox).collect()
    }

    /// The hooks in one file; nothing is said about a file without them.
    fn hooks(&self, client: Client, spot: &HookFile<'_>, found: Option<&Found>) -> Vec<CheckResult> {
        let HookFile { file, id, again, scope } = spot;
        let form = client.adapter().settings;
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => return vec![unreadable(id, file, &error.to_string())],
        };
        let (commands, complete) = match (settings::commands(&text, form), settings::is_complete(&text, form)) {
            (Ok(commands), Ok(complete)) => (commands, complete),
            (Err(error), _) | (Ok(_), Err(error)) => return vec![unreadable(id, file, &error.to_string())],
        };
        if commands.is_empty() {
            return Vec::new();
        }
        let shown = file.display();
        let mut checks = Vec::new();
        if let Err(error) = settings::is_read(&text, form.relaxed) {
            let fix = format!("take them out of `{shown}`: no hook in it runs");
            checks.push(CheckResult::broken(id, format!("`{shown}`, {error}"), fix));
        } else if let Some(other) = commands.iter().find(|command| !self.is_called_by(command, client)) {
            checks.push(CheckResult::broken(id, format!("`{shown}` calls another program: `{other}`"), again.clone()));
        } else if !complete {
            checks.push(CheckResult::broken(
                id,
                format!(
                    "`{shown}` lacks some of the events, or calls not for every tool, or not in the form that refuses"
                ),
                again.clone(),
            ));
        } else {
            let events = form.events.len();
            checks.push(CheckResult::kept(id, format!("`{shown}` calls this program at all {events} events")));
            let limit = client.limit_of_hooks();
            checks.extend(limit.map(|limit| CheckResult::off(&format!("{id}.limit"), limit, "")));
        }
        if let Some(switch) = settings::switched_off(&text, form) {
            let fix = format!("take `{switch}` out of `{shown}`");
            checks.push(CheckResult::broken(
                &format!("{id}.switch"),
                format!("`{switch}` switches all hooks off"),
                fix,
            ));
        }
        if let (Some(trust), Some(found), Some(command)) = (client.adapter().trust, found, commands.first()) {
            let place = TrustPlace { scope, homes: self.homes, program: Some(&found.program) };
            let check = TrustCheck { id: &format!("{id}.trust"), again, text: &text, command };
            checks.push(trust.check(&place, &check));
        }
        checks
    }

    /// Whether a command calls this very program, as `init` writes it or by hand.
    fn is_called_by(&self, command: &str, client: Client) -> bool {
        called(command, client.name()).is_some_and(|called| is_same(&called.program, self.program, self.search))
    }
}

/// A file of hooks: what it is called in the report, and what writes it again.
struct HookFile<'a> {
    file: &'a Path,
    scope: Scope,
    id: String,
    again: String,
}

/// Whether `tripwire run` confines the client, and why not unless it is told to.
fn sandbox(client: Client) -> CheckResult {
    let (name, SandboxUse { measured, not_by_default }) = (client.name(), client.adapter().sandbox);
    let measured = measured.map_or_else(String::new, |version| {
        format!("it was seen to work there as root and as an ordinary user, with {version}; ")
    });
    let proof = format!("`tripwire run` does not confine it unless told to; {measured}by default {not_by_default}");
    CheckResult::off(&format!("{name}.sandbox"), proof, format!("tripwire run --sandbox -- {name}"))
}

fn unreadable(id: &str, file: &Path, why: &str) -> CheckResult {
    let fix = format!("fix `{}`: its client cannot read it either", file.display());
    CheckResult::broken(id, format!("`{}` cannot be read: {why}", file.display()), fix)
}

/// The client's path and version, by its own word.
fn installed(found: &Found) -> CheckResult {
    let (id, program) = (found.client.name(), found.program.display());
    match version(&found.program) {
        Ok(version) => CheckResult::kept(id, format!("{version} at `{program}`")),
        Err(why) => {
            let fix = format!("try `{program} --version`, and install the client again");
            CheckResult::broken(id, format!("`{program}` does not tell its version: {why}"), fix)
        }
    }
}

/// The first line that a program prints for `--version`, in an empty environment and a home of its own.
fn version(program: &Path) -> Result<String, String> {
    // Some clients make folders at home when they are only asked for their version.
    let home = TempFolder::make("version").map_err(|error| format!("no temporary home can be made: {error}"))?;
    let mut command = Command::new(program);
    command.arg("--version").current_dir(home.path()).env_clear().env("HOME", home.path());
    command.env("PATH", search_path::current()).env("LANG", "C.UTF-8");
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
    let read = child.stdout.take().map(|stdout| bounded::read_beginning(stdout, VERSION_BYTES_MAX));
    let text = read.transpose().map_err(|error| error.to_string())?.unwrap_or_default();
    if !status.success() {
        return Err(format!("it ended with {status}"));
    }
    let text = String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned();
    if text.is_empty() { Err("it prints nothing".to_owned()) } else { Ok(text) }
}

#[cfg(test)]
mod tests;
