//! What the real workspace changes: the same line passes in one state and is held in another.

use super::situations::{Situation, git_in};
use std::fs;
use std::time::{Duration, SystemTime};
use tripwire_judge::{Answer, Facts, Judge, Verdict};

fn held(verdict: &Verdict) -> &'static str {
    match (verdict.verdict, verdict.rule) {
        (Answer::Hold, Some(rule)) => rule.name(),
        (Answer::Hold, None) | (Answer::Pass, _) => "",
    }
}

#[test]
fn floor_1_the_card_counts_what_would_be_hit() {
    let here = Situation::new("dirty");
    for number in 0..7 {
        here.write(&format!("home/projects/own/file{number}"), "12345");
    }
    git_in(&here.path("home/projects/own"), &["init", "-q"]);
    let verdict = here.judge().judge("rm -rf ~/projects");
    let effect = verdict.effect.unwrap();
    assert_eq!(effect.repositories.count, 1, "{effect:?}");
    assert!(effect.targets[0].files >= 8 && effect.targets[0].bytes >= 36, "{effect:?}");
    let verdict = here.judge().judge("git clean -fd && git reset --hard");
    assert_eq!(verdict.segments.len(), 2);
    let effect = here.judge().judge("git reset --hard").effect.unwrap();
    assert_eq!(effect.uncommitted.count, 1);
    assert!(effect.uncommitted.first[0].ends_with("src/lib.rs"));
    let effect = here.judge().judge("rm -rf .env scratch src").effect.unwrap();
    assert_eq!((effect.secrets.count, effect.untracked.count, effect.uncommitted.count), (1, 1, 1), "{effect:?}");
}

#[test]
fn floor_1_a_verdict_lists_every_command_of_the_line_with_its_own_answer() {
    let verdict = Situation::new("clean").judge().judge("x=1; ls && rm -rf ~; echo done");
    let listed: Vec<_> = verdict.segments.iter().map(|one| (one.command.as_str(), one.verdict)).collect();
    assert_eq!(listed, [("ls", Answer::Pass), ("rm -rf ~", Answer::Hold), ("echo done", Answer::Pass)]);
}

#[test]
fn floor_1_a_pushed_branch_says_how_many_commits_would_vanish() {
    let here = Situation::new("clean");
    here.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let verdict = here.judge().judge("git push --force");
    let effect = verdict.effect.unwrap();
    assert_eq!((effect.branch.as_deref(), effect.commits), (Some("origin/main"), Some(1)));
}

#[test]
fn floor_1_what_the_run_made_itself_is_its_own() {
    let here = Situation::new("dirty");
    let line = "rm -rf scratch";
    assert_eq!(held(&here.judge().judge(line)), "delete-work");
    let before = Facts { began: Some(SystemTime::now() - Duration::from_secs(3_600)), ..here.facts() };
    let born = here.path("ws/scratch/work.py").metadata().unwrap().created();
    if born.is_ok() {
        assert_eq!(held(&Judge::new(before).judge(line)), "");
    }
    let after = Facts { began: Some(SystemTime::now() + Duration::from_secs(3_600)), ..here.facts() };
    assert_eq!(held(&Judge::new(after).judge(line)), "delete-work");
}

#[test]
fn floor_1_links_are_followed_where_the_shell_would() {
    let here = Situation::new("clean");
    assert_eq!(held(&here.judge().judge("rm -rf link")), "", "only the link");
    assert_eq!(held(&here.judge().judge("rm -rf link/")), "delete-outside");
    assert_eq!(held(&here.judge().judge("cd link && rm -rf *")), "delete-outside");
    assert_eq!(held(&here.judge().judge("rm -rf link/../other/o.txt")), "delete-outside");
    std::os::unix::fs::symlink(here.path("home"), here.path("ws/target/h")).unwrap();
    assert_eq!(held(&here.judge().judge("rm -rf target")), "", "links inside are not followed");
    assert_eq!(held(&here.judge().judge("rm -rf target/h/*")), "delete-home");
}

