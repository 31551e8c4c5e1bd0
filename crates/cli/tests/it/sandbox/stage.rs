//! Staged runs: the workspace stays as it was until exactly the reviewed change set is applied; as root and as an ordinary user.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::sandbox::host::{Host, everybody, parse};
use serde_json::Value;

const WORK: &str = "echo new > added; echo more >> kept; rm -r gone; mkdir -p deep/er && echo x > deep/er/f; \
                    ln -s added link; chmod 700 mode; rm -r swap && echo file > swap; rm -rf again && mkdir again && echo y > again/z";

fn prepared(who: crate::sandbox::host::Who) -> Host {
    let host = Host::new(who);
    let made = host
        .command("bash")
        .args(["-c", "cd ws && echo old > kept && mkdir gone swap again && echo a > gone/a && echo b > swap/b && echo c > again/c && echo m > mode && chmod 644 mode"])
        .status()
        .expect("bash");
    assert!(made.success());
    host
}

fn stage(host: &Host, verb: &str, more: &[&str]) -> std::process::Output {
    let workspace = host.ws().display().to_string();
    host.verb(&[&["sandbox", verb, "--json", "--workspace", &workspace], more].concat())
}

fn listed(diff: &Value) -> Vec<String> {
    let changes = diff["changes"].as_array().expect("changes");
    changes
        .iter()
        .map(|change| format!("{} {}", change["kind"].as_str().unwrap_or(""), change["path"].as_str().unwrap_or("")))
        .collect()
}

#[test]
fn box_3_staged_writes_are_shown_applied_and_leave_nothing_behind() {
    for who in everybody() {
        let host = prepared(who);
        let answer = host.exec_with(&["--stage"], WORK);
        assert_eq!(answer["exit_code"], 0, "{who:?}: {answer}");
        assert_eq!(fs::read_to_string(host.ws().join("kept")).expect("still there"), "old\n", "{who:?}");
        assert!(!host.ws().join("added").exists() && host.ws().join("gone/a").exists(), "{who:?}");
        let diff = parse(&stage(&host, "diff", &[]));
        let wanted = [
            "add added",
            "delete again/c",
            "add again/z",
            "add deep",
            "add deep/er",
            "add deep/er/f",
            "delete gone",
            "delete gone/a",
            "modify kept",
            "add link",
            "modify mode",
            "modify swap",
            "delete swap/b",
        ];
        assert_eq!(listed(&diff), wanted, "{who:?}");
        let digest = diff["digest"].as_str().expect("a digest").to_owned();
        assert_eq!(answer["stage"]["digest"], digest.as_str(), "{who:?}");
        let applied = stage(&host, "apply", &["--digest", &digest]);
        assert!(applied.status.success(), "{who:?}: {}", String::from_utf8_lossy(&applied.stderr));
        assert_eq!(fs::read_to_string(host.ws().join("kept")).expect("kept"), "old\nmore\n");
        assert_eq!(fs::read_to_string(host.ws().join("swap")).expect("swap"), "file\n");
        assert_eq!(fs::metadata(host.ws().join("mode")).expect("mode").permissions().mode() & 0o777, 0o700);
        assert!(!host.ws().join("gone").exists() && !host.ws().join("again/c").exists());
        assert_eq!(fs::read_link(host.ws().join("link")).expect("link").display().to_string(), "added");
        let again = stage(&host, "diff", &[]);
        assert_eq!(again.status.code(), Some(9), "the stage is gone after it was applied");
    }
}

#[test]
fn box_3_another_digest_and_a_changed_workspace_are_refused() {
    for who in everybody() {
        let host = prepared(who);
        assert_eq!(host.exec_with(&["--stage"], WORK)["exit_code"], 0);
        let digest = parse(&stage(&host, "diff", &[]))["digest"].as_str().expect("a digest").to_owned();
        let wrong = "0".repeat(64);
        assert_eq!(stage(&host, "apply", &["--digest", &wrong]).status.code(), Some(11), "{who:?}");
        fs::write(host.ws().join("kept"), "edited by a person\n").expect("write");
        assert_eq!(stage(&host, "apply", &["--digest", &digest]).status.code(), Some(11), "{who:?}");
        assert_eq!(fs::read_to_string(host.ws().join("kept")).expect("kept"), "edited by a person\n");
        assert!(!host.ws().join("added").exists());
        assert_eq!(stage(&host, "apply", &["--digest", "zz"]).status.code(), Some(2), "{who:?}");
    }
}

