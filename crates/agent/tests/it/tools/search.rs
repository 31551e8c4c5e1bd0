//! `search`.

use crate::tools::fixture::fixture;
use serde_json::json;

const GUIDANCE: &str = "no matches found; try `ls`, check alternate naming, or broaden filters";

#[test]
fn tool_1_a_search_without_a_match_returns_the_seeds_guidance() {
    let mut fixture = fixture(&[("a.txt", "hello\n")]);
    let none = fixture.ok("search", &json!({"pattern": "absent"}));
    assert_eq!((&none["matches"], &none["files_searched"]), (&json!([]), &json!(1)));
    assert!(none["guidance"].as_str().unwrap().starts_with(GUIDANCE), "{none}");
    let narrow = fixture.ok("search", &json!({"pattern": "hello", "glob": "*.rs"}));
    assert!(narrow["guidance"].as_str().unwrap().contains("leave out `path` and `glob`"), "{narrow}");
}

#[test]
fn tool_1_a_search_with_a_match_gives_lines_in_order_and_no_guidance() {
    let mut fixture = fixture(&[
        ("b/two.rs", "x\nfn hello()\n"),
        ("a.txt", "hello\nHello hello\n"),
        ("ignored/c", "hello"),
        (".gitignore", "ignored\n"),
        (".geometry/journal/x", "hello"),
        (".git/x", "hello"),
        (".env", "hello=secret"),
    ]);
    let found = fixture.ok("search", &json!({"pattern": "hello"}));
    let lines: Vec<String> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| format!("{}:{}:{}", hit["path"].as_str().unwrap(), hit["line"], hit["text"].as_str().unwrap()))
        .collect();
    assert_eq!(lines, ["a.txt:1:hello", "a.txt:2:Hello hello", "b/two.rs:2:fn hello()"]);
    assert!(found.get("guidance").is_none());
    assert!(!found.to_string().contains("secret"));
    let insensitive = fixture.ok("search", &json!({"pattern": "^HELLO$", "ignore_case": true}));
    assert_eq!(insensitive["matches_shown"], 1);
    let literal = fixture.ok("search", &json!({"pattern": "hello()", "literal": true, "glob": "*.rs"}));
    assert_eq!(literal["matches_shown"], 1);
    let one_file = fixture.ok("search", &json!({"pattern": "hello", "path": "b/two.rs"}));
    assert_eq!(one_file["files_searched"], 1);
    let folder = fixture.ok("search", &json!({"pattern": "hello", "path": "b"}));
    assert_eq!(folder["matches"][0]["path"], "b/two.rs");
}

#[test]
fn tool_1_matches_are_bounded_in_number_and_length() {
    let many = "needle\n".repeat(1_000);
    let wide = format!("needle {}\n", "é".repeat(5_000));
    let mut fixture = fixture(&[("many", &many), ("wide", &wide)]);
    let found = fixture.ok("search", &json!({"pattern": "needle", "path": "many"}));
    assert_eq!((&found["matches_shown"], &found["has_more"]), (&json!(200), &json!(true)));
    let few = fixture.ok("search", &json!({"pattern": "needle", "path": "many", "max_matches": 3}));
    assert_eq!((&few["matches_shown"], &few["has_more"]), (&json!(3), &json!(true)));
    let cut = fixture.ok("search", &json!({"pattern": "needle", "path": "wide"}));
    assert!(cut["matches"][0]["text"].as_str().unwrap().len() < 420);
}

#[test]
fn tool_1_a_bad_pattern_is_explained() {
    let mut fixture = fixture(&[("a", "x")]);
    let error = fixture.error("search", &json!({"pattern": "fn (unclosed"}));
    assert!(error.contains("`fn (unclosed` is not a regular expression: unclosed group"), "{error}");
    assert!(error.contains("set `literal` to true"), "{error}");
    let error = fixture.error("search", &json!({"pattern": "x", "glob": "a{b"}));
    assert!(error.contains("`a{b`"), "{error}");
    let error = fixture.error("search", &json!({"pattern": "(a{1000}){1000}"}));
    assert!(error.contains("is not a regular expression"), "{error}");
    assert!(fixture.error("search", &json!({"pattern": "x", "path": "nowhere"})).contains("does not exist"));
}

#[test]
fn tool_1_binary_files_and_pipes_do_not_disturb_a_search() {
    let mut fixture = fixture(&[("a.txt", "needle\n")]);
    std::fs::write(fixture.root().join("binary"), b"\0needle\n").unwrap();
    let pipe = fixture.root().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(fixture.root().join("latin"), b"needle caf\xe9\n").unwrap();
    let found = fixture.ok("search", &json!({"pattern": "needle"}));
    let paths: Vec<&str> = found["matches"].as_array().unwrap().iter().map(|m| m["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.txt", "latin"]);
}

#[test]
fn term_1_a_search_ends_at_the_deadline_and_says_so() {
    let mut fixture = fixture(&[("a", "needle\n"), ("b", "needle\n")]);
    fixture.deadline = Some(std::time::Instant::now());
    let cut = fixture.ok("search", &json!({"pattern": "needle"}));
    assert_eq!((&cut["has_more"], &cut["files_searched"]), (&json!(true), &json!(0)));
    assert!(cut["note"].as_str().unwrap().contains("cut off at its time limit"), "{cut}");
    fixture.deadline = std::time::Instant::now().checked_add(std::time::Duration::from_secs(600));
    let whole = fixture.ok("search", &json!({"pattern": "needle"}));
    assert_eq!((&whole["has_more"], &whole["matches_shown"]), (&json!(false), &json!(2)));
}
