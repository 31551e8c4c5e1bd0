//! A folder with its store, and what the folder holds, name by name.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tripwire_testing::TestDir;
use tripwire_undo::{Doer, Restored, Selection, Settings, StepMark, UndoError, UndoStore};

pub(crate) const SESSION: &str = "auto-1";

/// Everything that must come back: kind, bits, contents.
pub(crate) type Held = BTreeMap<PathBuf, (u32, Vec<u8>)>;

pub(crate) struct World {
    pub(crate) dir: TestDir,
    pub(crate) store: UndoStore,
    next: std::cell::Cell<u64>,
}

pub(crate) fn settings() -> Settings {
    Settings {
        exclude: vec!["node_modules".to_owned()],
        file_bytes_max: 32 << 20,
        store_bytes_max: 1 << 30,
        keep_ms: 1_000_000,
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(settings())
    }

    /// As in a process that stays.
    pub(crate) fn watched() -> Self {
        let world = Self::new();
        Self { store: world.store.watching(), dir: world.dir, next: world.next }
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let dir = TestDir::new();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        let store = UndoStore::of(&dir.path().join("state"), &dir.path().join("work"), settings);
        Self { dir, store, next: std::cell::Cell::new(1) }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// One step of the agent; gives its number.
    pub(crate) fn step(&self, act: impl FnOnce()) -> u64 {
        self.step_naming(None, act)
    }

    pub(crate) fn step_naming(&self, paths: Option<Vec<String>>, act: impl FnOnce()) -> u64 {
        let step = self.begin(paths);
        act();
        self.store.after(SESSION, &step.to_string(), None).unwrap();
        step
    }

    /// A step that begins, and whose end is not reported yet.
    pub(crate) fn begin(&self, paths: Option<Vec<String>>) -> u64 {
        let step = self.next.replace(self.next.get() + 2);
        self.store.before(&mark(step, paths), None).unwrap();
        step
    }

    pub(crate) fn undo(&self, selection: Selection) -> Restored {
        self.try_undo(selection).unwrap()
    }

    pub(crate) fn try_undo(&self, selection: Selection) -> Result<Restored, UndoError> {
        self.store.take_back(SESSION, &selection, &[], &doer())
    }

    pub(crate) fn held(&self) -> Held {
        held(&self.root())
    }
}

pub(crate) fn doer() -> Doer {
    Doer { who: "someone".to_owned(), reason: String::new() }
}

pub(crate) fn mark(step: u64, paths: Option<Vec<String>>) -> StepMark {
    StepMark {
        session: SESSION.to_owned(),
        step,
        call: step.to_string(),
        label: format!("step {step}"),
        paths,
        beside_others: false,
    }
}

/// What a folder holds.
pub(crate) fn held(root: &Path) -> Held {
    let mut found = Held::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let contents = if meta.is_symlink() {
                std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if meta.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), (meta.mode(), contents));
        }
    }
    found
}

pub(crate) fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
