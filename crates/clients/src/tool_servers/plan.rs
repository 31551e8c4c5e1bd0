//! The servers of all files of a client, and the changes that put our guard before them or take it out.

use super::address::{self, AddressEntry};
use super::entry::{ServerKind, ToolServer};
use super::guarded::{self, Guarded};
use super::table::ServerSettings;
use super::texts::{ServersError, guard_all, restored, servers};
use crate::client::Client;
use crate::homes::Homes;
use crate::install::change::{self, Change, InstallError};
use crate::install::file::{self, Scope};
use crate::install::settings;
use std::path::{Path, PathBuf};

/// A server, and the file that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedServer {
    /// Whose server it is.
    pub client: Client,
    /// The file.
    pub file: PathBuf,
    /// The server.
    pub server: ToolServer,
    /// The guard that stands before it.
    pub guard: Option<Guarded>,
    /// Texts of its entry that may be keys and are not to be shown.
    pub hidden: Vec<String>,
}

impl ListedServer {
    /// Why no guard comes before it; nothing if one stands there or can.
    #[must_use]
    pub fn obstacle(&self) -> Option<&'static str> {
        self.server.obstacle()
    }
}

/// What would become of the servers.
#[derive(Debug, Default)]
pub struct ServerPlan {
    /// The changes; files without servers have none.
    pub changes: Vec<(Client, Change)>,
    /// The servers as they are.
    pub servers: Vec<ListedServer>,
    /// What cannot be done.
    pub notes: Vec<String>,
}

/// A file whose servers cannot be read.
#[derive(Debug)]
pub struct ServerFileError {
    /// Whose it is.
    pub client: Client,
    /// Why.
    pub error: InstallError,
}

/// The servers of a client in the files of a scope.
#[must_use]
pub fn listed(client: Client, scope: &Scope, homes: &Homes) -> Vec<Result<Vec<ListedServer>, ServerFileError>> {
    let Some(settings) = client.adapter().servers else { return Vec::new() };
    let of = |path: &PathBuf| match read(path, scope, settings) {
        Ok(Some((text, servers))) => Some(Ok(named(client, path, &text, servers))),
        Ok(None) => None,
        Err(error) => Some(Err(ServerFileError { client, error })),
    };
    (settings.files)(scope, homes).iter().filter_map(of).collect()
}

/// Plans to put our guard before the servers of these clients.
///
/// # Errors
/// When a file cannot be read, or is not what its client reads: then nothing is to be changed.
pub fn plan_install(
    clients: &[Client],
    scope: &Scope,
    homes: &Homes,
    program: &Path,
) -> Result<ServerPlan, InstallError> {
    let written = program.to_string_lossy();
    let mut plan = ServerPlan::default();
    for client in clients.iter().copied() {
        let Some(settings) = client.adapter().servers else { continue };
        for path in (settings.files)(scope, homes) {
            let Some((text, servers)) = read(&path, scope, settings)? else { continue };
            if !servers.is_empty() && !guarded::is_ours(program) {
                let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned();
                return Err(InstallError::ProgramName { name });
            }
            let after = guard_all(&text, settings.form, &written).map_err(at(&path))?;
            let is_empty = servers.is_empty();
            plan.servers.extend(named(client, &path, &text, servers));
            if !is_empty {
                plan.changes.push((client, Change::of_texts(path.clone(), scope, text, after)));
            }
        }
    }
    Ok(plan)
}

/// Plans to take our guard out again. A file that cannot be read keeps no other from being restored: it is noted.
#[must_use]
pub fn plan_remove(clients: &[Client], scope: &Scope, homes: &Homes) -> ServerPlan {
    let mut plan = ServerPlan::default();
    for client in clients.iter().copied() {
        let Some(settings) = client.adapter().servers else { continue };
        for path in (settings.files)(scope, homes) {
            let restoring = read(&path, scope, settings).and_then(|found| {
                let Some((text, servers)) = found else { return Ok(None) };
                let after = restored(&text, settings.form).map_err(at(&path))?;
                let servers = named(client, &path, &text, servers);
                Ok(Some((Change::of_texts(path.clone(), scope, text, after), servers)))
            });
            match restoring {
                Ok(Some((change, servers))) => {
                    if !change.is_nothing() {
                        plan.changes.push((client, change));
                    }
                    plan.servers.extend(servers);
                }
                Ok(None) => {}
                Err(_) if !may_hold_guard(&path, scope) => {}
                Err(error) => plan.notes.push(format!("NOT DONE    {error}")),
            }
        }
    }
    plan
}

/// Whether a file that cannot be read may have our guard in it.
fn may_hold_guard(path: &Path, scope: &Scope) -> bool {
    file::read(path, scope).map_or(true, |text| text.is_some_and(|text| text.contains("tripwire")))
}

fn named(client: Client, path: &Path, text: &str, servers: Vec<ToolServer>) -> Vec<ListedServer> {
    let guard = |server: &ToolServer| match &server.kind {
        ServerKind::Program(words) => {
            let mut guard = guarded::guarded(words, &server.name)?;
            guard.inner.extend(server.original().and_then(AddressEntry::shown));
            Some(guard)
        }
        ServerKind::Url(_) | ServerKind::Unreadable(_) => None,
    };
    let hidden = |server: &ToolServer| server.address_entry(text).map(address::hidden).unwrap_or_default();
    let one = |server: ToolServer| ListedServer {
        client,
        file: path.to_owned(),
        guard: guard(&server),
        hidden: hidden(&server),
        server,
    };
    servers.into_iter().map(one).collect()
}

/// A file's text with its servers; nothing if there is no such file.
fn read(path: &Path, scope: &Scope, form: &ServerSettings) -> Result<Option<(String, Vec<ToolServer>)>, InstallError> {
    let Some(text) = file::read(path, scope)? else { return Ok(None) };
    settings::is_read(&text, form.relaxed).map_err(change::at(path))?;
    let servers = servers(&text, form.form).map_err(at(path))?;
    Ok(Some((text, servers)))
}

fn at(path: &Path) -> impl Fn(ServersError) -> InstallError {
    let path = path.to_owned();
    move |error| match error {
        ServersError::Json(error) => InstallError::Settings { path: path.clone(), error },
        ServersError::Toml(problem) => InstallError::Config { path: path.clone(), problem },
    }
}
