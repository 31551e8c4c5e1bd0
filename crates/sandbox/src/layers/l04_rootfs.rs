//! Layer 4: a new root on tmpfs that holds only what the plan lists.
//!
//! Every mount point is found component by component without following a symbolic link. Protected paths are read-only mounts,
//! and **every folder above them is pinned as a mount point of its own**: a mount alone does not keep `mv .git x` from taking
//! the protected name away.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount, mount_change,
    move_mount, open_tree, unmount,
};

use crate::outcome::Layer;
use crate::plan::{Access, Kind, RootStep, SandboxPlan};
use crate::sys::{self, ATTR_NODEV, ATTR_NOEXEC, ATTR_NOSUID, ATTR_RDONLY};

use crate::layer::LayerError;

/// Where the new root is built; any folder that exists everywhere will do, it is only covered.
const BASE: &str = "/tmp";
/// Names in the new root that exist while it is built.
const MASK_FILE: &str = ".mask-file";
const MASK_DIR: &str = ".mask-dir";
const PLACEHOLDERS: &str = ".placeholders";

/// Only a file of the host that is smaller than this is copied; for a larger one a mount is cheaper.
pub(crate) const COPY_BYTES_MAX: usize = 4 * 1024;

/// What the launcher watches from outside.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) scratch: OwnedFd,
    pub(crate) proc: OwnedFd,
}

/// Builds the new root and moves into it.
pub(crate) fn build(plan: &SandboxPlan) -> Result<Root, LayerError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(at("make mounts private"))?;
    let mut sources = plan.steps.iter().map(open_source).collect::<Result<Vec<_>, _>>()?;
    let base = new_base()?;
    let mut builder = Builder { base, made: BTreeSet::new() };
    let scratch = builder.new_scratch(plan)?;
    for (step, source) in plan.steps.iter().zip(&mut sources) {
        if let RootStep::Scratch { path } = step {
            *source = Source::Tree(scratch_folder(&scratch, path)?);
        }
    }
    for (step, source) in plan.steps.iter().zip(sources) {
        builder.take(step, source)?;
    }
    builder.clean()?;
    let proc = openat(&builder.base, "proc", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(at("open the new `/proc`"))?;
    enter(&builder.base)?;
    Ok(Root { scratch, proc })
}

/// What a step needs from the old root, taken before anything covers it.
enum Source {
    None,
    Tree(OwnedFd),
    Overlay { lower: OwnedFd, upper: OwnedFd, work: OwnedFd },
    File(fs::File),
}

fn open_source(step: &RootStep) -> Result<Source, LayerError> {
    match step {
        RootStep::Bind { path, .. } => clone_tree(path).map(Source::Tree),
        RootStep::BindAs { source, .. } => clone_tree(source).map(Source::Tree),
        RootStep::Overlay { path, upper, work, .. } => {
            Ok(Source::Overlay { lower: open_dir(path)?, upper: open_dir(upper)?, work: open_dir(work)? })
        }
        RootStep::Copy { path } => Ok(fs::File::open(path).map_or(Source::None, Source::File)),
        RootStep::Dir { .. }
        | RootStep::Symlink { .. }
        | RootStep::File { .. }
        | RootStep::Scratch { .. }
        | RootStep::Proc { .. }
        | RootStep::Terminals { .. }
        | RootStep::Pin { .. }
        | RootStep::Protect { .. }
        | RootStep::Mask { .. } => Ok(Source::None),
    }
}

/// A folder of the private file system, taken before anything covers it.
fn scratch_folder(scratch: &OwnedFd, path: &Path) -> Result<OwnedFd, LayerError> {
    let name = path.to_string_lossy().replace('/', "_");
    mkdirat(scratch, name.as_str(), Mode::from_raw_mode(0o755)).map_err(at_path("make", path))?;
    open_tree(scratch, name.as_str(), clone_flags()).map_err(at_path("take", path))
}

fn clone_tree(path: &Path) -> Result<OwnedFd, LayerError> {
    // The launcher resolved the path; a link that appeared since is refused.
    let found = openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(at_path("find", path))?;
    open_tree(found, "", clone_flags()).map_err(at_path("take", path))
}

fn clone_flags() -> OpenTreeFlags {
    OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH
}

fn open_dir(path: &Path) -> Result<OwnedFd, LayerError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).map_err(at_path("find", path))
}

fn new_base() -> Result<OwnedFd, LayerError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", BASE, "tmpfs", flags, c"mode=0755,size=4m,nr_inodes=64k").map_err(at("mount the new root"))?;
    openat(CWD, BASE, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(at("open the new root"))
}

