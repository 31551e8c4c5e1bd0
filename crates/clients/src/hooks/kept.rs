//! What a process keeps of a client's session between two events, so that one that stays need not read it back at each.
//!
//! The notes are also in a file, which every process of the session reads and writes under its lock: what another one left
//! there counts. A process that stays may write them down once its answer is given, with the lock held until then.

use super::disk::KeptLook;
use super::hook_call::HookCall;
use super::memory::HookMemory;
use crate::homes::Homes;
use crate::protected::ProtectedPaths;
use tripwire_fs::file;
use tripwire_judge::{Facts, SharedLooks};
use tripwire_observe::Observer;
use tripwire_session::driver::{Driver, DriverError, KnownSteps, StepWords};
use tripwire_session::foreign::{Foreign, Notes, NotesFile};
use tripwire_workspace::Workspace;
use tripwire_workspace::geometry::layout::Layout;

/// Results after which a process that stays writes down what its observer has seen.
const OBSERVED_MAX: u32 = 16;

/// What is kept of one session of one client.
#[derive(Debug, Default)]
pub struct KeptNotes {
    stay: Stay,
    /// The file, which a process that stays keeps open.
    file: Option<NotesFile>,
    /// The file as it was read or written last, and what it says.
    bytes: Vec<u8>,
    pub(super) memory: HookMemory,
    /// The file, locked, while what the last event left is still to be written down.
    unwritten: Option<Notes>,
    pub(super) step: Option<KeptStep>,
    steps: KnownSteps,
    pub(super) disk: KeptLook,
    observer: Option<Observer>,
    /// Results since the observer was last written down.
    observed: u32,
    surroundings: Option<Facts>,
    protected: Option<ProtectedPaths>,
}

/// Whether a process sees more than one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stay {
    /// It ends with the event.
    #[default]
    OneEvent,
    /// It stays for the next one.
    Stays,
}

/// A call and what it gave, for the briefing of a fresh worker.
#[derive(Debug)]
pub(super) struct KeptStep {
    pub(super) tool: String,
    pub(super) arguments: String,
    pub(super) exit_code: Option<i32>,
    pub(super) output: String,
}

impl KeptNotes {
    /// For a process that stays for more events of the session. It calls [`Self::write_down`] after each answer.
    #[must_use]
    pub fn staying() -> Self {
        Self { stay: Stay::Stays, disk: KeptLook::Here(None), ..Self::default() }
    }

    /// Locks the file and follows what another process wrote there.
    pub(super) fn open(
        &mut self,
        foreign: Foreign<'_>,
        layout: &Layout,
        driver: &Driver,
    ) -> Result<Notes, DriverError> {
        self.write_down(driver)?;
        let mut notes = self.file.get_or_insert_with(|| foreign.notes_file(layout)).take(layout)?;
        let bytes = notes.read();
        if self.bytes != bytes {
            self.memory = HookMemory::read(bytes);
            bytes.clone_into(&mut self.bytes);
        }
        Ok(notes)
    }

    /// The event is dealt with: the notes are written down, now or after the answer.
    pub(super) fn close(&mut self, notes: Notes, driver: &Driver) -> Result<(), DriverError> {
        self.unwritten = Some(notes);
        match self.stay {
            Stay::OneEvent => self.write_down(driver),
            Stay::Stays => Ok(()),
        }
    }

    /// Writes down what the last event left, and lets other processes of the session go on.
    ///
    /// # Errors
    /// When it cannot be written: then nothing that is kept here is to be used again.
    pub fn write_down(&mut self, driver: &Driver) -> Result<(), DriverError> {
        let Some(mut notes) = self.unwritten.take() else { return Ok(()) };
        let text = self.memory.text(driver.redactor()?);
        let bytes = file::filled_up(text.into_bytes(), self.bytes.len());
        notes.write(&bytes)?;
        self.bytes = bytes;
        if let Some(KeptStep { tool, arguments, exit_code, output }) = self.step.take() {
            let step = StepWords { said: "", tool: &tool, arguments: &arguments, exit_code, output: &output };
            driver.keep_step(&step, &mut self.steps)?;
        }
        Ok(())
    }

    /// What the session's results were like so far; to be kept again after the next one.
    pub(super) fn take_observer(&mut self, foreign: Foreign<'_>, layout: &Layout) -> Observer {
        self.observer.take().unwrap_or_else(|| foreign.observer(layout))
    }

    /// Keeps what the observer has seen, and writes it down where the next process would miss it.
    pub(super) fn keep_observer(&mut self, foreign: Foreign<'_>, layout: &Layout, observer: Observer) {
        self.observed = self.observed.saturating_add(1);
        if self.stay == Stay::OneEvent || self.observed >= OBSERVED_MAX {
            foreign.keep_observer(layout, &observer);
            self.observed = 0;
        }
        self.observer = Some(observer);
    }

    /// What the judge of commands has to know: of this process once, of the call and of the policy as they are now.
    pub(super) fn facts(&mut self, call: &HookCall, driver: &Driver, make: impl FnOnce() -> Facts) -> Facts {
        let known = self.surroundings.get_or_insert_with(make).clone();
        Facts { cwd: call.cwd.clone(), looks: SharedLooks::of_one_call(), ..known }.under(driver.policy())
    }

    /// What the agent must not touch.
    pub(super) fn protected(&mut self, workspace: &Workspace, homes: &Homes) -> ProtectedPaths {
        self.protected.get_or_insert_with(|| ProtectedPaths::new(workspace, homes)).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_workspace::clock;

    #[test]
    fn notes_of_a_process_that_stays_are_written_after_the_answer_and_those_of_others_count() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::at(&folder.path().join(".geometry"));
        let foreign = Foreign { client: "mcp", session: "s" };
        let driver = foreign.open(&layout, clock::now()).unwrap();
        let mut stays = KeptNotes::staying();
        let notes = stays.open(foreign, &layout, &driver).unwrap();
        stays.memory.remarks.push("one".to_owned());
        stays.close(notes, &driver).unwrap();
        assert_eq!(stays.bytes, b"", "the answer does not wait for it");
        stays.write_down(&driver).unwrap();
        let mut other = KeptNotes::default();
        let notes = other.open(foreign, &layout, &driver).unwrap();
        assert_eq!(other.memory.remarks, ["one"]);
        other.memory.remarks.push("two".to_owned());
        other.close(notes, &driver).unwrap();
        drop(stays.open(foreign, &layout, &driver).unwrap());
        assert_eq!(stays.memory.remarks, ["one", "two"]);
    }
}
