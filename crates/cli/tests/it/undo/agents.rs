//! Steps of `run` and of our own loop.

use crate::agent::fixture::{AgentFixture, call, finish as claims_done, shell};
use crate::run::fixture::{RunFixture, finish, output};
use serde_json::json;
use std::fs;

#[test]
fn undo_9_a_step_under_run_is_taken_back_and_the_store_is_out_of_the_clients_sight() {
    let script = "begin; tool 'sh clean.sh'; tool 'ls -R $HOME/.local/state/tripwire/undo > seen 2>&1'; finish";
    let fixture = RunFixture::new(script);
    fs::create_dir(fixture.place().join("drafts")).unwrap();
    fs::write(fixture.place().join("drafts/work"), "hours").unwrap();
    fs::write(fixture.place().join("clean.sh"), "rm -r drafts\n").unwrap();
    finish(fixture.command(&[]).spawn().unwrap());
    assert!(!fixture.place().join("drafts").exists());
    let seen = fs::read_to_string(fixture.place().join("seen")).unwrap_or_default();
    assert!(!seen.contains("packs"), "{seen}");
    let (code, said) = output(fixture.verb(&["undo", "--all", "--yes"]));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(fs::read_to_string(fixture.place().join("drafts/work")).unwrap(), "hours");
}

#[test]
fn undo_9_while_a_run_works_it_is_paused_first() {
    let fixture =
        RunFixture::new("begin; i=0; while [ $i -lt 400 ]; do i=$((i+1)); tool \"sh add.sh $i\"; sleep 0.05; done");
    fs::write(fixture.place().join("add.sh"), "echo $1 >> trace\n").unwrap();
    let child = fixture.command(&[]).spawn().unwrap();
    fixture.wait_for("trace");
    std::thread::sleep(std::time::Duration::from_secs(1));
    let (code, said) = output(fixture.verb(&["undo", "--all", "--yes"]));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("the running agent is paused"), "{said}");
    let (code, said) = output(fixture.verb(&["stop"]));
    assert_eq!(code, Some(0), "{said}");
    finish(child).ended(10);
}

#[test]
fn undo_9_steps_of_our_own_loop_are_taken_back() {
    let fixture = AgentFixture::new();
    fixture.file("keep.txt", "old").file("gone/work", "hours").file("clean.sh", "rm -r gone; echo made > made.txt\n");
    let answers = [
        call("write", json!({"path": "keep.txt", "content": "new"})),
        shell("cat keep.txt | head -1"),
        shell("sh clean.sh"),
        claims_done(),
        claims_done(),
        claims_done(),
    ];
    fixture.agent(&answers, &[]);
    assert!(!fixture.work().join("gone").exists());
    let list = fixture.run(&["undo", "--list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(list["steps"].as_array().unwrap().len(), 2, "{list}");
    fixture.run(&["undo", "--yes"]).ended(0);
    assert_eq!((fixture.read("gone/work").as_str(), fixture.read("keep.txt").as_str()), ("hours", "new"));
    fixture.run(&["undo", "--all", "--yes"]).ended(0);
    assert_eq!(fixture.read("keep.txt"), "old");
    assert!(!fixture.work().join("made.txt").exists());
}
