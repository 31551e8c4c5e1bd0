//! The facts of whole calls, in pairs: what must be seen and what must not.

use super::*;
use alloc::format;
use alloc::vec::Vec;
use tripwire_core::chain::event::{Flag, Flags, Outcome};
use tripwire_core::label::Label;
use tripwire_core::units::Tokens;

fn names(flags: Flags) -> Vec<&'static str> {
    Flag::ALL.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| *name).collect()
}

fn call<'a>(tool: &'a str, args: &'a str, output: &'a str) -> RawCall<'a> {
    RawCall { tool, args, output: Some(output), workspace_root: Some("/w"), ..RawCall::default() }
}

#[test]
fn chain_2_a_call_becomes_its_facts() {
    let raw = RawCall {
        error: Some(false),
        text: Some("let me fix it"),
        ..call("Edit", r#"{"file_path":"/w/src/a.rs"}"#, "updated é")
    };
    let facts = observe(&raw);
    assert_eq!(facts.action.signature, Label::new("Edit(file=a.rs)"));
    assert_eq!(facts.action.target, Label::new("src/a.rs"));
    assert_eq!(names(facts.flags), ["edit"]);
    assert_eq!(facts.outcome, Outcome::default());
    assert_eq!(facts.output_length, Tokens::new(9));
    assert!(facts.result_digest.is_some() && facts.output_hash.is_some() && facts.sketch.is_some());
    assert!(facts.text_sketch.is_some() && facts.error_digest.is_none());
}

#[test]
fn a_call_without_output_has_no_digests_of_it() {
    let facts = observe(&RawCall { tool: "Read", args: "{}", ..RawCall::default() });
    assert_eq!((facts.result_digest, facts.output_hash, facts.sketch), (None, None, None));
    let empty = observe(&call("Read", "{}", ""));
    assert!(empty.result_digest.is_some() && empty.sketch.is_none());
}

#[test]
fn identical_calls_of_real_clients_give_the_same_digest() {
    let codex = |id: &str, time: &str| {
        format!(
            "Chunk ID: {id}\nWall time: {time} seconds\nProcess exited with code 0\nOriginal token count: 2\nOutput:\ntick\n"
        )
    };
    let gemini =
        |pid: u32| format!("<untrusted_context>\nOutput: tick\nProcess Group PGID: {pid}\n</untrusted_context>");
    let digest = |output: &str| observe(&call("Bash", r#"{"command":"echo tick"}"#, output)).result_digest;
    assert_eq!(digest(&codex("198eff", "0.0000")), digest(&codex("abcdef", "1.2500")));
    assert_eq!(digest(&gemini(21106)), digest(&gemini(9)));
    assert_ne!(digest("tick"), digest("tock"));
    let raw = |output: &str| observe(&call("Bash", "x", output)).output_hash;
    assert_ne!(raw(&gemini(21106)), raw(&gemini(9)), "the plain hash keeps what is volatile");
}

#[test]
fn the_order_of_found_files_means_nothing_but_of_other_lines_it_does() {
    let digest = |command: &str, output: &str| observe(&call("Bash", command, output)).result_digest;
    assert_eq!(digest("grep -r x .", "a:x\nb:x\n"), digest("grep -r x .", "b:x\na:x"));
    assert_ne!(digest("cat list", "a\nb"), digest("cat list", "b\na"));
    let tool = |output| observe(&call("Grep", r#"{"pattern":"x"}"#, output)).result_digest;
    assert_eq!(tool("a.rs\nb.rs"), tool("b.rs\na.rs"));
}

#[test]
fn one_error_from_varied_places_has_one_error_digest() {
    let digest = |output: &str| {
        let facts = observe(&RawCall { exit_code: Some(1), ..call("Bash", "cargo build", output) });
        (facts.error_digest, facts.result_digest)
    };
    let (one, one_result) = digest("error: cannot find `x` at src/a.rs:10:5");
    let (other, other_result) = digest("error: cannot find `x` at src/a.rs:99:12");
    assert_eq!(one, other);
    assert_eq!(one_result, other_result, "a line number is no other result");
    let (three, three_ready) = digest("error: 3 of 20 replicas are ready");
    let (four, four_ready) = digest("error: 4 of 20 replicas are ready");
    assert_ne!(three, four, "a count is what an error says");
    assert_ne!(three_ready, four_ready, "a count is");
    assert_ne!(one, digest("error: cannot find `y` at src/a.rs:10:5").0);
}

#[test]
fn every_spelling_of_no_arguments_has_one_digest_and_every_misspelling_another() {
    let digest = |args: &str| observe(&call("page_down", args, "x")).action.args_digest;
    for args in ["", "null", "{}"] {
        assert_eq!(digest(args), digest("{}"));
    }
    for args in [r#"{"":{}}"#, r#"{"arguments":{}}"#] {
        assert_eq!(digest(args), digest(r#"{"":""}"#));
    }
    assert_ne!(digest(r#"{"":""}"#), digest("{}"), "the well-formed call may be the repair of the other");
    assert_ne!(digest(r#"{"n":1}"#), digest("{}"));
}

#[test]
fn only_a_successful_edit_is_an_edit() {
    let flags = |error| names(observe(&RawCall { error, ..call("Write", r#"{"file_path":"a.rs"}"#, "x") }).flags);
    assert_eq!(flags(Some(false)), ["edit"]);
    assert_eq!(flags(Some(true)), ["change"], "it was only meant to be one");
    let shell =
        |command, output| names(observe(&RawCall { exit_code: Some(1), ..call("Bash", command, output) }).flags);
    assert_eq!(shell("sed -i s/a/b/ x", ""), ["change"]);
    assert_eq!(shell("sed -i s/a/b/ x && pytest", "1 failed in 0.1s"), ["edit", "test"]);
}

#[test]
fn a_changed_document_is_docs_and_changed_code_is_not() {
    let flags = |path: &str| names(observe(&call("Edit", &format!(r#"{{"file_path":"{path}"}}"#), "ok")).flags);
    for path in ["README.md", "docs/guide.rst"] {
        assert_eq!(flags(path), ["edit", "docs", "text"], "{path}");
    }
    assert_eq!(flags("docs/conf.yaml"), ["edit", "docs"]);
    for path in ["src/a.rs", "docs/build.py", "mdx.rs"] {
        assert_eq!(flags(path), ["edit"], "{path}");
    }
}

#[test]
fn dirty_1_plain_text_is_known_under_every_clients_tools() {
    let text = |tool: &str, args: &str| {
        let raw = RawCall { workspace_root: Some("/w/src"), ..call(tool, args, "ok") };
        let flags = observe(&raw).flags;
        assert!(flags.has(Flag::Edit), "{tool} {args}");
        flags.has(Flag::Text)
    };
    for (tool, args) in [
        ("Write", r#"{"file_path":"/w/src/notes/a.txt","content":"x"}"#),
        ("write_file", r#"{"file_path":"a.txt","content":"x"}"#),
        ("exec_command", r#"{"cmd":"cat > a.txt <<'EOF'\nx\nEOF"}"#),
        ("apply_patch", r#"{"input":"*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.md\n"}"#),
    ] {
        assert!(text(tool, args), "{tool} {args}");
    }
    for (tool, args) in [
        ("Write", r#"{"file_path":"/w/src/a.py","content":"x"}"#),
        ("Write", r#"{"content":"x"}"#),
        ("move_file", r#"{"path":"a.txt","destination":"a.py"}"#),
        ("exec_command", r#"{"cmd":"cat > a.py <<'EOF'\nx\nEOF"}"#),
        ("apply_patch", r#"{"input":"*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.rs\n"}"#),
        ("apply_patch", r#"{"input":"--- a/b.rs\n+++ /dev/null\n--- a/c.md\n+++ b/c.md\n"}"#),
    ] {
        assert!(!text(tool, args), "{tool} {args}");
    }
}

#[test]
fn an_editor_that_only_looks_is_a_reader() {
    let facts = |command: &str| {
        observe(&call("str_replace_editor", &format!(r#"{{"command":"{command}","path":"/w/a.rs"}}"#), "x"))
    };
    assert_eq!(names(facts("view").flags), ["read"]);
    assert_eq!(facts("view").action.signature, Label::new("str_replace_editor(...)"));
    assert_eq!(names(facts("str_replace").flags), ["edit"]);
}

#[test]
fn tests_that_could_not_be_run_are_no_test_run() {
    let flags = |exit_code| names(observe(&RawCall { exit_code, ..call("Bash", "pytest", "x") }).flags);
    assert!(flags(Some(127)).is_empty());
    assert_eq!(flags(Some(1)), ["test"]);
}

#[test]
fn loop_2_what_a_call_was_for_is_told_from_the_words_of_unknown_tools() {
    let flags = |tool: &str, args: &str| names(observe(&call(tool, args, "x")).flags);
    assert_eq!(flags("create_ticket", r#"{"title":"x"}"#), ["change"]);
    assert_eq!(flags("run_python", r#"{"code":"open('a').write(b)"}"#), ["change"]);
    assert_eq!(flags("ticket_editor", r#"{"action":"view"}"#), Vec::<&str>::new());
    assert_eq!(flags("deep_search", r#"{"query":"who built the first bridge here"}"#), ["ask"]);
    assert_eq!(flags("deep_search", r#"{"query":"bridge https://x.example/a b c d"}"#), Vec::<&str>::new());
    assert_eq!(flags("job_status", r#"{"id":7}"#), ["wait"]);
}

#[test]
fn loop_2_a_message_that_is_its_own_result_brought_nothing_back() {
    let silent = |raw: &RawCall<'_>| observe(raw).flags.has(Flag::Silent);
    assert!(silent(&call("say", r#"{"text":"please look  again","to":"b"}"#, "please\nlook again")));
    assert!(!silent(&call("repeat", r#"{"text":"7 times"}"#, "7")), "a short answer may be an answer");
    assert!(!silent(&call("say", r#"{"text":"please look again"}"#, "I did look again")));
    assert!(!silent(&RawCall { error: Some(true), ..call("say", r#"{"text":"please"}"#, "please") }));
    assert!(silent(&RawCall { output: None, ..call("say", "{}", "") }), "nobody saw its end");
    assert!(!silent(&RawCall { output: None, error: Some(false), ..call("say", "{}", "") }));
}

#[test]
fn loop_2_a_beginning_counts_as_the_same_only_with_the_same_whole() {
    let digest = |whole| observe(&RawCall { whole, ..call("Read", "{}", "the same page") }).result_digest;
    assert_eq!(digest(Some("a")), digest(Some("a")));
    assert_ne!(digest(Some("a")), digest(Some("b")));
    assert_ne!(digest(Some("a")), digest(None));
}

#[test]
fn loop_2_an_observer_counts_what_is_new_and_the_plain_function_does_not() {
    let mut observer = Observer::default();
    let raw = call("web_search", r#"{"query":"length of the river"}"#, "the river is long and wide and old");
    let gain = |facts: Facts| facts.gain.map(|gain| (gain.total, gain.new));
    assert_eq!(gain(observer.observe(&raw)), Some((7, 5)));
    assert_eq!(gain(observer.observe(&raw)), Some((7, 0)));
    assert_eq!(gain(observe(&raw)), None);
}

#[test]
fn loop_2_error_cut_texts_and_bare_exit_codes_prove_nothing() {
    let failed =
        |output, whole| observe(&RawCall { error: Some(true), whole, ..call("Bash", "make", output) }).error_digest;
    assert_eq!(failed("error: no rule", None), failed("error: no rule", None));
    assert_ne!(failed("error: no rule", Some("a")), failed("error: no rule", Some("b")), "only the heads are equal");
    let kind =
        |whole| observe(&RawCall { error: Some(true), whole, ..call("Bash", "make", "error: no rule") }).error_kind;
    assert_ne!(kind(Some("a")), kind(Some("b")), "nor are they of one kind");
    assert_ne!(failed("HTTP 400", None), failed("HTTP 404", None));
    assert_eq!(failed("a.py:3: name is not defined", None), failed("a.py:17: name is not defined", None));
    for status in ["Exit code 1", "Command failed with exit code 2", "exit status: 3"] {
        assert_eq!(failed(status, None), None, "{status}");
    }
}

#[test]
fn loop_3_empty_input_to_a_program_that_runs_is_a_look_and_a_typed_line_is_not() {
    let waits = |tool, args| observe(&call(tool, args, "x")).flags.has(tripwire_core::chain::event::Flag::Wait);
    for (tool, args) in [
        ("write_stdin", r#"{"session_id":1,"chars":""}"#),
        ("write_stdin", r#"{"session_id":1}"#),
        ("mcp__term__terminal_process", r#"{"id":"a","input":""}"#),
        ("BashOutput", r#"{"bash_id":"1"}"#),
        ("TaskOutput", r#"{"task_id":"1","block":true}"#),
        ("Bash", r#"{"command":"sleep 5"}"#),
    ] {
        assert!(waits(tool, args), "{tool} {args}");
    }
    for (tool, args) in [
        ("write_stdin", r#"{"session_id":1,"chars":"ls\n"}"#),
        ("Bash", r#"{"command":"ls"}"#),
        ("Read", r#"{"file_path":"a"}"#),
    ] {
        assert!(!waits(tool, args), "{tool} {args}");
    }
}

#[test]
fn loop_3_a_tool_that_is_told_to_wait_waits_and_one_that_is_told_not_to_does_not() {
    let waits = |args: &str| observe(&call("get_job", args, "x")).flags.has(Flag::Wait);
    for args in [
        r#"{"id":"j1","wait_seconds":15}"#,
        r#"{"id":"j1","wait_ms":"2500"}"#,
        r##"{"id":"j1","wait_for":"#done"}"##,
        r#"{"code":"import time; time.sleep(30); print(job())"}"#,
    ] {
        assert!(waits(args), "{args}");
    }
    for args in [
        r#"{"id":"j1"}"#,
        r#"{"id":"j1","wait_seconds":0}"#,
        r#"{"id":"j1","wait":false}"#,
        r#"{"id":"j1","note":"no sleep, no wait"}"#,
    ] {
        assert!(!waits(args), "{args}");
    }
}

#[test]
fn loop_3_a_command_line_that_sleeps_in_the_words_of_windows_waits() {
    let waits = |command: &str| observe(&call("Bash", command, "x")).flags.has(Flag::Wait);
    for command in ["Start-Sleep -Seconds 15", "start-sleep 5; Get-Job", "timeout /t 15"] {
        assert!(waits(command), "{command}");
    }
    for command in ["timeout 15 cargo build", "echo Start-Sleep", "Get-Job"] {
        assert!(!waits(command), "{command}");
    }
}

#[test]
fn loop_2_an_id_alone_is_an_answer_and_one_among_words_is_not() {
    let digest = |output: &str| observe(&call("new_id", "{}", output)).result_digest;
    let (one, other) = ("6f1c0b1e-0d3a-4c55-9b1e-aa00bb11cc22", "0f1c0b1e-0d3a-4c55-9b1e-aa00bb11cc23");
    assert_ne!(digest(one), digest(other));
    assert_ne!(digest(&format!("[{one}]")), digest(&format!("[{other}]")));
    assert_eq!(digest(&format!("created {one} for you")), digest(&format!("created {other} for you")));
}

#[test]
fn loop_2_a_command_in_another_folder_is_another_question_and_another_tool_has_no_folder() {
    let digest = |tool: &str, folder: Option<&str>| {
        observe(&RawCall { folder, ..call(tool, r#"{"command":"ls"}"#, "a b") }).result_digest
    };
    assert_eq!(digest("Bash", Some("/w/a")), digest("Bash", Some("/w/a")));
    assert_ne!(digest("Bash", Some("/w/a")), digest("Bash", Some("/w/b")));
    assert_ne!(digest("Bash", Some("/w/a")), digest("Bash", None));
    assert_eq!(digest("get_page", Some("/w/a")), digest("get_page", None));
}

#[test]
fn loop_2_echo_a_line_below_a_message_does_not_make_it_an_answer() {
    let said = "Your booking for two people on the evening train to the coast is confirmed and paid in full today";
    let silent = |output: &str| {
        let args = alloc::format!(r#"{{"content":"{said}"}}"#);
        observe(&call("respond", &args, output)).flags.has(tripwire_core::chain::event::Flag::Silent)
    };
    assert!(silent(said));
    assert!(silent(&alloc::format!("{said}\nFinished in 3.21s")));
    assert!(!silent(&alloc::format!(
        "{said}\nThank you, and please move it to the morning train of the day after, for three"
    )));
}
