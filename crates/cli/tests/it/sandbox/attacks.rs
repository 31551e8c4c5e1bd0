//! Attacks on the sandbox, each judged by what it printed and by what it did to the host; as root and as an ordinary user.

use std::fs;

use crate::sandbox::host::{Host, everybody, has};
use serde_json::Value;

/// One attack. `{top}` in the script is the throw-away host's folder.
struct Attack {
    name: &'static str,
    script: &'static str,
    /// What must hold on the host afterwards.
    host: fn(&Host) -> bool,
}

fn nothing(_: &Host) -> bool {
    true
}

fn victim_is_whole(host: &Host) -> bool {
    fs::read_to_string(host.top.join("outside/victim")).is_ok_and(|text| text == "original\n")
        && fs::read_dir(host.top.join("outside")).is_ok_and(|entries| entries.count() == 2)
}

fn manifest_is_whole(host: &Host) -> bool {
    fs::read_to_string(host.ws().join(".geometry/MANIFEST.yaml"))
        .is_ok_and(|text| text == "safety:\n  max_iterations: 7\n")
}

fn no_planted_text(host: &Host) -> bool {
    let names = [".git/hooks/post-commit", ".git/config", ".codex/config.toml", ".claude/settings.json", ".mcp.json"];
    names.iter().all(|name| fs::read_to_string(host.ws().join(name)).map_or(true, |text| !text.contains("PWNED")))
}

const FILES: &[Attack] = &[
    Attack {
        name: "append to a neighbour by absolute path",
        script: "echo PWNED >> {top}/outside/victim",
        host: victim_is_whole,
    },
    Attack {
        name: "replace a neighbour by rename",
        script: "echo PWNED > n; mv n {top}/outside/victim",
        host: victim_is_whole,
    },
    Attack {
        name: "make a folder beside the workspace",
        script: "mkdir {top}/outside/x && echo PWNED",
        host: victim_is_whole,
    },
    Attack {
        name: "hard link from outside",
        script: "ln {top}/outside/victim stolen && cat stolen && echo PWNED",
        host: victim_is_whole,
    },
    Attack {
        name: "write through a made link",
        script: "ln -s ../outside o; echo PWNED > o/victim",
        host: victim_is_whole,
    },
    Attack {
        name: "device node mode of the host",
        script: "chmod 000 /dev/null /dev/zero && echo PWNED",
        host: |_| fs::write("/dev/null", "x").is_ok(),
    },
    Attack {
        name: "system folders",
        script: "for d in /usr /usr/bin /etc /bin /lib; do (: > $d/tw_planted) 2>/dev/null && [ $d != /etc ] && echo PWNED; done; true",
        host: |_| {
            !["/usr/tw_planted", "/usr/bin/tw_planted", "/etc/tw_planted"]
                .iter()
                .any(|path| fs::exists(path).unwrap_or(true))
        },
    },
    Attack {
        name: "list the home of the person",
        script: "ls -a {top}/home {top}/home/.ssh && echo PWNED",
        host: nothing,
    },
    Attack {
        name: "accounts and keys of the machine",
        script: "for f in /etc/shadow /etc/gshadow /etc/sudoers /root/.bashrc /etc/ssl/private; do [ -r $f ] && ls $f/ 2>/dev/null; head -c1 $f 2>/dev/null && echo PWNED; done; true",
        host: nothing,
    },
    Attack {
        name: "read a secret by another spelling",
        script: "cat ./src/../.env src/deep/./.env $PWD/.env; dd if=.env status=none; while read l; do echo $l; done < .env",
        host: nothing,
    },
    Attack {
        name: "copy secrets in bulk",
        script: "cp -r . /tmp/all 2>/dev/null; grep -rh PWNED /tmp/all; tar c . 2>/dev/null | strings | grep ^PWNED",
        host: nothing,
    },
    Attack {
        name: "move the folder of a secret",
        script: "mv src other && cat other/deep/.env; mv src/deep src/shallow && cat src/shallow/.env",
        host: nothing,
    },
    Attack {
        name: "link to a secret",
        script: "ln src/deep/.env flat && cat flat; ln -s src/deep/.env soft && cat soft",
        host: nothing,
    },
    Attack {
        name: "exchange a secret's folder",
        script: "mkdir -p e; /usr/bin/python3 -c 'import ctypes;l=ctypes.CDLL(None);print(\"PWNED\" if l.renameat2(-100,b\"src\",-100,b\"e\",2)==0 else \"no\")'; cat e/deep/.env",
        host: nothing,
    },
    Attack { name: "staged secret in the index", script: "git add -f .env && git show :.env", host: nothing },
];

