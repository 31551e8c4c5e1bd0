//! From a request to a plan: what is shown, what is read-only, what is hidden, and the fixed environment.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crate::cpu;
use crate::git_ignores;
use crate::home;
use crate::layer::LayerError;
use crate::layers::l04_rootfs::COPY_BYTES_MAX;
use crate::layers::l05_limits;
use crate::layers::l08_seccomp;
use crate::layers::l08_tables::Choices;
use crate::layers::l10_known::Known;
use crate::names::{MadeUp, Names};
use crate::outcome::Layer;
use crate::plan::{Access, CommandPlan, Kind, RootStep, Rule, SandboxPlan, env_entry};
use crate::runs::own_folder;
use crate::spec::{CpuHold, Profile, Sandbox, Terminals, WorkspaceAccess};

/// Programs and libraries of the system, read-only; links among them are kept as links.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/// What programs need from `/etc`: certificates and the choice of programs. No account, key or configuration of a person.
const ETC_DIRS: [&str; 4] = ["/etc/alternatives", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust"];
/// Tables that programs look up; the small ones are copied.
const ETC_FILES: [&str; 5] =
    ["/etc/ld.so.cache", "/etc/ssl/openssl.cnf", "/etc/protocols", "/etc/services", "/etc/os-release"];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];
/// Writable, private, gone with the run.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const USER: &str = "agent";
const HOME: &str = "/home/agent";
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// The port of the bridge inside, on the loopback interface of a network namespace of its own.
const BRIDGE_PORT: u64 = 3128;

/// What the launcher does before the inner stage starts.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) plan: SandboxPlan,
    /// Protected names that must be made first, relative to the workspace.
    pub(crate) missing: Vec<(PathBuf, Kind)>,
    /// Protected names that were there, relative to the workspace.
    pub(crate) standing: Vec<PathBuf>,
    /// Where the command may write, for the look afterwards.
    pub(crate) written: Vec<Written>,
    /// Names that other programs obey, that are missing, and that the tree may make; relative to the workspace.
    pub(crate) obeyed_later: Vec<PathBuf>,
}

/// A folder of the host that the command may change.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) root: PathBuf,
    /// The workspace, if the root is the upper folder of an overlay.
    pub(crate) base: Option<PathBuf>,
    pub(crate) known: Known,
}

/// How writes to the workspace are kept.
#[derive(Debug, Clone)]
pub(crate) enum Writes {
    /// In the workspace itself.
    Direct,
    /// In an overlay with these upper and work folders.
    Overlay { upper: PathBuf, work: PathBuf },
    /// In a copy of the workspace, shown at its place.
    Copy { copy: PathBuf },
}

/// Whether the kernel counts memory for the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryCount {
    Kernel,
    Sampling,
}

/// What counts and holds the budgets of the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counting {
    pub(crate) memory: MemoryCount,
    pub(crate) cpu: CpuHold,
}

