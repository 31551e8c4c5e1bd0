//! Layer 1: our own cgroups. v1 groups and those that only steer are made below the group we are in.
//!
//! A v2 group with budgets cannot be: a group that holds processes, as ours holds us, hands no controllers to children. So it
//! is made beside ours, in the same parent and nowhere higher, if that parent hands the controllers out already; nothing of
//! the host's configuration is changed for it. What bounds the parent bounds the tree; the memory and process limits of our
//! own group are kept by cutting the budgets to them. Other limits of our own group, of time or of input and output, do not
//! reach a neighbour.
//!
//! They carry the memory and process budgets of the whole tree and the handles that freeze and end it. A process joins v1
//! groups by writing `0` to `tasks` from the launching thread just before the clone, and v2 groups by `CLONE_INTO_CGROUP`:
//! moving another process would wait for a grace period of the whole machine, about ten milliseconds.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::procfs;
use crate::spec::{Bytes, CpuHold, MilliCores};
use crate::sys;

const PREFIX: &str = "tripwire-";
const FREEZE_TIME_MAX: Duration = Duration::from_secs(2);
const REMOVE_TIME_MAX: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(1);

/// The scheduler's period, of which a quota is a part.
const CPU_PERIOD_US: u64 = 100_000;
const CPU: &str = "cpu";

/// What a group is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupUse {
    /// The budgets that it carries.
    pub(crate) limits: Option<GroupLimits>,
    /// Processor time; a group that cannot carry it is made all the same and says so.
    pub(crate) cpu: Option<MilliCores>,
    pub(crate) steering: Steering,
}

/// Whether a tree is to be frozen and ended by its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Steering {
    Needed,
    /// A tree that its pid namespace ends and that is never frozen.
    NotNeeded,
}

/// The budgets that a group carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupLimits {
    pub(crate) memory: Bytes,
    pub(crate) processes: u64,
}

impl GroupLimits {
    /// The budgets, cut to the v2 limits of a group: a neighbour of it must not have what it may not have.
    fn within(self, group: &Path) -> Self {
        let limit = |name: &str| text_of(group.join(name)).ok()?.trim().parse::<u64>().ok();
        Self {
            memory: Bytes(limit("memory.max").map_or(self.memory.0, |most| most.min(self.memory.0))),
            processes: limit("pids.max").map_or(self.processes, |most| most.min(self.processes)),
        }
    }
}

/// The groups of one tree.
#[derive(Debug)]
pub(crate) struct Group {
    /// v1: our folder and the `tasks` file of the group we came from.
    v1: Vec<V1>,
    /// v2: our folder and a handle on it.
    v2: Option<(PathBuf, OwnedFd)>,
    wanted: GroupUse,
    cpu: CpuHold,
}

#[derive(Debug)]
struct V1 {
    controller: &'static str,
    dir: PathBuf,
    home: PathBuf,
}

/// One cgroup hierarchy that is mounted here, and the folder of the group we are in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    /// `None` for v2.
    controllers: Option<Vec<String>>,
    mount: PathBuf,
    own: PathBuf,
}

impl Group {
    /// Makes the groups, after sweeping what killed launchers left in the same place.
    pub(crate) fn create(wanted: GroupUse) -> io::Result<Self> {
        let hierarchies = hierarchies()?;
        let name = own_name()?;
        let mut group = Self { v1: Vec::new(), v2: None, wanted, cpu: CpuHold::Free };
        let result = group.fill(&hierarchies, &name);
        if let Err(error) = result {
            group.remove();
            return Err(error);
        }
        Ok(group)
    }

    fn fill(&mut self, hierarchies: &[Hierarchy], name: &str) -> io::Result<()> {
        let unified = hierarchies.iter().find(|hierarchy| hierarchy.controllers.is_none());
        if let Some(limits) = self.wanted.limits {
            if let Some(parent) = unified.and_then(v2_parent_with_controllers) {
                let limits = unified.map_or(limits, |hierarchy| limits.within(&hierarchy.own));
                let dir = make(&parent, name)?;
                self.v2 = Some(opened(dir.clone())?);
                write(&dir.join("memory.max"), &limits.memory.0.to_string())?;
                write_if_there(&dir.join("memory.swap.max"), "0")?;
                write(&dir.join("pids.max"), &limits.processes.to_string())?;
                self.limit_cpu(hierarchies, name);
                return Ok(());
            }
            for controller in ["memory", "pids"] {
                self.add_v1(hierarchies, controller, name)?;
            }
            self.limit_v1(limits)?;
        }
        self.steer_by(unified, hierarchies, name)?;
        self.limit_cpu(hierarchies, name);
        Ok(())
    }