#[test]
fn floor_1_shared_memory_belongs_to_its_users_and_not_to_the_system() {
    let (workspace, temporary) = ("/dev/shm/somebody/ws".into(), vec!["/dev/shm".into()]);
    let judge = Judge::new(Facts { workspace, cwd: "/dev/shm/somebody/ws".into(), temporary, ..Facts::default() });
    let rule = |line: &str| held(&judge.judge(line));
    assert_eq!(rule("rm -rf /dev/shm/somebody/else"), "delete-outside", "beside the workspace");
    assert_eq!(rule("rm -rf /dev/shm/scratch"), "", "something temporary");
    assert_eq!(rule("rm -rf /dev/shm"), "delete-outside", "everything that others put there");
    assert_eq!(rule("rm -rf /dev/pts"), "delete-system");
}

#[test]
fn floor_1_a_name_that_is_no_text_is_looked_at_like_any_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let names = [&b"cafe.rs"[..], b"caf\xe9.rs"];
    for line in ["rm -rf new", "rm -rf new/*", "rm -rf new/*.rs", "find new -name '*.rs' -delete", "git clean -fd"] {
        for name in names {
            let here = Situation::new("clean");
            assert_eq!(held(&here.judge().judge(line)), "", "{line}: nothing is lost yet");
            here.write("ws/new/README", "r");
            fs::write(here.path("ws/new").join(std::ffi::OsStr::from_bytes(name)), "mine").unwrap();
            assert_ne!(held(&here.judge().judge(line)), "", "{line}: {name:?}");
        }
    }
    let here = Situation::new("clean");
    here.write("ws/new/README", "r");
    fs::write(here.path("ws/new").join(std::ffi::OsStr::from_bytes(b"caf\xe9.rs")), "mine").unwrap();
    for line in ["ls new/*.rs", "grep x new/*", "find new -name '*.rs'", "for f in new/*; do wc -l $f; done"] {
        assert_eq!(held(&here.judge().judge(line)), "", "{line}");
    }
}

#[test]
fn floor_1_one_branch_of_find_without_a_name_means_the_whole_folder() {
    let here = Situation::new("clean");
    let folder = |line: &str| here.judge().judge(line).effect.map(|effect| effect.targets);
    for line in [r"find . \( -name '*.bak' -o -size +1k \) -delete", r"find . \( -size +1k -o -name '*.bak' \) -delete"]
    {
        let verdict = here.judge().judge(line);
        assert_ne!(held(&verdict), "", "{line}");
        assert_eq!(folder(line), folder("find . -delete"), "{line}");
    }
    for line in [r"find . \( -name '*.bak' -o -name '*.orig' \) -delete", "find . -name '*.bak' -delete"] {
        assert_eq!(held(&here.judge().judge(line)), "", "{line}");
    }
}

#[test]
fn floor_1_only_the_branch_of_find_that_prints_is_listed() {
    let here = Situation::new("dirty");
    for print in ["-print", "-print0", "-ls"] {
        let line = format!("find scratch -name nothing.py -o -name work.py {print} | xargs rm");
        assert_ne!(held(&here.judge().judge(&line)), "", "{line}");
        let line = format!("find scratch -name work.py -o -name nothing.py {print} | xargs rm");
        assert_eq!(held(&here.judge().judge(&line)), "", "{line}");
    }
}

#[test]
fn floor_1_code_whose_names_lead_back_to_themselves_is_held() {
    let here = Situation::new("clean");
    for code in
        ["x = [\"target\"]; x.each { |x| FileUtils.rm_rf(x) }", "a.each { |b| b.each { |a| FileUtils.rm_rf(a) } }"]
    {
        let line = format!("ruby -e '{code}'");
        assert_ne!(held(&here.judge().judge(&line)), "", "{line}");
    }
    let line = "ruby -e 'dirs = [\"target\"]; dirs.each { |dir| FileUtils.rm_rf(dir) }'";
    assert_eq!(held(&here.judge().judge(line)), "", "{line}");
}

