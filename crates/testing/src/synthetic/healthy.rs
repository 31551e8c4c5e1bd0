//! Healthy work: what agents do all day and must be able to do (SPEC §4.3), in its repetitive forms.

use super::{Call, Dice, Player, bad, good};

/// A kind of healthy work.
#[derive(Debug, Clone, Copy)]
pub enum Healthy {
    /// Reads of different files.
    Reading,
    /// File by file: read, edit, the editor's same answer each time.
    Migration,
    /// A poll whose answer moves.
    Polling,
    /// A wait of a few rounds in which only the clock moves.
    Waiting,
    /// `next` in a debugger.
    Debugger,
    /// Pages of one file.
    Paging,
    /// Edit, test, the same failure, edit, test …
    TestAndFix,
    /// Retries while the service behind the tool is overloaded.
    Retries,
    /// Different questions, different answers.
    Research,
    /// Searches for different things that are not there.
    EmptySearches,
    /// One turn with many equal calls that all fail.
    ParallelBatch,
    /// Debugging: a failure now and then, another look, a change.
    Debugging,
    /// Edits that miss twice and land the third time, then the tests, which fail alike.
    MissAndHit,
    /// A checker whose list of problems gets shorter or changes, under one and the same first line.
    Diagnostics,
    /// One look a minute at a build elsewhere.
    RemoteBuild,
    /// Sleep, look, sleep, look.
    SleepAndLook,
    /// Looks at a program that runs in the background.
    BackgroundLooks,
    /// One child per file, with nearly the same task.
    Children,
}

impl Healthy {
    /// Every kind.
    pub const ALL: [Self; 18] = [
        Self::Reading,
        Self::Migration,
        Self::Polling,
        Self::Waiting,
        Self::Debugger,
        Self::Paging,
        Self::TestAndFix,
        Self::Retries,
        Self::Research,
        Self::EmptySearches,
        Self::ParallelBatch,
        Self::Debugging,
        Self::MissAndHit,
        Self::Diagnostics,
        Self::RemoteBuild,
        Self::SleepAndLook,
        Self::BackgroundLooks,
        Self::Children,
    ];
}

