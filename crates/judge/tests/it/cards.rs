//! What a person reads: the card of an effect as one line, and the facts of calls with their reasons and weights.

use super::situations::Situation;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};
use tripwire_core::input::{FloorFact, FloorWeight};
use tripwire_core::policy::OnPublish;
use tripwire_judge::reading::CallReading;
use tripwire_judge::{Count, Effect, Facts, GuardRule, Judge, Names, Target};

fn names(count: usize, first: &[&str]) -> Names {
    Names { count, first: first.iter().map(|name| (*name).to_owned()).collect() }
}

fn target(path: &str, files: u64, bytes: u64, counted: Count) -> Target {
    Target { path: path.to_owned(), files, bytes, counted }
}

#[test]
fn a_card_is_one_line_with_everything_that_would_be_hit() {
    let none = Effect::default();
    assert!(none.is_empty() && none.line().is_empty());
    let commits = |commits| Effect { commits: Some(commits), ..Effect::default() };
    let branch = Effect { branch: Some("main".to_owned()), ..Effect::default() };
    let all = Effect {
        targets: vec![target("a", 1, 1, Count::Whole), target("b", 2_000, 0, Count::AtLeast)],
        uncommitted: names(1, &["c"]),
        untracked: names(7, &["d", "e"]),
        secrets: names(1, &[".env"]),
        repositories: names(2, &["f", "g"]),
        branch: Some("origin/main".to_owned()),
        commits: Some(2),
    };
    let many = Effect { targets: vec![target("x", 0, 0, Count::Whole); 7], ..Effect::default() };
    for (effect, line) in [
        (commits(1), "1 commit"),
        (commits(3), "3 commits"),
        (branch.clone(), "branch main"),
        (Effect { commits: Some(1), ..branch }, "branch main, 1 commit"),
        (
            all,
            "a: 1 file, 1 byte; b: at least 2000 files, 0 bytes; 1 uncommitted (c); 7 untracked (d, e); 1 secret or data \
             (.env); 2 repositories with work found nowhere else (f, g); branch origin/main, 2 commits",
        ),
        (
            many,
            "x: 0 files, 0 bytes; x: 0 files, 0 bytes; x: 0 files, 0 bytes; x: 0 files, 0 bytes; x: 0 files, 0 bytes",
        ),
    ] {
        assert_eq!(effect.line(), line);
        assert!(!effect.is_empty(), "{line}");
    }
}

#[test]
fn a_size_is_told_in_the_unit_that_a_person_would_choose() {
    for (bytes, shown) in [
        (0, "0 bytes"),
        (1, "1 byte"),
        (10_239, "10239 bytes"),
        (10_240, "10 KiB"),
        (11_263, "10 KiB"),
        (11_264, "11 KiB"),
        (10_485_759, "10239 KiB"),
        (10_485_760, "10 MiB"),
        (11_534_336, "11 MiB"),
    ] {
        let effect = Effect { targets: vec![target("x", 3, bytes, Count::Whole)], ..Effect::default() };
        assert_eq!(effect.line(), format!("x: 3 files, {shown}"));
    }
}

#[test]
fn only_publishing_weighs_less_than_destroying() {
    assert_eq!(GuardRule::Publish.weight(), FloorWeight::Publishes);
    for rule in [GuardRule::DeleteWork, GuardRule::TooComplex, GuardRule::ForcePush, GuardRule::Service] {
        assert_eq!(rule.weight(), FloorWeight::Destroys, "{}", rule.name());
    }
}

fn told(fact: Option<FloorFact>, folder: &str) -> String {
    let Some(fact) = fact else { return "passes".to_owned() };
    format!("{} {:?}: {}", fact.rule, fact.weight, fact.reason.as_str().replace(folder, "@"))
}