#[test]
fn floor_1_a_folder_named_like_a_missed_expansion_is_debris() {
    for (name, debris) in
        [("~", true), ("~some_user1", true), ("$HOME", true), ("${MY_DIR}", true), ("~ notes", false), ("$", false)]
    {
        let here = Situation::new("clean");
        here.write(&format!("ws/{name}/notes.txt"), "n\n");
        let line = format!("rm -rf '{name}'");
        assert_eq!(held(&here.judge().judge(&line)).is_empty(), debris, "{line}");
    }
}

#[test]
fn floor_1_what_a_pattern_leaves_out_is_not_passed_over() {
    let here = Situation::new("clean");
    for number in 0..2_100 {
        here.write(&format!("ws/many/f{number}.rs"), "f\n");
    }
    here.git(&["add", "many"]);
    here.git(&["commit", "-qm", "many"]);
    for line in ["rm -f many/*.rs", "ls many/*.rs | xargs rm", "mv many/*.rs /tmp/elsewhere"] {
        assert_eq!(held(&here.judge().judge(line)), "too-complex", "{line}");
    }
    for line in [
        "ls many/*.rs",
        "grep x many/*.rs | head",
        "git add many/*.rs",
        "git checkout -- many/*.rs",
        "for f in many/*.rs; do echo $f; done",
        "rm -f many/f1*.rs",
    ] {
        assert_eq!(held(&here.judge().judge(line)), "", "{line}");
    }
    here.write("ws/many/f7.rs", "mine\n");
    assert_eq!(held(&here.judge().judge("git checkout -- many/*.rs")), "discard-changes");
}

#[test]
fn floor_1_an_alias_of_the_repository_is_what_it_stands_for() {
    let here = Situation::new("clean");
    let aliases =
        [("force-all", "push -f origin main"), ("wipe2", "!rm -rf ~"), ("st", "status"), ("again", "again -f")];
    for (name, text) in aliases {
        here.git(&["config", &format!("alias.{name}"), text]);
    }
    for (line, rule) in [
        ("git force-all", "force-push"),
        ("git wipe2", "delete-home"),
        ("git st", ""),
        ("git again", ""),
        ("git no-alias", ""),
    ] {
        assert_eq!(held(&here.judge().judge(line)), rule, "{line}");
    }
}

#[test]
fn floor_1_a_word_of_braces_is_read_up_to_a_bound() {
    let here = Situation::new("clean");
    let judged = |line: &str| held(&here.judge().judge(line));
    for (letters, rule) in [(4_000, ""), (5_000, "too-complex")] {
        assert_eq!(judged(&format!("rm -rf {{target,{}}}", "x".repeat(letters))), rule, "{letters}");
        assert_eq!(judged(&format!("rm -rf {}", "x".repeat(letters))), "", "{letters} without braces");
    }
}

#[test]
fn floor_1_nested_repositories_and_work_trees() {
    let here = Situation::new("clean");
    git_in(&here.path("ws"), &["clone", "-q", "../origin.git", "vendor"]);
    assert_eq!(held(&here.judge().judge("rm -rf vendor")), "", "a clean clone is cloned again");
    here.write("ws/vendor/README.md", "changed");
    assert_eq!(held(&here.judge().judge("rm -rf vendor")), "delete-work");
    here.git(&["worktree", "add", "-q", "../tree", "-b", "tree"]);
    assert_eq!(held(&here.judge().judge("git worktree remove --force ../tree")), "");
    here.write("tree/README.md", "changed");
    assert_eq!(held(&here.judge().judge("git worktree remove --force ../tree")), "discard-changes");
    let there = Judge::new(Facts { workspace: here.path("tree"), cwd: here.path("tree"), ..here.facts() });
    assert_eq!(held(&there.judge("git checkout -- .")), "discard-changes");
    assert_eq!(held(&there.judge("git push -f")), "", "its branch is its own");
    assert_eq!(held(&there.judge("rm -rf .git")), "delete-git");
}

