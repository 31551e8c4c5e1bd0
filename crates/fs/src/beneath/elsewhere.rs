//! Other systems: nothing runs confined there, so no hostile program runs beside us; paths with a look at every folder on the way.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::entry::EntryKind;

/// No system answers this number by itself.
pub(super) const LINK_ON_THE_WAY: i32 = i32::MAX;

/// See the Linux form.
#[derive(Debug)]
pub struct HeldFolder(PathBuf);

impl HeldFolder {
    /// See the Linux form.
    pub fn open(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path)?.is_dir() { Ok(Self(path.to_path_buf())) } else { Err(link_on_the_way()) }
    }

    /// See the Linux form.
    pub fn folder(&self, path: &Path) -> io::Result<Self> {
        self.checked(path).map(Self)
    }

    /// See the Linux form.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name()));
        let mut names = entries.collect::<io::Result<Vec<OsString>>>()?;
        names.sort();
        Ok(names)
    }

    /// See the Linux form.
    pub fn sync(&self, path: &Path) -> io::Result<()> {
        fs::File::open(self.checked(path)?)?.sync_all()
    }

    /// See the Linux form.
    pub fn entry(&self, path: &Path) -> io::Result<FolderEntry> {
        let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(FolderEntry(self.checked(path.parent().unwrap_or(Path::new("")))?.join(name)))
    }

    /// See the Linux form; without the kernel's help a link could lead out between the look and the use.
    pub fn find(&self, _path: &Path) -> io::Result<FoundFile> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// See the Linux form.
    pub fn readable(&self, path: &Path) -> io::Result<OwnedFd> {
        Ok(fs::File::open(self.checked(path)?)?.into())
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
pub struct FolderEntry(PathBuf);

impl FolderEntry {
    /// See the Linux form.
    pub fn kind(&self) -> io::Result<EntryKind> {
        match fs::symlink_metadata(&self.0) {
            Ok(meta) => Ok(EntryKind::of(&meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(EntryKind::Nothing),
            Err(error) => Err(error),
        }
    }

    /// See the Linux form.
    pub fn link_target(&self) -> io::Result<PathBuf> {
        fs::read_link(&self.0)
    }

    /// See the Linux form.
    pub fn open_file(&self) -> io::Result<fs::File> {
        if fs::symlink_metadata(&self.0)?.is_file() { fs::File::open(&self.0) } else { Err(link_on_the_way()) }
    }

    /// See the Linux form.
    pub fn create_file(&self) -> io::Result<fs::File> {
        fs::OpenOptions::new().write(true).create_new(true).open(&self.0)
    }

    /// See the Linux form.
    pub fn make_link(&self, target: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, &self.0)
    }

    /// See the Linux form.
    pub fn make_dir(&self) -> io::Result<()> {
        fs::create_dir(&self.0)
    }

    /// See the Linux form.
    pub fn remove_file(&self) -> io::Result<()> {
        fs::remove_file(&self.0)
    }

    /// See the Linux form.
    pub fn remove_dir(&self) -> io::Result<()> {
        fs::remove_dir(&self.0)
    }

    /// See the Linux form.
    pub fn move_to(&self, to: &Self) -> io::Result<()> {
        fs::rename(&self.0, &to.0)
    }

    /// See the Linux form.
    pub fn set_dir_mode(&self, mode: u32) -> io::Result<()> {
        fs::set_permissions(&self.0, fs::Permissions::from_mode(mode))
    }
}

/// See the Linux form; nothing is found here.
#[derive(Debug)]
pub enum FoundFile {}

impl FoundFile {
    /// See the Linux form.
    pub fn kind(&self) -> EntryKind {
        match *self {}
    }

    /// See the Linux form.
    pub fn size(&self) -> u64 {
        match *self {}
    }

    /// See the Linux form.
    pub fn real_path(&self) -> io::Result<PathBuf> {
        match *self {}
    }

    /// See the Linux form.
    pub fn open(&self) -> io::Result<fs::File> {
        match *self {}
    }
}

fn link_on_the_way() -> io::Error {
    io::Error::from_raw_os_error(LINK_ON_THE_WAY)
}