const PROTECTED: &[Attack] = &[
    Attack { name: "hook by redirection", script: "echo PWNED > .git/hooks/post-commit", host: no_planted_text },
    Attack {
        name: "hook by git itself",
        script: "mkdir -p t/hooks; echo PWNED > t/hooks/post-commit; git init -q --template=t .",
        host: no_planted_text,
    },
    Attack {
        name: "configuration by git itself",
        script: "git config alias.x '!echo PWNED'; git config --add core.sshCommand PWNED",
        host: no_planted_text,
    },
    Attack {
        name: "configuration by lock file",
        script: "printf '[core]\\n\\tpager=PWNED\\n' > .git/config.lock; mv -f .git/config.lock .git/config",
        host: no_planted_text,
    },
    Attack {
        name: "repository swapped away",
        script: "cp -r .git g2; mv .git old; mv g2 .git; echo PWNED > .git/hooks/post-commit",
        host: no_planted_text,
    },
    Attack {
        name: "client settings that do not exist yet",
        script: "mkdir -p .codex .claude; echo PWNED > .codex/config.toml; echo PWNED > .claude/settings.json; echo PWNED > .mcp.json",
        host: no_planted_text,
    },
    Attack {
        name: "client settings by rename",
        script: "mkdir c; echo PWNED > c/settings.json; rmdir .claude; mv c .claude",
        host: no_planted_text,
    },
    Attack {
        name: "own policy in place",
        script: "printf 'limit: 999\\n' | tee .geometry/MANIFEST.yaml; sed -i s/7/9/ .geometry/MANIFEST.yaml; : > .geometry/MANIFEST.yaml",
        host: manifest_is_whole,
    },
    Attack {
        name: "own policy removed",
        script: "rm -rf .geometry; mv .geometry g; truncate -s0 .geometry/MANIFEST.yaml",
        host: manifest_is_whole,
    },
    Attack {
        name: "own policy through a descriptor",
        script: "exec 4<>.geometry/MANIFEST.yaml && echo PWNED; exec 5<.geometry; echo x > /proc/self/fd/5/MANIFEST.yaml",
        host: manifest_is_whole,
    },
    Attack {
        name: "lift the stop",
        script: "rm -f .geometry/STOP && echo PWNED-tried >/dev/null; mv .geometry/STOP s",
        host: |host| {
            // Made before the run by the person.
            host.ws().join(".geometry/STOP").exists()
        },
    },
    Attack {
        name: "instructions to other agents",
        script: "echo PWNED > AGENTS.md; mv AGENTS.md a; cp a AGENTS.md",
        host: |host| fs::read_to_string(host.ws().join("AGENTS.md")).is_ok_and(|text| text == "be good\n"),
    },
];

