//! `tripwire fleet serve`: this machine's part in the fleet.

use super::args::FleetServeArgs;
use super::membership::{FleetError, Membership, folder};
use crate::error::Problem;
use crate::exit::Exit;
use crate::notify;
use crate::print;
use crate::workspace;
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tripwire_console::control::{self, Actor};
use tripwire_console::resume::{self, ResumeOrder};
use tripwire_core::record::chain::Digest;
use tripwire_fleet::member::{Host, Member, Membership as Who, Obeyed, Served};
use tripwire_fleet::order::FleetAct;
use tripwire_fleet::subject::Name;
use tripwire_journal::note::Verifier;
use tripwire_journal::{SessionId, SessionPaths};
use tripwire_session::driver::views;
use tripwire_workspace::Workspace;
use tripwire_workspace::clock;
use tripwire_workspace::control::order::Order;

/// Runs the verb.
pub(super) fn run(args: &FleetServeArgs) -> Result<Exit, Problem> {
    let membership = Membership::load()?;
    let log = membership.log()?;
    let host = ThisMachine {
        joined_ms: membership.joined_ms,
        end: args.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
    };
    let who = Who {
        machine: membership.machine.clone(),
        labels: membership.labels.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        dead_man: Duration::from_secs(membership.dead_man_s),
        memory: folder()?.join("memory.json"),
        life: tripwire_fleet::nonce().map_err(FleetError::Random)?,
    };
    print::say(&format!("`{}` serves in the fleet {}", membership.machine, membership.address));
    match Member::new(log.as_ref(), &host, who).serve() {
        Served::Left => Ok(Exit::Done),
        Served::Rival => {
            print::say(
                "error: another process speaks for this machine\nhint: end it, or join under another `--machine`",
            );
            Ok(Exit::Refused)
        }
    }
}

/// The name of a workspace in the fleet.
pub(super) fn place_of(root: &Path) -> Name {
    let digest = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
    Name::nearest(digest.get(..16).unwrap_or(&digest))
}

/// The workspaces of this person.
pub(super) fn workspaces() -> Vec<Workspace> {
    let known = workspace::known().map(|known| known.list()).unwrap_or_default();
    let opened = known.into_iter().filter_map(|root| {
        Workspace::locate(&root, &workspace::places()).ok().filter(|workspace| workspace.root() == root)
    });
    opened.collect()
}

/// The sessions of a workspace that were written to since a time.
pub(super) fn sessions(workspace: &Workspace, since_ms: u64) -> Vec<SessionPaths> {
    let layout = workspace.layout();
    let paths = |session: SessionId| SessionPaths::new(layout.folder(), &session);
    let found = views::sessions(layout).unwrap_or_default().into_iter().map(paths);
    found.filter(|paths| changed_ms(paths.dir()) >= since_ms).collect()
}

/// When a journal was last written to.
fn changed_ms(folder: &Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let times = files.filter_map(|file| file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    times.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)).max().unwrap_or(0)
}

struct ThisMachine {
    joined_ms: u64,
    end: Option<Instant>,
}

impl Host for ThisMachine {
    fn sessions(&self) -> Vec<(Name, SessionPaths)> {
        let of = |workspace: &Workspace| {
            let place = place_of(workspace.root());
            sessions(workspace, self.joined_ms).into_iter().map(move |paths| (place.clone(), paths)).collect::<Vec<_>>()
        };
        workspaces().iter().flat_map(of).collect()
    }

    fn trusted(&self) -> Vec<Verifier> {
        workspace::key_home().and_then(|home| home.trusted().ok()).unwrap_or_default()
    }

    fn obey(&self, act: FleetAct, who: &str, reason: &str) -> Obeyed {
        let mut done = Obeyed::default();
        for workspace in workspaces() {
            let root = workspace.root().display().to_string();
            match in_workspace(&workspace, act, who, reason) {
                Ok(here) => {
                    done.lines.extend(here.lines.into_iter().map(|line| format!("{root}: {line}")));
                    done.failures.extend(here.failures.into_iter().map(|line| format!("{root}: {line}")));
                    done.ended += here.ended;
                    done.survivors += here.survivors;
                }
                Err(problem) => done.failures.push(format!("{root}: {problem}")),
            }
        }
        done
    }

    fn now_ms(&self) -> u64 {
        clock::now().epoch_ms()
    }

    fn say(&self, line: &str) {
        print::say(line);
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
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
    let sum = |part: fn(&tripwire_session::supervised::StopReceipt) -> u64| {
        report.receipts.iter().map(|(_, receipt)| part(receipt)).sum()
    };
    Ok(Obeyed {
        ended: sum(|receipt| receipt.ended),
        survivors: sum(|receipt| receipt.survivors),
        failures: if report.holds { Vec::new() } else { vec![format!("`{}` does not hold", act.name())] },
        lines: report.lines,
    })
}
