//! A session that goes on while its journal is looked at.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::storage::simulated::SimulatedDisk;
use crate::test_disk::DiskChange;

type Act = Box<dyn FnOnce(&SimulatedDisk)>;

/// What the session does happens right before a folder is listed for the first time.
#[derive(Clone)]
pub(super) struct Live {
    folder: PathBuf,
    act: Rc<RefCell<Option<Act>>>,
}

impl Live {
    pub(super) fn new(folder: PathBuf, act: impl FnOnce(&SimulatedDisk) + 'static) -> Self {
        Self { folder, act: Rc::new(RefCell::new(Some(Box::new(act)))) }
    }
}

impl DiskChange for Live {
    fn before_list(&self, disk: &SimulatedDisk, dir: &Path) {
        if dir == self.folder
            && let Some(act) = self.act.borrow_mut().take()
        {
            act(disk);
        }
    }
}