/// Turns a request into a plan. `ours` are placeholders that other runs in the same workspace have made.
pub(crate) fn prepare(
    spec: &Sandbox,
    writes: &Writes,
    counting: Counting,
    ours: &[PathBuf],
) -> Result<Prepared, LayerError> {
    let shown = match writes {
        Writes::Direct | Writes::Overlay { .. } => spec.workspace.clone(),
        Writes::Copy { copy } => copy.clone(),
    };
    let made_up = if spec.tree.is_some() { MadeUp::ForTree } else { MadeUp::All };
    let names = Names::find(&shown, made_up)?;
    let folders = spec.write.iter().filter(|path| path.is_dir());
    let granted =
        folders.map(|path| Ok((path.clone(), Names::find(path, made_up)?))).collect::<Result<Vec<_>, LayerError>>()?;
    let mut plan = SandboxPlan { command: command(spec), ..SandboxPlan::default() };
    system(&mut plan, spec);
    let not_git_s: Vec<PathBuf> = names.missing.iter().map(|(name, _)| name).chain(ours).cloned().collect();
    plan.steps.extend(git_ignores::steps(&spec.workspace, &not_git_s));
    grants(spec, writes, &names, &mut plan);
    walls(spec, &names, &granted, &mut plan)?;
    let budgets = &spec.budgets;
    plan.scratch_bytes = budgets.disk.0.min(budgets.memory.0 / 2);
    plan.scratch_inodes = budgets.inodes;
    plan.limits = l05_limits::from_budgets(budgets);
    let mut choices = Choices::STRICT;
    if spec.profile == Profile::Compat {
        choices = choices.with_compat();
    }
    if let Some(tree) = &spec.tree {
        choices = choices.with_unix_sockets();
        plan.held = 1;
        plan.ports = tree.ports.iter().map(|port| u64::from(*port)).collect();
    }
    if counting.memory == MemoryCount::Sampling {
        choices = choices.without_unseen_memory();
    }
    plan.processors = cpu::processors(counting.cpu, budgets.cpu).map_err(|error| {
        LayerError::new(Layer::Limits, error.raw_os_error().unwrap_or(0), "choose processors".to_owned())
    })?;
    if !plan.processors.is_empty() {
        choices = choices.with_pinned_processors();
    }
    plan.filter = l08_seccomp::program(choices)?;
    plan.landlock_required = u64::from(spec.profile == Profile::Strict);
    plan.bridge = spec.bridge.clone().map(|socket| (socket, BRIDGE_PORT));
    let (missing, workspace) = match writes {
        Writes::Direct | Writes::Copy { .. } => {
            let written = Written { root: shown, base: None, known: names.known };
            (names.missing, may_write(spec, writes).then_some(written))
        }
        // Everything in the upper folder was written by commands, so nothing in it is known.
        Writes::Overlay { upper, .. } => {
            let written = Written { root: upper.clone(), base: Some(shown), known: Known::default() };
            (Vec::new(), Some(written))
        }
    };
    let granted = granted.into_iter().map(|(root, names)| Written { root, base: None, known: names.known });
    let written = granted.chain(workspace).collect();
    Ok(Prepared { plan, missing, standing: names.standing, written, obeyed_later: names.obeyed_later })
}

/// Whether the command may write to what it sees as its workspace; a stage keeps writes out of the real one by itself.
fn may_write(spec: &Sandbox, writes: &Writes) -> bool {
    match (spec.workspace_access, writes) {
        (WorkspaceAccess::Read, Writes::Direct) => false,
        (WorkspaceAccess::Write, _) | (WorkspaceAccess::Read, Writes::Overlay { .. } | Writes::Copy { .. }) => true,
    }
}

/// The environment of a command.
const FIXED_ENV: [(&str, &str); 13] = [
    ("PATH", SEARCH_PATH),
    ("HOME", HOME),
    ("USER", "agent"),
    ("LOGNAME", "agent"),
    ("SHELL", "/bin/sh"),
    ("TMPDIR", "/tmp"),
    ("TERM", "dumb"),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    GIT_ENV,
];
/// What git must know to pass over the placeholders.
const GIT_ENV: (&str, &str) = ("GIT_CONFIG_SYSTEM", git_ignores::SYSTEM_CONFIG);

fn command(spec: &Sandbox) -> CommandPlan {
    let fixed: &[(&str, &str)] = if spec.tree.is_some() { &[GIT_ENV] } else { &FIXED_ENV };
    let mut env: Vec<OsString> = fixed
        .iter()
        .filter(|(name, _)| !spec.env.iter().any(|(given, _)| given == name))
        .map(|(name, value)| env_entry(OsStr::new(name), OsStr::new(value)))
        .collect();
    if spec.bridge.is_some() {
        let url = format!("http://127.0.0.1:{BRIDGE_PORT}");
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            env.push(env_entry(OsStr::new(name), OsStr::new(&url)));
        }
        for name in ["no_proxy", "NO_PROXY"] {
            env.push(env_entry(OsStr::new(name), OsStr::new("localhost,127.0.0.1,::1")));
        }
    }
    env.extend(spec.env.iter().map(|(name, value)| env_entry(name, value)));
    CommandPlan { argv: spec.argv.clone(), env, cwd: spec.workspace.clone() }
}

