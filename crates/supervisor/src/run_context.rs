//! What every part of a run needs: the options, the folder, the guard and its thread.

use crate::engine_thread::{EngineThread, EngineThreadError};
use crate::folder::RunFolder;
use crate::guard::Guard;
use crate::options::{Notifier, RunOptions};
use std::path::PathBuf;
use std::sync::Arc;
use tripwire_core::decision::Decision;
use tripwire_core::input::What;

/// The surroundings of a run.
pub(crate) struct RunContext<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) folder: &'a RunFolder,
    pub(crate) notifier: Arc<dyn Notifier>,
    pub(crate) guard: Arc<Guard>,
    pub(crate) engine: EngineThread,
    /// Our session.
    pub(crate) session: String,
}

impl RunContext<'_> {
    /// Takes an input in, within the time that the engine has.
    pub(crate) fn take(&self, what: What) -> Result<Decision, EngineThreadError> {
        self.engine.take(what, self.options.limits.engine)
    }

    /// What nothing of the agent's making may write, neither the client's processes nor the tests that it wrote: the
    /// session, the run's own files, what was prepared for a client, and what switches the guard on and off.
    pub(crate) fn read_only(&self, prepared: &[PathBuf]) -> Vec<PathBuf> {
        let geometry = self.options.workspace.layout().folder();
        let geometry = geometry.canonicalize().unwrap_or_else(|_| geometry.to_owned());
        let kept = self.options.kept.iter().filter_map(|path| path.canonicalize().ok());
        [geometry, self.folder.inner()].into_iter().chain(prepared.iter().cloned()).chain(kept).collect()
    }

    /// The folders that nothing of the agent's making may see: the client's processes, and the tests that it wrote.
    pub(crate) fn hidden(&self) -> Vec<PathBuf> {
        let folders = self.options.hidden.iter().filter(|path| path.is_dir());
        folders.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect()
    }
}