fn command(line: &str) -> String {
    format!(r#"{{"command":"{line}"}}"#)
}

fn edit(dice: &mut Dice, path: &str) -> Call<'static> {
    let (old, new) = (dice.sentence(3), dice.sentence(4));
    good("Edit", format!(r#"{{"file_path":"{path}","old":"{old}","new":"{new}"}}"#), format!("{path} has been updated"))
}

fn read(dice: &mut Dice) -> Call<'static> {
    let path = dice.path();
    good("Read", format!(r#"{{"file_path":"{path}"}}"#), dice.sentence(40))
}

fn wait(name: &str, round: u64) -> Call<'static> {
    let answer = format!("still running, {}:{:02}:{:02}", round + 1, round * 7 % 60, round * 13 % 60);
    good("Bash", command(&format!("sleep 30 && tail -1 {name}.log")), answer)
}

fn overloaded(dice: &mut Dice, name: &str) -> Call<'static> {
    let status = dice.one(&["429 Too Many Requests", "503 Service Unavailable", "529 overloaded"]);
    bad("fetch_url", format!(r#"{{"url":"https://{name}.example/x"}}"#), format!("Error: status {status}"))
}

/// Plays some rounds of it.
pub fn play(kind: Healthy, session: &mut impl Player, dice: &mut Dice, rounds: u64) {
    let (file, name) = (dice.path(), dice.word());
    for round in 0..rounds {
        match kind {
            Healthy::Reading => session.play(&read(dice)),
            Healthy::Migration => {
                let path = dice.path();
                session.play(&good("Read", format!(r#"{{"file_path":"{path}"}}"#), dice.sentence(30)));
                session.play(&edit(dice, &path));
            }
            Healthy::Polling => {
                let answer = format!("{name}: {round} of {rounds} ready");
                session.play(&good("Bash", command(&format!("kubectl get pods {name}")), answer));
            }
            // Nobody waits for long in silence; five rounds are patience, not a loop.
            Healthy::Waiting if round < 5 => session.play(&wait(&name, round)),
            Healthy::Waiting => {}
            Healthy::Debugger => {
                let answer = format!("{file}:{} {}", round + 10, dice.sentence(6));
                session.play(&good("debugger", r#"{"input":"next"}"#.to_owned(), answer));
            }
            Healthy::Paging => {
                let args = format!(r#"{{"file_path":"{file}","offset":{},"limit":100}}"#, round * 100);
                session.play(&good("Read", args, dice.sentence(60)));
            }
            Healthy::TestAndFix => {
                session.play(&edit(dice, &file));
                session.play(&bad(
                    "Bash",
                    command(&format!("cargo test {name}")),
                    "test result: FAILED. 3 passed; 1 failed",
                ));
                session.play(&good("Read", format!(r#"{{"file_path":"{file}"}}"#), dice.sentence(25)));
            }
            Healthy::Retries => session.play(&overloaded(dice, &name)),
            Healthy::Research => {
                let (question, answer) = (dice.sentence(7), dice.sentence(50));
                session.play(&good("web_search", format!(r#"{{"query":"{question}"}}"#), answer));
            }
            Healthy::EmptySearches => {
                let pattern = dice.word();
                session.play(&good("Grep", format!(r#"{{"pattern":"{pattern}"}}"#), "No matches found"));
            }
            Healthy::ParallelBatch => {
                let (args, why) = (format!(r#"{{"file_path":"{file}.{round}"}}"#), dice.sentence(6));
                for _ in 0..10 {
                    let failed = bad("Read", args.clone(), format!("cancelled with its sibling: {why}"));
                    session.play(&Call { turn: Some(round), ..failed });
                }
                session.play(&read(dice));
            }
            Healthy::Debugging => {
                session.play(&bad(
                    "Bash",
                    command(&format!("python {name}.py")),
                    format!("Traceback: {}", dice.sentence(6)),
                ));
                session.play(&read(dice));
                session.play(&edit(dice, &file));
                session.play(&good("Bash", command(&format!("python {name}.py --step {round}")), dice.sentence(12)));
            }
            Healthy::MissAndHit
            | Healthy::Diagnostics
            | Healthy::RemoteBuild
            | Healthy::SleepAndLook
            | Healthy::BackgroundLooks
            | Healthy::Children => patient(kind, session, dice, &Round { file: &file, name: &name, round }),
        }
    }
}

/// What a round of work is about.
struct Round<'a> {
    file: &'a str,
    name: &'a str,
    round: u64,
}

/// One round of work that takes several tries, or its time.
fn patient(kind: Healthy, session: &mut impl Player, dice: &mut Dice, about: &Round<'_>) {
    let Round { file, name, round } = *about;
    match kind {
        Healthy::MissAndHit => {
            for _ in 0..2 {
                let wrong = dice.sentence(4);
                let args = format!(r#"{{"file_path":"{file}","old":"{wrong}"}}"#);
                session.play(&bad("Edit", args, format!("String to replace not found: `{wrong}`")));
            }
            session.play(&edit(dice, file));
            let red = "test result: FAILED. 3 passed; 1 failed";
            session.play(&bad("Bash", command(&format!("cargo test {name}")), red));
        }
        // Nobody needs more than a handful of tries for one change.
        Healthy::Diagnostics if round < 6 => {
            let left: Vec<String> = (round..7).map(|n| format!("{} in {file}:{n}", dice.sentence(3))).collect();
            let text = format!("The change was rejected because the checker found problems:\n{}", left.join("\n"));
            let args = format!(r#"{{"file_path":"{file}","new":"{}"}}"#, dice.sentence(8));
            session.play(&bad("apply_change", args, text));
        }
        Healthy::Diagnostics => {}
        Healthy::RemoteBuild if round < 5 => {
            let look = good("Bash", command(&format!("gh run view {name}")), "status: in_progress");
            session.play(&Call { after_ms: Some(60_000), ..look });
        }
        Healthy::RemoteBuild => {}
        Healthy::SleepAndLook => {
            session.play(&Call { after_ms: Some(2_000), ..good("Bash", command("sleep 20"), "") });
            let look = good("Bash", command(&format!("kubectl get pods {name}")), "0/1 Pending");
            session.play(&Call { after_ms: Some(21_000), ..look });
        }
        Healthy::BackgroundLooks => {
            let look = good("BashOutput", format!(r#"{{"bash_id":"{name}"}}"#), "(no new output)");
            session.play(&Call { after_ms: Some(9_000), ..look });
        }
        Healthy::Children => {
            let args = format!(r#"{{"prompt":"translate the comments of {} and {}"}}"#, dice.path(), dice.path());
            session.play(&good("Task", args, dice.sentence(20)));
        }
        Healthy::Reading
        | Healthy::Migration
        | Healthy::Polling
        | Healthy::Waiting
        | Healthy::Debugger
        | Healthy::Paging
        | Healthy::TestAndFix
        | Healthy::Retries
        | Healthy::Research
        | Healthy::EmptySearches
        | Healthy::ParallelBatch
        | Healthy::Debugging => {}
    }
}
