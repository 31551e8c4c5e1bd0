//! Writers on a real cluster whose servers are killed, stopped, cut off and left without room meanwhile. The short run kills a leader;
//! `just test-fleet` goes on until the writers are done, and as root it puts each server into a network namespace of its own.
#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a broken premise ends the test, and its figures are shown"
)]

use crate::conformance;
use crate::heard::SetWhenDropped;
use std::fs::File;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tripwire_fleet::nats::cluster::{Cluster, find_server};
use tripwire_fleet::nats::{Credentials, NatsLog};
use tripwire_testing::{TestDir, skip, write_program};

/// A cluster that ends with its test.
pub(crate) struct TestCluster {
    pub(crate) cluster: Cluster,
    pub(crate) credentials: Credentials,
    /// Where its servers live apart from each other.
    apart: Option<Apart>,
    _folder: TestDir,
}

impl TestCluster {
    /// None, loudly, where there is no server; `TRIPWIRE_NATS=required` makes that a failure.
    pub(crate) fn start(nodes: u64) -> Option<Self> {
        let Ok(server) = find_server(std::env::var_os("PATH").as_deref()) else {
            assert!(std::env::var_os("TRIPWIRE_NATS").is_none(), "nats-server is required and not on PATH");
            skip("nats-server is not on PATH: the fleet was not tested on a cluster");
            return None;
        };
        let folder = TestDir::new();
        let apart = (nodes == NODES && appends() > SHORT_APPENDS).then(|| Apart::new(folder.path(), &server)).flatten();
        let cluster = match &apart {
            Some(apart) => Cluster::new(folder.path().join("c"), apart.server.clone()).at(apart.hosts()),
            None => Cluster::new(folder.path().join("c"), server),
        };
        let running = cluster.up(nodes).expect("the servers start");
        assert_eq!(u64::try_from(running.pids.len()).unwrap(), nodes);
        let credentials = Credentials::read(&running.credentials, &[]).unwrap();
        Some(Self { cluster, credentials, apart, _folder: folder })
    }

    /// Kills a server by its name, and says which it was.
    fn kill(&self, node: &str) -> usize {
        let number: usize = node.rsplit('-').next().unwrap().parse().unwrap();
        let pid = self.cluster.look().unwrap().pids[number - 1];
        signal(pid, "-KILL");
        number - 1
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        self.cluster.down().ok();
    }
}

/// A network namespace for each server, joined by a bridge, and a disk of its own for the last one.
struct Apart {
    /// A program that starts a server where it belongs.
    server: PathBuf,
    /// What tells this test's names from others'.
    number: u32,
    disk: PathBuf,
}

impl Apart {
    /// None, loudly, for a user who may not do this.
    fn new(folder: &Path, server: &Path) -> Option<Self> {
        let (number, program) = (std::process::id() % 10_000, folder.join("server"));
        let disk = folder.join(format!("c/node-{NODES}.store"));
        let apart = Self { server: program, number, disk };
        if !Command::new("ip")
            .args(["link", "add", &apart.bridge(), "type", "bridge"])
            .status()
            .is_ok_and(|it| it.success())
        {
            skip("no network namespaces can be made here (root and `ip` do): no partition and no full disk");
            return None;
        }
        ip(&format!("addr add {}/24 dev {}", apart.host(0), apart.bridge()));
        ip(&format!("link set {} up", apart.bridge()));
        for node in 1..=NODES {
            let (space, outer) = (apart.space(node), apart.outer(node));
            ip(&format!("netns add {space}"));
            ip(&format!("link add {outer} type veth peer name eth0 netns {space}"));
            ip(&format!("link set {outer} master {} up", apart.bridge()));
            ip(&format!("-n {space} addr add {}/24 dev eth0", apart.host(node)));
            ip(&format!("-n {space} link set lo up"));
            ip(&format!("-n {space} link set eth0 up"));
        }
        let text = format!(
            "#!/bin/sh\nnumber=${{2##*node-}}\nexec ip netns exec tw{number}n${{number%.conf}} '{}' \"$@\"\n",
            server.display()
        );
        write_program(&apart.server, &text).unwrap();
        std::fs::create_dir_all(&apart.disk).unwrap();
        let disk = apart.disk.to_str().unwrap();
        run("mount", &["-t", "tmpfs", "-o", "size=1g", "tmpfs", disk]);
        Some(apart)
    }

    fn bridge(&self) -> String {
        format!("tw{}b", self.number)
    }

    fn outer(&self, node: u64) -> String {
        format!("tw{}v{node}", self.number)
    }

    fn space(&self, node: u64) -> String {
        format!("tw{}n{node}", self.number)
    }

    fn host(&self, node: u64) -> Ipv4Addr {
        let third = u8::try_from(self.number % 250).unwrap();
        Ipv4Addr::new(10, 213, third, u8::try_from(10 + node).unwrap())
    }

    fn hosts(&self) -> Vec<Ipv4Addr> {
        (1..=NODES).map(|node| self.host(node)).collect()
    }

    /// Cuts a server off from the others and from those who ask it.
    fn part(&self, node: u64) {
        ip(&format!("link set {} down", self.outer(node)));
        std::thread::sleep(LONGER_THAN_AN_ELECTION);
        ip(&format!("link set {} up", self.outer(node)));
    }

    /// Leaves the last server without room for a while.
    fn fill_disk(&self) {
        let filler = self.disk.join("filler");
        let mut file = File::create(&filler).unwrap();
        let block = vec![1_u8; 1 << 16];
        while file.write_all(&block).is_ok() {}
        while file.write_all(b"1").is_ok() {}
        std::thread::sleep(LONGER_THAN_AN_ELECTION);
        drop(file);
        std::fs::remove_file(&filler).unwrap();
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.disk).status().ok();
        for node in 1..=NODES {
            Command::new("ip").args(["netns", "del", &self.space(node)]).status().ok();
        }
        Command::new("ip").args(["link", "del", &self.bridge()]).status().ok();
    }
}

