//! Writing a manifest that a person may be editing at the same moment, without losing either side.

use super::{MANIFEST_BYTES_MAX, Manifest, ManifestError};
use crate::geometry::yaml_edit::{self, Edit, EditError};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use tripwire_core::explain::{ExitClass, Explain};
use tripwire_fs::file::{Accept, Draft, FileError, FileMode, read_bounded};
use tripwire_fs::lock::FileLock;

/// Why a manifest was not written; the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The manifest that is there is not accepted.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The edit could not be made without touching more than its value.
    #[error("cannot edit `{}`: {cause}", file.display())]
    Edit {
        /// The manifest.
        file: PathBuf,
        /// Why not.
        cause: EditError,
    },
    /// Someone else wrote the file since it was read; the caller reads and decides again.
    #[error("`{}` was changed by someone else meanwhile", file.display())]
    ChangedMeanwhile {
        /// The manifest.
        file: PathBuf,
    },
    /// The file system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Explain for UpdateError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Manifest(error) => error.hint(),
            Self::Edit { cause, .. } => cause.hint(),
            Self::ChangedMeanwhile { .. } => "run the command again: the change is read first".into(),
            Self::File(error) => error.hint(),
        }
    }

    fn exit_class(&self) -> ExitClass {
        match self {
            Self::Manifest(error) => error.exit_class(),
            Self::Edit { cause, .. } => cause.exit_class(),
            Self::ChangedMeanwhile { .. } => ExitClass::BadInput,
            Self::File(error) => error.exit_class(),
        }
    }
}

/// Sets values in the manifest that was read before, and gives back the manifest as it then is on disk.
///
/// The write is refused when the file no longer holds what `read` was made from, even when the change lands between
/// the last look and the rename: the two files are swapped and the displaced one is compared.
pub fn update(read: &Manifest, edits: &[Edit]) -> Result<Manifest, UpdateError> {
    update_after(read, edits, |_| Ok(()))
}

/// As [`update`], with something to do with the new text before it is there.
pub fn update_after(
    read: &Manifest,
    edits: &[Edit],
    before: impl FnOnce(&str) -> Result<(), FileError>,
) -> Result<Manifest, UpdateError> {
    let edited = yaml_edit::apply(&read.text, edits);
    let text = edited.map_err(|cause| UpdateError::Edit { file: read.file.clone(), cause })?;
    replace_after(read, text, before)
}

/// Puts another text in the place of the manifest that was read before, under the same conditions as [`update`].
pub fn replace(read: &Manifest, text: String) -> Result<Manifest, UpdateError> {
    replace_after(read, text, |_| Ok(()))
}

fn replace_after(
    read: &Manifest,
    text: String,
    before: impl FnOnce(&str) -> Result<(), FileError>,
) -> Result<Manifest, UpdateError> {
    let file = read.file.as_path();
    let unchanged = |at: &Path| read_bounded(at, MANIFEST_BYTES_MAX).is_ok_and(|bytes| bytes == read.text.as_bytes());
    let meanwhile = || UpdateError::ChangedMeanwhile { file: file.to_owned() };
    // The lock keeps our own processes apart; a person's editor does not know it, which is why the swap below is needed.
    let _lock = FileLock::folder_of(file)?;
    if !unchanged(file) {
        return Err(meanwhile());
    }
    let updated = Manifest::parse(file, text.into_bytes())?;
    if updated.text == read.text {
        return Ok(updated);
    }
    before(&updated.text)?;
    let mut draft = Draft::new(file, FileMode::PRIVATE)?;
    draft.write(updated.text.as_bytes())?;
    match draft.exchange(|displaced| if unchanged(displaced) { Accept::Yes } else { Accept::No })? {
        Accept::Yes => Ok(updated),
        Accept::No => Err(meanwhile()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::manifest::template;
    use crate::geometry::yaml_edit::NewValue;
    use tripwire_testing::{TestDir, sized};

    fn fresh(dir: &TestDir) -> Manifest {
        let file = dir.path().join("MANIFEST.yaml");
        template::write_if_missing(&file).unwrap();
        Manifest::load(&file).unwrap()
    }

    #[test]
    fn an_update_is_on_disk_and_only_its_line_changed() {
        let dir = TestDir::new();
        let read = fresh(&dir);
        let updated = update(&read, &[Edit::new("safety.iteration_count", NewValue::Number(7))]).unwrap();
        assert_eq!(updated.live().iteration_count, 7);
        let text = std::fs::read_to_string(dir.path().join("MANIFEST.yaml")).unwrap();
        assert_eq!(text, template::FRESH.replace("iteration_count: 0", "iteration_count: 7"));
    }

    #[test]
    fn a_persons_edit_in_between_is_not_overwritten() {
        let dir = TestDir::new();
        let read = fresh(&dir);
        let theirs = template::FRESH.replace("consecutive_failures: 0", "consecutive_failures: 1");
        std::fs::write(dir.path().join("MANIFEST.yaml"), &theirs).unwrap();
        let error = update(&read, &[Edit::new("safety.iteration_count", NewValue::Number(7))]).unwrap_err();
        assert!(matches!(error, UpdateError::ChangedMeanwhile { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(dir.path().join("MANIFEST.yaml")).unwrap(), theirs);
    }

    #[test]
    fn an_update_that_breaks_a_type_is_refused() {
        let dir = TestDir::new();
        let read = fresh(&dir);
        let error = update(&read, &[Edit::new("safety.iteration_count", NewValue::Bool(true))]).unwrap_err();
        assert!(error.to_string().contains("must be a whole number"), "{error}");
        assert_eq!(std::fs::read_to_string(dir.path().join("MANIFEST.yaml")).unwrap(), template::FRESH);
    }

    /// Two writers that each count up by reading and updating: no count is lost, in whichever order they write.
    #[test]
    fn two_writers_at_once_lose_no_update() {
        let dir = TestDir::new();
        let file = fresh(&dir).file;
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut done = 0;
                    while done < 50 {
                        let read = Manifest::load(&file).unwrap();
                        let next = read.live().iteration_count + 1;
                        match update(&read, &[Edit::new("safety.iteration_count", NewValue::Number(next))]) {
                            Ok(_) => done += 1,
                            Err(UpdateError::ChangedMeanwhile { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        assert_eq!(Manifest::load(&file).unwrap().live().iteration_count, 100);
    }

    /// A person's tool that renames its own version into place at the same moment: the person's value stays.
    #[test]
    fn a_rename_in_the_middle_of_an_update_is_not_lost() {
        let dir = TestDir::new();
        let file = fresh(&dir).file;
        let (rounds, step) = sized((50, 183), (150, 61));
        for round in 1..=rounds {
            let read = Manifest::load(&file).unwrap();
            let before = format!("consecutive_failures: {}\n", round - 1);
            let theirs = read.text.replacen(&before, &format!("consecutive_failures: {round}\n"), 1);
            assert_ne!(theirs, read.text);
            std::fs::write(dir.path().join("theirs"), theirs).unwrap();
            let start = std::sync::Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    let edit = Edit::new("safety.iteration_count", NewValue::Number(round));
                    match update(&read, &[edit]) {
                        Ok(_) | Err(UpdateError::ChangedMeanwhile { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                });
                scope.spawn(|| {
                    start.wait();
                    // The moment differs from round to round, to hit every step of the update.
                    (0..round * step).for_each(|_| std::thread::yield_now());
                    std::fs::rename(dir.path().join("theirs"), &file).unwrap();
                });
            });
            assert_eq!(Manifest::load(&file).unwrap().live().consecutive_failures, round);
        }
    }
}
