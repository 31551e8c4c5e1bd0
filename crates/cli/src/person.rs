//! Commands by which a person lets something go on are a person's: below a client they are refused.
//!
//! A process in an agent's tree is known by what its client sets in the environment and by its ancestors. A client
//! that works elsewhere does not count: it is not the one that this workspace guards. This is no wall, because a process
//! can shed both; what an agent asks for is judged before (CTRL-3), and under `tripwire run` nothing of its tree can
//! write the guard's files.

use crate::error::Problem;
use crate::workspace::Where;
use clap::Args;
use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use tripwire_clients::Client;
use tripwire_clients::launch::Program;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::input::{HumanAct, What};
use tripwire_supervisor::socket::SOCKET_VARIABLE;
use tripwire_workspace::account;

/// Ancestors that are looked at.
const ANCESTORS_MAX: usize = 64;
/// Programs that run a script, which is what counts.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];

/// A person's own verb, called from inside a client.
#[derive(Debug, thiserror::Error)]
#[error("`tripwire {verb}` is for a person, and {sign}: an agent does not let its own work go on")]
struct OnlyAPersonError {
    verb: &'static str,
    /// How that is known.
    sign: String,
}

impl Explain for OnlyAPersonError {
    fn hint(&self) -> Cow<'_, str> {
        "run it in a terminal of your own, outside of the client".into()
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Refused
    }
}

/// Why a person does something; beside it the account is journaled.
#[derive(Debug, Args)]
pub(crate) struct Reason {
    /// Why; it is journaled with your account.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
}

impl Reason {
    /// The act as an input, with who does it and why.
    pub(crate) fn sign(&self, act: HumanAct) -> What {
        What::Human(act.signed(&account::current(), &self.reason))
    }
}

/// Where a client was found among the ancestors.
enum Above {
    /// It works in this workspace.
    Here(&'static str),
    /// It works somewhere else, which is its own affair; its marks in the environment are explained by it.
    Elsewhere,
    /// There is none.
    Nowhere,
}

/// Refuses a verb that is called from inside a client that works in this place.
pub(crate) fn only(verb: &'static str, place: &Where) -> Result<(), Problem> {
    let is_set = |name: &&'static str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let supervised = Some(SOCKET_VARIABLE).filter(is_set);
    let by_client = || Client::ALL.iter().flat_map(|client| client.adapter().launch.known_by.agent_variables);
    let folder = place.folder()?;
    let root = place.look().map_or(folder, |workspace| workspace.root().to_owned());
    let mark = match client_above(&root) {
        Above::Here(client) => return Err(OnlyAPersonError { verb, sign: format!("it runs below `{client}`") }.into()),
        Above::Elsewhere => supervised,
        Above::Nowhere => supervised.or_else(|| by_client().copied().find(is_set)),
    };
    match mark {
        Some(name) => Err(OnlyAPersonError { verb, sign: format!("`{name}` is set") }.into()),
        None => Ok(()),
    }
}

/// Looks for a client among the ancestors.
fn client_above(root: &Path) -> Above {
    let mut above = Above::Nowhere;
    let mut process = std::os::unix::process::parent_id();
    for _ in 0..ANCESTORS_MAX {
        let folder = PathBuf::from(format!("/proc/{process}"));
        let command = command_line(&std::fs::read(folder.join("cmdline")).unwrap_or_default());
        if let Some(program) = client_in(&command) {
            let cwd = folder.join("cwd").read_link();
            if cwd.map_or(true, |cwd| root.starts_with(&cwd) || cwd.starts_with(root)) {
                return Above::Here(program.client.name());
            }
            above = Above::Elsewhere;
        }
        let stat = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        match parent_of(&stat) {
            Some(parent) => process = parent,
            None => break,
        }
    }
    above
}

fn client_in(command: &[OsString]) -> Option<Program> {
    let first = Path::new(command.first()?).file_name()?.to_str()?;
    let script = if SHELLS.contains(&first) { command.get(1..)? } else { command };
    Program::find(script)
}

fn command_line(bytes: &[u8]) -> Vec<OsString> {
    bytes
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}

/// The parent of a process, from its `stat`: the second field behind the name, which may hold anything but ends with `)`.
fn parent_of(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(line: &str) -> Option<&'static str> {
        client_in(&command_line(line.replace(' ', "\0").as_bytes())).map(|program| program.client.name())
    }

    #[test]
    fn ctrl_3_a_client_is_known_by_its_command_line() {
        assert_eq!(client("claude -p x"), Some("claude"));
        assert_eq!(client("/bin/sh /usr/bin/gemini"), Some("gemini"));
        assert_eq!(client("node /x/@openai/codex/bin/codex.js exec"), Some("codex"));
        for other in ["bash", "bash -lc claude", "cargo test", "vim claude.md", ""] {
            assert_eq!(client(other), None, "{other}");
        }
    }

    #[test]
    fn ctrl_3_the_parent_is_found_behind_any_name() {
        assert_eq!(parent_of("12 (a) b) S 7 1"), Some(7));
        assert_eq!(parent_of("1 (init) S 0 1"), None);
        assert_eq!(parent_of("nothing"), None);
    }
}
