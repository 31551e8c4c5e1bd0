//! Policy bundles: the policy files that all machines, or those with a label, are to run, signed with a person's own key and bound to
//! whom they are for, when they were signed, until when they hold, and a nonce. A machine's credentials cannot make one. There is one
//! durable value per target; whether a machine runs it is seen from the digest in its heartbeat.

use crate::log::{Entry, Log, LogError, Sequence, TEXT_BYTES_MAX};
use crate::machine::{MachineState, RunningPolicy};
use crate::order::{Label, Target};
use crate::settle::{self, Settled};
use crate::subject::{Name, POLICIES, Subject};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_core::record::chain::Digest;
use tripwire_journal::note::{self, Signer, Verifier};

/// A policy as a person publishes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyBundle {
    /// For whom.
    pub target: Target,
    /// The digest of the settings and permissions that these files make: what a machine that runs them reports.
    pub digest: Digest,
    /// The policy part of a manifest.
    pub manifest: String,
    /// The permissions, in Cedar.
    pub cedar: String,
    /// The person's account.
    pub who: String,
    /// When it was signed, in milliseconds since 1970.
    pub at_ms: u64,
    /// Until when it holds.
    pub until_ms: u64,
    /// Makes it different from every other bundle.
    pub nonce: String,
}

/// A bundle under its signature, as it stands in the log.
#[derive(Serialize, Deserialize)]
struct SealedBundle {
    note: String,
}

/// Why a bundle does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleFault {
    /// Not of the form.
    #[error("it is not a policy bundle")]
    Shape,
    /// It carries no signature.
    #[error("nobody has signed it")]
    Unsigned,
    /// Its signature is not one of a trusted key over this text.
    #[error("no key that this machine trusts has signed it as it stands")]
    Untrusted,
    /// It was signed for others.
    #[error("it was signed for {signed_for}")]
    Target {
        /// For whom.
        signed_for: Target,
    },
    /// It came into the log long after it was signed, or before.
    #[error("it was signed {away_s} s away from the time at which it came in, and {VALID_S} s are allowed")]
    Late {
        /// How far.
        away_s: u64,
    },
    /// It held until then.
    #[error("it expired {ago_s} s ago")]
    Expired {
        /// How long ago.
        ago_s: u64,
    },
    /// This machine has seen a newer one.
    #[error("it is older than the one that this machine has seen, by {by_s} s")]
    Older {
        /// How much.
        by_s: u64,
    },
    /// It was here before, at another place.
    #[error("it is a copy of an earlier one")]
    Replayed,
}

impl Explain for BundleFault {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Untrusted => {
                "if you know who published it, trust that key here with `tripwire identity trust KEY`".into()
            }
            Self::Shape
            | Self::Unsigned
            | Self::Target { .. }
            | Self::Late { .. }
            | Self::Expired { .. }
            | Self::Older { .. }
            | Self::Replayed => "publish a new one with `tripwire fleet policy publish`".into(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        ExitClass::Refused
    }
}

/// Whose bundles count, and what time it is.
#[derive(Debug, Clone, Copy)]
pub struct BundleReader<'a> {
    /// The keys.
    pub trusted: &'a [Verifier],
    /// Milliseconds since 1970.
    pub now_ms: u64,
}

impl PolicyBundle {
    /// The text of the entry.
    ///
    /// # Errors
    /// When it cannot be written as text.
    pub fn seal(&self, signer: &Signer) -> Result<String, serde_json::Error> {
        let text = format!("{DOMAIN}\n{}\n", serde_json::to_string(self)?);
        serde_json::to_string(&SealedBundle { note: signer.seal(&text) })
    }

    /// Reads the entry of a target and checks signature, target and times.
    ///
    /// # Errors
    /// When it does not count.
    pub fn open(entry: &Entry, target: &Target, reader: BundleReader<'_>) -> Result<Self, BundleFault> {
        let sealed: SealedBundle = serde_json::from_str(&entry.text).map_err(|_error| BundleFault::Shape)?;
        if !is_signed(&sealed.note) {
            return Err(BundleFault::Unsigned);
        }
        let text = note::opened(&sealed.note, reader.trusted).ok_or(BundleFault::Untrusted)?;
        let body = text.strip_prefix(DOMAIN).ok_or(BundleFault::Shape)?;
        let bundle: Self = serde_json::from_str(body.trim()).map_err(|_error| BundleFault::Shape)?;
        if bundle.target != *target {
            return Err(BundleFault::Target { signed_for: bundle.target });
        }
        let away_s = bundle.at_ms.abs_diff(entry.time_ms) / 1_000;
        if away_s > VALID_S {
            return Err(BundleFault::Late { away_s });
        }
        match reader.now_ms.checked_sub(bundle.until_ms) {
            Some(ago_ms) => Err(BundleFault::Expired { ago_s: ago_ms / 1_000 }),
            None => Ok(bundle),
        }
    }
}

