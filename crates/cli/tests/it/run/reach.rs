//! What is out of the client's reach under `tripwire run`: the guard's files, its key, its settings, its socket.

use crate::run::fixture::RunFixture;

#[test]
fn ctrl_3_the_clients_processes_cannot_write_the_guards_files_nor_read_its_key() {
    let fixture = RunFixture::new(
        "begin; tool 'echo a'
         { echo x >> .geometry/MANIFEST.yaml && echo wrote-manifest
           rm -rf .geometry/journal && echo removed-journal
           mv .geometry elsewhere && echo moved
           touch .geometry/STOP && echo made-stop
           echo x >> \"$2\" && echo wrote-settings
           rm -f \"$guard/tripwire\" && echo removed-program
           cat $HOME/.local/state/tripwire/keys/journal.key && echo read-key
           cat .geometry/MANIFEST.yaml > /dev/null && echo read-manifest; } >> result 2> /dev/null
         finish; exit 0",
    );
    let ran = fixture.run(&[]);
    ran.ended(0);
    let result = std::fs::read_to_string(fixture.place().join("result")).unwrap();
    if ran.report["guard"]["shielded"] == false {
        eprintln!("SKIPPED, NOT TESTED: this system keeps no path from the client's processes");
        assert!(ran.stderr.contains("tamper-evident, not tamper-proof"), "{}", ran.stderr);
        return;
    }
    assert_eq!(result, "read-manifest\n", "the manifest may be read, and nothing else is possible");
}

#[test]
fn ctrl_3_only_the_runs_own_hook_is_taken_in() {
    // The hooks that a person has installed for all runs call as well, and so may an agent's own program.
    let fixture = RunFixture::new(
        "begin; ln \"$guard/tripwire\" ./mine || cp \"$guard/tripwire\" ./mine
         for i in 1 2 3 4 5 6; do
           printf '{\"session_id\":\"s\",\"cwd\":\"%s\",\"hook_event_name\":\"PostToolUse\",\"tool_name\":\"Bash\",\"tool_input\":\
         {\"command\":\"echo tick\"},\"tool_response\":{\"stdout\":\"tick\"}}' \"$PWD\" | ./mine hook claude >> answers || exit 9
         done; rm mine; tool 'echo tick'; tool 'echo tock'; finish; exit 0",
    );
    let ran = fixture.run(&[]);
    ran.ended(0);
    assert_eq!(std::fs::read_to_string(fixture.place().join("answers")).unwrap(), "", "it has no objection");
    assert!(ran.report["steps"].as_u64().unwrap() <= 4, "and nothing counts twice: {}", ran.stderr);
    assert_eq!(fixture.home_text("told"), "", "no loop was seen");
}

#[test]
fn ctrl_3_an_agent_that_asks_to_change_the_guard_is_refused_and_it_is_logged() {
    let fixture = RunFixture::new(
        "begin; n=1; input='\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\".geometry/MANIFEST.yaml\",\"content\":\"x\"},\"tool_use_id\":\"w\"'
         event PreToolUse \"$input\" >> answer; tool 'tripwire resume'; finish; exit 0",
    );
    let ran = fixture.run(&[]);
    ran.ended(0);
    assert!(std::fs::read_to_string(fixture.place().join("answer")).unwrap().contains("\"deny\""));
    assert!(fixture.home_text("refused").contains("\"deny\""), "an agent does not use people's controls");
    let log = std::fs::read_to_string(fixture.geometry("safety_log.json")).unwrap();
    assert!(log.contains("PERMISSION_DENIED"), "{log}");
}
