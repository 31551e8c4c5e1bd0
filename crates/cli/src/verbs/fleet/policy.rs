//! `tripwire fleet policy`: publish this workspace's policy for the fleet, show what is published, take it over here.

use super::args::{FleetPolicyArgs, FleetPolicyVerb, PolicyFetchArgs, PolicyPublishArgs, print};
use super::bundles;
use super::membership::{FleetError, Membership};
use super::order::signer;
use super::policy_files::PolicyFiles;
use super::status::{DAY_MS, bundle_json, bundle_words};
use crate::error::Problem;
use crate::exit::Exit;
use crate::print::{self as talk, Form, Out};
use crate::verbs::policy::require_good;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::IsTerminal as _;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_core::visible::visible_lines;
use tripwire_fleet::order::Target;
use tripwire_fleet::policy::{self, BundleFault, BundleReader, PolicyBundle};
use tripwire_workspace::{account, clock};

/// Why no policy was published or taken over.
#[derive(Debug, thiserror::Error)]
enum FleetPolicyError {
    #[error("a policy bundle holds for 1 to {DAYS_MAX} days, not {days}")]
    Days { days: u64 },
    #[error("the fleet has no policy bundle for this machine")]
    NoBundle,
    #[error("the policy bundle for this machine is refused: {0}")]
    Refused(BundleFault),
    #[error("the files of the bundle make the policy sha256:{here} here, and it was signed as sha256:{signed}")]
    OtherDigest { here: Digest, signed: Digest },
    #[error("nothing was written: not confirmed")]
    NotAgreed,
}

impl Explain for FleetPolicyError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Days { .. } => "say for instance `--days 90`".into(),
            Self::NoBundle => "publish one with `tripwire fleet policy publish`".into(),
            Self::Refused(fault) => fault.hint(),
            Self::OtherDigest { .. } => {
                "compare the versions of tripwire here and where it was published: `tripwire --version`".into()
            }
            Self::NotAgreed => "read the diff, then say `--yes`".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Days { .. } | Self::NoBundle => ExitClass::BadInput,
            Self::Refused(_) | Self::NotAgreed => ExitClass::Refused,
            Self::OtherDigest { .. } => ExitClass::DoesNotHold,
        }
    }
}

/// Runs the verb.
pub(super) fn run(args: &FleetPolicyArgs) -> Result<Exit, Problem> {
    match &args.act {
        FleetPolicyVerb::Publish(args) => publish(args),
        FleetPolicyVerb::Show(args) => show(args.form),
        FleetPolicyVerb::Fetch(args) => fetch(args),
    }
}

fn publish(args: &PolicyPublishArgs) -> Result<Exit, Problem> {
    let target = Target::of_label(args.label.as_deref())?;
    if !(1..=DAYS_MAX).contains(&args.days) {
        return Err(FleetPolicyError::Days { days: args.days }.into());
    }
    let membership = Membership::load()?;
    let workspace = args.place.look()?;
    require_good(workspace.layout())?;
    let files = PolicyFiles::of(workspace.layout())?;
    let digest = files.digest_for(workspace.layout())?;
    let log = membership.log()?;
    let signer = signer()?;
    let now_ms = clock::now().epoch_ms();
    let bundle = PolicyBundle {
        target,
        digest,
        manifest: files.manifest,
        cedar: files.cedar,
        who: account::current(),
        at_ms: now_ms,
        until_ms: now_ms.saturating_add(args.days * DAY_MS),
        nonce: tripwire_fleet::nonce().map_err(FleetError::Random)?,
    };
    let trusted = bundles::trusted()?;
    policy::publish(log.as_ref(), &bundle, &signer, BundleReader { trusted: &trusted, now_ms })?;
    let PolicyBundle { target, until_ms, .. } = &bundle;
    print(&match args.form.json {
        true => json!({"version": 1, "published": digest, "target": target, "until_ms": until_ms}).to_string(),
        false => format!(
            "published sha256:{digest} for {target}, for {} days\nnext: `tripwire fleet policy fetch` in the workspaces of these machines",
            args.days
        ),
    })
}

fn show(form: Form) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let published = bundles::read(membership.log()?.as_ref())?;
    let mut out = Out::lock();
    if form.json {
        let whole = |one: &policy::Published| {
            let mut value = bundle_json(one);
            if let (Value::Object(fields), Ok(bundle)) = (&mut value, &one.bundle) {
                fields.insert("manifest".to_owned(), json!(bundle.manifest));
                fields.insert("cedar".to_owned(), json!(bundle.cedar));
            }
            value
        };
        let here = policy::in_force(&published, &membership.labels).ok().flatten().map(|bundle| bundle.digest);
        let listed: Vec<Value> = published.iter().map(whole).collect();
        out.line(&json!({"version": 1, "here": here, "bundles": listed}).to_string())?;
    } else {
        let now_ms = clock::now().epoch_ms();
        published.iter().try_for_each(|one| out.prose(&bundle_words(one, now_ms)))?;
        if published.is_empty() {
            out.prose("the fleet has no policy bundle; `tripwire fleet policy publish` makes one")?;
        }
    }
    out.flush()?;
    let holds = published.iter().all(|one| one.bundle.is_ok());
    Ok(if holds { Exit::Done } else { Exit::DoesNotHold })
}

fn fetch(args: &PolicyFetchArgs) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let published = bundles::read(membership.log()?.as_ref())?;
    let bundle = match policy::in_force(&published, &membership.labels) {
        Ok(Some(bundle)) => bundle,
        Ok(None) => return Err(FleetPolicyError::NoBundle.into()),
        Err(fault) => return Err(FleetPolicyError::Refused(fault.clone()).into()),
    };
    let workspace = args.place.look()?;
    let change = PolicyFiles::change_to(workspace.layout(), bundle)?;
    let here = change.wanted.digest_for(workspace.layout())?;
    if here != bundle.digest {
        return Err(FleetPolicyError::OtherDigest { here, signed: bundle.digest }.into());
    }
    let diff = change.diff();
    let is_new = !diff.is_empty();
    if is_new {
        show_diff(&diff, args.form)?;
        agree(args)?;
        // Only now, because it makes `.geometry/` where there is none.
        change.write(args.place.open()?.layout())?;
    }
    print(&match (args.form.json, is_new) {
        (true, _) => json!({"version": 1, "digest": here, "written": is_new, "diff": diff}).to_string(),
        (false, true) => format!(
            "written: the next session here begins under sha256:{here}; sessions that run keep the policy that they began with"
        ),
        (false, false) => format!("in step: this workspace has sha256:{here} already"),
    })
}

fn show_diff(diff: &str, form: Form) -> Result<(), Problem> {
    if form.json {
        return Ok(());
    }
    let mut out = Out::lock();
    out.line(visible_lines(diff).trim_end())?;
    out.flush()
}

fn agree(args: &PolicyFetchArgs) -> Result<(), Problem> {
    let can_ask = || std::io::stdin().is_terminal() && talk::is_terminal() && !args.form.json;
    if args.yes || (can_ask() && talk::agrees("write it? [y/N] ")) {
        return Ok(());
    }
    Err(FleetPolicyError::NotAgreed.into())
}

const DAYS_MAX: u64 = 3_650;