    fn steer_by(&mut self, unified: Option<&Hierarchy>, hierarchies: &[Hierarchy], name: &str) -> io::Result<()> {
        if self.wanted.steering == Steering::NotNeeded {
            return Ok(());
        }
        match unified.map(|hierarchy| make(&hierarchy.own, name)) {
            Some(Ok(dir)) => self.v2 = Some(opened(dir)?),
            Some(Err(_)) | None => self.add_v1(hierarchies, "freezer", name)?,
        }
        Ok(())
    }

    /// Sets the quota where a controller is there for it; where not, another hold is needed, and [`Self::cpu`] says so.
    fn limit_cpu(&mut self, hierarchies: &[Hierarchy], name: &str) {
        let Some(limit) = self.wanted.cpu else { return };
        let quota = (limit.0 * CPU_PERIOD_US / 1_000).to_string();
        let v2 = self.v2.as_ref().map(|(dir, _)| dir.join("cpu.max")).filter(|file| file.exists());
        let held = match v2 {
            Some(file) => write(&file, &format!("{quota} {CPU_PERIOD_US}")),
            None => self.add_v1(hierarchies, CPU, name).and_then(|()| {
                let dir = self.v1.last().map(|group| group.dir.clone()).unwrap_or_default();
                write(&dir.join("cpu.cfs_period_us"), &CPU_PERIOD_US.to_string())?;
                write(&dir.join("cpu.cfs_quota_us"), &quota)
            }),
        };
        self.cpu = if held.is_ok() { CpuHold::Quota } else { CpuHold::Pinned };
    }

    /// What must hold the processor time of the tree.
    pub(crate) fn cpu(&self) -> CpuHold {
        self.cpu
    }

