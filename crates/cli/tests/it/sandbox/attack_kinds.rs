//! More attacks of each kind: what is planted for later, races, the kernel's interfaces, and budgets; as root and as an
//! ordinary user. Where an attack aims at a later act of the person, the test performs that act on the host.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use crate::sandbox::host::{Host, everybody, has, marked};

/// One attack. `{top}` in the scripts is the throw-away host's folder; a line with `PWNED` on stdout is a success, and so is
/// the file `home/pwned`, which the planted commands make.
struct Attack {
    name: &'static str,
    script: &'static str,
    /// What the person does afterwards, on the host.
    later: &'static str,
    /// What must hold on the host in the end.
    host: fn(&Host) -> bool,
}

const fn inside(name: &'static str, script: &'static str) -> Attack {
    Attack { name, script, later: "", host: |_| true }
}

/// Python with the raw system calls at hand: `c(number, …)` returns the result and the error number.
const CALLS: &str = "import ctypes,os,struct,errno\nl=ctypes.CDLL(None,use_errno=True)\n\
                     def c(n,*a):\n  r=l.syscall(n,*a); return r,ctypes.get_errno()\n\
                     def no(what,r):\n  if r[0]>=0: print('PWNED',what,r)\n";

const PLANTED: &[Attack] = &[
    Attack {
        name: "a worktree whose pointer leads to a made-up repository",
        script: "mkdir -p .git/worktrees/x ev/refs wt; ln -s ../.git/objects ev/objects; \
                 printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch {top}/home/pwned; false\"\\n' > ev/config; \
                 echo 'ref: refs/heads/x' > .git/worktrees/x/HEAD; echo \"$PWD/ev\" > .git/worktrees/x/commondir; \
                 echo \"$PWD/wt/.git\" > .git/worktrees/x/gitdir; echo \"gitdir: $PWD/.git/worktrees/x\" > wt/.git",
        later: "cd ws/wt; git status; git add -A; git diff",
        host: |_| true,
    },
    Attack {
        name: "a rebase that was never begun",
        script: "r=.git/rebase-merge; mkdir $r; h=$(git rev-parse HEAD); echo $h > $r/onto; echo $h > $r/orig-head; \
                 echo refs/heads/$(git branch --show-current) > $r/head-name; : > $r/interactive; : > $r/done; echo 0 > $r/msgnum; echo 1 > $r/end; \
                 printf 'exec touch {top}/home/pwned\\n' > $r/git-rebase-todo",
        later: "cd ws; git -c user.name=a -c user.email=a@b rebase --continue; git status",
        host: |_| true,
    },
    Attack {
        name: "hooks of a repository with its data elsewhere",
        script: "git init -q --separate-git-dir store part; mkdir -p store/hooks; \
                 printf '#!/bin/sh\\ntouch {top}/home/pwned\\n' > store/hooks/post-commit; chmod 755 store/hooks/post-commit; \
                 git -C part config core.fsmonitor 'touch {top}/home/pwned; false'",
        later: "cd ws/part; git status; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
        host: |_| true,
    },
    Attack {
        name: "hooks as links and in a linked folder",
        script: "printf '#!/bin/sh\\ntouch {top}/home/pwned\\n' > run; chmod 755 run; git init -q a; git init -q b; \
                 rm -rf a/.git/hooks b/.git/hooks; mkdir a/.git/hooks h; ln -s ../../../run a/.git/hooks/pre-commit; \
                 cp run h/pre-commit; ln -s ../../h b/.git/hooks",
        later: "for r in a b; do (cd ws/$r; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x); done",
        host: |_| true,
    },
    Attack {
        name: "a bare repository that a clone would obey",
        script: "git init -q --bare up.git; printf '#!/bin/sh\\ntouch {top}/home/pwned\\n' > up.git/hooks/post-update; chmod 755 up.git/hooks/*; \
                 git -C up.git config uploadpack.packObjectsHook 'touch {top}/home/pwned'; git push -q ./up.git HEAD:refs/heads/main",
        later: "cd ws; git push -q ./up.git HEAD:refs/heads/again; git clone -q ./up.git got",
        host: |_| true,
    },
    Attack {
        name: "settings of other programs by link, exchange and copy",
        script: "mkdir v; echo '{\"PWNED\":1}' > v/tasks.json; echo PWNED > x; ln -f x .mcp.json; ln -sfn v .vscode; mv -T v .vscode; cp -r v/. .vscode/; \
                 cp x .codex/config.toml; mkdir -p .gemini && cp x .gemini/settings.json; install -m 644 x .claude/settings.local.json; tar c x | tar x -C .claude",
        later: "",
        host: |host| {
            let names = [".mcp.json", ".vscode/tasks.json", ".codex/config.toml", ".gemini/settings.json", ".claude/x"];
            names.iter().all(|name| !host.ws().join(name).exists())
        },
    },
    Attack {
        name: "new files beside the policy",
        script: "touch .geometry/RESUME .geometry/ACK; mkdir .geometry/hooks .geometry/state; ln -s / .geometry/root; mkfifo .geometry/fifo; \
                 cp .geometry/MANIFEST.yaml m; ln m .geometry/MANIFEST2.yaml; mv m .geometry/",
        later: "",
        host: |host| fs::read_dir(host.ws().join(".geometry")).is_ok_and(|entries| entries.count() == 1),
    },
];