#[test]
fn a_call_is_told_by_its_heaviest_line() {
    let here = Situation::new("clean");
    let facts = Facts { publish: OnPublish::Hold, ..here.facts() };
    let folder = here.path("").display().to_string();
    let folder = folder.trim_end_matches('/');
    let fact = |tool: &str, args: &str| told(Judge::fact_of_call(&facts, tool, args), folder);
    let mut wrong = String::new();
    for (tool, args, expected) in [
        ("Bash", r#"{"command":"ls"}"#, "passes"),
        ("Bash", r#"{"command":"cargo publish"}"#, "publish Publishes: "),
        ("Bash", r#"{"command":"rm -rf /usr/lib"}"#, "delete-system Destroys: "),
        ("Bash", r#"{"command":"cargo publish","cmd":"rm -rf /usr/lib"}"#, "delete-system Destroys: "),
        ("Bash", r#"{"command":"rm -rf /usr/lib","cmd":"cargo publish"}"#, "delete-system Destroys: "),
        ("Bash", r#"{"command":"cargo publish","cmd":"ls"}"#, "publish Publishes: "),
        ("delete_file", r#"{"path":".env"}"#, "delete-work Destroys: "),
        ("delete_file", r#"{"path":"docs/guide.md"}"#, "passes"),
        ("remove_files", r#"{"paths":["docs/guide.md",".env"]}"#, "delete-work Destroys: "),
        ("delete_file", r#"{"uri":"file://.env"}"#, "delete-work Destroys: "),
        ("delete_file", r#"{"name":".env"}"#, "passes"),
        ("delete_file", r#"["path",".env"]"#, "passes"),
        ("delete_file", r#"{"path":7}"#, "passes"),
        ("delete_files_list", r#"{"path":".env"}"#, "passes"),
        ("remove_directory", r#"{"path":".git"}"#, "delete-git Destroys: "),
        ("write_file", r#"{"path":"app.db","content":"x"}"#, "passes"),
        ("write_file", r#"{"path":"/etc/passwd","content":"x"}"#, "overwrite Destroys: "),
        ("write_file", r#"{"path":"app.db","content":""}"#, "overwrite Destroys: "),
        ("write_file", r#"{"path":"app.db"}"#, "passes"),
        ("write_file", r#"{"path":"app.db","content":7}"#, "passes"),
        ("mcp__x__save_file", r#"{"path":"/etc/passwd","data":"x"}"#, "overwrite Destroys: "),
        ("mcp__x__write", r#"{"path":"/etc/passwd","data":"x"}"#, "passes"),
        ("write", r#"{"path":"/etc/passwd","text":"x"}"#, "overwrite Destroys: "),
        ("rewrite", r#"{"path":"/etc/passwd","text":"x"}"#, "passes"),
        ("write_file", r#"{"path":"docs/guide.md","content":"x"}"#, "passes"),
    ] {
        let found = fact(tool, args);
        if !(found.starts_with(expected) && (expected != "passes" || found == "passes")) {
            writeln!(wrong, "{tool} {args}: {found}, not {expected}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_few_lost_files_are_counted_only_in_a_session_and_over_all_lines_of_a_call() {
    let here = Situation::new("clean");
    for name in ["one.txt", "two.txt"] {
        here.write(&format!("ws/notes/{name}"), "mine");
    }
    let outside = here.judge();
    assert_eq!(outside.fact("rm notes/one.txt"), None, "nobody counts");
    let began = Some(SystemTime::now() + Duration::from_secs(3_600));
    let facts = Facts { began, ..here.facts() };
    let judge = Judge::new(facts.clone());
    let fact = told(judge.fact("rm notes/one.txt"), "@");
    assert_eq!(
        fact,
        "delete-work Loses(Count(1)): it deletes or empties `notes/one.txt`, which git does not know and nothing can restore; \
         with what this session lost before, that makes three or more such files"
    );
    let both = r#"{"command":"rm notes/one.txt","cmd":"rm notes/two.txt"}"#;
    let fact = told(Judge::fact_of_call(&facts, "Bash", both), "@");
    assert!(fact.starts_with("delete-work Loses(Count(2)): it deletes or empties `notes/"), "{fact}");
}

#[test]
fn a_fact_that_no_rule_made_says_what_it_is() {
    let facts = Facts { workspace: "/w".into(), cwd: "/w".into(), ..Facts::default() };
    let unreadable = Judge::fact_of_unreadable(&facts, "{", "the arguments are no JSON");
    assert_eq!(told(Some(unreadable.clone()), "@"), "too-complex Destroys: the arguments are no JSON");
    assert_ne!(unreadable.digest, Judge::fact_of_unreadable(&facts, "[", "the arguments are no JSON").digest);
    let asked = Judge::fact_of_policy(&facts, "Bash ls", &CallReading::default(), "a person is asked");
    assert_eq!(told(Some(asked), "@"), "policy Asks: a person is asked");
    let held = Judge::fact_of_placeholder(&facts, "Bash ls", "[secret 1]");
    assert_eq!(
        told(Some(held), "@"),
        "placeholder Placeholder: it holds `[secret 1]`, which stands for a secret in tripwire's records and is not its value; \
         take the value from where it came"
    );
}

#[test]
fn what_a_policy_asks_weighs_more_than_a_few_lost_files_and_less_than_all_else() {
    let facts = Facts { workspace: "/w".into(), cwd: "/w".into(), ..Facts::default() };
    let asked = Judge::fact_of_policy(&facts, "Bash ls", &CallReading::default(), "a person is asked");
    let loses = FloorWeight::Loses(tripwire_core::units::Count::new(1));
    for (own, expected) in [
        (None, FloorWeight::Asks),
        (Some(loses), FloorWeight::Asks),
        (Some(FloorWeight::Placeholder), FloorWeight::Placeholder),
        (Some(FloorWeight::Publishes), FloorWeight::Publishes),
        (Some(FloorWeight::Destroys), FloorWeight::Destroys),
    ] {
        let floor = own.map(|weight| FloorFact { weight, ..asked.clone() });
        let mut reading = CallReading { floor, ..CallReading::default() };
        reading.ask(asked.clone());
        assert_eq!(reading.floor.map(|fact| fact.weight), Some(expected), "{own:?}");
    }
}

#[test]
fn what_a_person_allowed_is_bound_to_the_content_of_the_files_that_the_line_names() {
    let here = Situation::new("clean");
    here.write("ws/run.sh", "rm -rf ~\n");
    let digest = || here.judge().fact("rm -rf ~; sh run.sh").map(|fact| fact.digest);
    let first = digest();
    assert_eq!((first.is_some(), first), (true, digest()));
    here.write("ws/run.sh", "rm -rf ~ \n");
    assert_ne!(digest(), first, "another script");
    here.write("ws/data", "1");
    let of = |line: &str| here.judge().fact(line).map(|fact| fact.digest);
    let line = "rm -rf ~ data";
    let before = of(line);
    here.write("ws/data", "2");
    assert_ne!(of(line), before, "another content of the same size");
    here.write("ws/data", &"x".repeat(256 << 10));
    let whole = of(line);
    here.write("ws/data", &"y".repeat(256 << 10));
    assert_ne!(of(line), whole, "up to this size the content counts");
    here.write("ws/data", &"x".repeat((256 << 10) + 1));
    let large = of(line);
    here.write("ws/data", &"y".repeat((256 << 10) + 1));
    assert_eq!(of(line), large, "of a larger file only its size");
    here.write("ws/data", &"y".repeat((256 << 10) + 2));
    assert_ne!(of(line), large);
}
