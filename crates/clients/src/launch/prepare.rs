//! A client's hooks for one run only: settings by flag, overrides or a home of the run's own. The person's files stay.

use super::model_route::{GatewayPlace, Routing};
use crate::homes::Homes;
use crate::tool_servers::guarded::server_tool;
use crate::tool_servers::run_guard::RunGuard;
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};

/// How long a client waits for a hook, in seconds: as long as a person may keep a run paused. That the hook answers at all
/// is watched by the supervisor, which does not leave it to the client.
pub const HOOK_TIMEOUT_SECONDS: u64 = 86_400;

/// Why the hooks could not be arranged: then nothing is started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A file of the run cannot be written, or one of the person's cannot be read.
    #[error("cannot {action} `{}`: {error}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        error: io::Error,
    },
    /// Settings that the person chose are not of the client's form.
    #[error("`{}` is not a settings file of {client}: {problem}", path.display())]
    Settings {
        /// The client.
        client: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The client does not tell the trust marks of its hooks.
    #[error("codex does not list its hooks: {problem}")]
    Trust {
        /// What happened.
        problem: String,
    },
    /// Something switches the client's hooks off.
    #[error("{by} switches the client's hooks off, so nothing would be guarded")]
    SwitchedOff {
        /// The file or the flag.
        by: String,
    },
    /// A client without hooks whose model calls do not pass the gateway either.
    #[error("nothing of {client} would be guarded: {why}")]
    Unguarded {
        /// The client.
        client: &'static str,
        /// Why.
        why: String,
    },
    /// A word of the command line is not text where it must be.
    #[error("`{}` is not valid UTF-8", word.display())]
    NotText {
        /// The word.
        word: OsString,
    },
}

impl Explain for LaunchError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::File { .. } => "make the file readable and the folder for temporary files writable".into(),
            Self::Settings { .. } => "fix the file, or leave it out of the command line".into(),
            Self::Trust { .. } => "check that `codex app-server` starts, and that codex is 0.166 or newer".into(),
            Self::SwitchedOff { .. } => "take it out; nothing was started".into(),
            Self::Unguarded { .. } => {
                "have it ask its model by a base URL that can be changed; nothing was started".into()
            }
            Self::NotText { .. } => "write it with letters that the terminal knows".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::SwitchedOff { .. } | Self::Unguarded { .. } => ExitClass::DoesNotHold,
            Self::File { .. } | Self::Settings { .. } | Self::Trust { .. } | Self::NotText { .. } => {
                ExitClass::BadInput
            }
        }
    }
}

/// Where a client runs, and what it runs with.
#[derive(Debug, Clone, Copy)]
pub struct LaunchPlace<'a> {
    /// The folder of the run, which the client's processes may write to.
    pub run_folder: &'a Path,
    /// The part of it that they may only read.
    pub guard_folder: &'a Path,
    /// The shell line of our hook.
    pub hook: &'a str,
    /// Where the client starts.
    pub cwd: &'a Path,
    /// The workspace.
    pub root: &'a Path,
    /// The environment that the person gave.
    pub env: &'a [(OsString, OsString)],
    /// The person's folders.
    pub homes: &'a Homes,
    /// The gateway of the run, if it has one.
    pub gateway: Option<GatewayPlace<'a>>,
    /// The guard before its tool servers, where the client is to be started.
    pub servers: Option<RunGuard<'a>>,
}

impl LaunchPlace<'_> {
    /// A variable of the person's environment.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The same as text; one that is not is none.
    pub(crate) fn variable_text(&self, name: &str) -> Option<String> {
        self.variable(name).and_then(|value| value.to_str()).map(str::to_owned)
    }
}

#[cfg(test)]
impl<'a> LaunchPlace<'a> {
    /// A place for tests of which only the environment, the homes and the gateway matter.
    pub(crate) fn nowhere(
        env: &'a [(OsString, OsString)],
        homes: &'a Homes,
        gateway: Option<GatewayPlace<'a>>,
    ) -> Self {
        let nowhere = Path::new("/nowhere");
        let (run_folder, guard_folder, cwd, root) = (nowhere, nowhere, nowhere, nowhere);
        Self { run_folder, guard_folder, hook: "", cwd, root, env, homes, gateway, servers: None }
    }
}

