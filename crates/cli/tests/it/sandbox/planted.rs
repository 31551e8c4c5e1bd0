//! What a command leaves for others to trip over, and secrets under other names: judged by using git on the host afterwards, as
//! root and as an ordinary user.

use std::fs;

use crate::sandbox::host::{Host, everybody, has, parse};

const EVIL: &str = "printf '#!/bin/sh\\ntouch {out}/pwned\\n' > evil.sh; chmod 755 evil.sh; ";
const GIT: &str = "git -c user.name=t -c user.email=t@t";

/// Runs a script on the host, as the host's user.
fn outside(host: &Host, script: &str) -> String {
    let output = host.command("bash").args(["-c", script]).output().expect("bash");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// One plant: a line for the host before, for one or two runs inside, and for the host afterwards.
struct Plant {
    name: &'static str,
    before: &'static str,
    runs: &'static [&'static str],
    after: &'static str,
}

const PLANTS: [Plant; 9] = [
    Plant {
        name: "the names of the quarantine are taken",
        before: "true",
        runs: &[
            "cp -r .git e; printf '[core]\\nfsmonitor=%s/evil.sh\\n' $PWD > e/config; echo ../e > .git/commondir; \
                 mkdir -p .git/commondir.quarantined-by-tripwire/x e/config.quarantined-by-tripwire/x",
        ],
        after: "git status",
    },
    Plant {
        name: "the folder of a rebase is a link",
        before: "true",
        runs: &[
            "mkdir rb; git rev-parse HEAD | tee rb/onto > rb/orig-head; echo refs/heads/$(git branch --show-current) > rb/head-name; \
                 touch rb/interactive rb/done; echo 1 | tee rb/msgnum > rb/end; echo 'exec ./evil.sh' > rb/git-rebase-todo; ln -s ../rb .git/rebase-merge",
        ],
        after: "git -c user.name=t -c user.email=t@t rebase --continue </dev/null",
    },
    Plant {
        name: "two heads on one line",
        before: "true",
        runs: &["git init -q r; echo \"[user] [core] fsmonitor = $PWD/evil.sh\" >> r/.git/config"],
        after: "git -C r status",
    },
    Plant {
        name: "first the files, later the repository",
        before: "true",
        runs: &[
            "mkdir -p r/.git; printf '[core]\\nrepositoryformatversion=0\\nfsmonitor=%s/evil.sh\\n' $PWD > r/.git/config",
            "mkdir r/.git/objects r/.git/refs; echo ref: refs/heads/x > r/.git/HEAD",
        ],
        after: "git -C r status",
    },
    Plant {
        name: "first the hooks, later their place",
        before: "true",
        runs: &[
            "git init -q r; rm -rf r/.git/hooks; mkdir r/.git/hooks_; cp evil.sh r/.git/hooks_/pre-commit",
            "mv r/.git/hooks_ r/.git/hooks",
        ],
        after: "git -C r -c user.name=t -c user.email=t@t commit -q --allow-empty -m x",
    },
    Plant {
        name: "folders without write permission",
        before: "true",
        runs: &[
            "git init -q r; printf '[core]\\nfsmonitor=%s/evil.sh\\n' $PWD >> r/.git/config; rm -rf r/.git/hooks/*; \
                 ln -s $PWD/evil.sh r/.git/hooks/pre-commit; chmod 555 r/.git/hooks r/.git",
        ],
        after: "git -C r status; git -C r -c user.name=t -c user.email=t@t commit -q --allow-empty -m x",
    },
    Plant {
        name: "a chain of folders before the repository",
        before: "true",
        runs: &["d=.; for i in $(seq 420); do d=$d/d; done; mkdir -p $d; git init -q $d/r; git init -q r; \
                 cp evil.sh r/.git/hooks/pre-commit; cp evil.sh $d/r/.git/hooks/pre-commit"],
        after: "for r in r $(find d -name r -type d); do git -C $r -c user.name=t -c user.email=t@t commit -q --allow-empty -m x; done",
    },
    Plant {
        name: "hooks in the tree that the configuration names",
        before: "cd ws; mkdir .githooks; echo '#!/bin/sh' > .githooks/pre-commit; chmod 755 .githooks/pre-commit; git config core.hooksPath .githooks",
        runs: &[
            "cp evil.sh .githooks/pre-commit; rm -rf .githooks; mv .githooks x; mkdir .githooks; cp evil.sh .githooks/pre-commit; true",
        ],
        after: "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m x",
    },
    Plant {
        name: "a file that the configuration includes",
        before: "cd ws; touch shared.gitconfig; git config include.path ../shared.gitconfig",
        runs: &["printf '[core]\\nfsmonitor=%s/evil.sh\\n' $PWD > shared.gitconfig; true"],
        after: "git status",
    },
];