/// Makes the new root the only one and closes it for writing.
fn enter(base: &OwnedFd) -> Result<(), LayerError> {
    rustix::process::fchdir(base).map_err(at("enter the new root"))?;
    rustix::process::pivot_root(".", ".").map_err(at("change the root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(at("let go of the old root"))?;
    rustix::process::chdir("/").map_err(at("enter the new root"))?;
    let root = openat(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(at("open the new root"))?;
    sys::mount_set_one(root.as_fd(), ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV).map_err(at_io("close the new root"))
}

struct Builder {
    base: OwnedFd,
    /// Folders of the new root that were made here and that nothing covers: below them no path needs a second look.
    made: BTreeSet<OsString>,
}

impl Builder {
    fn take(&mut self, step: &RootStep, source: Source) -> Result<(), LayerError> {
        match (step, source) {
            (RootStep::Dir { path }, _) => self.ensure(path, Kind::Dir),
            (RootStep::Symlink { path, target }, _) => {
                self.ensure_parent(path)?;
                rustix::fs::symlinkat(target, &self.base, relative(path)).map_err(at_path("link", path))
            }
            (RootStep::File { path, content }, _) => self.write_file(path, content),
            (RootStep::Copy { path }, Source::File(file)) => self.copy_file(path, file),
            (RootStep::Copy { .. }, _) => Ok(()),
            (RootStep::Bind { path, access } | RootStep::BindAs { path, access, .. }, Source::Tree(tree)) => {
                self.place(&tree, path, attributes(*access))
            }
            (RootStep::Scratch { path }, Source::Tree(tree)) => self.place(&tree, path, ATTR_NOSUID | ATTR_NODEV),
            (RootStep::Proc { path }, _) => self.mount_proc(path),
            (RootStep::Terminals { path }, _) => self.mount_terminals(path),
            (RootStep::Overlay { path, placeholders, .. }, Source::Overlay { lower, upper, work }) => {
                self.mount_overlay(path, placeholders, &[lower, upper, work])
            }
            (RootStep::Pin { path }, _) => self.cover_with_itself(path, ATTR_NOSUID | ATTR_NODEV),
            (RootStep::Protect { path }, _) => self.cover_with_itself(path, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV),
            (RootStep::Mask { path }, _) => self.mask(path),
            (
                RootStep::Bind { path, .. }
                | RootStep::BindAs { path, .. }
                | RootStep::Overlay { path, .. }
                | RootStep::Scratch { path },
                _,
            ) => Err(LayerError::new(Layer::Rootfs, libc::EINVAL, format!("no source for `{}`", path.display()))),
        }
    }

    /// A handle on a path in the new root; no component may be a symbolic link.
    fn find(&self, path: &Path) -> Result<OwnedFd, rustix::io::Errno> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        openat2(&self.base, relative(path), OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
    }

    /// Makes the path in the new root, with all its parents, where it is missing; no component may be a symbolic link.
    fn ensure(&mut self, path: &Path, kind: Kind) -> Result<(), LayerError> {
        let path = relative(path);
        if path == Path::new("") || self.made.contains(path.as_os_str()) {
            return Ok(());
        }
        self.ensure_parent(path)?;
        // In a folder that was made here nothing is there unless it was made here too.
        if !self.is_plain(path.parent()) && self.find(path).is_ok() {
            return Ok(());
        }
        let made = match kind {
            Kind::Dir => mkdirat(&self.base, path, Mode::from_raw_mode(0o755)),
            Kind::File => create(&self.base, path).map(drop),
        };
        match made {
            Ok(()) => {
                if kind == Kind::Dir && self.is_plain(path.parent()) {
                    self.made.insert(path.as_os_str().to_owned());
                }
                Ok(())
            }
            Err(rustix::io::Errno::EXIST) => self.find(path).map(drop).map_err(at_path("find", path)),
            Err(errno) => Err(at_path("make", path)(errno)),
        }
    }

    fn ensure_parent(&mut self, path: &Path) -> Result<(), LayerError> {
        match relative(path).parent() {
            Some(parent) => self.ensure(parent, Kind::Dir),
            None => Ok(()),
        }
    }

    /// Whether a folder was made here and is not covered.
    fn is_plain(&self, folder: Option<&Path>) -> bool {
        folder.is_some_and(|folder| folder == Path::new("") || self.made.contains(folder.as_os_str()))
    }

    fn write_file(&mut self, path: &Path, content: &[u8]) -> Result<(), LayerError> {
        self.ensure_parent(path)?;
        let fd = create(&self.base, relative(path)).map_err(at_path("make", path))?;
        fs::File::from(fd).write_all(content).map_err(at_path_io("write", path))
    }

    fn copy_file(&mut self, path: &Path, mut file: fs::File) -> Result<(), LayerError> {
        let mut content = [0; COPY_BYTES_MAX];
        // What cannot be read, or has grown since the plan was made, is as good as missing.
        match file.read(&mut content) {
            Ok(count) if count < COPY_BYTES_MAX => self.write_file(path, content.get(..count).unwrap_or_default()),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Attaches a detached tree at a path of the new root.
    fn place(&mut self, tree: &OwnedFd, path: &Path, attr: u64) -> Result<(), LayerError> {
        sys::mount_set(tree.as_fd(), attr).map_err(at_path_io("set the attributes of", path))?;
        self.ensure(path, kind_of(tree.as_fd())?)?;
        self.attach_at(tree.as_fd(), path).map_err(at_path("mount", path))
    }

    /// In folders that were made here a path is safe to walk; anywhere else it is walked without following a link.
    fn attach_at(&mut self, tree: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<()> {
        let path = relative(path);
        self.made.remove(path.as_os_str());
        if self.is_plain(path.parent()) {
            return move_mount(tree, "", &self.base, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH);
        }
        attach(tree, self.find(path)?.as_fd())
    }

    fn cover_with_itself(&self, path: &Path, attr: u64) -> Result<(), LayerError> {
        let target = self.find(path).map_err(at_path("find", path))?;
        let tree = open_tree(&target, "", clone_flags()).map_err(at_path("take", path))?;
        sys::mount_set(tree.as_fd(), attr).map_err(at_path_io("set the attributes of", path))?;
        attach(tree.as_fd(), target.as_fd()).map_err(at_path("cover", path))
    }

    fn mask(&self, path: &Path) -> Result<(), LayerError> {
        let target = self.find(path).map_err(at_path("find", path))?;
        let name = match kind_of(target.as_fd())? {
            Kind::Dir => MASK_DIR,
            Kind::File => MASK_FILE,
        };
        let mask = self.find(Path::new(name)).map_err(at("find the mask"))?;
        let tree = open_tree(&mask, "", clone_flags()).map_err(at("take the mask"))?;
        let attr = ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV | ATTR_NOEXEC;
        sys::mount_set(tree.as_fd(), attr).map_err(at_path_io("set the attributes of", path))?;
        attach(tree.as_fd(), target.as_fd()).map_err(at_path("hide", path))
    }

    fn mount_proc(&mut self, path: &Path) -> Result<(), LayerError> {
        self.ensure(path, Kind::Dir)?;
        self.made.remove(relative(path).as_os_str());
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        // Only the process folders: no `sys`, no `kallsyms`, nothing that root owns by uid.
        mount("proc", base_path(path), "proc", flags, c"subset=pid").map_err(at("mount `/proc` with subset=pid"))
    }

    fn mount_terminals(&mut self, path: &Path) -> Result<(), LayerError> {
        self.ensure(path, Kind::Dir)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        if mount("devpts", base_path(path), "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620").is_ok() {
            self.made.remove(relative(path).as_os_str());
        }
        Ok(())
    }

    /// Mounts the private file system where its first folder will be shown: that folder, a mount of its own, covers it, so
    /// nothing is left to be unmounted, which would wait for the whole machine.
    fn new_scratch(&mut self, plan: &SandboxPlan) -> Result<OwnedFd, LayerError> {
        self.write_masks().map_err(at_io("make the masks"))?;
        let first =
            plan.steps.iter().find_map(|step| if let RootStep::Scratch { path } = step { Some(path) } else { None });
        let place = first.ok_or_else(|| at("find a place for the scratch space")(rustix::io::Errno::INVAL))?;
        self.ensure(place, Kind::Dir)?;
        self.made.remove(relative(place).as_os_str());
        let options = format!("mode=0755,size={},nr_inodes={}\0", plan.scratch_bytes, plan.scratch_inodes);
        let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes()).unwrap_or_default();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", base_path(place), "tmpfs", flags, options).map_err(at("mount the scratch space"))?;
        openat(&self.base, relative(place), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(at("open the scratch space"))
    }

    fn write_masks(&self) -> io::Result<()> {
        let file = base_path(Path::new(MASK_FILE));
        fs::OpenOptions::new().write(true).create_new(true).mode(0o000).open(file)?;
        let dir = base_path(Path::new(MASK_DIR));
        fs::create_dir(&dir)?;
        fs::set_permissions(dir, fs::Permissions::from_mode(0o000))
    }

    /// Mounts the workspace with an overlay; `parts` are the lower, upper and work folders.
    fn mount_overlay(
        &mut self,
        path: &Path,
        placeholders: &[(PathBuf, Kind)],
        parts: &[OwnedFd; 3],
    ) -> Result<(), LayerError> {
        let missing = self.write_placeholders(placeholders)?;
        let [lower, upper, work] = parts;
        let by_fd = |fd: &OwnedFd| format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(fd));
        let stacked = match &missing {
            Some(missing) => format!("{}:{}", by_fd(missing), by_fd(lower)),
            None => by_fd(lower),
        };
        let failure = |what| at_in(Layer::Stage, what);
        let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failure("open an overlay"))?;
        fsconfig_set_string(&fs, "lowerdir", stacked.as_str()).map_err(failure("set the lower folder"))?;
        fsconfig_set_string(&fs, "upperdir", by_fd(upper).as_str()).map_err(failure("set the upper folder"))?;
        fsconfig_set_string(&fs, "workdir", by_fd(work).as_str()).map_err(failure("set the work folder"))?;
        fsconfig_set_flag(&fs, "userxattr").map_err(failure("use user attributes"))?;
        fsconfig_create(&fs).map_err(failure("mount an overlay in a user namespace"))?;
        let attr = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let tree = fsmount(&fs, FsMountFlags::FSMOUNT_CLOEXEC, attr).map_err(failure("mount the overlay"))?;
        self.ensure(path, Kind::Dir)?;
        self.attach_at(tree.as_fd(), path).map_err(at_path("mount the overlay at", path))
    }

    /// A layer of its own for protected names that do not exist: the workspace itself stays untouched.
    fn write_placeholders(&mut self, names: &[(PathBuf, Kind)]) -> Result<Option<OwnedFd>, LayerError> {
        if names.is_empty() {
            return Ok(None);
        }
        for (name, kind) in names {
            self.ensure(&Path::new(PLACEHOLDERS).join(name), *kind)?;
        }
        self.find(Path::new(PLACEHOLDERS)).map(Some).map_err(at("find the placeholders"))
    }

    /// Takes the names away that were only needed while building; what is mounted from them stays.
    fn clean(&self) -> Result<(), LayerError> {
        fs::remove_file(base_path(Path::new(MASK_FILE))).map_err(at_io("clean the new root"))?;
        fs::remove_dir(base_path(Path::new(MASK_DIR))).map_err(at_io("clean the new root"))
    }
}

fn create(base: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(base, path, flags, Mode::from_raw_mode(0o644))
}

fn attach(tree: BorrowedFd<'_>, target: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", target, "", flags)
}

fn attributes(access: Access) -> u64 {
    match access {
        Access::Read => ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV,
        Access::Write => ATTR_NOSUID | ATTR_NODEV,
        // As root the sandbox's uid owns the node: read-only keeps `chmod /dev/null` off the host.
        Access::Device | Access::Terminal => ATTR_RDONLY | ATTR_NOSUID | ATTR_NOEXEC,
    }
}

fn kind_of(fd: BorrowedFd<'_>) -> Result<Kind, LayerError> {
    let stat = rustix::fs::fstat(fd).map_err(at("look at a mount"))?;
    let is_dir = rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory;
    Ok(if is_dir { Kind::Dir } else { Kind::File })
}

fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn base_path(path: &Path) -> PathBuf {
    Path::new(BASE).join(relative(path))
}

fn at(what: &'static str) -> impl Fn(rustix::io::Errno) -> LayerError {
    at_in(Layer::Rootfs, what)
}

fn at_in(layer: Layer, what: &'static str) -> impl Fn(rustix::io::Errno) -> LayerError {
    move |errno| LayerError::new(layer, errno.raw_os_error(), what.to_owned())
}

fn at_io(what: &'static str) -> impl Fn(io::Error) -> LayerError {
    move |error| LayerError::new(Layer::Rootfs, error.raw_os_error().unwrap_or(0), what.to_owned())
}

fn at_path(what: &'static str, path: &Path) -> impl Fn(rustix::io::Errno) -> LayerError {
    let text = format!("{what} `{}`", path.display());
    move |errno| LayerError::new(Layer::Rootfs, errno.raw_os_error(), text.clone())
}

fn at_path_io(what: &'static str, path: &Path) -> impl Fn(io::Error) -> LayerError {
    let text = format!("{what} `{}`", path.display());
    move |error| LayerError::new(Layer::Rootfs, error.raw_os_error().unwrap_or(0), text.clone())
}
