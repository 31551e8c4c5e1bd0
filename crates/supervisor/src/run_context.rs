//! What every part of a run needs: the options, the folder, the guard and its thread.

use crate::confinement::{ConfinedCommand, Confinement};
use crate::engine_thread::{EngineThread, EngineThreadError};
use crate::folder::RunFolder;
use crate::guard::Guard;
use crate::options::{Notifier, RunOptions};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use tripwire_core::decision::Decision;
use tripwire_core::input::{SandboxHeld, What};
use tripwire_core::label::Label;
use tripwire_sandbox::{SpecError, TreeSpec};
use tripwire_session::file_marks::BoundTree;

/// Where a run takes place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunPlace<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) folder: &'a RunFolder,
    /// The sandbox around everything that the agent starts, if there is one.
    pub(crate) confinement: Option<&'a Confinement>,
}

/// The surroundings of a run.
pub(crate) struct RunContext<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) folder: &'a RunFolder,
    pub(crate) confinement: Option<&'a Confinement>,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) engine: EngineThread,
    /// Our session.
    pub(crate) session: String,
    /// What test runs and claims are bound to.
    pub(crate) bound: BoundTree,
}

impl RunContext<'_> {
    /// Takes an input in, within the time that the engine has.
    pub(crate) fn take(&self, what: What) -> Result<Decision, EngineThreadError> {
        self.engine.take(what, self.options.limits.engine)
    }

    /// The workspace now, as far as test runs and claims are bound to it; nothing if it cannot be read.
    pub(crate) fn bound_digest(&self) -> Option<Label> {
        self.bound.digest(self.options.workspace.root())
    }

    /// What nothing of the agent's making may write, neither the client's processes nor the tests that it wrote: the
    /// session, the run's own files, what was prepared for a client, and what switches the guard on and off.
    pub(crate) fn read_only(&self, prepared: &[PathBuf]) -> Vec<PathBuf> {
        let geometry = self.options.workspace.layout().folder();
        let geometry = geometry.canonicalize().unwrap_or_else(|_| geometry.to_owned());
        let kept = self.options.kept.iter().filter_map(|path| path.canonicalize().ok());
        [geometry, self.folder.inner()].into_iter().chain(prepared.iter().cloned()).chain(kept).collect()
    }

    /// The tree of a command: inside the sandbox of the run if there is one, else with some paths read-only or hidden.
    pub(crate) fn tree(&self, what: &ConfinedCommand<'_>) -> Result<TreeSpec, SpecError> {
        let (spec, env) = (TreeSpec::new(what.command).cwd(&self.options.cwd).cpu(self.options.cpu), what.env);
        let pairs = |env: &[(OsString, OsString)], spec: TreeSpec| {
            spec.env(env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
        };
        if let Some(confinement) = self.confinement {
            let sandbox = confinement.sandbox(self.options, self.folder, what)?;
            return Ok(pairs(&confinement.environment(self.options, env), spec).confined(sandbox));
        }
        let spec = what.read_only.iter().fold(pairs(env, spec), |spec, path| spec.read_only(path));
        Ok(self.hidden().iter().fold(spec, |spec, path| spec.hidden(path)))
    }

    /// Takes in what the sandbox kept from happening.
    pub(crate) fn note_held(&self, held: Vec<SandboxHeld>) {
        for one in held {
            self.notifier.say(&format!("tripwire: the sandbox held ({}): {}", one.wall.name(), one.what));
            if let Err(error) = self.take(What::SandboxHeld(one)) {
                self.notifier.say(&format!("note: what the sandbox held is not in the journal: {error}"));
                return;
            }
        }
    }

    /// The folders that nothing of the agent's making may see: the client's processes, and the tests that it wrote.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        let folders = self.options.hidden.iter().filter(|path| path.is_dir());
        folders.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
    }
}