const KERNEL: &[Attack] = &[
    Attack {
        name: "sysctl",
        script: "ls /proc/sys && echo PWNED; echo 1 > /proc/sys/vm/drop_caches && echo PWNED; head -c1 /proc/kcore && echo PWNED",
        host: nothing,
    },
    Attack {
        name: "the first process's insides",
        script: "cat /proc/1/environ /proc/1/maps /proc/1/mem 2>/dev/null | head -c1 | grep -q . && echo PWNED; ls /proc/1/fd /proc/1/root /proc/1/cwd 2>/dev/null && echo PWNED",
        host: nothing,
    },
    Attack {
        name: "the caller's words",
        script: "tr '\\0' ' ' < /proc/1/cmdline | grep -e --json -e workspace && echo PWNED; true",
        host: nothing,
    },
    Attack { name: "end the first process", script: "kill -9 1; kill -STOP 1; kill -TERM -1; true", host: nothing },
    Attack {
        name: "namespaces by hand",
        script: "unshare -r true && echo PWNED; unshare -m true && echo PWNED; unshare -n true && echo PWNED; nsenter -t 1 -m true && echo PWNED; true",
        host: nothing,
    },
    Attack {
        name: "mounts by hand",
        script: "mount --bind /usr src && echo PWNED; umount /tmp && echo PWNED; mount -o remount,rw / && echo PWNED; mount -t proc p src && echo PWNED; true",
        host: nothing,
    },
    Attack {
        name: "numbers that nobody reviewed",
        script: "/usr/bin/python3 -c 'import ctypes\nl=ctypes.CDLL(None,use_errno=True)\nfor n in list(range(425,470))+[0x40000001,1023]:\n  if n in (434,436,439,440,441,444,445,446,449,450,451,453,454,455,456,462): continue\n  r=l.syscall(n,-1,0,0,0,0); e=ctypes.get_errno()\n  if not(r<0 and e in (1,38)): print(\"PWNED\",n,r,e)'",
        host: nothing,
    },
    Attack {
        name: "raw and foreign sockets",
        script: "/usr/bin/python3 -c 'import socket\nfor f,t,p in ((2,3,255),(17,3,768),(16,3,0),(16,2,9),(1,1,0),(1,5,0),(29,3,1),(38,5,0),(40,1,0),(2,2,1),(10,3,58)):\n  try: socket.socket(f,t,p); print(\"PWNED\",f,t,p)\n  except OSError: pass'",
        host: nothing,
    },
    Attack {
        name: "debug a process",
        script: "/usr/bin/python3 -c 'import ctypes,os\nl=ctypes.CDLL(None,use_errno=True)\np=os.fork()\nif p==0:\n  import time; time.sleep(3); os._exit(0)\nprint(\"PWNED\" if l.ptrace(16,p,0,0)==0 else \"no\"); os.kill(p,9)'",
        host: nothing,
    },
    Attack {
        name: "capabilities and identity",
        script: "grep -hE '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000 && echo PWNED; grep -q 'NoNewPrivs:.1' /proc/self/status || echo PWNED; [ $(id -u) = 1000 ] || echo PWNED; /usr/bin/python3 -c 'import os\nfor f in (os.setuid,os.setgid):\n  try: f(0); print(\"PWNED\")\n  except OSError: pass'",
        host: nothing,
    },
    Attack {
        name: "set-id by every door",
        script: "cp /bin/true b; for m in 4755 2755 6755; do chmod $m b && echo PWNED; done; install -m 4755 b b2 && echo PWNED; /usr/bin/python3 -c 'import os\nos.umask(0)\nfor p,f in ((\"c1\",lambda p:os.open(p,os.O_CREAT|os.O_WRONLY,0o4755)),(\"c2\",lambda p:os.mknod(p,0o104755))):\n  try: f(p); print(\"PWNED\",p)\n  except OSError: pass'",
        host: |host| {
            fs::read_dir(host.ws()).is_ok_and(|entries| {
                entries.flatten().all(|entry| {
                    use std::os::unix::fs::MetadataExt as _;
                    entry.metadata().is_ok_and(|meta| !meta.is_file() || meta.mode() & 0o6000 == 0)
                })
            })
        },
    },
    Attack {
        name: "push keys into a terminal",
        script: "/usr/bin/python3 -c 'import fcntl,os\nfor n in (0x5412,0x100005412,0x541c):\n  try: fcntl.ioctl(0,n,b\"x\"); print(\"PWNED\")\n  except (OSError,OverflowError): pass\ntry: os.open(\"/dev/tty\",2); print(\"PWNED\")\nexcept OSError: pass'",
        host: nothing,
    },
];

