//! What must hold for every line: it ends, it does not panic, and wrappers neither hide nor make a hold.

use super::lines::{Line, table};
use super::situations::Situation;
use proptest::prelude::*;
use std::time::{Duration, Instant};
use tripwire_judge::{Answer, Facts, Judge};
use tripwire_testing::sized;

/// No judgement may use more of a processor. An ordinary one takes seconds without optimisation, one that grows with the
/// square of the line hours; how fast a shared machine is decides nothing between the two.
const TIME_MAX: Duration = Duration::from_secs(180);

/// What this thread has used of a processor so far; the clock on the wall, where the system does not say.
struct Spent(Instant, Option<u64>);

impl Spent {
    fn now() -> Self {
        Self(Instant::now(), nanoseconds())
    }

    fn elapsed(&self) -> Duration {
        match (self.1, nanoseconds()) {
            (Some(before), Some(after)) => Duration::from_nanos(after.saturating_sub(before)),
            (None, _) | (_, None) => self.0.elapsed(),
        }
    }
}

fn nanoseconds() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}

/// Ways to run another command; `@` is the command, quoted for a single-quoted text where it stands inside one.
const WRAPPERS: [&str; 30] = [
    "{}",
    "sudo {}",
    "env {}",
    "env -i A=b {}",
    "nohup {} &",
    "timeout 10 {}",
    "nice -n 5 {}",
    "time {}",
    "( {} )",
    "{ {}; }",
    "true && {}",
    "false || {}",
    "ls; {}",
    "! {}",
    "if true; then {}; fi",
    "for i in 1 2; do {}; done",
    "while true; do {}; done",
    "case x in x) {};; esac",
    "x=$({})",
    "echo \"$({})\"",
    "cat <({})",
    "f() { {}; }; f",
    "bash -c '@'",
    "sh -lc '@'",
    "eval '@'",
    "bash <<'EOF'\n{}\nEOF",
    "echo '@' | sh",
    "trap '@' EXIT",
    "sudo bash -c '@'",
    "command {}",
];

fn wrapped(wrapper: &str, command: &str) -> String {
    wrapper.replace("{}", command).replace('@', &command.replace('\'', r"'\''"))
}

/// Lines that are one plain command: what a wrapper can take.
fn plain(line: &Line) -> bool {
    let special = ['\n', ';', '&', '|', '<', '>', '(', '`', '\\', '#', '{', '!'];
    let first = line.command.split(' ').next().unwrap_or_default();
    let programs = [
        "rm",
        "git",
        "dd",
        "mkfs.ext4",
        "find",
        "chmod",
        "psql",
        "kubectl",
        "terraform",
        "docker",
        "shutdown",
        "aws",
        "ls",
        "curl",
    ];
    line.state == "clean" && !line.command.contains(special) && programs.contains(&first)
}

#[test]
fn floor_1_a_wrapper_neither_hides_a_hold_nor_makes_one() {
    let situation = Situation::new("clean");
    let judge = situation.judge();
    let mut tried = 0;
    // Each wrapper meets every 14th line (every 28th in the short run), each time another one: all pairs would only cost time.
    let every = sized(28, 14);
    for (number, line) in table().iter().filter(|line| plain(line)).enumerate() {
        for (other, wrapper) in WRAPPERS.iter().enumerate().filter(|(other, _)| (number + other) % every == 0) {
            // `command` and `env` start programs, not the words of a shell; a command that ends the line ends the wrapper.
            let text = wrapped(wrapper, &line.command);
            let verdict = judge.judge(&text);
            let answer = if verdict.verdict == Answer::Hold { "hold" } else { "pass" };
            assert_eq!(answer, line.verdict, "wrapper {other}: `{text}`: {}", verdict.reason);
            tried += 1;
        }
    }
    assert!(tried > sized(125, 250), "{tried}");
}

