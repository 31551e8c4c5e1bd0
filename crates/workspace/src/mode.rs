//! Whether hooks bind or only watch: a person's choice, as one word in a file. The workspace's own word comes first, then
//! the person's for all workspaces; without either, and for any word that is not known, they bind.

use crate::account;
use crate::clock;
use crate::control::AbsentFiles;
use crate::geometry::layout::{Layout, MODE};
use std::path::{Path, PathBuf};
use tripwire_core::input::Mode;
use tripwire_fs::file::{self, FileError, ReadError, Removed};

/// More bytes than the longest word has.
const BYTES_MAX: u64 = 64;
const ARMED: &str = "armed";
const OBSERVE: &str = "observe";

/// Where the choice is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice(PathBuf);

impl Choice {
    /// For one workspace.
    #[must_use]
    pub fn of_workspace(layout: &Layout) -> Self {
        Self(layout.mode())
    }

    /// For all workspaces of a person whose state is in this folder.
    #[must_use]
    pub fn of_person(state: &Path) -> Self {
        Self(state.join("tripwire").join(MODE))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What was chosen; nothing if no mode was.
    #[must_use]
    pub fn read(&self) -> Option<Mode> {
        match file::read_bounded(&self.0, BYTES_MAX) {
            Ok(bytes) if bytes.trim_ascii() == OBSERVE.as_bytes() => Some(Mode::Observe),
            Err(ReadError::File(error)) if error.kind() == std::io::ErrorKind::NotFound => None,
            // A word that is not known, or a file that cannot be read: the stricter of the two.
            Ok(_) | Err(ReadError::File(_) | ReadError::TooBig { .. }) => Some(Mode::Armed),
        }
    }

    /// Writes the choice down.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, mode: Mode) -> Result<(), FileError> {
        if let Some(folder) = self.0.parent() {
            file::make_folder(folder)?;
        }
        file::replace(&self.0, format!("{}\n", word(mode)).as_bytes())
    }

    /// Takes the choice back, as if none had been made.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn forget(&self) -> Result<Removed, FileError> {
        file::remove(&self.0)
    }
}

/// What a process that stays knows of the choices: where there is none, one look at the folder says that none has come.
#[derive(Debug, Default)]
pub struct KnownMode {
    workspace: AbsentFiles,
    person: AbsentFiles,
}

impl KnownMode {
    /// The mode that hooks of this workspace work in, as [`wanted`] finds it.
    pub fn wanted(&mut self, layout: &Layout, state: Option<&Path>) -> Mode {
        let Self { workspace, person } = self;
        let of_person = || read_known(&Choice::of_person(state?), person);
        read_known(&Choice::of_workspace(layout), workspace).or_else(of_person).unwrap_or(Mode::Armed)
    }
}

fn read_known(choice: &Choice, known: &mut AbsentFiles) -> Option<Mode> {
    let (Some(folder), Some(name)) = (choice.0.parent(), choice.0.file_name()) else { return choice.read() };
    known.begin(folder.metadata().ok().as_ref(), clock::now());
    if known.knows(name) {
        return None;
    }
    let mode = choice.read();
    if mode.is_none() {
        known.note(name);
    }
    mode
}

/// The mode's word, as it is in the file and as people read it.
#[must_use]
pub const fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Armed => ARMED,
        Mode::Observe => OBSERVE,
    }
}

/// The mode that hooks of this workspace work in.
#[must_use]
pub fn wanted(layout: &Layout, state: Option<&Path>) -> Mode {
    let person = || state.and_then(|state| Choice::of_person(state).read());
    Choice::of_workspace(layout).read().or_else(person).unwrap_or(Mode::Armed)
}

/// The account that chose the mode: the owner of the file in which the choice is.
#[must_use]
pub fn chosen_by(layout: &Layout, state: Option<&Path>) -> String {
    let person = || state.and_then(|state| account::owner_of(Choice::of_person(state).path()));
    let owner = account::owner_of(Choice::of_workspace(layout).path()).or_else(person);
    owner.unwrap_or_else(account::current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tripwire_testing::TestDir;

    #[test]
    fn the_workspace_is_asked_first_then_the_person_and_nobody_means_armed() {
        let (workspace, state) = (TestDir::new(), TestDir::new());
        let layout = Layout::at(workspace.path());
        assert_eq!(wanted(&layout, Some(state.path())), Mode::Armed);
        Choice::of_person(state.path()).write(Mode::Observe).unwrap();
        assert_eq!(wanted(&layout, Some(state.path())), Mode::Observe);
        assert_eq!(wanted(&layout, None), Mode::Armed);
        Choice::of_workspace(&layout).write(Mode::Armed).unwrap();
        assert_eq!(wanted(&layout, Some(state.path())), Mode::Armed);
    }

    #[test]
    fn a_process_that_stays_sees_a_choice_that_comes_changes_or_goes() {
        let (workspace, state) = (TestDir::new(), TestDir::new());
        let layout = Layout::at(workspace.path());
        let (own, person) = (Choice::of_workspace(&layout), Choice::of_person(state.path()));
        std::fs::create_dir(state.path().join("tripwire")).unwrap();
        let mut known = KnownMode::default();
        let mut look = || known.wanted(&layout, Some(state.path()));
        let settle = || std::thread::sleep(std::time::Duration::from_millis(70));
        settle();
        assert_eq!((look(), look()), (Mode::Armed, Mode::Armed), "nobody chose");
        person.write(Mode::Observe).unwrap();
        assert_eq!(look(), Mode::Observe);
        settle();
        assert_eq!((look(), look()), (Mode::Observe, Mode::Observe));
        own.write(Mode::Armed).unwrap();
        assert_eq!(look(), Mode::Armed);
        std::fs::write(own.path(), "observe").unwrap();
        settle();
        assert_eq!((look(), look()), (Mode::Observe, Mode::Observe));
        own.forget().unwrap();
        person.forget().unwrap();
        assert_eq!((look(), look()), (Mode::Armed, Mode::Armed));
    }

    #[test]
    fn a_word_that_is_not_known_and_a_file_that_cannot_be_read_mean_armed() {
        let dir = TestDir::new();
        let layout = Layout::at(dir.path());
        for text in ["off", "", "observe\0", &"observe".repeat(20)] {
            std::fs::write(Choice::of_workspace(&layout).path(), text).unwrap();
            assert_eq!(wanted(&layout, None), Mode::Armed, "{text}");
        }
        std::fs::remove_file(Choice::of_workspace(&layout).path()).unwrap();
        std::fs::create_dir(Choice::of_workspace(&layout).path()).unwrap();
        assert_eq!(wanted(&layout, None), Mode::Armed);
    }
}
