//! A tree inside the layers of the sandbox: put on as for a single command, kept until the caller ends it.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;

use tripwire_core::explain::Explain as _;

use super::spec::TreeSpec;
use crate::control::{Channel, News, TAG_PLAN};
use crate::error::TreeError;
use crate::layer::LayerError;
use crate::layers::l01_cgroup::{Group, Steering};
use crate::outcome::{Budget, Layer, Planted};
use crate::plan::{CommandPlan, Plan};
use crate::run::Attempt;
use crate::runs::Placeholders;
use crate::spec::{CpuHold, Sandbox};
use crate::watchdog::{Pace, Watch};

/// What a confined tree needs until its end.
#[derive(Debug)]
pub(super) struct ConfinedTree {
    attempt: Attempt,
    placeholders: Option<Placeholders>,
    watch: Option<Watch>,
    listeners: Vec<TcpListener>,
    planted: Option<Planted>,
}

impl ConfinedTree {
    pub(super) fn new(sandbox: &Sandbox, spec: &TreeSpec) -> Self {
        let mut sandbox = sandbox.clone();
        sandbox.argv.clone_from(&spec.argv);
        let attempt = Attempt::new(sandbox);
        Self { attempt, placeholders: None, watch: None, listeners: Vec::new(), planted: None }
    }

    /// Layer 1.
    pub(super) fn group(&mut self) -> Result<Option<Group>, TreeError> {
        self.attempt.cgroup(Steering::Needed).map_err(missing)
    }

    pub(super) fn cpu(&self) -> CpuHold {
        self.attempt.cpu()
    }

    /// Has the inner stage put on the other layers, and waits until the first process runs; nothing is run if one is missing.
    pub(super) fn enter(&mut self, spec: &TreeSpec, control: &Channel) -> Result<(), TreeError> {
        let (placeholders, mut plan) = self.attempt.prepare().map_err(missing)?;
        self.placeholders = Some(placeholders);
        let cwd = spec.cwd.clone().unwrap_or_else(|| self.attempt.spec.workspace.clone());
        // The caller's variables, and behind them those of the layers: the way to allowed hosts, and what git must know.
        let env = spec.env.iter().chain(&plan.command.env).cloned().collect();
        plan.command = CommandPlan { argv: spec.argv.clone(), env, cwd };
        let at = |source| TreeError::Start { what: "speak to the inner stage", source };
        // An inner stage that is gone already has said why: that is heard before the plan is called unsent.
        let unsent = control.send(TAG_PLAN, &Plan::Sandbox(Box::new(plan)).encode()).err();
        loop {
            match control.news().map_err(at)? {
                Some(News::Ready { fds, .. }) => self.take_handles(fds)?,
                Some(News::Started) => return Ok(()),
                Some(News::Failed { layer, errno, what }) => return Err(missing(LayerError::new(layer, errno, what))),
                Some(News::Exited { .. }) | None => {
                    return Err(at(unsent.unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into())));
                }
            }
        }
    }

    fn take_handles(&mut self, fds: Vec<OwnedFd>) -> Result<(), TreeError> {
        let mut fds = fds.into_iter();
        let (Some(scratch), Some(proc)) = (fds.next(), fds.next()) else {
            return Err(missing(LayerError::new(Layer::Rootfs, 0, "receive the new root".to_owned())));
        };
        self.watch = Some(Watch::new(self.attempt.sight(scratch, proc)).at(Pace::Tree));
        self.listeners = fds.map(TcpListener::from).collect();
        Ok(())
    }

    pub(super) fn listeners(&mut self) -> Vec<TcpListener> {
        std::mem::take(&mut self.listeners)
    }

    pub(super) fn spent(&mut self) -> Option<Budget> {
        self.watch.as_mut().and_then(Watch::look_if_due)
    }

    /// The tree is gone: what it left is looked at, and the names that were made up go.
    pub(super) fn end(&mut self) {
        if self.planted.is_none() {
            let findings = self.attempt.scan();
            self.planted = Some(Planted { findings, unseen: self.attempt.unseen() });
        }
        drop(self.watch.take());
        drop(self.placeholders.take());
    }

    pub(super) fn planted(&mut self) -> Planted {
        self.planted.take().unwrap_or_default()
    }
}

fn missing(error: LayerError) -> TreeError {
    if error.layer == Layer::Command {
        let source = io::Error::from_raw_os_error(error.errno);
        return TreeError::Command {
            program: error.what.trim_start_matches("run ").trim_matches('`').to_owned(),
            source,
        };
    }
    TreeError::Layer { layer: error.layer.name(), cause: error.to_string(), hint: error.hint().into_owned() }
}
