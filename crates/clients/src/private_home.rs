//! A client's own files for a confined run: a private copy, of which only the credential file's known fields come back.
//!
//! The copy lies in a folder of our state, one for each workspace and client. What a client obeys (settings, hooks, tool servers,
//! instructions) is copied for each run, so that nothing that an agent wrote there lives on; the history of sessions stays
//! in the copy, so that a session can be taken up again. The person's own folder is never written to, but for one file.

mod copy;
mod credential;

use crate::client::Client;
use crate::homes::Homes;
use crate::private_files::{PrivateFiles, PrivateRoot};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use credential::CredentialCopy;
pub use credential::WriteBack;

/// The private copy of one client's files.
#[derive(Debug)]
pub struct PrivateHome {
    client: Client,
    variables: Vec<(&'static str, PathBuf)>,
    folders: Vec<PathBuf>,
    credential: Option<CredentialCopy>,
    left_out: Vec<PathBuf>,
}

impl PrivateHome {
    /// Makes the copy below a folder that is the client's and the workspace's alone; none for a client without such files.
    ///
    /// # Errors
    /// When the copy cannot be made: then nothing is to be started.
    pub fn make(client: Client, homes: &Homes, below: &Path) -> io::Result<Option<Self>> {
        let Some(files) = client.adapter().private else { return Ok(None) };
        let base = below.join(client.name());
        let mut made =
            Self { client, variables: Vec::new(), folders: Vec::new(), credential: None, left_out: Vec::new() };
        for root in files.roots {
            made.add(root, homes, &base)?;
        }
        made.credential = made.credential_of(files, homes)?;
        Ok(Some(made))
    }

    fn add(&mut self, root: &PrivateRoot, homes: &Homes, base: &Path) -> io::Result<()> {
        let named = base.join(root.variable.to_ascii_lowercase());
        let folder = if root.folder.is_empty() { named.clone() } else { named.join(root.folder) };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let folder = folder.canonicalize()?;
        copy::clear(&folder, root.kept)?;
        if let Some(own) = own_folder(root, homes) {
            for name in root.copied {
                copy::copy(&own.join(name), &folder.join(name), &mut self.left_out)?;
            }
        }
        if let (None, Some(home)) = (homes.given.get(root.variable), &homes.home) {
            for name in root.beside {
                copy::copy(&home.join(name), &folder.join(name), &mut self.left_out)?;
            }
        }
        self.variables.push((root.variable, named.canonicalize()?));
        self.folders.push(folder);
        Ok(())
    }

    fn credential_of(&self, files: &'static PrivateFiles, homes: &Homes) -> io::Result<Option<CredentialCopy>> {
        let Some(credential) = &files.credential else { return Ok(None) };
        let at = files.roots.iter().position(|root| root.copied.contains(&credential.name));
        let (Some(at), Some(root)) = (at, at.and_then(|at| files.roots.get(at))) else { return Ok(None) };
        let (Some(own), Some(folder)) = (own_folder(root, homes), self.folders.get(at)) else { return Ok(None) };
        CredentialCopy::note(credential, &own.join(credential.name), &folder.join(credential.name))
    }

    /// The client.
    #[must_use]
    pub const fn client(&self) -> Client {
        self.client
    }

    /// The variables that lead the client to the copy.
    #[must_use]
    pub fn variables(&self) -> &[(&'static str, PathBuf)] {
        &self.variables
    }

    /// The folders that the client may write to.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// What was too large to be copied.
    #[must_use]
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// Carries known fields of the credential file back to the person's own, if a host that renews it was `reached`.
    #[must_use]
    pub fn write_back(&self, reached: &dyn Fn(&str) -> bool) -> WriteBack {
        self.credential.as_ref().map_or(WriteBack::Unchanged, |credential| credential.write_back(reached))
    }
}

/// The person's own folder of this kind.
fn own_folder(root: &PrivateRoot, homes: &Homes) -> Option<PathBuf> {
    let named = match homes.given.get(root.variable) {
        Some(given) => given.clone(),
        None => homes.home.as_ref()?.join(root.below_home),
    };
    Some(if root.folder.is_empty() { named } else { named.join(root.folder) })
}

#[cfg(test)]
mod tests;