const RACES: &[Attack] = &[
    Attack {
        name: "exchange the repository while writing a hook",
        script: "mkdir -p e/hooks; /usr/bin/python3 -c 'import ctypes,os,time\nl=ctypes.CDLL(None)\np=os.fork()\nt=time.time()+1.5\nwhile time.time()<t:\n  if p: l.renameat2(-100,b\".git\",-100,b\"e\",2)\n  else:\n    try: open(\".git/hooks/post-commit\",\"w\").write(\"PWNED\")\n    except OSError: pass\nif p: os.wait()'",
        later: "",
        host: |host| {
            !fs::read_to_string(host.ws().join(".git/hooks/post-commit")).is_ok_and(|text| text.contains("PWNED"))
        },
    },
    Attack {
        name: "protected files by hard link, map, splice and truncation",
        script: "for f in .git/config AGENTS.md .geometry/MANIFEST.yaml; do ln $f l 2>/dev/null && echo PWNED >> l; rm -f l; truncate -s 0 $f; cp --reflink=auto /etc/hosts $f; touch -d 2001-01-01 $f; setfattr -n user.x -v 1 $f; done; \
                 /usr/bin/python3 -c 'import mmap,os\nfor f in (\".git/config\",\"AGENTS.md\"):\n  try: m=mmap.mmap(os.open(f,os.O_RDONLY),0,mmap.MAP_SHARED,mmap.PROT_WRITE|mmap.PROT_READ); m[0:1]=b\"P\"; print(\"PWNED\")\n  except OSError: pass\n  for n in (\"truncate\",):\n    try: os.truncate(f,0); print(\"PWNED\")\n    except OSError: pass' 2>/dev/null",
        later: "",
        host: |host| {
            fs::read_to_string(host.ws().join("AGENTS.md")).is_ok_and(|text| text == "be good\n")
                && fs::read_to_string(host.ws().join(".git/config")).is_ok_and(|text| text.starts_with("[core]"))
        },
    },
    inside(
        "a secret by every moment of a rename",
        "( while :; do mv src s2; mv s2 src; mv src/deep src/d2; done ) 2>/dev/null & for i in $(seq 300); do cat src/deep/.env s2/deep/.env src/d2/.env .env; done 2>/dev/null; kill %1",
    ),
    inside(
        "a secret through the process file system",
        "for p in /proc/self/cwd /proc/self/root$PWD /proc/thread-self/cwd /proc/$$/task/$$/cwd; do cat $p/.env $p/src/deep/.env; done; exec 5<src; cat /proc/self/fd/5/deep/.env; cat /proc/1/root$PWD/.env /proc/1/cwd/.env; find / -name key -path '*ssh*' 2>/dev/null -exec cat {} +",
    ),
];