/// Whether a note ends with a line of a signature, valid or not.
fn is_signed(note: &str) -> bool {
    note.rsplit_once("\n\n").is_some_and(|(_, signatures)| !signatures.trim().is_empty())
}

/// The newest bundle that a machine has seen of each subject, so that nobody gives it an older one again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenBundles(BTreeMap<String, SeenBundle>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SeenBundle {
    sequence: Sequence,
    at_ms: u64,
    nonce: String,
}

impl SeenBundles {
    /// Takes note of a bundle.
    ///
    /// # Errors
    /// When it is older than the newest one of its subject, or a copy of it.
    fn admit(&mut self, subject: &Subject, sequence: Sequence, bundle: &PolicyBundle) -> Result<(), BundleFault> {
        if let Some(seen) = self.0.get(subject.as_str()) {
            if bundle.at_ms < seen.at_ms {
                return Err(BundleFault::Older { by_s: (seen.at_ms - bundle.at_ms) / 1_000 });
            }
            if bundle.nonce == seen.nonce && sequence != seen.sequence {
                return Err(BundleFault::Replayed);
            }
        }
        let seen = SeenBundle { sequence, at_ms: bundle.at_ms, nonce: bundle.nonce.clone() };
        self.0.insert(subject.as_str().to_owned(), seen);
        Ok(())
    }
}

/// What stands in the log for a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// For whom.
    pub target: Target,
    /// The bundle, or why it does not count.
    pub bundle: Result<PolicyBundle, BundleFault>,
}

/// All bundles of the fleet; those that count are remembered.
///
/// # Errors
/// When the fleet cannot be read.
pub fn all(log: &dyn Log, reader: BundleReader<'_>, seen: &mut SeenBundles) -> Result<Vec<Published>, LogError> {
    let mut found = Vec::new();
    for subject in log.subjects(POLICIES)? {
        let target = match subject.as_label_policy() {
            Some((key, value)) => Target::Label(Label { key, value }),
            None if subject == Subject::policy_for_all() => Target::All,
            None => continue,
        };
        let Some(entry) = log.last(&subject)? else { continue };
        let opened = PolicyBundle::open(&entry, &target, reader);
        let bundle = opened.and_then(|bundle| seen.admit(&subject, entry.sequence, &bundle).map(|()| bundle));
        found.push(Published { target, bundle });
    }
    Ok(found)
}

/// The bundle that a machine with these labels is to run: one for a label comes before the one for all, and of several labels'
/// the newest counts.
///
/// # Errors
/// When one that comes first does not count: nothing takes its place, or the one who damaged it would choose the policy.
pub fn in_force<'a>(
    published: &'a [Published],
    labels: &BTreeMap<Name, Name>,
) -> Result<Option<&'a PolicyBundle>, &'a BundleFault> {
    let (mut for_all, mut for_label) = (None, None::<&PolicyBundle>);
    for Published { target, bundle } in published.iter().filter(|published| published.target.is_for(labels)) {
        match target {
            Target::All => for_all = Some(bundle),
            Target::Label(_) => {
                let bundle = bundle.as_ref()?;
                for_label = for_label.into_iter().chain([bundle]).max_by_key(|bundle| bundle.at_ms);
            }
        }
    }
    match (for_label, for_all) {
        (Some(bundle), _) => Ok(Some(bundle)),
        (None, Some(bundle)) => bundle.as_ref().map(Some),
        (None, None) => Ok(None),
    }
}

/// Whether a machine runs the policy that it is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum PolicyStanding {
    /// There is no bundle for it.
    NoBundle,
    /// The bundle for it does not count.
    Refused {
        /// Why not.
        reason: String,
    },
    /// It does, wherever its agents work.
    InStep {
        /// What it runs.
        bundle: Digest,
    },
    /// It runs another one.
    Drift {
        /// What it should run.
        bundle: Digest,
        /// What it runs instead.
        runs: Vec<RunningPolicy>,
    },
    /// It has not told what it runs: no agent has worked there yet, or its version does not tell.
    Unreported {
        /// What it should run.
        bundle: Digest,
    },
}

impl PolicyStanding {
    /// The names of all of them.
    pub const NAMES: [&'static str; 5] = ["in_step", "drift", "no_bundle", "refused", "unreported"];

    /// How a machine stands.
    #[must_use]
    pub fn of(machine: &MachineState, published: &[Published]) -> Self {
        let bundle = match in_force(published, &machine.labels) {
            Ok(Some(bundle)) => bundle.digest,
            Ok(None) => return Self::NoBundle,
            Err(fault) => return Self::Refused { reason: fault.to_string() },
        };
        let policies = machine.policies.as_deref().unwrap_or_default();
        let others = policies.iter().filter(|running| running.digest != Some(bundle));
        let runs: Vec<RunningPolicy> = others.cloned().collect();
        match (policies.is_empty(), runs.is_empty()) {
            (true, _) => Self::Unreported { bundle },
            (false, true) => Self::InStep { bundle },
            (false, false) => Self::Drift { bundle, runs },
        }
    }

    /// In one word of [`Self::NAMES`].
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NoBundle => "no_bundle",
            Self::Refused { .. } => "refused",
            Self::InStep { .. } => "in_step",
            Self::Drift { .. } => "drift",
            Self::Unreported { .. } => "unreported",
        }
    }
}

