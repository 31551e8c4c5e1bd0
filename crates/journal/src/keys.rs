//! Where the signing key lives: outside every workspace, readable by its owner alone.
//!
//! What an agent can write, it can rewrite. The journal is in its reach where only hooks watch it; the key, and the last
//! checkpoint of each session beside it, are not.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use tripwire_fs::bounded;

use tripwire_core::record::chain::Digest;

use super::error::JournalError;
use super::note::{Signer, Verifier};
use super::paths::SessionPaths;
use super::session_id::SessionId;
use super::verify::Trust;
use crate::names;
use crate::storage::{Disk, Storage as _};

/// The person's own state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyHome {
    dir: PathBuf,
    purpose: Purpose,
}

/// What a key is for; each purpose has a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Purpose {
    /// Checkpoints of journals, made while sessions run.
    #[default]
    Journal,
    /// The gold-standard list, signed by a person's command only.
    Identity,
}

impl Purpose {
    const fn name(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Identity => "identity",
        }
    }
}

impl KeyHome {
    /// Finds it from the values of `XDG_STATE_HOME` and `HOME`; without either there is none.
    #[must_use]
    pub fn locate(state_home: Option<&OsStr>, home: Option<&OsStr>) -> Option<Self> {
        let absolute = |value: Option<&OsStr>| value.map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute(state_home).or_else(|| absolute(home).map(|home| home.join(".local").join("state")))?;
        Some(Self::at(base.join("tripwire")))
    }

    /// Uses a directory of the caller's choice.
    #[must_use]
    pub const fn at(dir: PathBuf) -> Self {
        Self { dir, purpose: Purpose::Journal }
    }

    /// The same place, with the key that signs configurations.
    #[must_use]
    pub fn for_identity(&self) -> Self {
        Self { purpose: Purpose::Identity, ..self.clone() }
    }

