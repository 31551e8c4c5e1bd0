//! `read_file` and `list`.

use crate::tools::fixture::fixture;
use serde_json::json;
use std::os::unix::fs::symlink;

#[test]
fn tool_1_a_long_file_is_shown_in_pages_with_the_seeds_fields() {
    let long: String = (1..=1_200).map(|line| format!("line {line}\n")).collect();
    let mut fixture = fixture(&[("long.txt", &long)]);
    let first = fixture.ok("read_file", &json!({"path": "long.txt"}));
    assert_eq!((&first["lines_shown"], &first["lines_remaining"]), (&json!(500), &json!(700)));
    assert_eq!((&first["has_more"], &first["next_offset"]), (&json!(true), &json!(501)));
    assert!(first["content"].as_str().unwrap().ends_with("line 500\n"));
    let last = fixture.ok("read_file", &json!({"path": "long.txt", "offset": 1_001}));
    assert_eq!(
        (&last["lines_shown"], &last["lines_remaining"], &last["has_more"]),
        (&json!(200), &json!(0), &json!(false))
    );
    let few = fixture.ok("read_file", &json!({"path": "long.txt", "offset": 3, "max_lines": 2}));
    assert_eq!(few["content"], "line 3\nline 4\n");
    let greedy = fixture.ok("read_file", &json!({"path": "long.txt", "max_lines": 5_000}));
    assert_eq!(greedy["lines_shown"], 500, "the session's cap holds");
}

#[test]
fn tool_1_a_file_of_500_lines_is_shown_whole() {
    let file: String = (1..=500).map(|line| format!("{line}\n")).collect();
    let mut fixture = fixture(&[("f", &file), ("empty", "")]);
    let shown = fixture.ok("read_file", &json!({"path": "f"}));
    assert_eq!((&shown["content"], &shown["has_more"]), (&json!(file), &json!(false)));
    assert!(shown.get("next_offset").is_none() && shown.get("note").is_none());
    let empty = fixture.ok("read_file", &json!({"path": "empty"}));
    assert_eq!((&empty["content"], &empty["note"]), (&json!(""), &json!("the file is empty")));
    let behind = fixture.ok("read_file", &json!({"path": "f", "offset": 900}));
    assert_eq!((&behind["lines_shown"], &behind["note"]), (&json!(0), &json!("the file has 500 lines")));
}

#[test]
fn tool_1_a_huge_line_is_cut_and_kept_whole_behind_a_pointer() {
    let line = "é".repeat(100_000);
    let mut fixture = fixture(&[("wide.txt", &format!("{line}\nnext\n"))]);
    let shown = fixture.ok("read_file", &json!({"path": "wide.txt"}));
    let content = shown["content"].as_str().unwrap();
    assert!(content.len() <= 32 * 1_024 && line.starts_with(content));
    assert_eq!((&shown["has_more"], &shown["next_offset"]), (&json!(true), &json!(2)));
    let mut whole = String::new();
    let mut offset = 0;
    loop {
        let page = fixture.ok("recall", &json!({"pointer": shown["pointer"], "offset": offset}));
        whole.push_str(page["content"].as_str().unwrap());
        match page["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    assert_eq!(whole, format!("{line}\n"));
}

#[test]
fn tool_1_binary_bytes_and_broken_utf_8_are_told() {
    let mut fixture = fixture(&[]);
    std::fs::write(fixture.root().join("image"), b"\x89PNG\0\0data").unwrap();
    std::fs::write(fixture.root().join("latin"), b"caf\xe9\n").unwrap();
    let error = fixture.error("read_file", &json!({"path": "image"}));
    assert!(error.contains("`image` is not text: a zero byte at 4, 10 bytes in all"), "{error}");
    let latin = fixture.ok("read_file", &json!({"path": "latin"}));
    assert_eq!(latin["content"], "caf\u{fffd}\n");
    assert!(latin["note"].as_str().unwrap().contains("not UTF-8 (byte 3)"));
    let error = fixture.error("edit", &json!({"path": "latin", "old": "caf", "new": "tea"}));
    assert!(error.contains("not UTF-8 at byte 3"), "{error}");
}

#[test]
fn tool_1_a_missing_file_is_told_with_the_names_that_may_be_meant() {
    let mut fixture = fixture(&[("src/parser.rs", ""), ("README.md", "")]);
    let error = fixture.error("read_file", &json!({"path": "parser.rs"}));
    assert!(error.contains("`parser.rs` does not exist; did you mean `src/parser.rs`?"), "{error}");
    let error = fixture.error("read_file", &json!({"path": "REDME.md"}));
    assert!(error.contains("did you mean `README.md`?"), "{error}");
    let error = fixture.error("read_file", &json!({"path": "zzzzzzzzzz"}));
    assert!(error.contains("does not exist\nhint: see what is there with `list`"), "{error}");
    let error = fixture.error("read_file", &json!({"path": "src"}));
    assert!(error.contains("`src` is a folder"), "{error}");
}

#[test]
fn tool_1_a_listing_is_sorted_bounded_and_leaves_out_what_the_project_ignores() {
    let mut fixture = fixture(&[
        (".gitignore", "target/\n"),
        ("target/debug/app", "x"),
        ("b.txt", "12345"),
        ("a/deep/er/file", ""),
        (".git/HEAD", ""),
    ]);
    symlink("b.txt", fixture.root().join("link")).unwrap();
    let listed = fixture.ok("list", &json!({}));
    let paths: Vec<&str> = listed["entries"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [".gitignore", "a/", "a/deep/", "b.txt", "link@"]);
    assert_eq!(listed["entries"][3]["bytes"], 5);
    let below = fixture.ok("list", &json!({"path": "a/deep", "depth": 1}));
    assert_eq!(below["entries"], json!([{"path": "a/deep/er/"}]));
    for number in 0..600 {
        std::fs::write(fixture.root().join(format!("many-{number:03}")), "").unwrap();
    }
    let many = fixture.ok("list", &json!({}));
    assert_eq!((&many["entries_shown"], &many["has_more"]), (&json!(500), &json!(true)));
}

#[test]
fn tool_1_an_empty_listing_gives_guidance_and_a_bad_one_an_error() {
    let mut fixture = fixture(&[("a.txt", "")]);
    std::fs::create_dir(fixture.root().join("empty")).unwrap();
    assert!(fixture.ok("list", &json!({"path": "empty"}))["guidance"].as_str().unwrap().contains("ls -a"));
    assert!(fixture.error("list", &json!({"path": "a.txt"})).contains("is not a folder"));
    assert!(fixture.error("list", &json!({"path": "nowhere"})).contains("does not exist"));
    assert!(fixture.error("list", &json!({"path": ".."})).contains("outside of the workspace"));
}

#[test]
fn run_1_the_same_tree_gives_the_same_bytes() {
    let files = [("src/a.rs", "fn a() {}\n"), ("src/b.rs", "fn b() {}\n"), ("x/y/z.txt", "fn z\n")];
    let mut backwards = files;
    backwards.reverse();
    let (mut one, mut two) = (fixture(&files), fixture(&backwards));
    for (tool, arguments) in [
        ("list", json!({"depth": 5})),
        ("search", json!({"pattern": "fn"})),
        ("read_file", json!({"path": "src/a.rs"})),
        ("edit", json!({"path": "src/a.rs", "old": "a()", "new": "c()"})),
        ("read_file", json!({"path": "nothing"})),
        ("edit", json!({"path": "src/a.rs", "old": "never there", "new": "c()"})),
    ] {
        assert_eq!(one.run(tool, &arguments).text, two.run(tool, &arguments).text, "{tool}");
    }
}