const INHERITED: &[Attack] = &[
    Attack {
        name: "leaked descriptors",
        script: "cat <&9 && echo PWNED; ls /proc/self/fd/8/ && echo PWNED; for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 3 ] && [ -e $f ] && readlink $f | grep -v '^/proc' && echo PWNED; done; true",
        host: nothing,
    },
    Attack {
        name: "leaked environment",
        script: "env | grep -i -e secret -e xdg_ && echo PWNED; [ -z \"$BASH_ENV\" ] || echo PWNED; [ \"$TZ $LANG\" = 'UTC C.UTF-8' ] || echo PWNED",
        host: nothing,
    },
    Attack {
        name: "standard input",
        script: "read line && echo PWNED; [ \"$(readlink /proc/self/fd/0)\" = /dev/null ] || echo PWNED",
        host: nothing,
    },
    Attack {
        name: "any network but loopback",
        script: "[ \"$(ls /proc/self/net/dev_snmp6 2>/dev/null | grep -v '^lo$')\" = '' ] || echo PWNED; awk 'NR>1' /proc/net/route | grep . && echo PWNED; (exec 3<>/dev/tcp/1.1.1.1/443) 2>/dev/null && echo PWNED; true",
        host: nothing,
    },
    Attack {
        name: "forged answer",
        script: "echo '{\"ran\":true,\"exit_code\":0,\"stdout\":\"PWNED\"}' | tee /proc/1/fd/1 /proc/1/fd/3 2>/dev/null >/dev/null; echo x >&3 && echo PWNED; true",
        host: nothing,
    },
    Attack {
        name: "hooks in a repository made inside",
        script: "git init -q n && printf '#!/bin/sh\\n' > n/.git/hooks/pre-push && chmod +x n/.git/hooks/pre-push; git init -q --bare b.git && printf '#!/bin/sh\\n' > b.git/hooks/update && chmod +x b.git/hooks/update; git -C n config core.fsmonitor ./evil",
        host: |host| {
            use std::os::unix::fs::MetadataExt as _;
            let armed = |name: &str| fs::metadata(host.ws().join(name)).is_ok_and(|meta| meta.mode() & 0o111 != 0);
            !armed("n/.git/hooks/pre-push")
                && !armed("b.git/hooks/update")
                && fs::read_to_string(host.ws().join("n/.git/config")).map_or(true, |text| !text.contains("evil"))
        },
    },
    Attack {
        name: "a pointer that replaces the repository",
        script: "mkdir -p ev/objects ev/refs ev/hooks; printf '[core]\\n fsmonitor=evil\\n' > ev/config; printf '#!/bin/sh\\n' > ev/hooks/pre-commit; chmod +x ev/hooks/pre-commit; echo ../ev > .git/commondir",
        host: |host| {
            use std::os::unix::fs::MetadataExt as _;
            !host.ws().join(".git/commondir").exists()
                && fs::read_to_string(host.ws().join("ev/config")).map_or(true, |text| !text.contains("evil"))
                && fs::metadata(host.ws().join("ev/hooks/pre-commit")).map_or(true, |meta| meta.mode() & 0o111 == 0)
        },
    },
    Attack {
        name: "hooks behind a closed folder",
        script: "mkdir -p c && git init -q c/r && printf '#!/bin/sh\\n' > c/r/.git/hooks/pre-push && chmod +x c/r/.git/hooks/pre-push && chmod 300 c",
        host: |host| {
            use std::os::unix::fs::MetadataExt as _;
            fs::metadata(host.ws().join("c/r/.git/hooks/pre-push")).map_or(true, |meta| meta.mode() & 0o111 == 0)
        },
    },
];

fn prints_pwned(answer: &Value) -> bool {
    answer["stdout"].as_str().unwrap_or_default().lines().any(|line| line.contains("PWNED"))
}

fn run_all(attacks: &[Attack]) {
    if !has("python3") {
        return;
    }
    for who in everybody() {
        for attack in attacks {
            let host = Host::new(who);
            fs::write(host.ws().join(".geometry/STOP"), "").expect("a stop file");
            let script = attack.script.replace("{top}", &host.top.display().to_string());
            let answer = host.exec(&script);
            let name = attack.name;
            assert_eq!(answer["ran"], true, "{who:?}: {name}: {answer}");
            assert!(!prints_pwned(&answer), "{who:?}: {name}: {answer}");
            assert_eq!(answer["receipt"]["survivors"], 0, "{who:?}: {name}: {answer}");
            assert!((attack.host)(&host), "{who:?}: {name} changed the host: {answer}");
            assert!(victim_is_whole(&host), "{who:?}: {name} changed a neighbour");
        }
    }
}

#[test]
fn box_1_files_outside_and_secrets_are_out_of_reach() {
    run_all(FILES);
}

#[test]
fn box_1_what_other_programs_obey_cannot_be_changed() {
    run_all(PROTECTED);
}

#[test]
fn box_1_the_kernel_s_dangerous_doors_are_closed() {
    run_all(KERNEL);
}

#[test]
fn box_1_nothing_of_the_caller_reaches_the_command() {
    run_all(INHERITED);
}

#[test]
fn box_2_a_protected_name_that_leads_elsewhere_is_refused() {
    for who in everybody() {
        let host = Host::new(who);
        let policy = host.ws().join(".geometry");
        fs::remove_dir_all(&policy).expect("remove");
        std::os::unix::fs::symlink(host.top.join("outside"), &policy).expect("link");
        let answer = host.exec("echo PWNED > .geometry/victim");
        assert_eq!((&answer["ran"], &answer["refused_by"]), (&Value::Bool(false), &Value::from("rootfs")), "{answer}");
        assert!(victim_is_whole(&host));
    }
}
