//! The parts of an agent's configuration, each with its SHA-256, and the one checksum over all of them.

use crate::{Permissions, Who};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::policy::List;
use tripwire_core::policy::{Policy, Switch, Text};
use tripwire_core::record::canonical::{self, CanonicalError};
use tripwire_core::record::chain::Digest;
use tripwire_fs::bounded;
use tripwire_fs::file::open_regular;

/// A part of an agent's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The frozen settings.
    Policy,
    /// The roles and what they may do.
    Permissions,
    /// The system prompt: the program's own, or the files that a client reads as one.
    Prompt,
    /// The tools: the program's own registry, or the files that name a client's servers.
    Tools,
    /// The settings of the client that runs the agent.
    Client,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Policy, Self::Permissions, Self::Prompt, Self::Tools, Self::Client];

    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Permissions => "permissions",
            Self::Prompt => "prompt",
            Self::Tools => "tools",
            Self::Client => "client",
        }
    }
}

/// Why a configuration has no checksum.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// A file that belongs to it cannot be read.
    #[error("cannot read `{}`, which is a part of the agent's configuration: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A value has no canonical form.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
}

impl Explain for ConfigurationError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::File { .. } => "make it readable and smaller than 4 MiB, or take it out of `identity`".into(),
            Self::Canonical(_) => "this is a defect of tripwire; please report it".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::DoesNotHold
    }
}

/// The parts that are known, with their digests; a part that is not there has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Configuration(BTreeMap<Part, Digest>);

impl Configuration {
    /// The configuration under a policy and permissions, with the files of a workspace.
    ///
    /// # Errors
    /// When a file of it cannot be read.
    pub fn observe(
        policy: &Policy,
        permissions: &Permissions,
        workspace: Option<&Path>,
    ) -> Result<Self, ConfigurationError> {
        // The caller's correlation id names a run, and the role is asked for beside the checksum.
        let mut frozen = policy.clone();
        frozen.identity.workflow_binding = Text::default();
        if permissions.stops_on_convergence(Who::role(frozen.identity.role.as_str())) {
            frozen.limits.stop_on_convergence = Switch::Off;
        }
        frozen.identity.role = Text::default();
        let mut found = Self::default();
        found.set(Part::Policy, Some(frozen.hash()?));
        let permissions = canonical::to_string(permissions)?;
        found.set(Part::Permissions, Some(Digest::of(permissions.as_bytes())));
        found.read_files(policy, workspace)?;
        Ok(found)
    }

    /// Reads the files that make prompt, tools and client.
    pub(super) fn read_files(&mut self, policy: &Policy, workspace: Option<&Path>) -> Result<(), ConfigurationError> {
        let identity = &policy.identity;
        let lists = [
            (Part::Prompt, &identity.prompt_files),
            (Part::Tools, &identity.tool_files),
            (Part::Client, &identity.client_files),
        ];
        for (part, list) in lists {
            self.set(part, digest_of(workspace, list)?);
        }
        Ok(())
    }

    /// Sets a part, or takes it away.
    pub fn set(&mut self, part: Part, digest: Option<Digest>) {
        match digest {
            Some(digest) => drop(self.0.insert(part, digest)),
            None => drop(self.0.remove(&part)),
        }
    }

    /// The parts with their digests.
    pub fn iter(&self) -> impl Iterator<Item = (Part, Digest)> {
        self.0.iter().map(|(part, digest)| (*part, *digest))
    }

    /// The digest of a part.
    #[must_use]
    pub fn get(&self, part: Part) -> Option<Digest> {
        self.0.get(&part).copied()
    }

    /// The digest over the settings and the permissions alone: what the policy files of a workspace make, whatever agent works
    /// there. None where one of both is not known.
    #[must_use]
    pub fn rules_digest(&self) -> Option<Digest> {
        let (policy, permissions) = (self.get(Part::Policy)?, self.get(Part::Permissions)?);
        Some(Digest::of(format!("{RULES_DOMAIN}{policy}\n{permissions}\n").as_bytes()))
    }