    fn add_v1(&mut self, hierarchies: &[Hierarchy], controller: &'static str, name: &str) -> io::Result<()> {
        let found = hierarchies
            .iter()
            .find(|hierarchy| hierarchy.controllers.iter().flatten().any(|item| item == controller))
            .ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("no `{controller}` controller is mounted"))
            })?;
        let dir = make(&found.own, name)?;
        self.v1.push(V1 { controller, dir, home: found.own.join("tasks") });
        Ok(())
    }

    fn limit_v1(&self, limits: GroupLimits) -> io::Result<()> {
        for group in &self.v1 {
            match group.controller {
                "memory" => {
                    let bytes = limits.memory.0.to_string();
                    write(&group.dir.join("memory.limit_in_bytes"), &bytes)?;
                    write_if_there(&group.dir.join("memory.memsw.limit_in_bytes"), &bytes)?;
                }
                "pids" => write(&group.dir.join("pids.max"), &limits.processes.to_string())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// What the budgets rest on, for the result.
    pub(crate) fn describe(&self) -> String {
        let mut names: Vec<&str> = self.v1.iter().map(|group| group.controller).collect();
        let text = match (&self.v2, self.v1.is_empty()) {
            (Some(_), true) if self.cpu == CpuHold::Quota => return "v2: memory, pids, cpu, freeze, kill".to_owned(),
            (Some(_), true) => return "v2: memory, pids, freeze, kill".to_owned(),
            (Some(_), false) => "v1: ",
            (None, _) => "v1: ",
        };
        if self.v2.is_some() {
            names.push("v2 freeze and kill");
        }
        format!("{text}{}", names.join(", "))
    }

    /// The v2 folder that a clone starts in.
    pub(crate) fn clone_into(&self) -> Option<BorrowedFd<'_>> {
        self.v2.as_ref().map(|(_, fd)| fd.as_fd())
    }

    /// Puts the calling thread into the v1 groups until the guard is dropped, so that a clone starts there.
    pub(crate) fn enter(&self) -> io::Result<GroupVisit<'_>> {
        let visit = GroupVisit(&self.v1);
        for group in &self.v1 {
            write(&group.dir.join("tasks"), "0")?;
        }
        Ok(visit)
    }

    /// The pids in the group, as seen from here.
    pub(crate) fn members(&self) -> Vec<i32> {
        let dir = self.v2.as_ref().map(|(dir, _)| dir).or_else(|| self.v1.first().map(|group| &group.dir));
        let text = dir.and_then(|dir| text_of(dir.join("cgroup.procs")).ok()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// How often the kernel ended a process because the memory budget was spent.
    pub(crate) fn memory_kills(&self) -> u64 {
        let v1 =
            self.v1.iter().find(|group| group.controller == "memory").map(|group| group.dir.join("memory.oom_control"));
        let file = v1.or_else(|| self.v2.as_ref().map(|(dir, _)| dir.join("memory.events")));
        let text = file.and_then(|file| text_of(file).ok()).unwrap_or_default();
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill "))
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    }

    /// Stops every process of the group where it is, or lets it go on.
    pub(crate) fn set_frozen(&self, state: Frozen) -> io::Result<()> {
        let (file, value, proof, want) = if let Some((dir, _)) = &self.v2 {
            let (value, want) = match state {
                Frozen::Yes => ("1", "frozen 1"),
                Frozen::No => ("0", "frozen 0"),
            };
            (dir.join("cgroup.freeze"), value, dir.join("cgroup.events"), want)
        } else {
            let freezer = self.v1.iter().find(|group| group.controller == "freezer");
            let dir = freezer.map(|group| group.dir.clone()).ok_or(io::ErrorKind::Unsupported)?;
            let value = match state {
                Frozen::Yes => "FROZEN",
                Frozen::No => "THAWED",
            };
            (dir.join("freezer.state"), value, dir.join("freezer.state"), value)
        };
        let start = Instant::now();
        write(&file, value)?;
        while !text_of(&proof)?.lines().any(|line| line == want) {
            if start.elapsed() > FREEZE_TIME_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// Ends every process of the group. A frozen v1 group must be thawed for it, which its caller does.
    pub(crate) fn kill(&self) {
        if let Some((dir, _)) = &self.v2
            && write(&dir.join("cgroup.kill"), "1").is_ok()
        {
            return;
        }
        kill_members(&self.members());
    }

    /// Takes the empty folders away.
    pub(crate) fn remove(&mut self) {
        let v1 = self.v1.drain(..).map(|group| group.dir);
        let dirs: Vec<PathBuf> = v1.chain(self.v2.take().map(|(dir, _)| dir)).collect();
        let start = Instant::now();
        for dir in dirs {
            while fs::remove_dir(&dir).is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY)) {
                if start.elapsed() > REMOVE_TIME_MAX {
                    break;
                }
                thread::sleep(POLL);
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Whether a tree stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frozen {
    Yes,
    No,
}

/// The launching thread is a guest in the new groups and leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct GroupVisit<'a>(&'a [V1]);

impl Drop for GroupVisit<'_> {
    fn drop(&mut self) {
        for group in self.0 {
            // A thread that cannot go home only keeps the empty folder busy; the next start sweeps it.
            drop(write(&group.home, "0"));
        }
    }
}

fn kill_members(pids: &[i32]) {
    for pid in pids.iter().filter_map(|pid| rustix::process::Pid::from_raw(*pid)) {
        // A process that is gone already is what we want.
        sys::best_effort(rustix::process::kill_process(pid, rustix::process::Signal::KILL));
    }
}

/// `tripwire-PID-STARTTIME-N`: the start time tells a living launcher from a recycled pid.
fn own_name() -> io::Result<String> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let pid = std::process::id();
    let start = procfs::start_time(Path::new("/proc/self"))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "cannot read `/proc/self/stat`"))?;
    Ok(format!("{PREFIX}{pid}-{start}-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

fn make(parent: &Path, name: &str) -> io::Result<PathBuf> {
    sweep(parent);
    let dir = parent.join(name);
    // The parent is named: our own name would make two refusals differ.
    fs::create_dir(&dir).map_err(|error| named(&error, parent))?;
    Ok(dir)
}

fn opened(dir: PathBuf) -> io::Result<(PathBuf, OwnedFd)> {
    let fd = OwnedFd::from(fs::File::open(&dir)?);
    Ok((dir, fd))
}

/// Ends and removes what launchers that are gone left behind.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(owner) = name.to_str().and_then(owner_of) else {
            continue;
        };
        if procfs::is_alive(owner) {
            continue;
        }
        let dir = entry.path();
        let text = text_of(dir.join("cgroup.procs")).unwrap_or_default();
        let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        kill_members(&pids);
        // What cannot be removed yet is tried again at the next start.
        drop(fs::remove_dir(&dir));
    }
}

/// The launcher that a folder's name speaks of.
fn owner_of(name: &str) -> Option<procfs::Identity> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let pid = parts.next()?.parse().ok()?;
    let start = parts.next()?.parse().ok()?;
    Some(procfs::Identity { pid, start })
}

/// The place where a v2 group with budgets can be made: our own group where it holds no process (the root of all groups may
/// hold some), or else the one that it is in, if that hands out controllers by itself. Never higher: there the limits of the
/// unit that we run in would not hold.
fn v2_parent_with_controllers(hierarchy: &Hierarchy) -> Option<PathBuf> {
    let own = &hierarchy.own;
    if hands_out(own) {
        return Some(own.clone());
    }
    let offered = text_of(own.join("cgroup.controllers")).unwrap_or_default();
    let both = ["memory", "pids"].iter().all(|name| offered.split_whitespace().any(|item| item == *name));
    if both && write(&own.join("cgroup.subtree_control"), "+memory +pids").is_ok() && hands_out(own) {
        // Processor time has another hold where this fails.
        drop(write(&own.join("cgroup.subtree_control"), "+cpu"));
        return Some(own.clone());
    }
    let parent = own.parent().filter(|parent| *own != hierarchy.mount && parent.starts_with(&hierarchy.mount))?;
    hands_out(parent).then(|| parent.to_path_buf())
}

fn hands_out(dir: &Path) -> bool {
    let enabled = text_of(dir.join("cgroup.subtree_control")).unwrap_or_default();
    let both = ["memory", "pids"].iter().all(|name| enabled.split_whitespace().any(|item| item == *name));
    both && rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_ok()
}

/// The hierarchies that are mounted, with our own place in each.
fn hierarchies() -> io::Result<Vec<Hierarchy>> {
    let mounts = text_of("/proc/self/mountinfo")?;
    let own = text_of("/proc/self/cgroup")?;
    let found = parse_hierarchies(&mounts, &own);
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no cgroup file system is mounted"));
    }
    Ok(found)
}