/// The parts of the root that are the same for every run.
fn system(plan: &mut SandboxPlan, spec: &Sandbox) {
    let tree = spec.tree.as_ref();
    for name in SYSTEM {
        let path = PathBuf::from(name);
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        if let Ok(target) = fs::read_link(&path) {
            // A link needs no rule: where it leads has one, or is not shown.
            plan.steps.push(RootStep::Symlink { path, target });
        } else if meta.is_dir() {
            plan.steps.push(RootStep::Bind { path: path.clone(), access: Access::Read });
            plan.rules.push(Rule { path, access: Access::Read });
        }
    }
    let (user, home) = tree.map_or((USER, Path::new(HOME)), |tree| (tree.user.as_str(), tree.home.as_path()));
    etc(plan, user, home);
    if tree.is_some() || spec.terminals == Terminals::Own {
        own_terminals(plan);
    }
    if tree.is_some() {
        persons_terminal(plan);
    }
    for name in DEVICES {
        if let Ok(source) = fs::canonicalize(name) {
            plan.steps.push(RootStep::BindAs { source, path: name.into(), access: Access::Device });
            plan.rules.push(Rule { path: name.into(), access: Access::Device });
        }
    }
    for (path, target) in DEVICE_LINKS {
        plan.steps.push(RootStep::Symlink { path: path.into(), target: target.into() });
    }
    plan.steps.push(RootStep::Dir { path: "/run".into() });
    plan.steps.push(RootStep::Proc { path: "/proc".into() });
    plan.rules.push(Rule { path: "/proc".into(), access: Access::Read });
    for path in SCRATCH.into_iter().map(Path::new).chain([home]) {
        plan.steps.push(RootStep::Scratch { path: path.into() });
        plan.rules.push(Rule { path: path.into(), access: Access::Write });
    }
}

/// Terminals of an instance of its own.
fn own_terminals(plan: &mut SandboxPlan) {
    plan.steps.push(RootStep::Terminals { path: "/dev/pts".into() });
    plan.steps.push(RootStep::Symlink { path: "/dev/ptmx".into(), target: "pts/ptmx".into() });
    plan.rules.push(Rule { path: "/dev/pts".into(), access: Access::Terminal });
}

/// The controlling terminal, if the tree has one.
fn persons_terminal(plan: &mut SandboxPlan) {
    if let Ok(source) = fs::canonicalize("/dev/tty") {
        plan.steps.push(RootStep::BindAs { source, path: "/dev/tty".into(), access: Access::Terminal });
        plan.rules.push(Rule { path: "/dev/tty".into(), access: Access::Terminal });
    }
}