const KERNEL: &[(&str, &str)] = &[
    (
        "the new mount interface",
        "no('fsopen',c(430,b'tmpfs',0)); no('open_tree',c(428,-100,b'/usr',1)); no('fspick',c(433,-100,b'/',0)); no('move_mount',c(429,-100,b'/usr',-100,b'/tmp',0))\n\
         no('mount_setattr',c(442,-100,b'/',0,ctypes.byref(ctypes.create_string_buffer(32)),32)); no('fsmount',c(432,0,0,0)); no('statmount',c(457,0,0,0,0)); no('listmount',c(458,0,0,0,0))",
    ),
    (
        "namespaces by number",
        "for f in (0x10000000,0x20000,0x40000000,0x20000000,0x8000000,0x4000000,0x2000000,0x80): no('unshare',c(272,f))\n\
         for n in os.listdir('/proc/self/ns'):\n  fd=os.open('/proc/self/ns/'+n,os.O_RDONLY); no('setns',c(308,fd,0))\n\
         no('clone3',c(435,ctypes.byref(ctypes.create_string_buffer(88)),88))",
    ),
    (
        "other processes by number",
        "b=ctypes.create_string_buffer(64)\nfor p in (1,os.getppid()):\n  no('attach',c(101,16,p,0,0)); no('seize',c(101,0x4206,p,0,0)); no('read',c(310,p,ctypes.byref(b),1,ctypes.byref(b),1,0)); no('write',c(311,p,ctypes.byref(b),1,ctypes.byref(b),1,0)); no('kcmp',c(312,p,os.getpid(),0,0,0))\n\
         f=c(434,1,0)[0]\nif f>=0:\n  for n in (0,1,2,3): no('getfd',c(438,f,n,0))\n  no('advise',c(440,f,ctypes.byref(b),1,20,0))\n\
         for f in ('mem','environ','maps','oom_score_adj','auxv','syscall','stack'):\n  for m in (os.O_RDONLY,os.O_WRONLY):\n    try:\n      d=os.open('/proc/1/'+f,m); r=os.read(d,1) if m==os.O_RDONLY else b'w'\n      if r and f!='oom_score_adj': print('PWNED',f)\n      if m and f=='oom_score_adj': print('PWNED',f)\n    except OSError: pass",
    ),
    (
        "large interfaces",
        "b=ctypes.create_string_buffer(256)\nfor n,a in ((321,(0,ctypes.byref(b),120)),(298,(ctypes.byref(b),0,-1,-1,0)),(323,(0,)),(425,(8,ctypes.byref(b))),(250,(0,-3,0)),(248,(b'user',b'x',b'y',1,-3)),(249,(b'user',b'x',0,-3)),(300,(0,0)),(447,(0,)),(206,(1,ctypes.byref(b))),(175,(0,0,0)),(246,(0,0,0,0)),(103,(3,0,0)),(153,())): no(n,c(n,*a))",
    ),
    (
        "files by number",
        "b=ctypes.create_string_buffer(struct.pack('Ii',128,0)+b'0'*128); m=ctypes.c_int()\nno('name',c(303,-100,b'/usr',ctypes.byref(b),ctypes.byref(m),0)); no('open',c(304,-100,ctypes.byref(b),0))",
    ),
    (
        "set-id bits by the newest and the oldest doors",
        "open('b','w').close(); os.umask(0)\nfor m in (0o4755,0o2755,0o6777):\n  no('fchmodat2',c(452,-100,b'b',m,0)); no('chmod',c(90,b'b',m)); no('fchmod',c(91,os.open('b',0),m)); no('fchmodat',c(268,-100,b'b',m))\n  no('creat',c(85,b'x%o'%m,m)); no('mknod',c(133,b'y%o'%m,0o100000|m,0)); no('tmpfile',c(257,-100,b'.',0o20200000|0o2,m)); no('open',c(2,b'z%o'%m,0o102,m)); no('openat2',c(437,-100,b'w',ctypes.byref(ctypes.create_string_buffer(struct.pack('QQQ',0o102,m,0))),24))\n\
         try: os.setxattr('b','security.capability',struct.pack('<IIIII',0x02000001,0xffffffff,0,0,0)); print('PWNED cap')\nexcept OSError: pass",
    ),
    (
        "nodes of every kind",
        "for k,n in ((0o20000,'c'),(0o60000,'b'),(0o140000,'s')):\n  for d in (0,0x103,0x105,0x801): no(n,c(133,('n%s%d'%(n,d)).encode(),k|0o666,d)); no(n,c(259,-100,('m%s%d'%(n,d)).encode(),k|0o666,d))",
    ),
    (
        "terminals",
        "import fcntl\nfor p in ('/dev/tty','/dev/ptmx','/dev/pts/ptmx','/dev/console','/dev/tty0','/dev/vcs','/dev/vcsa','/dev/input','/dev/uinput','/dev/mem','/dev/kmsg','/dev/fuse','/dev/loop-control','/dev/net/tun','/dev/kvm','/dev/userfaultfd'):\n  if os.path.exists(p): print('PWNED',p)\n\
         for q in (0x5412,0x541c,0x541d,0xffffffff00005412-(1<<64)):\n  r=c(16,1,ctypes.c_long(q),ctypes.byref(ctypes.create_string_buffer(8)))\n  if not (r[0]<0 and r[1]==1): print('PWNED',hex(q),r)",
    ),
    (
        "limits and privileges cannot be raised again",
        "import resource as r\nfor n in (r.RLIMIT_FSIZE,r.RLIMIT_NOFILE,r.RLIMIT_NPROC,r.RLIMIT_MEMLOCK,r.RLIMIT_RTPRIO):\n  s,h=r.getrlimit(n)\n  try: r.setrlimit(n,(h+1,h+1)); print('PWNED limit',n)\n  except (ValueError,OSError): pass\n\
         r.setrlimit(r.RLIMIT_CORE,(0,0))\nif r.getrlimit(r.RLIMIT_CORE)!=(1,1): print('PWNED core',r.getrlimit(r.RLIMIT_CORE))\n\
         no('no_new_privs',c(157,38,0,0,0,0)); no('ambient',c(157,47,2,21,0,0)); no('keepcaps+cap',c(126,ctypes.byref(ctypes.create_string_buffer(struct.pack('<II',0x20080522,0))),ctypes.byref(ctypes.create_string_buffer(struct.pack('<6I',0xffffffff,0xffffffff,0xffffffff,0,0,0)))))\n\
         for u in (c(105,0),c(106,0),c(116,0,0),c(117,0,0,0)):\n  if u[0]==0 and os.getuid()==0: print('PWNED id')\nif 0 in os.getgroups(): print('PWNED group')",
    ),
    (
        "sockets of the host",
        "import socket\nfor f,t,p in ((1,1,0),(1,2,0),(1,5,0),(16,3,0),(16,3,15),(17,3,3),(40,1,0),(44,3,0),(31,3,1),(38,5,0),(2,3,255),(2,1,132),(2,1,262),(10,1,262),(2,2,136)):\n  try: socket.socket(f,t,p); print('PWNED',f,t,p)\n  except OSError: pass\n\
         for t in (1,2,3,5):\n  try:\n    a,b=socket.socketpair(1,t); a.sendto(b'PWNED','h.sock'); a.connect('h.sock'); print('PWNED pair',t)\n  except OSError: pass",
    ),
];

