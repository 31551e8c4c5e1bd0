//! `edit` and `write`.

use crate::tools::fixture::fixture;
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;

const FILE: &str = "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";

#[test]
fn an_exact_replacement_changes_the_one_place_and_keeps_the_mode() {
    let mut fixture = fixture(&[("src/lib.rs", FILE)]);
    let path = fixture.root().join("src/lib.rs");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    let edited = fixture.ok("edit", &json!({"path": "src/lib.rs", "old": "a - b", "new": "a + b"}));
    assert_eq!(edited, json!({"files": [{"path": "src/lib.rs", "action": "changed", "replacements": 1}]}));
    assert_eq!(fixture.text("src/lib.rs"), FILE.replace("a - b", "a + b"));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o750);
}

#[test]
fn a_text_that_stands_there_more_than_once_needs_all() {
    let mut fixture = fixture(&[("f", "x = 1\ny = 1\n")]);
    let error = fixture.error("edit", &json!({"path": "f", "old": "= 1", "new": "= 2"}));
    assert!(error.contains("`old` occurs there 2 times, at lines 1, 2"), "{error}");
    assert_eq!(fixture.text("f"), "x = 1\ny = 1\n");
    let edited = fixture.ok("edit", &json!({"path": "f", "old": "= 1", "new": "= 2", "all": true}));
    assert_eq!(edited["files"][0]["replacements"], 2);
    assert_eq!(fixture.text("f"), "x = 2\ny = 2\n");
}

#[test]
fn a_near_miss_is_shown_so_that_it_can_be_copied() {
    let mut fixture = fixture(&[("src/lib.rs", FILE)]);
    let error = fixture.error("edit", &json!({"path": "src/lib.rs", "old": "\ta - b\n", "new": "x"}));
    assert!(error.contains("lines 2 to 2, which differ from `old` in white space only, are \"    a - b\""), "{error}");
    let error = fixture.error("edit", &json!({"path": "src/lib.rs", "old": "fn add(a: i64, b: i64)", "new": "x"}));
    assert!(error.contains("the nearest ones, are \"fn add(a: i32, b: i32) -> i32 {\""), "{error}");
    assert_eq!(fixture.text("src/lib.rs"), FILE);
}

#[test]
fn a_patch_over_several_files_is_applied_whole_or_not_at_all() {
    let mut fixture = fixture(&[("a", "one\ntwo\n"), ("gone", "bye\n")]);
    let create = "--- /dev/null\n+++ b/deep/new\n@@ -0,0 +1 @@\n+hello\n";
    let remove = "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n";
    let good = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n";
    let bad = "--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n";
    let error = fixture.error("edit", &json!({"patch": format!("{good}{create}{remove}{bad}")}));
    assert!(error.contains("`b` does not exist"), "{error}");
    assert_eq!(fixture.text("a"), "one\ntwo\n");
    assert!(!fixture.root().join("deep").exists() && fixture.root().join("gone").exists());
    let edited = fixture.ok("edit", &json!({"patch": format!("{good}{create}{remove}")}));
    let actions: Vec<&str> =
        edited["files"].as_array().unwrap().iter().map(|f| f["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["changed", "created", "removed"]);
    assert_eq!((fixture.text("a").as_str(), fixture.text("deep/new").as_str()), ("one\nTWO\n", "hello\n"));
    assert!(!fixture.root().join("gone").exists());
}

#[test]
fn a_patch_that_does_not_fit_says_which_line_and_changes_nothing() {
    let mut fixture = fixture(&[("a", "one\ntwo\nthree\n")]);
    let error = fixture.error("edit", &json!({"patch": "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-2\n+TWO\n"}));
    assert!(
        error.contains("`a` was not changed: hunk 1 of `a`: line 2 of the file is `two`, the patch expects `2`"),
        "{error}"
    );
    let error = fixture.error("edit", &json!({"patch": "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"}));
    assert!(error.contains("the patch creates it, and it is there already"), "{error}");
    let error = fixture.error("edit", &json!({"patch": "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"}));
    assert!(error.contains("leaves lines of it"), "{error}");
    assert_eq!(fixture.text("a"), "one\ntwo\nthree\n");
}

#[test]
fn write_makes_folders_and_tells_a_new_file_from_an_old_one() {
    let mut fixture = fixture(&[]);
    let new = fixture.ok("write", &json!({"path": "a/b/c.txt", "content": "1\n2\n"}));
    assert_eq!(new, json!({"path": "a/b/c.txt", "created": true, "bytes": 4, "lines": 2}));
    let absolute = fixture.root().join("a/b/c.txt");
    let old = fixture.ok("write", &json!({"path": absolute, "content": ""}));
    assert_eq!((&old["path"], &old["created"]), (&json!("a/b/c.txt"), &json!(false)));
    assert_eq!(fixture.text("a/b/c.txt"), "");
}