    /// The keys whose signature under a gold-standard list counts: the person's own, and those that were trusted.
    ///
    /// # Errors
    /// A key is there and cannot be read.
    pub fn trusted(&self) -> Result<Vec<Verifier>, JournalError> {
        let mut keys: Vec<Verifier> = self.for_identity().verifier()?.into_iter().collect();
        let path = self.trusted_path();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(JournalError::io("read", &path, error)),
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            keys.push(Verifier::parse(line).ok_or_else(|| unusable(&path, "a line of it is not a verifier key"))?);
        }
        Ok(keys)
    }

    /// Trusts a key from now on; says whether it was new.
    ///
    /// # Errors
    /// The list lies inside the workspace, or cannot be read or written.
    pub fn trust_key(&self, workspace: &Path, key: &Verifier) -> Result<bool, JournalError> {
        let path = self.trusted_path();
        self.ensure_outside(workspace, &path)?;
        if self.trusted()?.contains(key) {
            return Ok(false);
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let dir = self.dir.join("keys");
        Disk.create_dir(&dir).map_err(|error| JournalError::io("create", &dir, error))?;
        crate::storage::replace(&Disk, &path, format!("{known}{key}\n").as_bytes())
            .map_err(|error| JournalError::io("write", &path, error))?;
        Ok(true)
    }

    fn trusted_path(&self) -> PathBuf {
        self.dir.join("keys").join("trusted.pub")
    }

    /// The key for signing, made on first use.
    ///
    /// # Errors
    /// The key lies inside the workspace, others can read it, or it cannot be read or made.
    pub fn signer(&self, workspace: &Path) -> Result<Signer, JournalError> {
        let path = self.secret_path();
        self.ensure_outside(workspace, &path)?;
        let signer = match read_secret(&path)? {
            Some(signer) => signer,
            None => self.create(&path)?,
        };
        self.publish(&signer)?;
        Ok(signer)
    }

    /// Whether there is a key for signing. Nothing is made.
    ///
    /// # Errors
    /// Something is there that cannot be used: others can read it, or it is no key.
    pub fn has_key(&self) -> Result<bool, JournalError> {
        Ok(read_secret(&self.secret_path())?.is_some())
    }

    /// What the placeholders of secrets are made from: bound to the key for signing, which is made on first use.
    ///
    /// # Errors
    /// See [`Self::signer`].
    pub fn redaction_seed(&self, workspace: &Path) -> Result<[u8; 32], JournalError> {
        self.seed(workspace, b"tripwire redaction 1\0")
    }

    /// What signs the links of messages: bound to the key for signing, which is made on first use.
    ///
    /// # Errors
    /// See [`Self::signer`].
    pub fn link_seed(&self, workspace: &Path) -> Result<[u8; 32], JournalError> {
        self.seed(workspace, b"tripwire approval link 1\0")
    }

    fn seed(&self, workspace: &Path, purpose: &[u8]) -> Result<[u8; 32], JournalError> {
        let path = self.secret_path();
        self.ensure_outside(workspace, &path)?;
        let secret = match secret_text(&path)? {
            // The text is enough: computing the public half would cost every hook about 270,000 instructions.
            Some(text) if Signer::is_secret_text(&text) => text.trim_end().to_owned(),
            Some(_) => return Err(unusable(&path, NO_KEY)),
            None => self.create(&path)?.to_secret_text(),
        };
        Ok(*Digest::of_parts([purpose, secret.as_bytes()]).as_bytes())
    }

    /// The key for checking, if one was ever made.
    ///
    /// # Errors
    /// The key is there and cannot be read.
    pub fn verifier(&self) -> Result<Option<Verifier>, JournalError> {
        let path = self.public_path();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(JournalError::io("read", &path, error)),
        };
        Verifier::parse(&text).map(Some).ok_or_else(|| unusable(&path, "it is not a verifier key"))
    }

    /// Where the last checkpoint of a session is kept a second time, so that cutting journal and checkpoints is found.
    #[must_use]
    pub fn witness(&self, paths: &SessionPaths) -> PathBuf {
        let dir = std::path::absolute(paths.dir()).unwrap_or_else(|_error| paths.dir().to_owned());
        let place = Digest::of(dir.as_os_str().as_encoded_bytes()).to_string();
        let place = place.get(..16).unwrap_or_default();
        self.dir.join("witness").join(format!("{}-{place}.note", paths.session()))
    }

    /// The sessions of a `.geometry` directory for which this person's key vouched, and whose journals are gone: of a
    /// journal that was deleted whole, this is all that is left to verify.
    #[must_use]
    pub fn lost(&self, geometry: &Path) -> Vec<(String, PathBuf)> {
        let notes = std::fs::read_dir(self.dir.join("witness")).into_iter().flatten().filter_map(Result::ok);
        let mut lost: Vec<(String, PathBuf)> = notes
            .filter_map(|note| {
                let file = note.file_name().into_string().ok()?;
                let (session, _) = file.strip_suffix(".note")?.rsplit_once('-')?;
                let paths = SessionPaths::new(geometry, &SessionId::parse(session).ok()?);
                let ours = self.witness(&paths) == note.path();
                (ours && !paths.dir().join(names::segment(1)).exists()).then(|| (session.to_owned(), note.path()))
            })
            .collect();
        lost.sort();
        lost
    }

    /// What this person's key vouches for about a session.
    ///
    /// # Errors
    /// The key is there and cannot be read.
    pub fn trust(&self, paths: &SessionPaths) -> Result<Trust, JournalError> {
        Ok(Trust { verifier: self.verifier()?, witness: Some(self.witness(paths)) })
    }

    /// The folders that an agent has no business in: the key, and what it vouches for.
    #[must_use]
    pub fn folders(&self) -> [PathBuf; 2] {
        [self.dir.join("keys"), self.dir.join("witness")]
    }

    /// The file of the secret key.
    #[must_use]
    pub fn secret_path(&self) -> PathBuf {
        self.dir.join("keys").join(format!("{}.key", self.purpose.name()))
    }

    fn public_path(&self) -> PathBuf {
        self.dir.join("keys").join(format!("{}.pub", self.purpose.name()))
    }

    fn ensure_outside(&self, workspace: &Path, path: &Path) -> Result<(), JournalError> {
        // A link that leads to nothing yet counts as well: the key would be made where it leads.
        match (tripwire_fs::links::followed(path), workspace.canonicalize()) {
            (None, Ok(_)) => Err(unusable(path, "where its links lead cannot be known")),
            (Some(file), Ok(workspace)) if file.starts_with(&workspace) => {
                Err(unusable(path, "it lies inside the workspace that it guards"))
            }
            (Some(_), Ok(_)) | (_, Err(_)) => Ok(()),
        }
    }

    fn create(&self, path: &Path) -> Result<Signer, JournalError> {
        let dir = self.dir.join("keys");
        let at = |action| move |error| JournalError::io(action, path, error);
        Disk.create_dir(&dir).map_err(at("create"))?;
        let mut seed = [0; 32];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut seed))
            .map_err(at("draw randomness for"))?;
        let signer = Signer::from_seed(&format!("tripwire-{}", self.purpose.name()), &seed);
        let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| {
                writeln!(file, "{}", signer.to_secret_text())?;
                file.sync_all()
            })
            // A link, not a rename: of two first uses at the same time one wins, and both then read its key whole.
            .and_then(|()| std::fs::hard_link(&temporary, path));
        std::fs::remove_file(&temporary).map_err(at("clean up for"))?;
        match written {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at("write")(error)),
        }
        Disk.sync_dir(&dir).map_err(at("sync"))?;
        read_secret(path)?.ok_or_else(|| unusable(path, "it vanished as it was made"))
    }

    /// The public half lies beside the secret one, so that checking needs no access to the secret.
    fn publish(&self, signer: &Signer) -> Result<(), JournalError> {
        let path = self.public_path();
        let text = format!("{}\n", signer.verifier());
        if std::fs::read_to_string(&path).is_ok_and(|found| found == text) {
            return Ok(());
        }
        crate::storage::replace(&Disk, &path, text.as_bytes()).map_err(|error| JournalError::io("write", &path, error))
    }
}

