//! Codex CLI: overrides on the command line, each hook marked as trusted by the client's own hash of it.
//!
//! Hooks that nobody trusted are skipped without a word. The client itself tells the hash of each hook; it is given back to
//! it for this run only, for our hooks and for no others. The flag that trusts every hook is never used: it would also run
//! whatever hooks a repository brings along.

use super::{ArrangeError, Arranged, HOOK_TIMEOUT_SECONDS, Scene};
use std::ffi::OsString;
use std::process::Command;
use tripwire_clients::codex_hooks::{self, Listed, NO_TERMINALS, SOURCE_GIVEN, toml_text};
use tripwire_clients::hooks::Client;
use tripwire_clients::install::settings::events;

/// Adds the hooks to the command line.
pub(super) fn arrange(scene: &Scene<'_>, arguments: usize, arranged: &mut Arranged) -> Result<(), ArrangeError> {
    let hook = scene.hook(Client::Codex);
    let mut overrides: Vec<OsString> =
        codex_hooks::overrides(&hook, HOOK_TIMEOUT_SECONDS).into_iter().map(OsString::from).collect();
    // What is typed into a program that runs already reaches no hook, so none may be left open for it.
    overrides.push(OsString::from("-c"));
    overrides.push(OsString::from(format!("{NO_TERMINALS}=false")));
    let listed = list(scene, arguments, &overrides, arranged)?;
    let mut marks = Vec::new();
    for entry in listed.iter().filter(|entry| entry.source == SOURCE_GIVEN && entry.command.as_deref() == Some(&hook)) {
        marks.push(format!("{}={{trusted_hash={}}}", toml_text(&entry.key), toml_text(&entry.hash)));
    }
    if marks.len() != events(Client::Codex).len() {
        let problem = format!("{} of {} hooks were taken", marks.len(), events(Client::Codex).len());
        return Err(ArrangeError::Trust { problem });
    }
    overrides.push(OsString::from("-c"));
    overrides.push(OsString::from(format!("hooks.state={{{}}}", marks.join(","))));
    arranged.command.splice(arguments..arguments, overrides);
    Ok(())
}

/// Asks the client for its hooks with these overrides; nothing of the person's is changed and no model is asked.
fn list(
    scene: &Scene<'_>,
    arguments: usize,
    overrides: &[OsString],
    arranged: &Arranged,
) -> Result<Vec<Listed>, ArrangeError> {
    let trust = |problem: String| ArrangeError::Trust { problem };
    let starter = arranged.command.get(..arguments).unwrap_or_default();
    let (program, rest) = starter.split_first().ok_or_else(|| trust("no program".to_owned()))?;
    let mut command = Command::new(program);
    command.args(rest).args(overrides).env_clear();
    command.envs(arranged.env.iter().map(|(name, value)| (name, value)));
    codex_hooks::list(command, scene.cwd).map_err(trust)
}