fn whole(host: &Host) -> bool {
    fs::read_to_string(host.top.join("outside/victim")).is_ok_and(|text| text == "original\n")
        && fs::read_dir(host.top.join("outside")).is_ok_and(|entries| entries.count() == 2)
        && fs::read_to_string(host.ws().join(".geometry/MANIFEST.yaml"))
            .is_ok_and(|text| text == "safety:\n  max_iterations: 7\n")
        && !host.top.join("home/pwned").exists()
}

fn run_all(attacks: &[Attack]) {
    if !has("python3") {
        return;
    }
    for who in everybody() {
        for attack in attacks {
            let host = Host::new(who);
            let top = host.top.display().to_string();
            let answer = host.exec(&attack.script.replace("{top}", &top));
            let name = attack.name;
            assert_eq!(answer["ran"], true, "{who:?}: {name}: {answer}");
            assert!(!answer["stdout"].as_str().unwrap_or_default().contains("PWNED"), "{who:?}: {name}: {answer}");
            if !attack.later.is_empty() {
                // The person's act may fail, it only must not run what was planted.
                host.command("bash").args(["-c", attack.later]).output().expect("bash");
            }
            assert!((attack.host)(&host) && whole(&host), "{who:?}: {name} changed the host: {answer}");
        }
    }
}