#[test]
fn bombs_and_long_lines_end_in_time() {
    let judge = Judge::new(Facts { workspace: "/nonexistent".into(), cwd: "/nonexistent".into(), ..Facts::default() });
    let deep = sized(2_000, 30_000);
    let long = sized(1 << 16, 1 << 19);
    let bombs = [
        "(".repeat(deep),
        "((".repeat(deep),
        "$(".repeat(deep),
        format!("echo {}", "${".repeat(deep)),
        "`".repeat(deep),
        "{ ".repeat(deep),
        "if ".repeat(deep),
        "\"$(".repeat(deep),
        "[[ ".repeat(deep),
        "case a in a) ".repeat(deep),
        "<(".repeat(deep),
        "'".repeat(deep + 1),
        "$((".repeat(deep),
        "\\".repeat(deep + 1),
        "! ".repeat(deep),
        "a|".repeat(deep),
        "a=(".repeat(deep),
        "a[".repeat(deep),
        "<<E ".repeat(deep / 10),
        format!("echo {}", "{a,b}".repeat(deep)),
        format!("echo {}", "{".repeat(deep)),
        format!("echo {}", "{1..99999999}".repeat(9)),
        format!("echo {}", "x".repeat(long)),
        "echo a;".repeat(long / 7),
        "echo a\n".repeat(long / 7),
        "(\n".repeat(deep / 10),
        format!("cat > f <<'EOF'\n{}EOF\n", "a line of text\n".repeat(long / 15)),
        format!("x={}; echo $x", "a ".repeat(long / 4)),
        "eval ".repeat(deep),
        "sudo ".repeat(deep),
        "f() { f; f; }; f\n".repeat(99),
        format!("ruby -e '{}'", "x.each { |x| rm_rf(x) }; ".repeat(12)),
        format!("python3 -c 'import shutil\ndef f(a): shutil.rmtree(a)\n{}'", "f(a + a)\n".repeat(60)),
        "a() { b; b; }\n".replace('a', "x").repeat(9),
        format!("x=a; {}", "x=$x$x; ".repeat(60)),
        "for a in {1..99}; do for b in {1..99}; do for c in {1..99}; do rm x; done; done; done".to_owned(),
    ];
    for (number, bomb) in bombs.iter().enumerate() {
        let before = Spent::now();
        let verdict = judge.judge(bomb);
        assert!(before.elapsed() < TIME_MAX, "bomb {number} took {:?}: {}", before.elapsed(), verdict.reason);
    }
    let hidden = format!("{}rm -rf /usr", "echo a;".repeat(1_000));
    assert_eq!(judge.judge(&hidden).verdict, Answer::Hold);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sized(100, 400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_judge_panic(text in "[ -~\n\téß☃]{0,80}") {
        let judge = Judge::new(Facts { workspace: "/nonexistent".into(), cwd: "/nonexistent".into(), ..Facts::default() });
        let before = Spent::now();
        let _verdict = judge.judge(&text);
        prop_assert!(before.elapsed() < TIME_MAX);
    }

    #[test]
    fn no_heap_of_shell_words_makes_the_judge_panic(words in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40)) {
        let judge = Judge::new(Facts { workspace: "/nonexistent".into(), cwd: "/nonexistent".into(), ..Facts::default() });
        let before = Spent::now();
        let _verdict = judge.judge(&words.concat());
        prop_assert!(before.elapsed() < TIME_MAX);
    }

    #[test]
    fn a_held_command_stays_held_at_the_end_of_any_complete_line(words in prop::collection::vec(prop::sample::select(HARMLESS.to_vec()), 0..6)) {
        let judge = Judge::new(Facts { workspace: "/nonexistent".into(), cwd: "/nonexistent".into(), ..Facts::default() });
        let line = words.iter().map(|word| format!("{word}\n")).collect::<String>() + "rm -rf /not-there-either/x";
        prop_assert_eq!(judge.judge(&line).verdict, Answer::Hold, "{}", line);
    }
}

/// Pieces from which lines are heaped up.
const PIECES: [&str; 48] = [
    " ",
    "\n",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "(",
    ")",
    "{ ",
    " }",
    "$(",
    "`",
    "\"",
    "'",
    "$'",
    "${",
    "}",
    ":-",
    "$((",
    "))",
    "<",
    ">",
    "<<E\n",
    "E\n",
    "<(",
    "[[ ",
    " ]]",
    "if ",
    " then ",
    " fi",
    "for x in ",
    " do ",
    " done",
    "case a in ",
    " esac",
    "a)",
    ";;",
    "f()",
    "x=",
    "rm",
    " -rf ",
    "~",
    "git push -f",
    "bash -c ",
    "eval ",
    "\\",
    "#",
];

/// Whole lines that change nothing for those behind them.
const HARMLESS: [&str; 12] = [
    "ls",
    "echo 'rm -rf ~'",
    "cat <<'E'\n$(x\nE",
    "x=1",
    "# a comment",
    "if true; then ls; fi",
    "f() { ls; }",
    "(cd /; ls)",
    "echo \"a\nb\"",
    "for i in 1 2; do echo $i; done",
    "true &&\nls",
    "cat <<A <<B\na\nA\nb\nB",
];
