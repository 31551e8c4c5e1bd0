//! `tripwire fleet policy` through the binary: a signed bundle from one home to another, what is refused, and what `fleet status` says of
//! machines that run something else.

use super::{Serving, join, machine, until};
use crate::agent::fixture::{AgentFixture, shell, untested};
use crate::session::fixture::{Place, calls};
use serde_json::Value;
use std::fs;
use tripwire_core::record::chain::Digest;
use tripwire_fleet::file_log::FileLog;
use tripwire_fleet::log::{Append, Log as _, Sequence};
use tripwire_fleet::order::Target;
use tripwire_fleet::policy::PolicyBundle;
use tripwire_fleet::subject::Subject;
use tripwire_journal::keys::KeyHome;
use tripwire_journal::note::Signer;
use tripwire_testing::TestDir;
use tripwire_workspace::clock;

/// Two homes in one fleet, of which the second trusts the first one's person.
struct Pair {
    shared: TestDir,
    a: Place,
    b: Place,
}

impl Pair {
    fn new() -> Self {
        let (shared, a, b) = (TestDir::new(), Place::new(), Place::new());
        // Heartbeats come five times within the dead-man bound.
        join(&a, shared.path(), &["--machine", "a", "--dead-man", "3"]);
        join(&b, shared.path(), &["--machine", "b", "--label", "team=search", "--dead-man", "3"]);
        let pair = Self { shared, a, b };
        pair.a.step(&calls(1)).ended(0);
        pair
    }

    fn trust(&self) {
        let key = self.a.run(&["identity", "show", "--json"]).ended(0).json()["key"].as_str().unwrap().to_owned();
        self.b.run(&["identity", "trust", &key]).ended(0);
    }

    /// The key of the first one's person.
    fn person(&self) -> Signer {
        let home = KeyHome::locate(Some(self.a.path().join("state").as_os_str()), None).unwrap();
        home.for_identity().signer(&self.a.work()).unwrap()
    }

    /// Puts any text in the place of the bundle for all machines, as anybody who can write the folder could.
    fn write(&self, text: &str) {
        let log = FileLog::open(self.shared.path()).unwrap();
        let subject = Subject::policy_for_all();
        let after = log.last(&subject).unwrap().map_or(Sequence(0), |entry| entry.sequence);
        assert!(matches!(log.append(&subject, after, text).unwrap(), Append::Ack(_)));
    }

    /// The text of the bundle for all machines.
    fn published(&self) -> String {
        let log = FileLog::open(self.shared.path()).unwrap();
        log.last(&Subject::policy_for_all()).unwrap().unwrap().text
    }
}