/// Why a bundle was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Too long for one entry.
    #[error("the bundle has {bytes} bytes, and one value of the fleet holds {TEXT_BYTES_MAX}")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// There is one from the future of this one.
    #[error("there is a newer bundle, which {who} signed {by_s} s later")]
    Newer {
        /// Who signed it.
        who: String,
        /// How much later.
        by_s: u64,
    },
    /// The fleet did not take it.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Explain for PublishError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::TooLong { .. } => "shorten `.geometry/policy.cedar` and its comments".into(),
            Self::Newer { .. } => "look at it with `tripwire fleet policy show`, and check this machine's clock".into(),
            Self::Log(LogError::Refused { .. } | LogError::Undecided { .. }) => {
                "the credentials of a machine cannot publish: join with the operator's, and look at `tripwire fleet status`"
                    .into()
            }
            Self::Log(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::TooLong { .. } => ExitClass::BadInput,
            Self::Newer { .. } => ExitClass::Refused,
            Self::Log(error) => error.exit_class(),
        }
    }
}

/// Puts a bundle in the place of the one that its target has. Whatever does not count is replaced; a newer one is not.
///
/// # Errors
/// When there is a newer one, or the fleet does not take it.
pub fn publish(
    log: &dyn Log,
    bundle: &PolicyBundle,
    signer: &Signer,
    reader: BundleReader<'_>,
) -> Result<Sequence, PublishError> {
    let subject = match &bundle.target {
        Target::All => Subject::policy_for_all(),
        Target::Label(Label { key, value }) => Subject::policy_for_label(key, value),
    };
    let text = bundle.seal(signer).map_err(|error| LogError::damaged(&subject, error.to_string()))?;
    if text.len() > TEXT_BYTES_MAX {
        return Err(PublishError::TooLong { bytes: text.len() });
    }
    let mut present = log.last(&subject)?;
    loop {
        let opened = present.as_ref().and_then(|entry| PolicyBundle::open(entry, &bundle.target, reader).ok());
        if let Some(newer) = opened.filter(|present| present.at_ms > bundle.at_ms) {
            return Err(PublishError::Newer { who: newer.who, by_s: (newer.at_ms - bundle.at_ms) / 1_000 });
        }
        let after = present.map_or(Sequence(0), |entry| entry.sequence);
        match settle::append(log, &subject, after, &text, settle::PATIENCE)? {
            Settled::Written(sequence) => return Ok(sequence),
            Settled::Fenced(other) => present = Some(other),
        }
    }
}

