//! Other systems: nothing runs confined there, so nobody hostile is beside us; paths with a look at every folder on the way.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::Standing;

/// No system answers this number by itself.
pub(crate) const LINK_ON_THE_WAY: i32 = i32::MAX;

/// See the Linux form.
#[derive(Debug)]
pub(crate) struct Top(PathBuf);

impl Top {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path)?.is_dir() { Ok(Self(path.to_path_buf())) } else { Err(link_on_the_way()) }
    }

    pub(crate) fn folder(&self, path: &Path) -> io::Result<Self> {
        self.checked(path).map(Self)
    }

    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name()));
        let mut names = entries.collect::<io::Result<Vec<OsString>>>()?;
        names.sort();
        Ok(names)
    }

    pub(crate) fn sync(&self, path: &Path) -> io::Result<()> {
        fs::File::open(self.checked(path)?)?.sync_all()
    }

    pub(crate) fn place(&self, path: &Path) -> io::Result<Place> {
        let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(Place(self.checked(path.parent().unwrap_or(Path::new("")))?.join(name)))
    }

    fn checked(&self, path: &Path) -> io::Result<PathBuf> {
        let mut so_far = self.0.clone();
        for part in path.components() {
            so_far.push(part);
            if !fs::symlink_metadata(&so_far)?.is_dir() {
                return Err(link_on_the_way());
            }
        }
        Ok(so_far)
    }
}

/// See the Linux form.
#[derive(Debug)]
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn standing(&self) -> io::Result<Standing> {
        match fs::symlink_metadata(&self.0) {
            Ok(meta) => Ok(Standing::of(&meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Standing::Nothing),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn link_target(&self) -> io::Result<PathBuf> {
        fs::read_link(&self.0)
    }

    pub(crate) fn open_file(&self) -> io::Result<fs::File> {
        if fs::symlink_metadata(&self.0)?.is_file() { fs::File::open(&self.0) } else { Err(link_on_the_way()) }
    }

    pub(crate) fn create_file(&self) -> io::Result<fs::File> {
        fs::OpenOptions::new().write(true).create_new(true).open(&self.0)
    }

    pub(crate) fn make_link(&self, target: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, &self.0)
    }

    pub(crate) fn make_dir(&self) -> io::Result<()> {
        fs::create_dir(&self.0)
    }

    pub(crate) fn remove_file(&self) -> io::Result<()> {
        fs::remove_file(&self.0)
    }

    pub(crate) fn remove_dir(&self) -> io::Result<()> {
        fs::remove_dir(&self.0)
    }

    pub(crate) fn move_to(&self, to: &Self) -> io::Result<()> {
        fs::rename(&self.0, &to.0)
    }

    pub(crate) fn set_dir_mode(&self, mode: u32) -> io::Result<()> {
        fs::set_permissions(&self.0, fs::Permissions::from_mode(mode))
    }
}

fn link_on_the_way() -> io::Error {
    io::Error::from_raw_os_error(LINK_ON_THE_WAY)
}