    /// The parts in which two configurations differ.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<Part> {
        Part::ALL.into_iter().filter(|part| self.get(*part) != other.get(*part)).collect()
    }

    /// The checksum over all parts.
    ///
    /// # Errors
    /// Never for parts that were read here; the canonical writer's error otherwise.
    pub fn checksum(&self) -> Result<String, CanonicalError> {
        let text = canonical::to_string(self)?;
        Ok(format!("sha256:{}", Digest::of(format!("{DOMAIN}{text}").as_bytes())))
    }
}

/// The digest over those files of a list that exist; none if none does.
fn digest_of(workspace: Option<&Path>, list: &List) -> Result<Option<Digest>, ConfigurationError> {
    let Some(workspace) = workspace else { return Ok(None) };
    let mut all = String::new();
    for name in list.iter() {
        let path = workspace.join(name);
        let wrong = |cause| ConfigurationError::File { path: path.clone(), cause };
        let file = match open_regular(&path) {
            Ok(file) => file,
            // A file in the place of its folder is the sandbox's, which keeps missing names by empty files during a run.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => return Err(wrong(error)),
        };
        let bytes = bounded::read_whole(file, FILE_BYTES_MAX).map_err(|error| wrong(error.into()))?;
        // An empty file says nothing, so it is as good as none.
        if !bytes.is_empty() {
            all.push_str(&format!("{name}\n{}\n", Digest::of(&bytes)));
        }
    }
    Ok((!all.is_empty()).then(|| Digest::of(all.as_bytes())))
}

/// Tells this hash from all others.
const DOMAIN: &str = "tripwire identity 1\n";
const RULES_DOMAIN: &str = "tripwire rules 1\n";
/// The largest file of a configuration.
const FILE_BYTES_MAX: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{self as authority, DEFAULT_POLICIES};

    fn permissions(more: &str) -> Permissions {
        let text = format!("{DEFAULT_POLICIES}{more}");
        authority::parse(Path::new("policy.cedar"), &text, &authority::built_in()).unwrap()
    }

    #[test]
    fn ident_1_every_part_changes_the_checksum_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let seen = |policy: &Policy, permissions: &Permissions| {
            Configuration::observe(policy, permissions, Some(folder.path())).unwrap()
        };
        let (policy, plain) = (Policy::default(), permissions(""));
        let first = seen(&policy, &plain);
        let mut bound = policy.clone();
        bound.set("identity.workflow_binding", "run-7").unwrap();
        assert_eq!(seen(&bound, &plain), first, "the correlation id is no part of it");
        std::fs::write(folder.path().join("README.md"), "x").unwrap();
        assert_eq!(seen(&policy, &plain).checksum(), first.checksum());

        let mut other = policy.clone();
        other.set("safety.max_iterations", "7").unwrap();
        assert_eq!(seen(&other, &plain).differences(&first), [Part::Policy]);
        let stricter =
            permissions("forbid (principal, action == Action::\"reach\", resource == Host::\"other.test\");");
        assert_eq!(seen(&policy, &stricter).differences(&first), [Part::Permissions]);
        let rules = [&first, &seen(&other, &plain), &seen(&policy, &stricter)].map(Configuration::rules_digest);
        assert!(rules[0] != rules[1] && rules[0] != rules[2] && rules[1] != rules[2], "{rules:?}");
        assert_eq!(Configuration::default().rules_digest(), None);
        for (name, part) in [("CLAUDE.md", Part::Prompt), (".mcp.json", Part::Tools)] {
            std::fs::write(folder.path().join(name), "new").unwrap();
            let now = seen(&policy, &plain);
            assert_eq!(now.differences(&first), [part], "{name}");
            assert_eq!(now.rules_digest(), first.rules_digest(), "{name} is no policy");
            assert_ne!(now.checksum(), first.checksum(), "{name}");
            std::fs::remove_file(folder.path().join(name)).unwrap();
        }
        assert_eq!(seen(&policy, &plain).checksum(), first.checksum());
    }

    #[test]
    fn ident_1_a_part_that_cannot_be_read_gives_no_checksum() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("CLAUDE.md")).unwrap();
        let error = Configuration::observe(&Policy::default(), &permissions(""), Some(folder.path())).unwrap_err();
        assert!(error.to_string().contains("CLAUDE.md"), "{error}");
    }
}
