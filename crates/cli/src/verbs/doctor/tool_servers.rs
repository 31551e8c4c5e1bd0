//! The tool servers that the clients' settings name, and those that the MCP guard has seen, with their pins.

use crate::verbs::mcp::pins;
use crate::workspace;
use std::path::{Path, PathBuf};
use tripwire_clients::install::Scope;
use tripwire_clients::tool_servers::{self, GuardForm, Guarded, ListedServer, ServerKind, ServerSwitch, guard_name};
use tripwire_clients::{CheckResult, Client};
use tripwire_core::counted::counted;
use tripwire_core::explain::Explain as _;
use tripwire_mcp::guard::{PinError, PinnedServer};
use tripwire_mcp::wire::pins::DiffForm;

/// One check for each server.
pub(super) fn checks(root: &Path) -> Vec<CheckResult> {
    let mut checks = Vec::new();
    let mut pinned = Vec::new();
    for server in pins().servers() {
        match server {
            Ok(server) => pinned.push(server),
            Err(error) => checks.push(unreadable(&error)),
        }
    }
    let mut known = Vec::new();
    for (server, again) in named(root, &mut checks) {
        let pin = server.guard.as_ref().and_then(|guard| pin_of(guard, &pinned));
        known.extend(pin.map(|pin| (pin.name.clone(), pin.command.clone())));
        checks.push(of_settings(&server, &again, pin));
    }
    let others = pinned.iter().filter(|pin| !known.contains(&(pin.name.clone(), pin.command.clone())));
    checks.extend(others.map(|pin| of_pins(&format!("mcp.{}", pin.name), "", pin)));
    checks
}

fn unreadable(error: &PinError) -> CheckResult {
    CheckResult::broken("mcp", error.to_string(), error.hint())
}

/// The servers of the person and of this workspace, each with the command that wraps it.
fn named(root: &Path, checks: &mut Vec<CheckResult>) -> Vec<(ListedServer, String)> {
    let homes = workspace::homes();
    let scopes = [(Scope::User, ""), (Scope::Project(root.to_owned()), " --project")];
    let (mut named, mut files): (Vec<(ListedServer, String)>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    for client in Client::every() {
        for (scope, flag) in &scopes {
            let again = format!("tripwire init --mcp{flag} --client {}", client.name());
            for found in tool_servers::listed(client, scope, &homes) {
                match found {
                    Ok(servers) => {
                        // A home that is the workspace has one file for both.
                        let is_new = |server: &&ListedServer| !files.contains(&server.file) && is_here(server, root);
                        let new: Vec<ListedServer> = servers.iter().filter(is_new).cloned().collect();
                        files.extend(servers.first().map(|server| server.file.clone()));
                        named.extend(new.into_iter().map(|server| (server, again.clone())));
                    }
                    Err(failed) => {
                        let id = format!("mcp.{}", client.name());
                        checks.push(CheckResult::broken(&id, failed.error.to_string(), failed.error.hint()));
                    }
                }
            }
        }
    }
    named
}

/// Whether a server is for every project, or for this one.
fn is_here(server: &ListedServer, root: &Path) -> bool {
    server.server.within.as_deref().is_none_or(|project| Path::new(project) == root)
}

/// The pins of a guarded server: those of its name and command line.
fn pin_of<'a>(guard: &Guarded, pinned: &'a [PinnedServer]) -> Option<&'a PinnedServer> {
    pinned.iter().find(|pin| guard.name.as_deref() == Some(&pin.name) && pin.command == guard.inner)
}

/// A server that the settings name.
fn of_settings(server: &ListedServer, again: &str, pin: Option<&PinnedServer>) -> CheckResult {
    let id = format!("mcp.{}.{}", server.client.name(), guard_name(&server.server.name));
    let off = match server.server.switch {
        ServerSwitch::On => "",
        ServerSwitch::Off => ", switched off",
    };
    let at = |command: &str| format!("`{command}` in `{}`{off}", server.file.display());
    let (words, guard) = match (&server.server.kind, &server.guard) {
        (ServerKind::Url(url), _) => {
            let url = url.split('?').next().unwrap_or_default();
            return match server.obstacle() {
                Some(why) => CheckResult::off(&id, format!("{}: not wrapped: {why}", at(url)), ""),
                None => CheckResult::off(&id, format!("{}: not wrapped", at(url)), again),
            };
        }
        (ServerKind::Unreadable(why), _) => {
            return CheckResult::off(&id, format!("{}: not wrapped: {why}", at(&server.server.name)), "");
        }
        (ServerKind::Program(words), None) => {
            return CheckResult::off(&id, format!("{}: not wrapped", at(&words.join(" "))), again);
        }
        (ServerKind::Program(words), Some(guard)) => (words, guard),
    };
    if guard.form == GuardForm::AsInstalled && !Path::new(&guard.program).is_file() {
        let proof =
            format!("{}: `{}` is not there, so the server cannot start", at(&guard.inner.join(" ")), guard.program);
        return CheckResult::broken(&id, proof, again);
    }
    let shown = at(&if guard.inner.is_empty() { words.join(" ") } else { guard.inner.join(" ") });
    match pin {
        Some(pin) => of_pins(&id, &format!("{shown}: wrapped; "), pin),
        None => CheckResult::kept(&id, format!("{shown}: wrapped; no tools pinned yet")),
    }
}

/// What is pinned of a server.
fn of_pins(id: &str, before: &str, server: &PinnedServer) -> CheckResult {
    let digest = server.pins.digest().to_string();
    let count = |number: usize, of: &str| counted(u64::try_from(number).unwrap_or(u64::MAX), of);
    let of = if before.is_empty() { format!(" of `{}`", server.command.join(" ")) } else { String::new() };
    let pinned = format!(
        "{before}{} pinned (sha256 {}…){of}",
        count(server.pins.tools.len(), "tool"),
        digest.get(..16).unwrap_or_default(),
    );
    let waiting = server.waiting(DiffForm::AroundChange);
    if !waiting.is_empty() {
        let proof = format!("{pinned}; {} TOOL_CHANGED: {}", count(waiting.len(), "tool"), waiting.join("; "));
        return CheckResult::broken(id, proof, format!("look, then `tripwire mcp trust {}`", server.name));
    }
    match server.findings.as_slice() {
        [] => CheckResult::kept(id, pinned),
        findings => CheckResult { fix: format!("look at: {}", findings.join("; ")), ..CheckResult::kept(id, pinned) },
    }
}