fn parse_hierarchies(mounts: &str, own: &str) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for line in mounts.lines() {
        let Some((head, tail)) = line.split_once(" - ") else {
            continue;
        };
        let head: Vec<&str> = head.split(' ').collect();
        let tail: Vec<&str> = tail.split(' ').collect();
        let (Some(root), Some(mount), Some(kind), Some(options)) =
            (head.get(3), head.get(4), tail.first(), tail.get(2))
        else {
            continue;
        };
        let controllers: Option<Vec<String>> = match *kind {
            "cgroup2" => None,
            "cgroup" => Some(options.split(',').map(str::to_owned).collect()),
            _ => continue,
        };
        let Some(path) = own.lines().find_map(|line| own_path(line, controllers.as_deref())) else {
            continue;
        };
        let below = Path::new(path).strip_prefix(root).unwrap_or_else(|_| Path::new(""));
        let mount = PathBuf::from(unescape(mount));
        found.push(Hierarchy { controllers, own: mount.join(below), mount });
    }
    found
}

/// The path of our group in one hierarchy, from one line of `/proc/self/cgroup`.
fn own_path<'a>(line: &'a str, controllers: Option<&[String]>) -> Option<&'a str> {
    let mut parts = line.splitn(3, ':');
    let (id, names, path) = (parts.next()?, parts.next()?, parts.next()?);
    match controllers {
        None => (id == "0" && names.is_empty()).then_some(path),
        Some(controllers) => {
            let mut wanted = names.split(',').filter(|name| !name.is_empty());
            wanted.all(|name| controllers.iter().any(|item| item == name)).then_some(path).filter(|_| !names.is_empty())
        }
    }
}

/// Mount paths carry blanks as octal escapes.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

fn text_of(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(procfs::read_kernel_file(path)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path).map_err(|error| named(&error, path))?;
    file.write_all(text.as_bytes()).map_err(|error| named(&error, path))
}