/// The few tables that programs look up, made up here, and what they need of the host's `/etc`.
fn etc(plan: &mut SandboxPlan, user: &str, home: &Path) {
    let home = home.display();
    let table = |name: &str, content: &str| RootStep::File { path: name.into(), content: content.as_bytes().to_vec() };
    plan.steps.extend([
        table(
            "/etc/passwd",
            &format!("{user}:x:1000:1000:{user}:{home}:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"),
        ),
        table("/etc/group", &format!("{user}:x:1000:\nnogroup:x:65534:\n")),
        table("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
        table("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
        table("/etc/hostname", "sandbox\n"),
    ]);
    let small = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() < COPY_BYTES_MAX as u64);
    for name in ETC_FILES.iter().chain(&ETC_DIRS) {
        let path = PathBuf::from(name);
        if small(&path) {
            plan.steps.push(RootStep::Copy { path });
        } else if let Ok(source) = fs::canonicalize(&path) {
            plan.steps.push(RootStep::BindAs { source, path, access: Access::Read });
        }
    }
    plan.rules.push(Rule { path: "/etc".into(), access: Access::Read });
}

/// The workspace and what was granted beside it, outer folders before inner ones.
fn grants(spec: &Sandbox, writes: &Writes, names: &Names, plan: &mut SandboxPlan) {
    let bind = |path: &PathBuf, access| (path.clone(), RootStep::Bind { path: path.clone(), access }, access);
    let mut grants: Vec<(PathBuf, RootStep, Access)> = Vec::new();
    grants.extend(spec.read.iter().map(|path| bind(path, Access::Read)));
    grants.extend(spec.write.iter().map(|path| bind(path, Access::Write)));
    let path = spec.workspace.clone();
    let own = if may_write(spec, writes) { Access::Write } else { Access::Read };
    let step = match writes {
        Writes::Direct => RootStep::Bind { path, access: own },
        Writes::Overlay { upper, work } => {
            RootStep::Overlay { path, upper: upper.clone(), work: work.clone(), placeholders: names.missing.clone() }
        }
        Writes::Copy { copy } => RootStep::BindAs { source: copy.clone(), path, access: Access::Write },
    };
    grants.push((spec.workspace.clone(), step, own));
    grants.sort_by_key(|(path, _, _)| path.components().count());
    for (path, step, access) in grants {
        plan.steps.push(step);
        plan.rules.push(Rule { path, access });
    }
}

/// Read-only and hidden paths, each with every folder above it pinned.
fn walls(
    spec: &Sandbox,
    names: &Names,
    granted: &[(PathBuf, Names)],
    plan: &mut SandboxPlan,
) -> Result<(), LayerError> {
    let mut protect: Vec<PathBuf> = names.protected.iter().map(|name| spec.workspace.join(name)).collect();
    let mut mask: Vec<PathBuf> = names.hidden.iter().map(|name| spec.workspace.join(name)).collect();
    for (path, more) in granted {
        protect.extend(more.protected.iter().filter(|name| path.join(name).exists()).map(|name| path.join(name)));
        mask.extend(more.hidden.iter().map(|name| path.join(name)));
    }
    let kept = spec.tree.iter().flat_map(|tree| &tree.read_only);
    let writable = |path: &&PathBuf| spec.write.iter().chain([&spec.workspace]).any(|root| path.starts_with(root));
    protect.extend(kept.filter(writable).filter(|path| path.exists()).cloned());
    // What no grant shows is hidden already.
    mask.extend(spec.hide.iter().filter(|path| is_shown(spec, path)).cloned());
    // Where a link named as a secret leads; a path that was granted itself was meant to be seen.
    let elsewhere = granted.iter().map(|(_, names)| names).chain([names]).flat_map(|names| &names.hidden_elsewhere);
    let grants: Vec<&PathBuf> = spec.read.iter().chain(&spec.write).collect();
    let below = |path: &&PathBuf| grants.iter().any(|root| path != root && path.starts_with(root));
    mask.extend(elsewhere.filter(below).cloned());
    // Records of living runs are acted on: nothing inside may write one.
    let records = own_folder().and_then(|folder| fs::canonicalize(folder).ok());
    let roots: Vec<&PathBuf> = spec.write.iter().chain([&spec.workspace]).collect();
    mask.extend(records.filter(|folder| roots.iter().any(|root| folder.starts_with(root))));
    let shown: Vec<&PathBuf> = spec.read.iter().chain(roots.iter().copied()).collect();
    mask.extend(home::hidden(&shown, &roots)?);
    let mut pins: Vec<PathBuf> = Vec::new();
    for path in protect.iter().chain(&mask) {
        let above = path.ancestors().skip(1).take_while(|parent| {
            roots.iter().any(|root| parent.starts_with(root)) && !roots.contains(&&parent.to_path_buf())
        });
        pins.extend(above.map(Path::to_path_buf));
    }
    pins.retain(|pin| !mask.contains(pin) && !protect.contains(pin));
    for list in [&mut pins, &mut protect, &mut mask] {
        list.sort();
        list.dedup();
    }
    // Below a masked folder there is nothing left to cover.
    let masked = mask.clone();
    let covered = |path: &PathBuf| masked.iter().any(|top| path != top && path.starts_with(top));
    pins.retain(|path| !covered(path));
    protect.retain(|path| !covered(path));
    mask.retain(|path| !covered(path));
    plan.steps.extend(pins.into_iter().map(|path| RootStep::Pin { path }));
    plan.steps.extend(protect.into_iter().map(|path| RootStep::Protect { path }));
    plan.steps.extend(mask.into_iter().map(|path| RootStep::Mask { path }));
    Ok(())
}

/// Whether a path of the host is seen inside; the private folders only bear names that the host has too.
fn is_shown(spec: &Sandbox, path: &Path) -> bool {
    let granted = spec.read.iter().chain(&spec.write).chain([&spec.workspace]);
    let system = SYSTEM.iter().chain(&ETC_DIRS).map(Path::new);
    granted.map(PathBuf::as_path).chain(system).any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use crate::spec::TreeSurroundings;

    const COUNTED: Counting = Counting { memory: MemoryCount::Kernel, cpu: CpuHold::Free };

    fn plan(dir: &Path) -> Result<Prepared, LayerError> {
        let spec = Sandbox::new(dir, ["true"]).expect("a spec");
        prepare(&spec, &Writes::Direct, COUNTED, &[])
    }

    #[test]
    fn box_1_every_folder_above_a_wall_is_pinned() {
        let dir = Scratch::new();
        fs::create_dir_all(dir.join("a/b")).expect("folders");
        fs::write(dir.join("a/b/.env"), "secret").expect("a secret");
        let steps = plan(&dir).expect("a plan").plan.steps;
        let has = |step: RootStep| assert!(steps.contains(&step), "{step:?}");
        has(RootStep::Pin { path: dir.join("a") });
        has(RootStep::Pin { path: dir.join("a/b") });
        has(RootStep::Mask { path: dir.join("a/b/.env") });
        has(RootStep::Protect { path: dir.join(".geometry") });
        assert!(!steps.contains(&RootStep::Pin { path: dir.clone() }));
    }

    #[test]
    fn box_1_a_workspace_without_a_repository_may_get_one() {
        let dir = Scratch::new();
        let prepared = plan(&dir).expect("a plan");
        assert!(!prepared.missing.iter().any(|(name, _)| name.starts_with(".git")), "{:?}", prepared.missing);
        assert!(!prepared.plan.steps.iter().any(|step| format!("{step:?}").contains("/.git\"")));
    }

    #[test]
    fn box_1_a_tree_gets_the_folders_of_clients_made_up_and_no_single_file() {
        let dir = Scratch::new();
        let spec = Sandbox::new(&dir, ["true"]).expect("a spec").for_tree(TreeSurroundings::default());
        let prepared = prepare(&spec, &Writes::Direct, COUNTED, &[]).expect("a plan");
        assert!(prepared.missing.contains(&(PathBuf::from(".codex"), Kind::Dir)));
        assert!(prepared.missing.iter().all(|(_, kind)| *kind == Kind::Dir), "{:?}", prepared.missing);
        assert!(prepared.obeyed_later.contains(&PathBuf::from("AGENTS.md")));
        assert_eq!(prepared.plan.held, 1);
    }

    #[test]
    fn box_1_missing_names_are_made_and_existing_ones_are_not() {
        let dir = Scratch::new();
        fs::create_dir_all(dir.join(".git/hooks")).expect("folders");
        let missing = plan(&dir).expect("a plan").missing;
        assert!(missing.contains(&(PathBuf::from(".geometry"), Kind::Dir)));
        assert!(missing.contains(&(PathBuf::from(".git/config"), Kind::File)));
        assert!(!missing.iter().any(|(name, _)| name == Path::new(".git") || name == Path::new(".git/hooks")));
    }

    #[test]
    fn box_2_a_protected_name_that_is_a_link_is_refused() {
        let dir = Scratch::new();
        std::os::unix::fs::symlink("/etc", dir.join(".geometry")).expect("a link");
        let failure = plan(&dir).expect_err("refused");
        assert_eq!(failure.layer, Layer::Rootfs);
    }

    #[test]
    fn box_1_a_secret_behind_a_link_is_hidden_where_it_really_is() {
        let dir = Scratch::new();
        fs::write(dir.join("real"), "secret").expect("a secret");
        std::os::unix::fs::symlink("real", dir.join(".env")).expect("a link");
        let steps = plan(&dir).expect("a plan").plan.steps;
        assert!(steps.contains(&RootStep::Mask { path: dir.join("real") }));
    }

    #[test]
    fn box_1_a_hidden_path_that_nothing_shows_needs_no_wall() {
        let (dir, other) = (Scratch::new(), Scratch::new());
        fs::write(dir.join("secret"), "secret").expect("a secret");
        let spec = Sandbox::new(&dir, ["true"]).expect("a spec");
        let spec = spec.hide(Path::new("secret")).expect("hides").hide(&other).expect("hides");
        let steps = prepare(&spec, &Writes::Direct, COUNTED, &[]).expect("a plan").plan.steps;
        assert!(steps.contains(&RootStep::Mask { path: dir.join("secret") }));
        assert!(!steps.contains(&RootStep::Mask { path: other.clone() }));
    }

    #[test]
    fn box_3_the_environment_is_fixed_and_an_override_replaces_it() {
        let dir = Scratch::new();
        let spec = Sandbox::new(&dir, ["true"]).expect("a spec");
        let spec = spec.env(OsStr::new("TERM"), OsStr::new("xterm")).expect("a variable");
        let env = command(&spec).env;
        assert_eq!(env.iter().filter(|entry| entry.to_string_lossy().starts_with("TERM=")).count(), 1);
        assert!(env.contains(&OsString::from("TZ=UTC")) && env.contains(&OsString::from("TERM=xterm")));
    }
}