fn tighten(place: &Place, iterations: &str) {
    let file = place.geometry("MANIFEST.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let (head, tail) = text.split_once("  max_iterations: ").unwrap();
    let rest = tail.split_once('\n').unwrap().1;
    fs::write(&file, format!("{head}  max_iterations: {iterations}\n{rest}")).unwrap();
}

fn policies(place: &Place) -> String {
    ["MANIFEST.yaml", "policy.cedar"].map(|name| fs::read_to_string(place.geometry(name)).unwrap_or_default()).concat()
}

#[test]
fn fleet_6_a_signed_policy_reaches_another_machine_with_a_diff_and_never_silently() {
    let pair = Pair::new();
    let (a, b) = (&pair.a, &pair.b);
    b.run(&["fleet", "policy", "fetch", "--yes"]).ended(2).complains("no policy bundle for this machine");
    a.run(&["fleet", "policy", "show"]).ended(0).says("no policy bundle");
    tighten(a, "41");
    let cedar = fs::read_to_string(a.geometry("policy.cedar")).unwrap();
    fs::write(a.geometry("policy.cedar"), format!("{cedar}\n// ours\n")).unwrap();
    let said = a.run(&["fleet", "policy", "publish", "--json"]).ended(0).json();
    let digest = said["published"].as_str().unwrap().to_owned();
    assert_eq!(digest.len(), 64, "{said}");
    // The other one does not know this person yet.
    b.run(&["fleet", "policy", "fetch", "--yes"]).ended(11).complains("no key that this machine trusts");
    b.run(&["fleet", "policy", "show"]).ended(9).says("REFUSED");
    pair.trust();
    let shown = b.run(&["fleet", "policy", "show", "--json"]).ended(0).json();
    assert_eq!((&shown["here"], &shown["bundles"][0]["digest"]), (&digest.as_str().into(), &digest.as_str().into()));
    b.step(&calls(2)).ended(0);
    let before = policies(b);
    b.run(&["fleet", "policy", "fetch"]).ended(11).says("+  max_iterations: 41").complains("not confirmed");
    assert_eq!(policies(b), before, "a refusal writes nothing");
    let counters = fs::read_to_string(b.geometry("MANIFEST.yaml")).unwrap();
    b.run(&["fleet", "policy", "fetch", "--yes"]).ended(0).says("-  max_iterations: 100");
    let after = fs::read_to_string(b.geometry("MANIFEST.yaml")).unwrap();
    assert_eq!(after, counters.replace("max_iterations: 100", "max_iterations: 41"), "counters stay this workspace's");
    assert!(fs::read_to_string(b.geometry("policy.cedar")).unwrap().ends_with("// ours\n"));
    b.run(&["fleet", "policy", "fetch"]).ended(0).says("in step");
    b.run(&["policy", "check"]).ended(0).says("good");
    let mut agent = b.command(&["fleet", "policy", "fetch", "--yes"]);
    assert_eq!(agent.env("CLAUDECODE", "1").output().unwrap().status.code(), Some(11), "an agent fetches nothing");
    let mut agent = b.command(&["fleet", "policy", "publish"]);
    assert_eq!(agent.env("CLAUDECODE", "1").output().unwrap().status.code(), Some(11), "nor publishes it");
}

#[test]
fn fleet_6_status_tells_in_step_from_drift_for_files_and_for_sessions_that_run() {
    let pair = Pair::new();
    let (a, b) = (&pair.a, &pair.b);
    let _serving = (Serving::start(a), Serving::start(b));
    let standing = |status: &Value, name: &str| machine(status, name).map(|it| it["policy"]["standing"].clone());
    let is = |name: &'static str, wanted: &'static str| {
        move |status: &Value| standing(status, name).is_some_and(|standing| standing == wanted)
    };
    until(b, |status| is("a", "no_bundle")(status) && is("b", "no_bundle")(status));
    a.run(&["fleet", "policy", "publish"]).ended(0);
    until(b, is("a", "refused"));
    pair.trust();
    until(b, is("a", "in_step"));
    until(b, is("b", "unreported"));
    // A workspace in which an agent works, under the same defaults.
    b.step(&calls(1)).ended(0);
    until(b, is("b", "in_step"));
    tighten(b, "41");
    let status = until(b, is("b", "drift"));
    let runs = &machine(&status, "b").unwrap()["policy"]["runs"];
    assert!(runs[0]["at"].as_str().unwrap().ends_with("/work") && runs[0]["digest"].is_string(), "{runs}");
    b.run(&["fleet", "status"]).ended(0).says("DRIFT").says("in step");
    fs::write(b.geometry("policy.cedar"), "nonsense").unwrap();
    until(b, |status| machine(status, "b").is_some_and(|b| b["policy"]["runs"][0]["digest"].is_null()));
    b.run(&["fleet", "policy", "fetch", "--yes"]).ended(0);
    until(b, is("b", "in_step"));
    // A label's bundle comes before that of all, and the session that runs keeps what it began with.
    tighten(a, "43");
    a.run(&["fleet", "policy", "publish", "--label", "team=search"]).ended(0);
    b.run(&["fleet", "policy", "fetch", "--yes"]).ended(0);
    let status = until(b, |status| {
        let runs = machine(status, "b").and_then(|b| b["policy"]["runs"].as_array().cloned()).unwrap_or_default();
        runs.len() == 1 && runs[0]["at"].as_str().unwrap().contains("/work: ")
    });
    assert_eq!(standing(&status, "b"), Some("drift".into()));
    b.run(&["stop"]).ended(0);
    until(b, is("b", "in_step"));
}

#[test]
fn fleet_6_an_agent_with_fleet_reports_the_policy_that_it_runs() {
    let fixture = AgentFixture::new();
    let address = format!("file:{}", fixture.beside("fleet").display());
    fixture.run(&["fleet", "join", &address, "--machine", "m"]).ended(0);
    fixture.run(&["fleet", "policy", "publish"]).ended(0);
    fixture.agent(&untested(vec![shell("touch one")]), &["--fleet"]).ended(4);
    let policy = |fixture: &AgentFixture| -> Value {
        let said = fixture.run(&["fleet", "status", "--json"]).ended(0).stdout.clone();
        serde_json::from_str::<Value>(&said).unwrap()["machines"][0]["policy"].clone()
    };
    assert_eq!(policy(&fixture)["standing"], "in_step", "{}", policy(&fixture));
    let manifest = fixture.read(".geometry/MANIFEST.yaml");
    fixture.file(".geometry/MANIFEST.yaml", &manifest.replace("max_iterations: 100", "max_iterations: 41"));
    fixture.agent(&untested(vec![shell("touch two")]), &["--fleet"]).ended(4);
    assert_eq!(policy(&fixture)["standing"], "drift", "{}", policy(&fixture));
}

#[test]
fn fleet_6_what_is_unsigned_foreign_copied_old_or_expired_is_refused_by_its_own_words() {
    let pair = Pair::new();
    let (a, b) = (&pair.a, &pair.b);
    a.run(&["fleet", "policy", "publish"]).ended(0);
    pair.trust();
    b.step(&calls(1)).ended(0);
    b.run(&["fleet", "policy", "fetch"]).ended(0).says("in step");
    let (before, good) = (policies(b), pair.published());
    let person = pair.person();
    let now_ms = clock::now().epoch_ms();
    let bundle = |at_ms: u64, until_ms: u64| PolicyBundle {
        target: Target::All,
        digest: Digest::of(b"x"),
        manifest: "safety:\n  max_iterations: 9\n".to_owned(),
        cedar: String::new(),
        who: "ada".to_owned(),
        at_ms,
        until_ms,
        nonce: format!("n{at_ms}{until_ms}"),
    };
    let later_ms = now_ms + 3_600_000;
    let sealed = |at_ms, until_ms| bundle(at_ms, until_ms).seal(&person).unwrap();
    let unsigned =
        serde_json::json!({"note": format!("tripwire/fleet/policy/v1\n{}\n", serde_json::json!(bundle(1, 2)))});
    let stranger = Signer::from_seed("tripwire-identity", &[9; 32]);
    for (text, words) in [
        ("nonsense".to_owned(), "is not a policy bundle"),
        (unsigned.to_string(), "nobody has signed it"),
        (bundle(now_ms, later_ms).seal(&stranger).unwrap(), "no key that this machine trusts"),
        (good.replace("max_iterations: 100", "max_iterations: 999"), "no key that this machine trusts"),
        (sealed(now_ms - 400_000, later_ms), "s away from the time at which it came in"),
        (sealed(now_ms, now_ms - 2_000), "expired"),
        (sealed(now_ms - 60_000, later_ms), "older than the one that this machine has seen"),
        (good.clone(), "is a copy of an earlier one"),
        (sealed(now_ms, later_ms), "it was signed as sha256:"),
    ] {
        pair.write(&text);
        let refused = b.run(&["fleet", "policy", "fetch", "--yes"]);
        assert!(refused.code == 11 || refused.code == 9, "{words}: {refused:?}");
        refused.complains(words);
        assert_eq!(policies(b), before, "{words}");
    }
    // A person repairs it.
    a.run(&["fleet", "policy", "publish"]).ended(0);
    b.run(&["fleet", "policy", "fetch"]).ended(0).says("in step");
    fs::write(b.path().join("state/tripwire/fleet/bundles.json"), "{").unwrap();
    b.run(&["fleet", "policy", "fetch"]).ended(2).complains("bundles.json");
}

#[test]
fn fleet_6_a_broken_policy_is_not_published_and_neither_are_a_persons_own_settings() {
    let pair = Pair::new();
    let a = &pair.a;
    for (args, words) in [
        (vec!["fleet", "policy", "publish", "--label", "team"], "is not a label"),
        (vec!["fleet", "policy", "publish", "--days", "0"], "1 to 3650 days"),
    ] {
        a.run(&args).ended(2).complains(words);
    }
    let (manifest, cedar) = (a.geometry("MANIFEST.yaml"), a.geometry("policy.cedar"));
    for (file, wrong) in [(&manifest, "safety:\n  max_iterations: many\n"), (&cedar, "permit (nobody")] {
        let good = fs::read_to_string(file).unwrap();
        fs::write(file, wrong).unwrap();
        a.run(&["fleet", "policy", "publish"]).ended(2).complains(file.file_name().unwrap().to_str().unwrap());
        fs::write(file, good).unwrap();
    }
    let settings = a.path().join("config/tripwire/settings.yaml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "limits:\n  max_steps: 12\n").unwrap();
    a.run(&["fleet", "policy", "publish"]).ended(11).complains("`limits.max_steps`");
    a.run(&["fleet", "policy", "show"]).ended(0).says("no policy bundle");
    fs::remove_file(&settings).unwrap();
    a.run(&["fleet", "policy", "publish"]).ended(0).says("for all machines");
}