#[test]
fn review_1_where_a_review_is_required_apply_is_refused() {
    for who in everybody() {
        let host = prepared(who);
        assert_eq!(host.exec_with(&["--stage"], WORK)["exit_code"], 0);
        let digest = parse(&stage(&host, "diff", &[]))["digest"].as_str().expect("a digest").to_owned();
        fs::write(host.ws().join(".geometry/MANIFEST.yaml"), "review:\n  required: true\n").expect("write");
        let refused = stage(&host, "apply", &["--digest", &digest]);
        assert_eq!(refused.status.code(), Some(11), "{who:?}");
        assert!(!host.ws().join("added").exists());
    }
}

#[test]
fn box_3_runs_add_to_one_stage_and_discard_throws_all_away() {
    for who in everybody() {
        let host = prepared(who);
        assert_eq!(host.exec_with(&["--stage"], "echo one > first")["exit_code"], 0);
        let second = host.exec_with(&["--stage"], "cat first && echo two > second");
        assert_eq!(second["stdout"], "one\n", "{who:?}: {second}");
        assert_eq!(listed(&parse(&stage(&host, "diff", &[]))), ["add first", "add second"]);
        assert!(stage(&host, "discard", &[]).status.success());
        assert!(!host.ws().join("first").exists());
        assert_eq!(stage(&host, "discard", &[]).status.code(), Some(9));
    }
}

#[test]
fn box_3_the_same_work_has_the_same_digest() {
    for who in everybody() {
        let digest = |_: u32| {
            let host = prepared(who);
            host.exec_with(&["--stage"], WORK)["stage"]["digest"].as_str().expect("a digest").to_owned()
        };
        let first = digest(0);
        assert!((1..4).all(|round| digest(round) == first), "{who:?}");
    }
}

#[test]
fn box_1_protected_and_hidden_names_hold_in_a_stage_too() {
    for who in everybody() {
        let host = prepared(who);
        let answer = host.exec_with(
            &["--stage"],
            "cat .env src/deep/.env; echo PWNED > .git/hooks/pre-push; echo PWNED > .mcp.json; mv .git g; mv src s && cat s/deep/.env; rm -rf .geometry; true",
        );
        assert!(!answer["stdout"].as_str().unwrap_or_default().contains("PWNED"), "{who:?}: {answer}");
        let diff = parse(&stage(&host, "diff", &[]));
        let touched = listed(&diff);
        assert!(
            !touched.iter().any(|line| line.contains("hooks") || line.contains("mcp") || line.contains("geometry")),
            "{touched:?}"
        );
    }
}

#[test]
fn box_1_a_link_that_became_a_folder_is_replaced_and_nothing_behind_it_is_touched() {
    for who in everybody() {
        let host = prepared(who);
        let made = host
            .command("bash")
            .args(["-c", "cd ws && ln -s ../outside shared && ln -s .geometry g && touch .geometry/STOP"])
            .status();
        assert!(made.expect("bash").success());
        let script =
            "rm shared g; mkdir shared g; echo mine > shared/victim; echo x > g/STOP; echo x > g/MANIFEST.yaml";
        assert_eq!(host.exec_with(&["--stage"], script)["exit_code"], 0, "{who:?}");
        let diff = parse(&stage(&host, "diff", &[]));
        let wanted = ["modify g", "add g/MANIFEST.yaml", "add g/STOP", "modify shared", "add shared/victim"];
        assert_eq!(listed(&diff), wanted, "{who:?}");
        assert!(diff.to_string().contains("instead of a link to `../outside`"), "{who:?}: {diff}");
        let digest = diff["digest"].as_str().expect("a digest").to_owned();
        let applied = stage(&host, "apply", &["--digest", &digest]);
        assert!(applied.status.success(), "{who:?}: {}", String::from_utf8_lossy(&applied.stderr));
        assert_eq!(fs::read_to_string(host.top.join("outside/victim")).expect("there"), "original\n", "{who:?}");
        assert!(host.ws().join(".geometry/STOP").exists(), "{who:?}");
        assert_eq!(fs::read_to_string(host.ws().join("shared/victim")).expect("new"), "mine\n", "{who:?}");
        assert!(fs::symlink_metadata(host.ws().join("shared")).expect("there").is_dir(), "{who:?}");
    }
}