#[test]
fn box_1_what_is_planted_for_later_is_not_obeyed() {
    run_all(PLANTED);
}

#[test]
fn box_1_races_and_detours_find_nothing_open() {
    run_all(RACES);
}

#[test]
fn box_1_the_kernel_answers_no_by_number_too() {
    if !has("python3") || !cfg!(target_arch = "x86_64") {
        return;
    }
    for who in everybody() {
        for (name, script) in KERNEL {
            let host = Host::new(who);
            fs::write(host.ws().join("attack.py"), format!("{CALLS}{script}\nprint('done')\n")).expect("write");
            // A server of the host that left its socket where the command can see it.
            let server = UnixDatagram::bind(host.ws().join("h.sock")).expect("a socket");
            fs::set_permissions(host.ws().join("h.sock"), fs::Permissions::from_mode(0o777)).expect("mode");
            server.set_nonblocking(true).expect("a mode");
            let answer = host.exec("/usr/bin/python3 attack.py");
            assert!(server.recv(&mut [0_u8; 16]).is_err(), "{who:?}: {name}: the host's socket was reached");
            let said = answer["stdout"].as_str().unwrap_or_default();
            // The last line proves that every call was made.
            assert!(said.ends_with("done\n") && !said.contains("PWNED"), "{who:?}: {name}: {answer}");
            assert!(no_set_id(&host.ws()) && whole(&host), "{who:?}: {name}: {answer}");
        }
    }
}

fn no_set_id(dir: &Path) -> bool {
    let entries = fs::read_dir(dir).expect("a folder");
    entries.flatten().all(|entry| entry.metadata().is_ok_and(|meta| !meta.is_file() || meta.mode() & 0o6000 == 0))
}

/// What a folder takes on the disk.
fn blocks(dir: &Path) -> u64 {
    fs::read_dir(dir)
        .expect("a folder")
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|meta| meta.blocks() * 512)
        .sum()
}

#[test]
fn box_4_a_burst_cannot_take_the_disk_between_two_looks() {
    if !has("python3") || !cfg!(target_arch = "x86_64") {
        return;
    }
    for who in everybody() {
        let host = Host::new(who);
        let script = "import ctypes,os\nl=ctypes.CDLL(None)\nfor i in range(40):\n  l.syscall(285,os.open('f%d'%i,os.O_CREAT|os.O_RDWR,0o600),0,ctypes.c_long(0),ctypes.c_long(150<<20))\n";
        fs::write(host.ws().join("burst.py"), script).expect("write");
        let answer = host.exec("/usr/bin/python3 burst.py");
        assert_eq!(answer["ran"], true, "{answer}");
        assert!(blocks(&host.ws()) < 450_000_000, "{who:?}: {} bytes: {answer}", blocks(&host.ws()));
    }
}

