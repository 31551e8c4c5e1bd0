//! This machine as its fleet sees it: its sessions, what waits there, and what an order means in each of its workspaces.

use super::places::{changed_ms, place_of, sessions, workspaces};
use super::questions::{self, OpenQuestions};
use crate::error::Problem;
use crate::notify;
use crate::workspace;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tripwire_authority::current;
use tripwire_console::control::{self, Actor};
use tripwire_console::resume::{self, ResumeOrder};
use tripwire_console::summary;
use tripwire_core::input::{HumanAct, What};
use tripwire_core::record::chain::Digest;
use tripwire_fleet::approval::{Question, Verdict};
use tripwire_fleet::copier::Copier;
use tripwire_fleet::host::{Host, Obeyed};
use tripwire_fleet::machine::RunningPolicy;
use tripwire_fleet::order::FleetAct;
use tripwire_fleet::subject::Name;
use tripwire_journal::note::Verifier;
use tripwire_journal::{SessionId, SessionPaths};
use tripwire_session::driver::{Driver, frozen_rules};
use tripwire_session::supervised::{self, StopReceipt, Supervisor};
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::control::order::Order;
use tripwire_workspace::loop_lock::LoopLock;

/// What became of an order in one workspace.
pub(super) struct InWorkspace {
    pub(super) root: PathBuf,
    /// Or why not, in words.
    pub(super) done: Result<Obeyed, String>,
}

