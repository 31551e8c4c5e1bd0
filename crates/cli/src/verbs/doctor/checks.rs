//! What `tripwire doctor` says about the workspace and the machine; nothing is changed.

use crate::verbs::doctor::layers;
use crate::verbs::verify;
use crate::workspace;
use tripwire_authority::current;
use tripwire_clients::CheckResult;
use tripwire_core::explain::Explain as _;
use tripwire_core::input::Mode;
use tripwire_core::policy::{Policy, Profile};
use tripwire_sandbox::LayerHealth;
use tripwire_session::driver::{DriverError, check_secrets, views};
use tripwire_workspace::geometry::layout::Layout;
use tripwire_workspace::mode::{self, word};
use tripwire_workspace::policy_file;
use tripwire_workspace::{Workspace, exclude};

/// What is promised in a workspace.
pub(crate) fn promises(workspace: &Workspace) -> Vec<CheckResult> {
    let layout = workspace.layout();
    let mut promises = vec![how(layout), policy(workspace), permissions(layout), journal(layout)];
    promises.extend(ledger(layout));
    promises.extend([key(workspace), git(workspace), approvals()]);
    promises
}

/// What is promised about what runs confined.
pub(crate) fn sandbox() -> Vec<CheckResult> {
    let layers = layers::tried();
    let missing: Vec<CheckResult> = layers
        .iter()
        .filter(|check| check.health == LayerHealth::Missing)
        .map(|check| {
            let proof = format!("{}; {}", check.detail, check.meaning);
            CheckResult::broken(&format!("sandbox.{}", check.layer.name()), proof, check.fix)
        })
        .collect();
    if missing.is_empty() {
        return vec![CheckResult::kept("sandbox", format!("a confined run used all {} layers", layers.len()))];
    }
    missing
}

fn how(layout: &Layout) -> CheckResult {
    match mode::wanted(layout, workspace::state_home().as_deref()) {
        Mode::Armed => CheckResult::kept("mode", format!("{}: what the policy refuses is refused", word(Mode::Armed))),
        Mode::Observe => {
            let proof =
                format!("{}: hooks decide and write down, and refuse only destructive commands", word(Mode::Observe));
            CheckResult::off("mode", proof, "tripwire arm")
        }
    }
}

fn policy(workspace: &Workspace) -> CheckResult {
    let layout = workspace.layout();
    let manifest = layout.manifest();
    let own = layout.user_settings().filter(|file| file.exists());
    let own = own.map_or_else(String::new, |file| format!(", over your settings in `{}`", file.display()));
    let signing = workspace::signing(workspace);
    let loaded = policy_file::load_for(layout).map_err(DriverError::from).map(|loaded| loaded.policy);
    match loaded.and_then(|policy| check_secrets(layout, signing.as_ref(), &policy).map(|()| policy)) {
        Ok(policy) if manifest.exists() => {
            CheckResult::kept("policy", format!("`{}` is read{own}, profile {}", manifest.display(), profile(&policy)))
        }
        Ok(policy) => CheckResult::kept("policy", format!("the defaults{own}, profile {}", profile(&policy))),
        Err(problem) => CheckResult::broken("policy", problem.to_string(), "tripwire policy check"),
    }
}

const fn profile(policy: &Policy) -> &'static str {
    match policy.profile {
        Profile::Strict => "strict",
        Profile::Balanced => "balanced",
    }
}

fn permissions(layout: &Layout) -> CheckResult {
    let file = layout.policy();
    match current::permissions(layout) {
        Ok(_) if file.exists() => CheckResult::kept("permissions", format!("`{}` is read", file.display())),
        Ok(_) => CheckResult::kept("permissions", "the built-in ones: there is no `policy.cedar`"),
        Err(error) => CheckResult::broken("permissions", error.to_string(), "tripwire policy check"),
    }
}

fn journal(layout: &Layout) -> CheckResult {
    if let Some(proof) = verify::first_lost(layout) {
        return CheckResult::broken("journal", proof, "tripwire verify --all");
    }
    match views::newest(layout) {
        Ok(None) => CheckResult::off("journal", "no session was here yet", ""),
        Ok(Some(session)) => match verify::in_a_sentence(layout, &session) {
            Ok(proof) => CheckResult::kept("journal", proof),
            Err(proof) => CheckResult::broken("journal", proof, format!("tripwire verify {session}")),
        },
        Err(error) => CheckResult::broken("journal", error.to_string(), "tripwire verify"),
    }
}

/// The gateway's ledger, where there is one.
fn ledger(layout: &Layout) -> Option<CheckResult> {
    Some(match verify::ledger_in_a_sentence(layout)? {
        Ok(proof) => CheckResult::kept("ledger", proof),
        Err(proof) => CheckResult::broken("ledger", proof, "tripwire verify"),
    })
}

/// An agent that works in the workspace must not be able to sign in the person's name.
fn key(workspace: &Workspace) -> CheckResult {
    let Some(home) = workspace::key_home() else {
        return CheckResult::broken("key", "`HOME` is not set, so journals are not signed", "set HOME");
    };
    let file = home.secret_path();
    let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
    let lies_inside = |path: &std::path::Path| path.starts_with(workspace.root());
    if lies_inside(&file) || folder.is_some_and(|folder| lies_inside(&folder)) {
        let proof = format!("`{}` is in the workspace, where an agent can read it", file.display());
        return CheckResult::broken("key", proof, "set XDG_STATE_HOME to a folder outside of the workspace");
    }
    match home.has_key() {
        Ok(true) => CheckResult::kept("key", format!("`{}` lies outside of the workspace", file.display())),
        Ok(false) => CheckResult::off("key", "none yet: the first session makes one", ""),
        Err(error) => CheckResult::broken("key", error.to_string(), error.hint().into_owned()),
    }
}

/// A person should know before relying on it.
fn approvals() -> CheckResult {
    let proof = "with hooks alone they are not agent-proof: an agent under your account can hide that it is one, read a console's \
                 memory or type into its terminal";
    CheckResult::off("approvals", proof, "tripwire run -- CLIENT")
}

fn git(workspace: &Workspace) -> CheckResult {
    if !workspace.layout().folder().is_dir() {
        return CheckResult::off("git", "there is no `.geometry/` yet", "");
    }
    match exclude::is_excluded(workspace.root()) {
        Ok(Some(true)) => CheckResult::kept("git", "`.geometry/` is excluded"),
        Ok(Some(false)) => {
            let fix = "echo .geometry/ >> \"$(git rev-parse --git-common-dir)/info/exclude\"";
            CheckResult::broken("git", "`.geometry/` is not excluded and can be committed", fix)
        }
        Ok(None) => CheckResult::off("git", "the workspace is in no git repository", ""),
        Err(error) => CheckResult::broken("git", error.to_string(), "make the file readable"),
    }
}
