//! `remember` and `recall`.

use crate::tools::fixture::{call, fixture};
use serde_json::json;
use tripwire_agent::tools::{Memories, decode};
use tripwire_core::input::Permission;

#[test]
fn mem_1_a_note_comes_back_exactly_and_its_summary_points_to_it() {
    let mut fixture = fixture(&[]);
    let note = "line\r\n\ttab \u{1f600} é\n".repeat(4_000);
    let kept = fixture.ok("remember", &json!({"text": note, "summary": "what was tried"}));
    let pointer = kept["pointer"].as_str().unwrap();
    let (mut whole, mut offset) = (String::new(), 0);
    loop {
        let page = fixture.ok("recall", &json!({"pointer": pointer, "offset": offset}));
        whole.push_str(page["content"].as_str().unwrap());
        let Some(next) = page["next_offset"].as_u64() else { break };
        offset = next;
    }
    assert_eq!(whole, note);
    let listed = fixture.ok("recall", &json!({}));
    assert_eq!(listed["known"], json!([{"pointer": pointer, "summary": "what was tried"}]));
    let short = fixture.ok("recall", &json!({"pointer": &pointer[..20], "max_bytes": 4}));
    assert_eq!((&short["content"], &short["pointer"]), (&json!("line"), &json!(pointer)));
}

#[test]
fn mem_1_what_is_missing_damaged_or_no_pointer_is_an_error() {
    let mut fixture = fixture(&[]);
    assert!(fixture.error("recall", &json!({"pointer": "nonsense"})).contains("is not a memory pointer"));
    assert!(fixture.error("recall", &json!({"pointer": "mem:sha256:abcd"})).contains("nothing is stored under"));
    let kept = fixture.ok("remember", &json!({"text": "true words"}));
    let pointer = kept["pointer"].as_str().unwrap().to_owned();
    let hex = pointer.trim_start_matches("mem:sha256:");
    let path = fixture.root().join(".geometry/memory/sha256").join(&hex[..2]).join(&hex[2..]);
    std::fs::write(path, "other words").unwrap();
    assert!(fixture.error("recall", &json!({"pointer": pointer})).contains("is damaged"));
}

#[test]
fn perm_1_private_memories_need_their_permission_and_are_refused_without_it() {
    let mut fixture = fixture(&[]);
    let secret = fixture.ok("remember", &json!({"text": "secret", "private": true}))["pointer"].clone();
    let open = fixture.ok("remember", &json!({"text": "open"}))["pointer"].clone();
    let needs = |fixture: &crate::tools::fixture::Fixture, tool: &str, arguments| {
        let call = call(tool, &arguments);
        decode(&call, fixture.registry.entries()).unwrap().meaning(&fixture.files, &fixture.memory).permissions
    };
    let private = Permission::CanAccessPrivateMemories;
    assert!(needs(&fixture, "recall", json!({"pointer": secret})).contains(&private));
    assert!(!needs(&fixture, "recall", json!({"pointer": open})).contains(&private));
    assert!(needs(&fixture, "remember", json!({"text": "x"})).contains(&Permission::CanWriteMemories));
    assert!(fixture.error("recall", &json!({"pointer": secret})).contains("is private"));
    assert_eq!(fixture.ok("recall", &json!({}))["known"].as_array().unwrap().len(), 1);
    fixture.memories = Memories::All;
    assert_eq!(fixture.ok("recall", &json!({"pointer": secret}))["content"], "secret");
    assert_eq!(fixture.ok("recall", &json!({}))["known"].as_array().unwrap().len(), 2);
}