const DOMAIN: &str = "tripwire/fleet/policy/v1";
/// How far the time of signing and the time in the log may be apart: clocks, and a slow network.
const VALID_S: u64 = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Part;

    fn bundle(nonce: &str, at_ms: u64) -> PolicyBundle {
        PolicyBundle {
            target: Target::All,
            digest: Digest::of(nonce.as_bytes()),
            manifest: "safety:\n  max_iterations: 7\n".to_owned(),
            cedar: "permit (principal, action, resource);\n\n".to_owned(),
            who: "ada".to_owned(),
            at_ms,
            until_ms: 5_000_000,
            nonce: nonce.to_owned(),
        }
    }

    fn person() -> Signer {
        Signer::from_seed("p", &[1; 32])
    }

    fn entry(text: String, sequence: u64, time_ms: u64) -> Entry {
        Entry { sequence: Sequence(sequence), time_ms, text }
    }

    fn open(text: String, now_ms: u64) -> Result<PolicyBundle, BundleFault> {
        let trusted = [person().verifier()];
        PolicyBundle::open(&entry(text, 1, 1_000_000), &Target::All, BundleReader { trusted: &trusted, now_ms })
    }

    #[test]
    fn fleet_6_a_bundle_counts_signed_for_its_target_and_in_time() {
        let good = bundle("n", 1_000_000);
        let text = good.seal(&person()).unwrap();
        assert_eq!(open(text.clone(), 1_000_000), Ok(good.clone()));
        assert_eq!(open(text.clone(), 4_999_999), Ok(good.clone()));
        assert_eq!(open(text.clone(), 5_002_000), Err(BundleFault::Expired { ago_s: 2 }));
        assert_eq!(open("{}".to_owned(), 0), Err(BundleFault::Shape));
        let other = Signer::from_seed("p", &[2; 32]);
        assert_eq!(open(good.seal(&other).unwrap(), 0), Err(BundleFault::Untrusted));
        assert_eq!(open(text.replace("max_iterations: 7", "max_iterations: 9"), 0), Err(BundleFault::Untrusted));
        let unsigned = format!("{DOMAIN}\n{}\n", serde_json::to_string(&good).unwrap());
        for note in [unsigned.clone(), format!("{unsigned}\n")] {
            let text = serde_json::to_string(&SealedBundle { note }).unwrap();
            assert_eq!(open(text, 0), Err(BundleFault::Unsigned));
        }
        let late = bundle("n", 600_000).seal(&person()).unwrap();
        assert_eq!(open(late, 1_000_000), Err(BundleFault::Late { away_s: 400 }));
        let target = Target::Label(Label::parse("team=search").unwrap());
        let elsewhere = PolicyBundle { target: target.clone(), ..good };
        let answer = open(elsewhere.seal(&person()).unwrap(), 0);
        assert_eq!(answer, Err(BundleFault::Target { signed_for: target }));
        // An order or a verdict of the same person is no bundle.
        let order = serde_json::to_string(&SealedBundle { note: person().seal("tripwire/fleet/order/v1\n{}\n") });
        assert_eq!(open(order.unwrap(), 0), Err(BundleFault::Shape));
    }

    #[test]
    fn fleet_6_an_older_bundle_and_a_copy_are_refused_and_a_newer_one_is_not() {
        let (mut seen, subject) = (SeenBundles::default(), Subject::policy_for_all());
        let (one, two) = (bundle("one", 10_000), bundle("two", 20_000));
        assert_eq!(seen.admit(&subject, Sequence(1), &one), Ok(()));
        assert_eq!(seen.admit(&subject, Sequence(1), &one), Ok(()), "the same one, looked at again");
        assert_eq!(seen.admit(&subject, Sequence(2), &one), Err(BundleFault::Replayed));
        assert_eq!(seen.admit(&subject, Sequence(3), &two), Ok(()));
        assert_eq!(seen.admit(&subject, Sequence(4), &one), Err(BundleFault::Older { by_s: 10 }));
        let other = Subject::policy_for_label(&Name::parse("a").unwrap(), &Name::parse("b").unwrap());
        assert_eq!(seen.admit(&other, Sequence(5), &one), Ok(()), "each target counts for itself");
    }

    #[test]
    fn fleet_6_a_machine_is_in_step_only_if_everything_it_runs_is_the_bundle_of_its_label() {
        let label = Label::parse("team=search").unwrap();
        let (all, own) = (bundle("all", 9_000), bundle("own", 1_000));
        let own = PolicyBundle { target: Target::Label(label.clone()), ..own };
        let running = |digest: Digest| RunningPolicy { digest: Some(digest), count: 1, at: "w".to_owned() };
        let machine = |policies: Option<Vec<RunningPolicy>>| MachineState {
            machine: Name::parse("m").unwrap(),
            labels: [(label.key.clone(), label.value.clone())].into(),
            version: String::new(),
            at_ms: 0,
            until_ms: 0,
            order: Sequence(0),
            sessions: Vec::new(),
            problems: Vec::new(),
            waiting: Vec::new(),
            policies,
            life: String::new(),
            part: Part::Service,
            left_ms: None,
        };
        let of =
            |target: &Target, bundle: &PolicyBundle| Published { target: target.clone(), bundle: Ok(bundle.clone()) };
        let both = [of(&Target::All, &all), of(&own.target, &own)];
        let in_step = machine(Some(vec![running(own.digest)]));
        assert_eq!(PolicyStanding::of(&in_step, &both), PolicyStanding::InStep { bundle: own.digest });
        let foreign = running(all.digest);
        let mixed = machine(Some(vec![running(own.digest), foreign.clone()]));
        let drift = PolicyStanding::Drift { bundle: own.digest, runs: vec![foreign.clone()] };
        assert_eq!(PolicyStanding::of(&mixed, &both), drift, "the one for all does not count beside that of the label");
        let unread = RunningPolicy { digest: None, ..foreign };
        assert_eq!(PolicyStanding::of(&machine(Some(vec![unread])), &both).name(), "drift");
        assert_eq!(PolicyStanding::of(&machine(None), &both), PolicyStanding::Unreported { bundle: own.digest });
        assert_eq!(PolicyStanding::of(&in_step, &[]), PolicyStanding::NoBundle);
        let refused = Published { target: own.target.clone(), bundle: Err(BundleFault::Unsigned) };
        let standing = PolicyStanding::of(&in_step, &[of(&Target::All, &all), refused]);
        assert_eq!(standing.name(), "refused", "a damaged bundle does not bring the machine under the one for all");
    }
}
