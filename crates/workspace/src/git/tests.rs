//! Repositories that try to make git run something, and honest ones beside them.

use super::*;
use crate::hash::tests::{git, has_git};
use std::os::unix::fs::PermissionsExt as _;
use tripwire_testing::TestDir;

/// A program that leaves a mark when it is run.
fn trap(dir: &TestDir) -> (PathBuf, PathBuf) {
    let (script, mark) = (dir.path().join("trap.sh"), dir.path().join("sprung"));
    std::fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    (script, mark)
}

/// A committed file whose time differs from what the index knows, so that git must read it.
fn repository(dir: &TestDir) -> PathBuf {
    let root = dir.path().join("ws");
    std::fs::create_dir(&root).unwrap();
    git(&root, &["init", "-q"]);
    std::fs::write(root.join("a"), "one\n").unwrap();
    git(&root, &["add", "a"]);
    git(&root, &["commit", "-q", "-m", "x"]);
    root
}

fn change(root: &Path) {
    std::fs::write(root.join("a"), "two\n").unwrap();
}

#[test]
fn no_filter_of_a_repository_is_ever_run() {
    if !has_git() {
        return;
    }
    for name in ["plain", "a=b", "with space", "a.b", "a=b.c", "\"quoted\""] {
        for program in ["clean", "process"] {
            let dir = TestDir::new();
            let (script, mark) = trap(&dir);
            let root = repository(&dir);
            git(&root, &["config", &format!("filter.{name}.{program}"), script.to_str().unwrap()]);
            git(&root, &["config", &format!("filter.{name}.required"), "true"]);
            let attribute = format!("\"filter={name}\"").replace("\"\"", "\"");
            std::fs::write(root.join(".git/info/attributes"), format!("* {attribute}\n* filter={name}\n")).unwrap();
            change(&root);
            let status = Repository::open(&root).unwrap().status();
            assert!(!mark.exists(), "{name} {program}");
            let status = String::from_utf8(status.unwrap()).unwrap();
            assert!(status.contains(".M") && status.contains("a"), "{name}: {status}");
        }
    }
}

#[test]
fn a_filter_that_comes_after_the_look_at_the_configuration_is_not_run_either() {
    if !has_git() {
        return;
    }
    let dir = TestDir::new();
    let (script, mark) = trap(&dir);
    let root = repository(&dir);
    let opened = Repository::open(&root).unwrap();
    git(&root, &["config", "filter.late.clean", script.to_str().unwrap()]);
    git(&root, &["config", "core.fsmonitor", script.to_str().unwrap()]);
    std::fs::write(root.join(".gitattributes"), "* filter=late\n").unwrap();
    change(&root);
    let status = String::from_utf8(opened.status().unwrap()).unwrap();
    assert!(!mark.exists() && status.contains(".M"), "{status}");
}

#[test]
fn the_programs_that_git_knows_by_other_names_are_not_run() {
    if !has_git() {
        return;
    }
    for setting in ["core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "alias.status", "gpg.program"] {
        let dir = TestDir::new();
        let (script, mark) = trap(&dir);
        let root = repository(&dir);
        let value =
            if setting == "alias.status" { format!("!{}", script.display()) } else { script.display().to_string() };
        git(&root, &["config", setting, &value]);
        git(&root, &["config", "core.hooksPath", dir.path().to_str().unwrap()]);
        std::fs::copy(&script, dir.path().join("post-index-change")).unwrap();
        std::fs::write(root.join(".gitattributes"), "* diff=x\n").unwrap();
        change(&root);
        let opened = Repository::open(&root).unwrap();
        opened.status().unwrap();
        opened.index().unwrap();
        opened.ask("rev-list", &["rev-list", "--count", "HEAD"]).unwrap();
        assert!(!mark.exists(), "{setting}");
    }
}

#[test]
fn a_large_honest_repository_answers_with_its_threads() {
    if !has_git() {
        return;
    }
    let dir = TestDir::new();
    let root = repository(&dir);
    for number in 0..1_500 {
        std::fs::write(root.join(format!("f{number}")), "x").unwrap();
    }
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "many"]);
    git(&root, &["config", "core.preloadIndex", "true"]);
    let status = String::from_utf8(Repository::open(&root).unwrap().status().unwrap()).unwrap();
    assert!(!status.contains(".M") && status.contains("branch.head"), "{status}");
}
