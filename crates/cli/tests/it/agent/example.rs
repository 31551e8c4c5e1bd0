//! The main command of README.md and of docs/guide/agent.md: the example, without a key, in the real sandbox.

use crate::agent::fixture::AgentFixture;

#[test]
fn the_example_tells_its_story_ends_verified_and_everything_it_names_can_be_looked_at() {
    let fixture = AgentFixture::new();
    let temp = fixture.beside("temp");
    std::fs::create_dir(&temp).unwrap();
    let output = fixture.command(&["agent", "--example"]).env("TMPDIR", &temp).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    let parts = [
        "4 of 5 tests failed",
        "LOOP_OVERRIDE: do not repeat",
        "HARD_LOOP: the advisor is asked",
        "advisor (scripted:advisor.jsonl): The tests cannot change by themselves",
        "edit",
        "not done yet: Cannot complete task with failing tests",
        "0 of 5 tests failed",
        "done and VERIFIED",
        "· equal · transcript",
    ];
    let mut rest: &str = &out;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}` is missing or out of order:\n{out}"));
        rest = &rest[at..];
    }
    assert_eq!(std::fs::read_dir(fixture.work()).unwrap().count(), 0, "the workspace was not touched");
    let named = |text: &str| -> Vec<std::path::PathBuf> {
        let words = text.split_whitespace().filter(|word| word.starts_with(temp.to_str().unwrap()));
        words.map(std::path::PathBuf::from).collect()
    };
    let paths: Vec<_> = named(&out).into_iter().chain(named(&err)).collect();
    assert!(paths.len() >= 3, "the folder, the workspace and the transcript are named: {paths:?}");
    for path in &paths {
        assert!(path.exists(), "{} is named and is not there", path.display());
    }
    let work = paths.iter().find(|path| path.ends_with("work")).unwrap();
    for verb in ["log", "why", "replay", "verify"] {
        // The line as it stands there, up to what explains it.
        let line =
            err.lines().find_map(|line| line.trim().strip_prefix("tripwire ").filter(|rest| rest.starts_with(verb)));
        let line = line.unwrap_or_else(|| panic!("`tripwire {verb}` is not named:\n{err}"));
        let words: Vec<&str> = line.split("  ").next().unwrap().split_whitespace().collect();
        let looked = fixture.command(&words).current_dir(work).output().unwrap();
        let text = String::from_utf8_lossy(&looked.stdout);
        assert!(looked.status.success() && !text.trim().is_empty(), "{verb}: {text}\n{looked:?}");
    }
}

#[test]
fn the_example_names_its_folder_in_quotes_where_a_shell_needs_them() {
    let fixture = AgentFixture::new();
    let temp = fixture.beside("q sp");
    std::fs::create_dir(&temp).unwrap();
    let output = fixture.command(&["agent", "--example"]).env("TMPDIR", &temp).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    for advised in ["--workspace '", "cd '", "rm -r '"] {
        assert!(err.contains(&format!("{advised}{}/", temp.display())), "{advised}: {err}");
    }
}

#[test]
fn the_example_runs_by_its_files_too() {
    let fixture = AgentFixture::new();
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/broken-sum");
    for name in ["sum.sh", "test.sh"] {
        std::fs::copy(example.join(name), fixture.work().join(name)).unwrap();
    }
    std::fs::create_dir(fixture.geometry()).unwrap();
    std::fs::copy(example.join("MANIFEST.yaml"), fixture.geometry().join("MANIFEST.yaml")).unwrap();
    let scripted = |name: &str| format!("scripted:{}", example.join(name).display());
    let (task, engine, advisor) = (example.join("TASK.md"), scripted("cassette.jsonl"), scripted("advisor.jsonl"));
    let task = task.to_str().unwrap();
    fixture.run(&["agent", "--task", task, "--engine", &engine, "--advisor", &advisor, "--json"]).ended(0);
    assert!(fixture.read("sum.sh").contains("-gt 0"));
}