#[test]
fn box_1_a_crash_reaches_no_handler_and_leaves_no_core() {
    for who in everybody() {
        let host = Host::new(who);
        let answer = host.exec(
            "ulimit -c 0; ulimit -c; (kill -SEGV $BASHPID); (kill -ABRT $BASHPID); ls; grep core /proc/self/limits",
        );
        let said = answer["stdout"].as_str().unwrap_or_default();
        assert!(!said.lines().any(|line| line.starts_with("core")), "{who:?}: {answer}");
        let limit = said.lines().find(|line| line.starts_with("Max core")).unwrap_or_default();
        assert_eq!(limit.split_whitespace().nth(4), Some("1"), "{who:?}: the host's handler would run: {answer}");
    }
}

#[test]
fn box_1_subreapers_and_stopped_processes_end_too() {
    if !has("python3") {
        return;
    }
    for who in everybody() {
        let host = Host::new(who);
        let marker = format!("6{:07}", std::process::id());
        let script = format!(
            "import os,ctypes,signal,time\nl=ctypes.CDLL(None)\nl.prctl(36,1,0,0,0)\nfor i in range(20):\n  if os.fork()==0:\n    os.setsid()\n    for s in range(1,32):\n      try: signal.signal(s,signal.SIG_IGN)\n      except (OSError,ValueError): pass\n    if os.fork()==0: os.execlp('sleep','sleep','{marker}')\n    if i%2: os.kill(os.getpid(),signal.SIGSTOP)\n    time.sleep(60)\ntime.sleep(0.3)\n"
        );
        fs::write(host.ws().join("stay.py"), script).expect("write");
        let answer = host.exec("/usr/bin/python3 stay.py");
        assert_eq!(
            (&answer["exit_code"], &answer["receipt"]["survivors"]),
            (&0.into(), &0.into()),
            "{who:?}: {answer}"
        );
        assert!(marked(&marker).is_empty(), "{who:?}: {:?}", marked(&marker));
    }
}

#[test]
fn box_1_records_of_living_runs_cannot_be_forged() {
    for who in everybody() {
        let host = Host::new(who);
        let lost = host.top.join("home/empty");
        fs::write(&lost, "").expect("write");
        // The folder of records is inside the workspace here, as it would be with a workspace that is the temporary folder.
        let run = |script: &str| {
            let mut command = host.command(host.binary());
            command.args(["sandbox", "exec", "--json", "--workspace"]).arg(&host.top);
            crate::sandbox::host::parse(&command.args(["--", "bash", "-c", script]).output().expect("the binary"))
        };
        let script = format!("printf '{}/home\\0empty' > run/tripwire/run-1-1-0 && echo PWNED", host.top.display());
        let answer = run(&script);
        assert!(answer["ran"] == true && answer["stdout"] == "", "{who:?}: {answer}");
        assert_eq!(run("true")["exit_code"], 0);
        assert!(lost.exists(), "{who:?}: a forged record removed a file");
    }
}

#[test]
fn box_3_a_made_up_name_cannot_steer_the_reader_of_a_diff() {
    for who in everybody() {
        let host = Host::new(who);
        let answer =
            host.exec_with(&["--stage"], "touch $'evil\\r\\e[2K\\e[1Ahidden' $'two\\nlines' $'left\\u202eright'");
        assert_eq!(answer["exit_code"], 0, "{who:?}: {answer}");
        let workspace = host.ws().display().to_string();
        let output = host.verb(&["sandbox", "diff", "--workspace", &workspace]);
        let text = String::from_utf8_lossy(&output.stdout);
        let steering = text.chars().any(|char| (char.is_control() && char != '\n') || char == '\u{202e}');
        assert!(!steering && text.lines().count() == 4, "{who:?}: {text:?}");
    }
}