fn read_secret(path: &Path) -> Result<Option<Signer>, JournalError> {
    let Some(text) = secret_text(path)? else { return Ok(None) };
    Signer::parse(&text).map(Some).ok_or_else(|| unusable(path, NO_KEY))
}

/// The text of a key that its owner alone can read.
fn secret_text(path: &Path) -> Result<Option<String>, JournalError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(JournalError::io("open", path, error)),
    };
    let seen = file.metadata().map_err(|error| JournalError::io("examine", path, error))?;
    if seen.mode() & 0o077 != 0 {
        return Err(unusable(path, "others than its owner can read it"));
    }
    let bytes = bounded::read_beginning_sized(file, KEY_BYTES_MAX, seen.len())
        .map_err(|error| JournalError::io("read", path, error))?;
    String::from_utf8(bytes).map(Some).map_err(|_not_text| unusable(path, NO_KEY))
}

/// Why a file is not used as a key.
const NO_KEY: &str = "it is not a signing key";

/// More than any signing key has.
const KEY_BYTES_MAX: u64 = 4_096;

fn unusable(path: &Path, cause: &str) -> JournalError {
    JournalError::Key { path: path.to_owned(), cause: cause.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_state_directory_comes_first_and_relative_ones_are_ignored() {
        let text = |value: &'static str| Some(OsStr::new(value));
        let found = |state, home| KeyHome::locate(state, home).map(|home| home.dir);
        assert_eq!(found(text("/x"), text("/h")), Some("/x/tripwire".into()));
        assert_eq!(found(text("x"), text("/h")), Some("/h/.local/state/tripwire".into()));
        assert_eq!(found(None, None), None);
    }

    #[test]
    fn a_key_is_made_once_and_found_again() {
        let temp = tempfile::tempdir().unwrap();
        let home = KeyHome::at(temp.path().join("state"));
        let workspace = temp.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        assert_eq!(home.verifier().unwrap(), None);
        let first = home.signer(&workspace).unwrap().verifier();
        assert_eq!(home.signer(&workspace).unwrap().verifier(), first);
        assert_eq!(home.verifier().unwrap(), Some(first));
        let mode = std::fs::metadata(home.secret_path()).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn of_two_first_uses_at_the_same_time_both_have_the_key_of_one() {
        let temp = tempfile::tempdir().unwrap();
        let home = KeyHome::at(temp.path().join("state"));
        let first = home.create(&home.secret_path()).unwrap().verifier();
        assert_eq!(home.create(&home.secret_path()).unwrap().verifier(), first);
        let left = std::fs::read_dir(temp.path().join("state/keys")).unwrap().count();
        assert_eq!(left, 1, "what the other one made is gone");
    }

    #[test]
    fn a_key_inside_the_workspace_or_open_to_others_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let inside = KeyHome::at(temp.path().join("state"));
        assert!(matches!(inside.signer(temp.path()), Err(JournalError::Key { .. })));
        let workspace = temp.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        inside.signer(&workspace).unwrap();
        let open = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(inside.secret_path(), open).unwrap();
        assert!(matches!(inside.signer(&workspace), Err(JournalError::Key { .. })));
    }

    #[test]
    fn a_seed_is_made_from_the_keys_text_and_a_file_that_is_no_key_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let home = KeyHome::at(temp.path().join("state"));
        let workspace = temp.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let first = home.redaction_seed(&workspace).unwrap();
        let secret = home.signer(&workspace).unwrap().to_secret_text();
        let expected = Digest::of_parts([b"tripwire redaction 1\0".as_slice(), secret.as_bytes()]);
        assert_eq!((first, home.redaction_seed(&workspace).unwrap()), (*expected.as_bytes(), first));
        assert_ne!(home.link_seed(&workspace).unwrap(), first);
        let foreign = secret.replacen(&secret.split('+').nth(3).unwrap().to_owned(), "00000000", 1);
        std::fs::write(home.secret_path(), foreign).unwrap();
        assert!(home.redaction_seed(&workspace).is_ok(), "a foreign id is not computed for a seed");
        assert!(matches!(home.signer(&workspace), Err(JournalError::Key { .. })), "and nothing is signed with it");
        for text in [b"".as_slice(), b"PRIVATE+KEY+tripwire-journal+eb5aa0fa", b"PRIVATE+KEY+name+id+AAAA", b"\xff"] {
            std::fs::write(home.secret_path(), text).unwrap();
            let refused = home.redaction_seed(&workspace);
            assert!(matches!(refused, Err(JournalError::Key { .. })), "{text:?}");
        }
    }

    #[test]
    fn the_key_for_configurations_is_not_the_key_of_the_journal_and_is_trusted() {
        let temp = tempfile::tempdir().unwrap();
        let home = KeyHome::at(temp.path().join("state"));
        let workspace = temp.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let journal = home.signer(&workspace).unwrap().verifier();
        assert_eq!(home.trusted().unwrap(), [], "the journal's key signs no configuration");
        let identity = home.for_identity().signer(&workspace).unwrap().verifier();
        assert_ne!(identity, journal);
        assert_ne!(home.for_identity().secret_path(), home.secret_path());
        assert_eq!(home.trusted().unwrap(), [identity]);
    }

    #[test]
    fn a_key_is_trusted_once_and_a_list_that_cannot_be_read_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let home = KeyHome::at(temp.path().join("state"));
        let workspace = temp.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let other = KeyHome::at(temp.path().join("other")).signer(&workspace).unwrap().verifier();
        assert!(home.trust_key(&workspace, &other).unwrap());
        assert!(!home.trust_key(&workspace, &other).unwrap());
        assert_eq!(home.trusted().unwrap(), std::slice::from_ref(&other));
        assert!(home.trust_key(temp.path(), &other).is_err(), "the list would lie in the workspace");

        std::fs::write(home.trusted_path(), "no key\n").unwrap();
        assert!(matches!(home.trusted(), Err(JournalError::Key { .. })));
        std::fs::remove_file(home.trusted_path()).unwrap();
        std::fs::create_dir(home.trusted_path()).unwrap();
        assert!(matches!(home.trusted(), Err(JournalError::Io { .. })));
        std::fs::create_dir_all(home.for_identity().public_path()).unwrap();
        assert!(matches!(home.for_identity().verifier(), Err(JournalError::Io { .. })));
    }
}