#[test]
fn floor_1_repositories_in_unusual_states() {
    let here = Situation::new("clean");
    here.git(&["checkout", "-q", "--detach"]);
    assert_eq!(held(&here.judge().judge("git push -f origin HEAD:main")), "force-push");
    assert_eq!(held(&here.judge().judge("git reset --hard")), "");
    let fresh = here.path("fresh");
    fs::create_dir(&fresh).unwrap();
    git_in(&fresh, &["init", "-q", "-b", "main"]);
    let judge = Judge::new(Facts { workspace: fresh.clone(), cwd: fresh.clone(), ..here.facts() });
    assert_eq!(held(&judge.judge("git reset --hard")), "", "no commit yet");
    fs::write(fresh.join("only"), "copy").unwrap();
    assert_eq!(held(&judge.judge("git clean -fd")), "git-clean");
    git_in(&fresh, &["add", "only"]);
    assert_eq!(held(&judge.judge("git reset --hard")), "discard-changes", "a staged file is found nowhere else");
    let bare = here.path("origin.git");
    let judge = Judge::new(Facts { workspace: bare.clone(), cwd: bare, ..here.facts() });
    assert_eq!(held(&judge.judge("git push -f origin main")), "force-push");
    assert_eq!(held(&judge.judge("git log")), "");
}

#[test]
fn floor_1_protected_branches_are_the_usual_ones_and_those_that_a_person_names() {
    let here = Situation::new("feature");
    let line = "git push -f origin feature/x";
    assert_eq!(held(&here.judge().judge(line)), "");
    let protected = Facts { protected: vec!["feature/*".to_owned()], ..here.facts() };
    assert_eq!(held(&Judge::new(protected.clone()).judge(line)), "force-push");
    assert_eq!(held(&Judge::new(protected).judge("git push -f origin other")), "");
    assert_eq!(held(&here.judge().judge("git push -f origin trunk")), "force-push", "the remote's HEAD");
}

#[test]
fn floor_1_a_hostile_repository_makes_the_judge_run_nothing() {
    let here = Situation::new("dirty");
    let mark = here.path("mark");
    let script = here.path("run.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let run = script.display().to_string();
    for key in ["core.fsmonitor", "core.pager", "filter.x.clean", "filter.x.smudge", "core.sshCommand", "diff.external"]
    {
        here.git(&["config", key, &run]);
    }
    here.write("ws/.gitattributes", "* filter=x\n");
    here.write("ws/.git/hooks/post-checkout", "#!/bin/sh\nexit 1\n");
    for line in ["git reset --hard", "git push -f", "git clean -fdx", "rm -rf src", "git stash drop", "git branch -D x"]
    {
        let _verdict = here.judge().judge(line);
    }
    assert!(!mark.exists());
}

#[test]
fn floor_1_a_shell_runs_every_line_before_the_one_it_cannot_parse() {
    let here = Situation::new("clean");
    assert_eq!(held(&here.judge().judge("rm -rf ~\nif")), "delete-home");
    assert_eq!(held(&here.judge().judge("rm -rf ~\necho 'open\nquote")), "delete-home");
    assert_eq!(held(&here.judge().judge("echo 'open\nrm -rf ~")), "");
    assert_eq!(held(&here.judge().judge("rm -rf ~ &&\necho 'open")), "", "both lines are one command");
    let long = "a line\n".repeat(100);
    assert_eq!(held(&here.judge().judge(&format!("echo 'open\n{long}rm -rf ~"))), "");
    assert_eq!(
        held(&here.judge().judge(&format!("rm -rf ~\nfor i in a; do\n{long}echo 'open\n{long}"))),
        "delete-home"
    );
}

#[test]
fn nothing_is_changed_by_judging() {
    let here = Situation::new("dirty");
    let before = fs::read(here.path("ws/.git/index")).unwrap();
    for line in super::lines::table().iter().filter(|line| line.state == "dirty") {
        let _verdict = here.judge().judge(&line.command);
    }
    assert_eq!(fs::read(here.path("ws/.git/index")).unwrap(), before);
    assert!(here.path("ws/scratch/work.py").exists() && here.path("home/notes.txt").exists());
    assert!(!here.path("ws/x.sh").exists() && !here.path("ws/a.sh").exists());
}