fn ip(words: &str) {
    run("ip", &words.split(' ').collect::<Vec<_>>());
}

fn run(program: &str, args: &[&str]) {
    assert!(Command::new(program).args(args).status().unwrap().success(), "{program} {args:?}");
}

fn signal(pid: u32, kind: &str) {
    run("kill", &[kind, &pid.to_string()]);
}

/// What was done while others wrote.
#[derive(Debug, Default)]
struct Faults {
    leaders_killed: u32,
    servers_stopped: u32,
    all_killed: u32,
    workers_stopped: u32,
    disks_full: u32,
    parted: u32,
}

/// Sixteen writers, one of them a process of its own, while faults come one after the other: every line is there, once and in order.
pub(crate) fn appends_under_faults(cluster: &TestCluster, log: &NatsLog) {
    let each = appends() / WRITERS;
    let (start, is_over) = (Instant::now(), AtomicBool::new(false));
    let mut worker = start_worker(cluster, each);
    let pid = worker.id();
    let (longest, faults) = std::thread::scope(|scope| {
        let faults = scope.spawn(|| make_faults(cluster, pid, &is_over));
        // Set also if a writer panics: the faults would go on for ever.
        let over = SetWhenDropped(&is_over);
        let longest = conformance::many_writers(log, FAMILY, WRITERS - 1, each);
        assert!(worker.wait().unwrap().success(), "the worker of its own");
        drop(over);
        (longest, faults.join().unwrap())
    });
    conformance::check_writer(log, FAMILY, WRITERS - 1, each);
    let took = start.elapsed();
    eprintln!("{} appends by {WRITERS} writers in {took:?}, longest stall {longest:?}; {faults:?}", each * WRITERS);
}

fn make_faults(cluster: &TestCluster, worker: u32, is_over: &AtomicBool) -> Faults {
    let led = NatsLog::open(&cluster.credentials).unwrap();
    let mut faults = Faults::default();
    std::thread::sleep(Duration::from_millis(100));
    for kind in (0..6).cycle() {
        match (kind, &cluster.apart) {
            (0, _) => {
                let leader = led.leader().ok().flatten().unwrap_or_else(|| "node-1".to_owned());
                let number = cluster.kill(&leader);
                std::thread::sleep(Duration::from_secs(2));
                cluster.cluster.start_node(number).unwrap();
                faults.leaders_killed += 1;
            }
            (3, Some(apart)) => {
                apart.part(1 + u64::from(faults.parted) % NODES);
                faults.parted += 1;
            }
            (5, _) => {
                stop_for(cluster.cluster.look().unwrap().pids[0]);
                faults.servers_stopped += 1;
            }
            (4, Some(apart)) => {
                apart.fill_disk();
                // A server that had no room does not write again by itself.
                let number = cluster.kill(&format!("node-{NODES}"));
                std::thread::sleep(Duration::from_millis(500));
                cluster.cluster.start_node(number).unwrap();
                faults.disks_full += 1;
            }
            (1, _) if !is_over.load(Ordering::Relaxed) && Path::new(&format!("/proc/{worker}/exe")).exists() => {
                stop_for(worker);
                faults.workers_stopped += 1;
            }
            (2, _) => {
                let pids = cluster.cluster.look().unwrap().pids;
                pids.iter().for_each(|pid| signal(*pid, "-KILL"));
                std::thread::sleep(Duration::from_secs(1));
                (0..pids.len()).for_each(|number| cluster.cluster.start_node(number).unwrap());
                faults.all_killed += 1;
            }
            (_, _) => {}
        }
        for _ in 0..10 {
            if is_over.load(Ordering::Relaxed) || appends() <= SHORT_APPENDS {
                return faults;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    faults
}

/// A process stands still for longer than an election takes.
fn stop_for(pid: u32) {
    signal(pid, "-STOP");
    std::thread::sleep(LONGER_THAN_AN_ELECTION);
    signal(pid, "-CONT");
}

fn start_worker(cluster: &TestCluster, each: usize) -> Child {
    let credentials = cluster.cluster.look().unwrap().credentials;
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "nemesis::a_worker_of_its_own"])
        .env(WORKER, format!("{each} {}", credentials.display()))
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "started by the test of the cluster, as a process that can be stopped"]
fn a_worker_of_its_own() {
    let Ok(asked) = std::env::var(WORKER) else {
        return skip("nobody asked for a worker");
    };
    let (each, credentials) = asked.split_once(' ').unwrap();
    let credentials = Credentials::read(Path::new(credentials), &[]).unwrap();
    // The leader may be killed just now.
    let log = (0..10).find_map(|_| NatsLog::open(&credentials).ok()).expect("a connection");
    conformance::one_writer(&log, FAMILY, WRITERS - 1, each.parse().unwrap());
}

/// How many the writers make together; `just test-fleet` asks for more.
fn appends() -> usize {
    let set = std::env::var("TRIPWIRE_FLEET_APPENDS").ok().and_then(|text| text.parse().ok());
    set.unwrap_or(SHORT_APPENDS)
}

const WORKER: &str = "TRIPWIRE_FLEET_WORKER";
const FAMILY: &str = "k";
const SHORT_APPENDS: usize = 2_000;
const WRITERS: usize = 16;
const NODES: u64 = 3;
const LONGER_THAN_AN_ELECTION: Duration = Duration::from_secs(8);