/// How a client without hooks names the tools of one server to its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTools {
    /// What stands before the tool's own name.
    pub prefix: String,
    /// The server's name in the client's settings.
    pub server: String,
}

impl ServerTools {
    /// The name of a tool at every door of ours; the longest prefix that fits counts, and a name that none fits is the tool's own.
    #[must_use]
    pub fn named(all: &[Self], tool: &str) -> String {
        let fits = all.iter().filter(|one| tool.strip_prefix(&one.prefix).is_some_and(|rest| !rest.is_empty()));
        match fits.max_by_key(|one| one.prefix.len()) {
            Some(one) => server_tool(&one.server, tool.strip_prefix(&one.prefix).unwrap_or(tool)),
            None => tool.to_owned(),
        }
    }
}

/// A client that is ready to be started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreparedClient {
    /// The whole command line.
    pub command: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What the client's processes may only read, beside the folder of the run.
    pub read_only: Vec<PathBuf>,
    /// The way of its model calls.
    pub routing: Routing,
    /// What a person is told at the start.
    pub notes: Vec<String>,
    /// How its model calls the tools of its servers, where hooks do not tell.
    pub server_tools: Vec<ServerTools>,
}

impl PreparedClient {
    /// Sets a variable of the environment.
    pub fn set(&mut self, name: &str, value: OsString) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value));
    }

    /// Keeps a client that sits behind a proxy from asking it for our address.
    pub fn keep_from_proxies(&mut self) {
        let has = |name: &str| self.env.iter().any(|(known, value)| known == name && !value.is_empty());
        let proxies = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
        if !proxies.into_iter().any(has) {
            return;
        }
        for name in ["NO_PROXY", "no_proxy"] {
            let known = self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
            let mut value = known.filter(|value| !value.is_empty()).unwrap_or_default();
            if !value.is_empty() {
                value.push(",");
            }
            value.push("127.0.0.1");
            self.set(name, value);
        }
    }
}

/// A command line, cut where the client's own arguments begin; what stands behind `--` is a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnWords {
    /// The words before them.
    pub starter: Vec<String>,
    /// The client's own.
    pub own: Vec<String>,
}

impl OwnWords {
    /// Cuts a command line at the index of the client's first argument.
    #[must_use]
    pub fn of(command: &[OsString], arguments: usize) -> Self {
        let (starter, own) = command.split_at_checked(arguments).unwrap_or((command, &[]));
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        Self {
            starter: starter.iter().map(text).collect(),
            own: own.iter().take_while(|word| *word != "--").map(text).collect(),
        }
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), LaunchError> {
    std::fs::write(path, text).map_err(file_error("write", path))
}

pub(crate) fn file_error(action: &'static str, path: &Path) -> impl Fn(io::Error) -> LaunchError {
    let path = path.to_owned();
    move |error| LaunchError::File { action, path: path.clone(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mcp_6_tools_of_servers_have_one_name_at_every_door() {
        let all =
            ["db", "db_two"].map(|name| ServerTools { prefix: format!("{name}_"), server: name.replace('_', ".") });
        let named = |tool: &str| ServerTools::named(&all, tool);
        assert_eq!(
            (named("db_read"), named("db_two_read")),
            ("mcp__db__read".to_owned(), "mcp__db.two__read".to_owned())
        );
        assert_eq!((named("bash").as_str(), named("db_").as_str()), ("bash", "db_"));
    }

    #[test]
    fn a_proxy_of_the_person_is_not_asked_for_our_address() {
        let prepared = |env: &[(&str, &str)]| {
            let env = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let mut prepared = PreparedClient { env, ..PreparedClient::default() };
            prepared.keep_from_proxies();
            let found = prepared.env.iter().find(|(name, _)| name == "NO_PROXY");
            found.map(|(_, value)| value.to_string_lossy().into_owned())
        };
        assert_eq!(prepared(&[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "x")]).as_deref(), Some("x,127.0.0.1"));
        assert_eq!(prepared(&[("https_proxy", "http://p:1")]).as_deref(), Some("127.0.0.1"));
        assert_eq!(prepared(&[("HTTPS_PROXY", "")]), None);
    }
}
