//! The folders that all others are measured by, as they really are, and who looks them up.

use crate::line::state::plain;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The folders that all others are measured by, as they really are.
#[derive(Debug)]
pub(crate) struct Roots {
    pub(crate) workspace: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) temporary: Vec<PathBuf>,
}

/// These folders as they are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RootNames<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) home: Option<&'a Path>,
    pub(crate) temporary: &'a [PathBuf],
}

impl Roots {
    fn of(names: RootNames<'_>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| plain(path));
        Self {
            workspace: real(names.workspace),
            home: names.home.map(real),
            temporary: names.temporary.iter().map(|path| real(path)).collect(),
        }
    }
}

/// What the copies of some facts look up once for all of them; by default each looks for itself.
#[derive(Debug, Clone, Default)]
pub struct SharedLooks(Option<Arc<OnceLock<FirstLook>>>);

/// The folders of the first look, as they were named and as they really are.
type FirstLook = (WrittenRoots, Arc<Roots>);

/// Workspace, home and temporary folders, as they were named.
type WrittenRoots = (PathBuf, Option<PathBuf>, Vec<PathBuf>);

/// What was looked up is no part of what is known.
impl PartialEq for SharedLooks {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for SharedLooks {}

impl SharedLooks {
    /// For the facts of one call, which is judged more than once while it is asked about. The next one gets its own.
    #[must_use]
    pub fn of_one_call() -> Self {
        Self(Some(Arc::default()))
    }

    /// The folders as they really are; looked up again where they were looked up under other names.
    pub(crate) fn roots(&self, names: RootNames<'_>) -> Arc<Roots> {
        let RootNames { workspace, home, temporary } = names;
        let Some(shared) = &self.0 else { return Arc::new(Roots::of(names)) };
        let (known, roots) = shared.get_or_init(|| {
            let written = (workspace.to_owned(), home.map(Path::to_owned), temporary.to_vec());
            (written, Arc::new(Roots::of(names)))
        });
        if (known.0.as_path(), known.1.as_deref(), known.2.as_slice()) == (workspace, home, temporary) {
            Arc::clone(roots)
        } else {
            Arc::new(Roots::of(names))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_a_look_as_long_as_they_name_the_same_folders() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other, link) = (folder.path().join("one"), folder.path().join("other"), folder.path().join("link"));
        for path in [&one, &other] {
            std::fs::create_dir(path).unwrap();
        }
        let leads_to = |target: &Path| {
            std::fs::remove_file(&link).ok();
            std::os::unix::fs::symlink(target, &link).unwrap();
        };
        let workspace = |looks: &SharedLooks, name: &Path| {
            looks.roots(RootNames { workspace: name, home: None, temporary: &[] }).workspace.clone()
        };
        let real = |path: &Path| path.canonicalize().unwrap();
        leads_to(&one);
        let (shared, alone) = (SharedLooks::of_one_call(), SharedLooks::default());
        assert_eq!([workspace(&shared, &link), workspace(&alone, &link)], [real(&one), real(&one)]);
        leads_to(&other);
        assert_eq!(workspace(&shared.clone(), &link), real(&one), "looked up before");
        assert_eq!(workspace(&shared, &other), real(&other), "other facts");
        assert_eq!(
            [workspace(&alone, &link), workspace(&SharedLooks::of_one_call(), &link)],
            [real(&other), real(&other)]
        );
    }
}
