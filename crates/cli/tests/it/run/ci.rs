//! The script of docs/guide/ci.md, as it is written there, with agents that end in different ways; and `--report`.

use crate::run::fixture::{RunFixture, TRIPWIRE};
use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// An agent that says that it is done until it is let go.
const DONE: &str = "event Stop '\"stop_hook_active\":false' >> $HOME/stop
    event Stop '\"stop_hook_active\":true' >> $HOME/stop; event Stop '\"stop_hook_active\":true' >> $HOME/stop; exit 0";

/// The first script of the page.
fn script() -> String {
    let page = include_str!("../../../../../docs/guide/ci.md");
    page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap().to_owned()
}

fn run(agent: &str) -> (Output, Value) {
    let fixture = RunFixture::new(agent);
    std::fs::write(fixture.place().join("test.sh"), "test -f fixed.py\n").unwrap();
    let tools = fixture.add_client("claude", agent).parent().unwrap().to_owned();
    std::os::unix::fs::symlink(TRIPWIRE, tools.join("tripwire")).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", &script()]).current_dir(fixture.place()).env_clear().env("HOME", fixture.home());
    command.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", tools.display())).stdin(Stdio::null());
    let output = command.output().unwrap();
    let report = std::fs::read_to_string(fixture.place().join("report.json")).unwrap();
    (output, serde_json::from_str(&report).unwrap_or_default())
}

#[test]
fn the_pipeline_of_the_guide_passes_proved_work_and_fails_claims_and_loops() {
    let (proved, report) = run(&format!("begin; tool 'echo x > fixed.py'; {DONE}"));
    assert_eq!(proved.status.code(), Some(0), "{proved:?}");
    assert!(String::from_utf8_lossy(&proved.stdout).contains("verified: "), "{proved:?}");
    assert_eq!((&report["exit"], &report["verdict"]), (&0.into(), &"VERIFIED".into()), "{report}");

    let (claimed, report) = run(&format!("begin; tool 'echo x > other.py'; {DONE}"));
    assert_eq!(claimed.status.code(), Some(1), "{claimed:?}");
    assert!(String::from_utf8_lossy(&claimed.stdout).contains("not proved: "), "{claimed:?}");
    assert_eq!(report["exit"], 4, "{report}");

    let (looped, report) = run("begin; for i in 1 2 3 4 5 6 7 8; do tool 'echo tick'; done; sleep 60");
    assert_eq!(looped.status.code(), Some(1), "{looped:?}");
    assert!(String::from_utf8_lossy(&looped.stdout).contains("stopped by the guard: "), "{looped:?}");
    assert_eq!((&report["exit"], &report["version"]), (&7.into(), &1.into()), "{report}");
}

#[test]
fn a_report_that_cannot_be_written_fails_before_anything_starts() {
    let fixture = RunFixture::new("touch started; begin; finish");
    let ran = fixture.run(&["--report", "no/such/folder/report.json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("report.json") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert!(!fixture.place().join("started").exists());
}