/// Carries an order out in every workspace, several at a time: each waits for the receipts of what it ends.
pub(super) fn in_every_workspace(act: FleetAct, who: &str, reason: &str) -> Vec<InWorkspace> {
    let all = workspaces();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..all.len().min(AT_ONCE) {
            scope.spawn(|| {
                while let Some(workspace) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let root = workspace.root().to_owned();
                    let obeyed = in_workspace(workspace, act, who, reason).map_err(|problem| problem.to_string());
                    let here = InWorkspace { root, done: obeyed };
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(here);
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by(|one, other| one.root.cmp(&other.root));
    done
}

fn in_workspace(workspace: &Workspace, act: FleetAct, who: &str, reason: &str) -> Result<Obeyed, Problem> {
    let actor = Actor { who: who.to_owned(), reason, signing: workspace::signing(workspace), notify: &notify::notify };
    let order = match act {
        FleetAct::Stop => Order::Stop,
        FleetAct::Pause => Order::Pause,
        FleetAct::Resume => {
            let report = resume::resume(workspace, &ResumeOrder::default(), &actor)?;
            return Ok(Obeyed { lines: report.lines, ..Obeyed::default() });
        }
    };
    let report = control::give(workspace, None, order, actor)?;
    let sum = |part: fn(&StopReceipt) -> u64| report.receipts.iter().map(|(_, receipt)| part(receipt)).sum();
    Ok(Obeyed {
        ended: sum(|receipt| receipt.ended),
        survivors: sum(|receipt| receipt.survivors),
        failures: if report.holds { Vec::new() } else { vec![format!("`{}` does not hold", act.name())] },
        lines: report.lines,
    })
}

/// When a machine's part in the fleet is over.
pub(super) enum Until {
    /// At a time, or never.
    Time(Option<Instant>),
    /// When somebody says so.
    Flag(Arc<AtomicBool>),
}

/// This machine.
pub(super) struct ThisMachine {
    /// Sessions that were over before are not copied.
    pub(super) joined_ms: u64,
    /// The workspace of this process: its policy counts before anything was recorded there.
    pub(super) own: Option<PathBuf>,
    pub(super) until: Until,
    /// Who copies sessions of this process, if anybody does.
    pub(super) copier: Option<Copier>,
    pub(super) talk: Box<dyn Fn(&str) + Send + Sync>,
    pub(super) questions: OpenQuestions,
}

impl Host for ThisMachine {
    fn sessions(&self) -> Vec<(Name, SessionPaths)> {
        let is_ours = |paths: &SessionPaths| self.copier.as_ref().is_none_or(|copier| !copier.copies(paths.session()));
        let of = |workspace: &Workspace| {
            let place = place_of(workspace.root());
            let found = sessions(workspace, self.joined_ms).into_iter().filter(is_ours);
            found.map(move |paths| (place.clone(), paths)).collect::<Vec<_>>()
        };
        workspaces().iter().flat_map(of).collect()
    }

    fn trusted(&self) -> Vec<Verifier> {
        workspace::key_home().and_then(|home| home.trusted().ok()).unwrap_or_default()
    }

    fn obey(&self, act: FleetAct, who: &str, reason: &str) -> Obeyed {
        let mut all = Obeyed::default();
        for InWorkspace { root, done } in in_every_workspace(act, who, reason) {
            let root = root.display();
            match done {
                Ok(here) => {
                    all.lines.extend(here.lines.into_iter().map(|line| format!("{root}: {line}")));
                    all.failures.extend(here.failures.into_iter().map(|line| format!("{root}: {line}")));
                    all.ended += here.ended;
                    all.survivors += here.survivors;
                }
                Err(problem) => all.failures.push(format!("{root}: {problem}")),
            }
        }
        all
    }

    fn end_session(&self, place: &Name, session: &SessionId, reason: &str) -> Result<(), String> {
        let workspace = workspaces().into_iter().find(|workspace| place_of(workspace.root()) == *place);
        let workspace = workspace.ok_or_else(|| "its workspace is gone".to_owned())?;
        let driver = Driver::resume(workspace.layout(), session).map_err(|error| error.to_string())?;
        let mut driver = driver.signed_by(workspace::signing(&workspace));
        let stop = What::Human(HumanAct::Stop.signed("fleet", reason));
        let taken = driver.take_now(stop, clock::now).map_err(|error| error.to_string())?;
        notify::notify(&driver, &taken);
        Ok(())
    }

    fn waiting(&self, machine: &Name) -> Vec<Question> {
        self.questions.look(machine, self.joined_ms)
    }

    fn answer(&self, question: &Question, verdict: &Verdict) -> Result<String, String> {
        questions::take(question, verdict)
    }

    fn policies(&self) -> Vec<RunningPolicy> {
        let mut found: BTreeMap<Option<Digest>, RunningPolicy> = BTreeMap::new();
        let mut add = |digest: Option<Digest>, at: String| {
            found.entry(digest).or_insert(RunningPolicy { digest, count: 0, at }).count += 1;
        };
        for workspace in workspaces() {
            let (root, layout) = (workspace.root(), workspace.layout());
            let sessions = sessions(&workspace, self.joined_ms);
            if sessions.is_empty() && self.own.as_deref() != Some(root) {
                continue;
            }
            let next = current::rules(layout).ok().flatten();
            add(next, root.display().to_string());
            for paths in sessions {
                // A session keeps the policy that it began with.
                let frozen = frozen_rules(layout, paths.session());
                if frozen.is_some() && frozen != next && is_live(&workspace, &paths) {
                    add(frozen, format!("{}: {}", root.display(), paths.session()));
                }
            }
        }
        found.into_values().take(POLICIES_TOLD).collect()
    }

    fn now_ms(&self) -> u64 {
        clock::now().epoch_ms()
    }

    fn say(&self, line: &str) {
        (self.talk)(line);
    }

    fn is_over(&self) -> bool {
        match &self.until {
            Until::Time(end) => end.is_some_and(|end| Instant::now() >= end),
            Until::Flag(over) => over.load(Ordering::Relaxed),
        }
    }
}

/// Whether an agent may still act in a session. What nobody runs and nobody has written to for a while is not opened.
fn is_live(workspace: &Workspace, paths: &SessionPaths) -> bool {
    let (layout, session) = (workspace.layout(), paths.session());
    let silent_ms = clock::now().epoch_ms().saturating_sub(changed_ms(paths.dir()));
    let supervised = supervised::look(layout, session).ok().flatten();
    let is_run = supervised.is_some_and(|seen| seen.supervisor == Supervisor::Alive);
    (is_run || LoopLock::is_held(layout, session) || silent_ms < LIVE_MS)
        && summary::of_session(workspace, session.clone(), &BTreeMap::new()).standing.is_live()
}

/// Silence after which a session that no process runs is not looked at.
const LIVE_MS: u64 = 10 * 60 * 1_000;
/// Different policies that a heartbeat names.
const POLICIES_TOLD: usize = 50;
/// Workspaces that are ordered at the same time.
const AT_ONCE: usize = 16;
