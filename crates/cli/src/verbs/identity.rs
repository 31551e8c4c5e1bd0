//! `tripwire identity`: what an agent is made of, and who vouches for it.

use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self, Form, Out};
use crate::workspace::{self, Acting, Where};
use clap::{Args, Subcommand};
use serde_json::json;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tripwire_authority::current;
use tripwire_authority::identity::{Configuration, Gold, GoldEntry, GoldError, Part};
use tripwire_core::counted::counted;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::policy::Policy;
use tripwire_core::record::chain::Digest;
use tripwire_journal::keys::KeyHome;
use tripwire_journal::note::Verifier;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::geometry::manifest::{Manifest, store, template};
use tripwire_workspace::geometry::yaml_edit::{Edit, NewValue};
use tripwire_workspace::policy_file::{self, PolicyFileError};

/// Show, sign and check an agent's configuration.
///
/// The checksum covers the policy, the roles and their permissions, the prompt, the tools and the client's settings.
/// Operations that the policy lists as critical (by default `git push` to a protected branch) need a checksum on the
/// signed gold-standard list and an authorized role.
#[derive(Debug, Args)]
pub(crate) struct IdentityArgs {
    #[command(subcommand)]
    act: IdentityAct,
}

#[derive(Debug, Subcommand)]
enum IdentityAct {
    /// Print the checksum with its parts, and the public key that this person signs with.
    Show(IdentityShowArgs),
    /// Approve the current configuration: add it to the signed list.
    Sign(IdentitySignArgs),
    /// Trust another person's list, by the key that signs it.
    Trust(IdentityTrustArgs),
    /// Check the configuration against the signed list.
    Verify(IdentityVerifyArgs),
}

/// Where the parts of the configuration are, beside the files that the policy names.
#[derive(Debug, Args)]
struct Source {
    #[command(flatten)]
    place: Where,
    /// The agent's system prompt, if it is not in a file of the workspace.
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
    /// The agent's tool registry, if it is not in a file of the workspace.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct IdentityShowArgs {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct IdentitySignArgs {
    #[command(flatten)]
    source: Source,
    /// The name of the entry.
    #[arg(long, value_name = "NAME", default_value = "agent")]
    name: String,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct IdentityTrustArgs {
    /// The verifier key, or a file that contains it.
    key: String,
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Args)]
struct IdentityVerifyArgs {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    acting: Acting,
    #[command(flatten)]
    form: Form,
}

/// Why the configuration is not vouched for, or nothing was signed or trusted.
#[derive(Debug, thiserror::Error)]
enum IdentityError {
    /// The configuration is not on the list; which parts changed against the nearest entry.
    #[error("the configuration {checksum} is not on the gold-standard list{changed}")]
    NotGold { checksum: String, changed: String },
    #[error("the manifest binds the agent to {pinned}, but its configuration is {checksum}")]
    Pinned { pinned: String, checksum: String },
    #[error("role `{role}` is not among `identity.authorized_roles`")]
    RoleNotAuthorized { role: String },
    #[error("`{text}` is not a verifier key")]
    NotAKey { text: String },
    #[error("neither HOME nor XDG_STATE_HOME is set, so there is no place for a key outside of the workspace")]
    NoHome,
}

impl Explain for IdentityError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::NotGold { .. } | Self::Pinned { .. } => {
                "undo the change, or look at it and vouch for it with `tripwire identity sign`".into()
            }
            Self::RoleNotAuthorized { .. } => "act in an authorized role with `--role`, or edit MANIFEST.yaml".into(),
            Self::NotAKey { .. } => "give the line that `tripwire identity show` prints as `key`".into(),
            Self::NoHome => "set HOME to your home folder".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::NotGold { .. } | Self::Pinned { .. } | Self::RoleNotAuthorized { .. } => ExitClass::Refused,
            Self::NotAKey { .. } | Self::NoHome => ExitClass::BadInput,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &IdentityArgs) -> Result<Exit, Problem> {
    match &args.act {
        IdentityAct::Show(args) => show(args),
        IdentityAct::Sign(args) => sign(args),
        IdentityAct::Trust(args) => trust(args),
        IdentityAct::Verify(args) => verify(args),
    }
}

/// The configuration as it is now, with everything that is said about it.
struct Running {
    workspace: Workspace,
    policy: Policy,
    manifest: Manifest,
    parts: Configuration,
    checksum: String,
}

impl Source {
    /// Looks, and makes nothing: a workspace without a manifest has the one that a session would get.
    fn read(&self) -> Result<Running, Problem> {
        self.read_in(self.place.look()?)
    }

    fn read_in(&self, workspace: Workspace) -> Result<Running, Problem> {
        let (layout, file) = (workspace.layout(), workspace.layout().manifest());
        let policy = policy_file::load_for(layout)?.policy;
        let manifest = match file.symlink_metadata() {
            Ok(_) => Manifest::load(&file),
            Err(_) => Manifest::parse(&file, template::FRESH.into()),
        };
        let manifest = manifest.map_err(PolicyFileError::from)?;
        let permissions = current::permissions(layout)?;
        let mut parts = Configuration::observe(&policy, &permissions, Some(workspace.root()))?;
        for (part, file) in [(Part::Prompt, &self.prompt), (Part::Tools, &self.tools)] {
            if let Some(file) = file {
                let bytes = std::fs::read(file).map_err(|error| Problem::open(file, error))?;
                parts.set(part, Some(Digest::of(&bytes)));
            }
        }
        let checksum = parts.checksum()?;
        Ok(Running { workspace, policy, manifest, parts, checksum })
    }
}

fn home() -> Result<KeyHome, Problem> {
    Ok(workspace::key_home().ok_or(IdentityError::NoHome)?)
}

