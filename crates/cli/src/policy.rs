//! `tripwire policy`: the effective policy, where each value came from, and whether a file is good.

use crate::exit::Exit;
use crate::output::{self, Out};
use crate::problem::Problem;
use clap::{Args, Subcommand, ValueEnum};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tripwire_core::policy::{Policy, Profile};
use tripwire_host::policy_file::{self, Loaded};
use tripwire_host::scenario::Header;

/// Which policy a verb runs under.
#[derive(Debug, Args)]
pub(crate) struct Chosen {
    /// `strict` reads the documents to the letter, `balanced` (the default) counts on evidence.
    #[arg(long, value_name = "NAME")]
    profile: Option<ProfileName>,
    /// A policy in the form of MANIFEST.yaml.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// The profiles by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// The documents to the letter.
    Strict,
    /// The same ladder, counted on evidence.
    Balanced,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Strict => Self::Strict,
            ProfileName::Balanced => Self::Balanced,
        }
    }
}

impl Chosen {
    /// Only a profile.
    pub(crate) const fn of_profile(profile: Option<ProfileName>) -> Self {
        Self { profile, policy: None }
    }

    /// The policy: the defaults, then the file, then a scenario's head, then the flag.
    pub(crate) fn policy(&self, head: Option<(&Header, &str)>) -> Result<Policy, Problem> {
        let mut policy = self.loaded()?.policy;
        if let Some((header, file)) = head {
            let wrong = |error| Problem::Scenario { file: file.to_owned(), error };
            for (path, text) in header
                .profile
                .iter()
                .map(|name| ("profile", name))
                .chain(header.policy.iter().map(|(path, text)| (path.as_str(), text)))
            {
                policy.set(path, text).map_err(wrong)?;
            }
            policy.check().map_err(wrong)?;
        }
        if let Some(profile) = self.profile {
            policy.profile = profile.into();
        }
        policy.check()?;
        Ok(policy)
    }

    fn loaded(&self) -> Result<Loaded, Problem> {
        match &self.policy {
            Some(file) => Ok(policy_file::load(file)?),
            None => Ok(Loaded { policy: Policy::default(), lines: BTreeMap::new() }),
        }
    }
}

/// Show the effective policy, or check a policy file.
#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Print every setting with its value, its meaning and where the value came from.
    Show(ShowArgs),
    /// Check a policy file: unknown settings, wrong values, contradictions.
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    #[command(flatten)]
    chosen: Chosen,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The file, in the form of MANIFEST.yaml.
    file: PathBuf,
    /// Write one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &PolicyArgs) -> Result<Exit, Problem> {
    match &args.act {
        Act::Show(args) => show(args),
        Act::Check(args) => check(args),
    }
}

fn show(args: &ShowArgs) -> Result<Exit, Problem> {
    let lines = args.chosen.loaded()?.lines;
    let policy = args.chosen.policy(None)?;
    let hash = policy.hash()?;
    let mut out = Out::lock();
    let origin = |path: &str, source: &str| {
        if path == "profile" && args.chosen.profile.is_some() {
            return "--profile".to_owned();
        }
        match lines.get(path) {
            Some(line) => format!("line {line} of the file"),
            None => format!("default ({source})"),
        }
    };
    if args.json {
        let settings: BTreeMap<_, _> = policy
            .rows()
            .into_iter()
            .map(|row| {
                (
                    row.path,
                    serde_json::json!({"value": row.value, "from": origin(row.path, row.source), "means": row.doc}),
                )
            })
            .collect();
        out.line(&serde_json::json!({"policyHash": hash.to_string(), "settings": settings}).to_string())?;
    } else {
        for row in policy.rows() {
            out.line(&format!("{:<36} {:<12} {}", row.path, row.value, origin(row.path, row.source)))?;
        }
        out.line(&format!("policy hash sha256:{hash}"))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn check(args: &CheckArgs) -> Result<Exit, Problem> {
    let loaded = policy_file::load(&args.file)?;
    let hash = loaded.policy.hash()?;
    let mut out = Out::lock();
    if args.json {
        out.line(
            &serde_json::json!({"ok": true, "set": loaded.lines.len(), "policyHash": hash.to_string()}).to_string(),
        )?;
    } else {
        out.line(&format!("{}: good, {} settings, hash sha256:{hash}", output::name(&args.file), loaded.lines.len()))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}
