//! `tripwire init --mcp`: our guard before the tool servers that the clients' settings name, and out again.

use super::args::{InitArgs, Place};
use super::report::{InitReport, is_agreed};
use crate::error::Problem;
use crate::exit::Exit;
use crate::workspace;
use serde_json::{Value, json};
use tripwire_clients::Client;
use tripwire_clients::install::Scope;
use tripwire_clients::tool_servers::{self, GuardForm, ListedServer, ServerKind, ServerPlan, ServerSwitch};

/// Runs the verb for the tool servers alone.
pub(super) fn run(args: &InitArgs) -> Result<Exit, Problem> {
    let place = Place::of(args)?;
    let plan = if args.remove {
        remove_plan(args, &place.scope)
    } else {
        tool_servers::plan_install(&clients(args), &place.scope, &workspace::homes(), &place.program)?
    };
    let exit = if plan.notes.is_empty() { Exit::Done } else { Exit::NotKept };
    let mut said = InitReport::new(args.form);
    for (client, change) in &plan.changes {
        said.tell_change(*client, change, args);
    }
    said.hide(plan.servers.iter().flat_map(|server| &server.hidden));
    tell(&plan, args, &mut said);
    if plan.changes.iter().all(|(_, change)| change.is_nothing()) {
        said.line(nothing(&plan, args));
        plan.notes.iter().for_each(|note| said.line(note));
        return said.print(exit);
    }
    if args.print {
        plan.notes.iter().for_each(|note| said.line(note));
        return said.print(exit);
    }
    if !args.yes && !is_agreed(&said)? {
        return Ok(Exit::Held);
    }
    said.lines.clear();
    for (client, change) in plan.changes.iter().filter(|(_, change)| !change.is_nothing()) {
        change.carry_out()?;
        said.wrote(*client, change);
    }
    plan.notes.iter().for_each(|note| said.line(note));
    if !args.remove {
        plan.servers.iter().filter_map(left_open).for_each(|line| said.line(&line));
        said.line("next        start the client again; `tripwire doctor` lists the servers with their pins");
    }
    said.print(exit)
}

/// What takes the guard out of the files of this scope.
pub(super) fn remove_plan(args: &InitArgs, scope: &Scope) -> ServerPlan {
    tool_servers::plan_remove(&clients(args), scope, &workspace::homes())
}

/// The clients that were named, else all whose settings name servers.
fn clients(args: &InitArgs) -> Vec<Client> {
    let named: Vec<Client> = args.client.iter().map(|client| client.client()).collect();
    if named.is_empty() { Client::every().filter(|client| client.adapter().servers.is_some()).collect() } else { named }
}

fn nothing(plan: &ServerPlan, args: &InitArgs) -> &'static str {
    match (args.remove, plan.servers.is_empty()) {
        (true, _) => "nothing to remove: no tool server is wrapped",
        (false, true) => "nothing to do: the settings name no tool servers",
        (false, false) => "nothing to do",
    }
}

/// Every server as it would be.
fn tell(plan: &ServerPlan, args: &InitArgs, said: &mut InitReport) {
    for server in &plan.servers {
        let state = state(server, args);
        said.servers.push(shown(server, &state));
        said.line(&line(server, &state));
    }
}

fn line(server: &ListedServer, state: &str) -> String {
    format!("server      {} `{}` in `{}`: {state}", server.client.name(), server.server.name, server.file.display())
}

fn left_open(server: &ListedServer) -> Option<String> {
    server.obstacle().map(|why| line(server, &format!("not wrapped: {why}")))
}

/// What becomes of a server, in words.
fn state(server: &ListedServer, args: &InitArgs) -> String {
    let off = match server.server.switch {
        ServerSwitch::On => "",
        ServerSwitch::Off => " (switched off)",
    };
    let state = match (&server.guard, server.obstacle(), args.remove) {
        (_, Some(why), false) => format!("not wrapped: {why}"),
        (None, _, true) => "not wrapped".to_owned(),
        (Some(guard), _, true) if guard.form == GuardForm::AsInstalled => "unwrapped".to_owned(),
        (Some(_), _, true) => "wrapped by hand, stays".to_owned(),
        (Some(_), None, false) => "wrapped already".to_owned(),
        (None, None, false) => "wrapped".to_owned(),
    };
    format!("{state}{off}")
}

fn shown(server: &ListedServer, state: &str) -> Value {
    let (command, url) = match &server.server.kind {
        ServerKind::Program(words) => (Some(words), None),
        // A query may hold a key.
        ServerKind::Url(url) => (None, url.split('?').next()),
        ServerKind::Unreadable(_) => (None, None),
    };
    json!({"client": server.client.name(), "name": server.server.name, "within": server.server.within,
        "file": server.file.to_string_lossy(), "command": command, "url": url, "state": state})
}