#[test]
fn box_1_what_is_planted_in_any_disguise_is_not_obeyed() {
    if !has("git") {
        return;
    }
    for who in everybody() {
        for plant in &PLANTS {
            for staged in [&[][..], &["--stage"]] {
                let host = Host::new(who);
                outside(&host, plant.before);
                let evil = EVIL.replace("{out}", &host.top.join("outside").display().to_string());
                for (round, run) in plant.runs.iter().enumerate() {
                    let script = if round == 0 { format!("{evil}{run}") } else { (*run).to_owned() };
                    let answer = host.exec_with(staged, &script);
                    assert_eq!(answer["ran"], true, "{who:?} {}: {answer}", plant.name);
                    assert_eq!(answer["layers"]["scan"]["state"], "on", "{who:?} {}: {answer}", plant.name);
                }
                if !staged.is_empty() {
                    let ws = host.ws().display().to_string();
                    let diff = parse(&host.verb(&["sandbox", "diff", "--json", "--workspace", &ws]));
                    let digest = diff["digest"].as_str().expect("a digest").to_owned();
                    let applied = host.verb(&["sandbox", "apply", "--workspace", &ws, "--digest", &digest]);
                    assert!(applied.status.success(), "{who:?} {}: {applied:?}", plant.name);
                }
                outside(&host, &format!("cd ws; {}", plant.after));
                assert!(!host.top.join("outside/pwned").exists(), "{who:?} {staged:?}: {}", plant.name);
            }
        }
    }
}

#[test]
fn box_1_a_persons_own_hooks_and_settings_stay_as_they_are() {
    if !has("git") {
        return;
    }
    for who in everybody() {
        let host = Host::new(who);
        let before = "cd ws; git init -q sub; git -C sub config alias.x '!true'; printf '#!/bin/sh\\ntouch ../../outside/mine\\n' > sub/.git/hooks/pre-commit; \
                      chmod 755 sub/.git/hooks/pre-commit; git config filter.x.clean cat";
        outside(&host, before);
        let answer = host.exec(&format!("echo x > f; git add f; {GIT} commit -qm top; cd sub; echo y > g; git add g; {GIT} commit -qnm sub; git branch b"));
        assert_eq!(answer["exit_code"], 0, "{who:?}: {answer}");
        assert_eq!(answer["findings"].as_array().map(Vec::len), Some(0), "{who:?}: {answer}");
        outside(&host, &format!("cd ws/sub; {GIT} commit -q --allow-empty -m x"));
        assert!(host.top.join("outside/mine").exists(), "{who:?}: the person's hook still runs");
        assert_eq!(
            outside(&host, "cd ws; git config filter.x.clean; git -C sub config alias.x"),
            "cat\n!true\n",
            "{who:?}"
        );
    }
}

#[test]
fn box_1_placeholders_are_no_files_for_git() {
    if !has("git") {
        return;
    }
    for who in everybody() {
        for staged in [&[][..], &["--stage"]] {
            let host = Host::new(who);
            outside(&host, "cd ws; rm AGENTS.md; printf '.env\\n.geometry\\n' > .gitignore");
            let script = format!(
                "git status --porcelain; echo x > x; git add -A; {GIT} commit -qm all; git show --name-only --format= HEAD; \
                 git init -q sub; cd sub; touch AGENTS.md; git add -A; git status --porcelain"
            );
            let answer = host.exec_with(staged, &script);
            let wanted = "?? .gitignore\n.gitignore\nx\nA  AGENTS.md\n";
            assert_eq!(answer["stdout"], wanted, "{who:?} {staged:?}: {answer}");
            if staged.is_empty() {
                assert_eq!(outside(&host, "cd ws; git status --porcelain"), "?? sub/\n", "{who:?}");
            }
        }
    }
}

#[test]
fn box_1_secrets_are_hidden_under_every_name_they_have() {
    for who in everybody() {
        let host = Host::new(who);
        outside(
            &host,
            "cd ws; ln .env notes; ln src/deep/.env src/dev.txt; echo PWNED > .git/objects/.env; echo free > plain; ln plain plain2; \
                        mkdir other; echo PWNED > ../outside/real.env; ln -s ../../outside/real.env other/.env",
        );
        let granted = host.top.join("outside").display().to_string();
        let script = format!(
            "cat notes src/dev.txt .git/objects/.env other/.env {granted}/real.env; cat plain plain2 {granted}/victim"
        );
        let answer = host.exec_with(&["--read", &granted], &script);
        assert_eq!(answer["stdout"], "free\nfree\noriginal\n", "{who:?}: {answer}");
    }
}

#[test]
fn box_1_a_home_below_the_workspace_shows_neither_keys_nor_our_state() {
    for who in everybody() {
        let host = Host::new(who);
        let run = |script: &str| {
            let mut command = host.command(host.binary());
            command.args(["sandbox", "exec", "--json", "--stage", "--workspace"]).arg(&host.top);
            parse(&command.args(["--", "bash", "-c", script]).output().expect("the binary"))
        };
        let answer = run(
            "cat home/.ssh/key; echo ok > home/note; cat home/note; ls -A home/.local/state/tripwire; mkdir -p home/.local/state/tripwire/stages/x; mv home/.local x",
        );
        assert_eq!(answer["stdout"], "ok\n", "{who:?}: {answer}");
        let again = run("cat home/note; find . -name upper");
        assert_eq!(again["stdout"], "ok\n", "{who:?}: {again}");
        assert!(fs::metadata(host.top.join("home/.local/state/tripwire/stages")).expect("our own").is_dir(), "{who:?}");
    }
}