fn write_if_there(path: &Path, text: &str) -> io::Result<()> {
    if path.exists() { write(path, text) } else { Ok(()) }
}

fn named(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    const HYBRID_MOUNTS: &str = "\
31 25 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
34 25 0:30 / /tmp rw - tmpfs tmpfs rw";

    #[test]
    fn our_group_is_found_in_each_hierarchy() {
        let own = "8:pids:/\n4:memory:/outer/inner\n0::/";
        let found = parse_hierarchies(HYBRID_MOUNTS, own);
        let dirs: Vec<_> = found.iter().map(|item| item.own.display().to_string()).collect();
        assert_eq!(dirs, ["/sys/fs/cgroup/memory/outer/inner", "/sys/fs/cgroup/pids/", "/sys/fs/cgroup/unified/"]);
    }

    #[test]
    fn a_mount_of_a_part_of_the_hierarchy_is_understood() {
        let mounts = "33 25 0:29 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
        let found = parse_hierarchies(mounts, "0::/docker/abc/leaf");
        assert_eq!(found.first().map(|item| item.own.clone()), Some(PathBuf::from("/sys/fs/cgroup/leaf")));
    }

    /// A v2 hierarchy of plain files, our group three levels down; `handing` are the groups that hand out controllers.
    fn unified(top: &Path, handing: &[&str]) -> Hierarchy {
        for group in ["", "slice", "slice/unit", "slice/unit/own"] {
            let dir = top.join(group);
            fs::create_dir_all(&dir).expect("a folder");
            fs::write(dir.join("cgroup.controllers"), "cpu memory pids\n").expect("write");
            let out = if handing.contains(&group) { "memory pids\n" } else { "\n" };
            fs::write(dir.join("cgroup.subtree_control"), out).expect("write");
        }
        Hierarchy { controllers: None, mount: top.to_path_buf(), own: top.join("slice/unit/own") }
    }

    #[test]
    fn a_group_with_budgets_is_made_beside_ours_and_nowhere_higher() {
        let top = Scratch::new();
        let hierarchy = unified(top.path(), &["", "slice", "slice/unit"]);
        assert_eq!(v2_parent_with_controllers(&hierarchy), Some(top.path().join("slice/unit")));
        let hierarchy = unified(top.path(), &["", "slice"]);
        assert_eq!(v2_parent_with_controllers(&hierarchy), None);
        let untouched = fs::read_to_string(top.path().join("slice/unit/cgroup.subtree_control")).expect("there");
        assert_eq!(untouched, "\n", "no other group is told to hand out controllers");
    }

    #[test]
    fn above_the_mount_there_is_no_group() {
        let top = Scratch::new();
        let mut hierarchy = unified(top.path(), &["slice"]);
        hierarchy.mount = hierarchy.own.clone();
        assert_eq!(v2_parent_with_controllers(&hierarchy), None);
        let root = Hierarchy { own: top.path().join("slice"), mount: top.path().join("slice"), ..hierarchy };
        assert_eq!(v2_parent_with_controllers(&root), Some(root.own.clone()), "a group that hands out itself");
    }

    #[test]
    fn budgets_are_cut_to_the_limits_of_our_own_group_and_stay_where_it_has_none() {
        let own = Scratch::new();
        let limits = GroupLimits { memory: Bytes(1_000), processes: 10 };
        let cut = |limits: GroupLimits| (limits.memory.0, limits.processes);
        assert_eq!(cut(limits.within(own.path())), (1_000, 10));
        fs::write(own.path().join("memory.max"), "max\n").expect("write");
        fs::write(own.path().join("pids.max"), "20\n").expect("write");
        assert_eq!(cut(limits.within(own.path())), (1_000, 10));
        fs::write(own.path().join("memory.max"), "400\n").expect("write");
        fs::write(own.path().join("pids.max"), "4\n").expect("write");
        assert_eq!(cut(limits.within(own.path())), (400, 4));
    }

    #[test]
    fn only_our_own_folder_names_are_swept() {
        assert!(owner_of("tripwire-12-345-0").is_some());
        for other in ["tripwire", "tripwire-x-1", "user.slice", "tripwire-12"] {
            assert!(owner_of(other).is_none(), "{other}");
        }
    }
}
