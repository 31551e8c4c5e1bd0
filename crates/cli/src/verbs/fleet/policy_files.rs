//! The policy files of a workspace as a bundle carries them, and what changes when another policy takes their place.

use crate::error::Problem;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tripwire_authority::{self as authority, DEFAULT_POLICIES, current};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_fleet::policy::PolicyBundle;
use tripwire_fs::file::{self, FileMode};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::geometry::manifest::policy_part::{policy_part, with_policy_part};
use tripwire_workspace::geometry::manifest::store::{self, UpdateError};
use tripwire_workspace::geometry::manifest::{Manifest, template};
use tripwire_workspace::geometry::yaml_edit::EditError;
use tripwire_workspace::policy_file::{self, PolicyFileError};
use tripwire_workspace::text_diff::{CONTEXT_LINES, NamedText, unified};

/// Why policy files cannot travel.
#[derive(Debug, thiserror::Error)]
enum PolicyFilesError {
    #[error("your own settings in `{}` change the policy: {settings}", file.display())]
    OwnSettings { file: PathBuf, settings: String },
    #[error("the policy has no digest")]
    NoDigest,
    #[error("`{}` was changed by someone else in the meantime", file.display())]
    ChangedMeanwhile { file: PathBuf },
    #[error("`{}` is not UTF-8", file.display())]
    NotUtf8 { file: PathBuf },
}

impl Explain for PolicyFilesError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::OwnSettings { .. } => {
                "a bundle carries only `.geometry/MANIFEST.yaml` and `policy.cedar`: move these settings there".into()
            }
            Self::NoDigest => "this is a defect of tripwire; please report it".into(),
            Self::ChangedMeanwhile { .. } => "run the command again: the change is read first".into(),
            Self::NotUtf8 { .. } => "write it again as UTF-8 text".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::OwnSettings { .. } => ExitClass::Refused,
            Self::ChangedMeanwhile { .. } | Self::NotUtf8 { .. } => ExitClass::BadInput,
            Self::NoDigest => ExitClass::Internal,
        }
    }
}

/// A manifest, or its policy part, and the permissions.
pub(super) struct PolicyFiles {
    pub(super) manifest: String,
    pub(super) cedar: String,
}

/// What a workspace has, and what it is to have.
pub(super) struct PolicyChange {
    /// The manifest as it was read; of a workspace without one the fresh one.
    manifest: Manifest,
    cedar: String,
    pub(super) wanted: PolicyFiles,
}

impl PolicyFiles {
    /// The files of a workspace, without what belongs to it alone; where there are none the defaults.
    pub(super) fn of(layout: &Layout) -> Result<Self, Problem> {
        let manifest = manifest_of(layout)?;
        let part = policy_part(&manifest).map_err(|cause| edit_error(layout, cause))?;
        Ok(Self { manifest: part, cedar: cedar_of(layout)? })
    }

    /// What a workspace has to change to run a bundle.
    pub(super) fn change_to(layout: &Layout, bundle: &PolicyBundle) -> Result<PolicyChange, Problem> {
        let manifest = manifest_of(layout)?;
        let merged = with_policy_part(&manifest, &bundle.manifest).map_err(|cause| edit_error(layout, cause))?;
        let wanted = Self { manifest: merged, cedar: bundle.cedar.clone() };
        Ok(PolicyChange { manifest, cedar: cedar_of(layout)?, wanted })
    }

    /// The digest of the policy that these files make in a workspace. The person's own settings may add nothing to it: elsewhere they
    /// are others.
    pub(super) fn digest_for(&self, layout: &Layout) -> Result<Digest, Problem> {
        let alone = self.digest(&Layout::at(layout.folder()))?;
        if self.digest(layout)? == alone {
            return Ok(alone);
        }
        let file = layout.user_settings().map(Path::to_owned).unwrap_or_default();
        let lines = policy_file::load_under(layout, Some(&self.parsed(layout)?))?.lines;
        let own = lines.into_iter().filter(|(_, place)| place.file == file).map(|(path, _)| format!("`{path}`"));
        let settings = own.collect::<Vec<_>>().join(", ");
        Err(PolicyFilesError::OwnSettings { file, settings }.into())
    }

    /// Compiles everything, with the examples that the policies carry.
    fn digest(&self, layout: &Layout) -> Result<Digest, Problem> {
        let manifest = self.parsed(layout)?;
        let policy = policy_file::load_under(layout, Some(&manifest))?.policy;
        let permissions = authority::parse(&layout.policy(), &self.cedar, &authority::of_manifest(&manifest)?)?;
        Ok(current::rules_of(&policy, &permissions)?.ok_or(PolicyFilesError::NoDigest)?)
    }

    fn parsed(&self, layout: &Layout) -> Result<Manifest, Problem> {
        let parsed = Manifest::parse(&layout.manifest(), self.manifest.clone().into_bytes());
        Ok(parsed.map_err(PolicyFileError::from)?)
    }
}

impl PolicyChange {
    /// What would change, as a unified diff; empty if nothing would.
    pub(super) fn diff(&self) -> String {
        let files = [
            ("MANIFEST.yaml", self.manifest.text(), &self.wanted.manifest),
            ("policy.cedar", self.cedar.as_str(), &self.wanted.cedar),
        ];
        let one = |(name, old, new): (&str, &str, &String)| {
            let header = format!(".geometry/{name}");
            let named = |text| NamedText { name: &header, text };
            unified(named(old), named(new), CONTEXT_LINES)
        };
        files.into_iter().map(one).collect()
    }

    /// Writes both files, unless somebody changed one since it was read. The permissions come first: with roles that they do not know a
    /// session does not begin.
    pub(super) fn write(self, layout: &Layout) -> Result<(), Problem> {
        template::write_if_missing(&layout.manifest())?;
        let read = Manifest::load(&layout.manifest()).map_err(PolicyFileError::from)?;
        let meanwhile = |file: PathBuf| PolicyFilesError::ChangedMeanwhile { file };
        if read.text() != self.manifest.text() {
            return Err(meanwhile(layout.manifest()).into());
        }
        if cedar_of(layout)? != self.cedar {
            return Err(meanwhile(layout.policy()).into());
        }
        file::replace_with_mode(&layout.policy(), self.wanted.cedar.as_bytes(), FileMode::PRIVATE)?;
        store::replace(&read, self.wanted.manifest)?;
        Ok(())
    }
}

fn manifest_of(layout: &Layout) -> Result<Manifest, Problem> {
    let file = layout.manifest();
    let read = match file.symlink_metadata() {
        Ok(_) => Manifest::load(&file),
        Err(_) => Manifest::parse(&file, template::FRESH.as_bytes().to_vec()),
    };
    Ok(read.map_err(PolicyFileError::from)?)
}

fn cedar_of(layout: &Layout) -> Result<String, Problem> {
    let file = layout.policy();
    if file.symlink_metadata().is_err() {
        return Ok(DEFAULT_POLICIES.to_owned());
    }
    let bytes = file::read_bounded(&file, CEDAR_BYTES_MAX)?;
    Ok(String::from_utf8(bytes).map_err(|_error| PolicyFilesError::NotUtf8 { file })?)
}

fn edit_error(layout: &Layout, cause: EditError) -> UpdateError {
    UpdateError::Edit { file: layout.manifest(), cause }
}

/// As much as the permissions of a session may have.
const CEDAR_BYTES_MAX: u64 = 256 * 1024;
