//! `search`.

use crate::bed::bed;
use serde_json::json;

const GUIDANCE: &str = "no matches found; try `ls`, check alternate naming, or broaden filters";

#[test]
fn tool_1_a_search_without_a_match_returns_the_seeds_guidance() {
    let mut bed = bed(&[("a.txt", "hello\n")]);
    let none = bed.ok("search", &json!({"pattern": "absent"}));
    assert_eq!((&none["matches"], &none["files_searched"]), (&json!([]), &json!(1)));
    assert!(none["guidance"].as_str().unwrap().starts_with(GUIDANCE), "{none}");
    let narrow = bed.ok("search", &json!({"pattern": "hello", "glob": "*.rs"}));
    assert!(narrow["guidance"].as_str().unwrap().contains("leave out `path` and `glob`"), "{narrow}");
}

#[test]
fn tool_1_a_search_with_a_match_gives_lines_in_order_and_no_guidance() {
    let mut bed = bed(&[
        ("b/two.rs", "x\nfn hello()\n"),
        ("a.txt", "hello\nHello hello\n"),
        ("ignored/c", "hello"),
        (".gitignore", "ignored\n"),
        (".geometry/journal/x", "hello"),
        (".git/x", "hello"),
        (".env", "hello=secret"),
    ]);
    let found = bed.ok("search", &json!({"pattern": "hello"}));
    let lines: Vec<String> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| format!("{}:{}:{}", hit["path"].as_str().unwrap(), hit["line"], hit["text"].as_str().unwrap()))
        .collect();
    assert_eq!(lines, ["a.txt:1:hello", "a.txt:2:Hello hello", "b/two.rs:2:fn hello()"]);
    assert!(found.get("guidance").is_none());
    assert!(!found.to_string().contains("secret"));
    let insensitive = bed.ok("search", &json!({"pattern": "^HELLO$", "ignore_case": true}));
    assert_eq!(insensitive["matches_shown"], 1);
    let literal = bed.ok("search", &json!({"pattern": "hello()", "literal": true, "glob": "*.rs"}));
    assert_eq!(literal["matches_shown"], 1);
    let one_file = bed.ok("search", &json!({"pattern": "hello", "path": "b/two.rs"}));
    assert_eq!(one_file["files_searched"], 1);
    let folder = bed.ok("search", &json!({"pattern": "hello", "path": "b"}));
    assert_eq!(folder["matches"][0]["path"], "b/two.rs");
}

#[test]
fn tool_1_matches_are_bounded_in_number_and_length() {
    let many = "needle\n".repeat(1_000);
    let wide = format!("needle {}\n", "é".repeat(5_000));
    let mut bed = bed(&[("many", &many), ("wide", &wide)]);
    let found = bed.ok("search", &json!({"pattern": "needle", "path": "many"}));
    assert_eq!((&found["matches_shown"], &found["has_more"]), (&json!(200), &json!(true)));
    let few = bed.ok("search", &json!({"pattern": "needle", "path": "many", "max_matches": 3}));
    assert_eq!((&few["matches_shown"], &few["has_more"]), (&json!(3), &json!(true)));
    let cut = bed.ok("search", &json!({"pattern": "needle", "path": "wide"}));
    assert!(cut["matches"][0]["text"].as_str().unwrap().len() < 420);
}

#[test]
fn tool_1_a_bad_pattern_is_explained() {
    let mut bed = bed(&[("a", "x")]);
    let error = bed.error("search", &json!({"pattern": "fn (unclosed"}));
    assert!(error.contains("`fn (unclosed` is not a regular expression: unclosed group"), "{error}");
    assert!(error.contains("set `literal` to true"), "{error}");
    let error = bed.error("search", &json!({"pattern": "x", "glob": "a{b"}));
    assert!(error.contains("`a{b`"), "{error}");
    let error = bed.error("search", &json!({"pattern": "(a{1000}){1000}"}));
    assert!(error.contains("is not a regular expression"), "{error}");
    assert!(bed.error("search", &json!({"pattern": "x", "path": "nowhere"})).contains("does not exist"));
}

#[test]
fn tool_1_binary_files_and_pipes_do_not_disturb_a_search() {
    let mut bed = bed(&[("a.txt", "needle\n")]);
    std::fs::write(bed.root().join("binary"), b"\0needle\n").unwrap();
    let pipe = bed.root().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(bed.root().join("latin"), b"needle caf\xe9\n").unwrap();
    let found = bed.ok("search", &json!({"pattern": "needle"}));
    let paths: Vec<&str> = found["matches"].as_array().unwrap().iter().map(|m| m["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.txt", "latin"]);
}

#[test]
fn term_1_a_search_ends_at_the_deadline_and_says_so() {
    let mut bed = bed(&[("a", "needle\n"), ("b", "needle\n")]);
    bed.deadline = Some(std::time::Instant::now());
    let cut = bed.ok("search", &json!({"pattern": "needle"}));
    assert_eq!((&cut["has_more"], &cut["files_searched"]), (&json!(true), &json!(0)));
    assert!(cut["note"].as_str().unwrap().contains("cut off at its time limit"), "{cut}");
    bed.deadline = std::time::Instant::now().checked_add(std::time::Duration::from_secs(600));
    let whole = bed.ok("search", &json!({"pattern": "needle"}));
    assert_eq!((&whole["has_more"], &whole["matches_shown"]), (&json!(false), &json!(2)));
}