fn show(args: &IdentityShowArgs) -> Result<Exit, Problem> {
    let running = args.source.read()?;
    let key = workspace::key_home().and_then(|home| home.for_identity().verifier().ok().flatten());
    let parts: Vec<(&str, String)> =
        running.parts.iter().map(|(part, digest)| (part.name(), digest.to_string())).collect();
    let binding = Some(running.policy.identity.workflow_binding.as_str()).filter(|binding| !binding.is_empty());
    let mut out = Out::lock();
    if args.form.json {
        let parts: serde_json::Map<_, _> =
            parts.iter().map(|(part, digest)| ((*part).to_owned(), json!(digest))).collect();
        let roles: Vec<&str> = authorized(&running.policy).collect();
        out.line(
            &json!({"agentChecksum": running.checksum, "parts": parts, "authorizedRoles": roles, "pinned": running.manifest.identity().agent_checksum,
                    "workflowBinding": binding, "key": key.map(|key| key.to_string())})
            .to_string(),
        )?;
    } else {
        out.line(&format!("agent_checksum    {}", running.checksum))?;
        for (part, digest) in &parts {
            out.line(&format!("  {part:<15} {digest}"))?;
        }
        out.line(&format!("authorized_roles  {}", running.policy.identity.authorized_roles.as_str()))?;
        out.line(&format!("workflow_binding  {}", binding.unwrap_or("none: each session is bound to its own id")))?;
        let key = key.map_or_else(|| "none yet; `tripwire identity sign` makes one".to_owned(), |key| key.to_string());
        out.line(&format!("key               {key}"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn sign(args: &IdentitySignArgs) -> Result<Exit, Problem> {
    let workspace = args.source.place.open()?;
    template::write_if_missing(&workspace.layout().manifest())?;
    let running = args.source.read_in(workspace)?;
    let (layout, home) = (running.workspace.layout(), home()?);
    let mut gold = match Gold::load(layout, &home.trusted()?) {
        Ok(gold) => gold,
        Err(GoldError::Missing { .. }) => Gold::default(),
        // A list without a trusted signature must not get a good signature by adding to it.
        Err(error) => return Err(error.into()),
    };
    let keys = home.for_identity();
    let is_new = keys.secret_path().symlink_metadata().is_err();
    let signer = keys.signer(running.workspace.root())?;
    if is_new {
        print::say(&format!("note: made a signing key at `{}`; keep it to yourself", keys.secret_path().display()));
    }
    gold.add(GoldEntry {
        at: clock::now().to_string(),
        checksum: running.checksum.clone(),
        name: args.name.clone(),
        parts: running.parts.clone(),
    });
    gold.save(layout, &signer)?;
    let edit = Edit::new("identity.agent_checksum", NewValue::Text(running.checksum.clone()));
    if let Err(error) = store::update(&running.manifest, &[edit]) {
        print::say(&format!("note: MANIFEST.yaml does not name the checksum: {error}; {}", error.hint()));
    }
    let (checksum, entries) = (&running.checksum, gold.entries().len());
    let key = signer.verifier().to_string();
    print(&match args.form.json {
        true => json!({"signed": checksum, "name": args.name, "entries": entries, "key": key}).to_string(),
        false => format!("signed {checksum} as `{}`; the list has {}\nkey {key}", args.name, counted(entries, "entry")),
    })
}

fn trust(args: &IdentityTrustArgs) -> Result<Exit, Problem> {
    let workspace = args.place.look()?;
    let text = match Verifier::parse(&args.key) {
        Some(_) => args.key.clone(),
        None => std::fs::read_to_string(Path::new(&args.key)).unwrap_or_else(|_| args.key.clone()),
    };
    let key = Verifier::parse(&text).ok_or_else(|| IdentityError::NotAKey { text: args.key.clone() })?;
    let new = home()?.trust_key(workspace.root(), &key)?;
    print(&match (args.form.json, new) {
        (true, new) => json!({"trusted": key.to_string(), "new": new}).to_string(),
        (false, true) => format!("trusted {key}"),
        (false, false) => format!("{key} was trusted already"),
    })
}

fn verify(args: &IdentityVerifyArgs) -> Result<Exit, Problem> {
    let running = args.source.read()?;
    let gold = Gold::load(running.workspace.layout(), &home()?.trusted()?)?;
    let Some(entry) = gold.find(&running.checksum) else {
        let nearest = gold.nearest(&running.parts).map(|(entry, parts)| {
            let parts: Vec<&str> = parts.into_iter().map(Part::name).collect();
            format!("; against `{}` these parts changed: {}", entry.name, parts.join(", "))
        });
        return Err(IdentityError::NotGold { checksum: running.checksum, changed: nearest.unwrap_or_default() }.into());
    };
    let pinned = running.manifest.identity().agent_checksum.clone();
    if let Some(pinned) = pinned.filter(|pinned| *pinned != running.checksum) {
        return Err(IdentityError::Pinned { pinned, checksum: running.checksum }.into());
    }
    let role = args.acting.named().unwrap_or_else(|| running.policy.identity.role.as_str().to_owned());
    if !authorized(&running.policy).any(|known| known == role) {
        return Err(IdentityError::RoleNotAuthorized { role }.into());
    }
    print(&match args.form.json {
        true => json!({"ok": true, "agentChecksum": running.checksum, "name": entry.name, "role": role}).to_string(),
        false => format!(
            "{} is on the list as `{}`, signed by a trusted key; role `{role}` is authorized",
            running.checksum, entry.name
        ),
    })
}

fn authorized(policy: &Policy) -> impl Iterator<Item = &str> {
    policy.identity.authorized_roles.iter()
}

fn print(line: &str) -> Result<Exit, Problem> {
    let mut out = Out::lock();
    out.line(line)?;
    out.flush()?;
    Ok(Exit::Done)
}
