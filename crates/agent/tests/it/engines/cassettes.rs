//! Cassettes: read, refused with the place of the fault, played, recorded.

use crate::engines::ask::{conversation, question, tools};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use tripwire_agent::engines::cassette::{self, Binding, CassetteError, Recorder};
use tripwire_agent::engines::scripted::Scripted;
use tripwire_agent::engines::{Engine, EngineError, Turn, open};
use tripwire_core::run::engine_label;
use tripwire_core::run::record::{Answer, AnswerEnd, Call};
use tripwire_core::units::Tokens;
use tripwire_core::usage::Usage;
use tripwire_secrets::Redactor;

fn play(engine: &mut dyn Engine, turns: &[Turn]) -> Result<Answer, EngineError> {
    let tools = tools();
    engine.ask(&question(turns, &tools), Instant::now() + Duration::from_secs(60), &mut |_| ControlFlow::Continue(()))
}

fn scripted(text: &str) -> Scripted {
    Scripted::new("scripted:test", cassette::parse(text).unwrap_or_else(|error| panic!("{error}")))
}

const GOOD: &str = r#"
# A comment.
{"cassette": 1, "about": "a test"}

{"text": "one", "calls": [{"tool": "read", "arguments": {"path": "x"}}, {"tool": "odd", "arguments": "{broken"}]}
{"error": {"kind": "overloaded", "said": "busy", "retryAfterMs": 2000}, "repeat": 2}
{"expect": ["go on", "42"], "text": "two", "usage": {"input": 9, "cacheRead": 8, "output": 7, "reasoning": 6}, "model": "m", "end": "outputLimit"}
"#;

#[test]
fn run_4_a_cassette_is_played_in_order_and_then_ends() {
    let mut engine = scripted(GOOD);
    let turns = conversation();
    let one = play(&mut engine, &turns).unwrap();
    assert_eq!((one.text.as_str(), one.calls.len(), &one.end), ("one", 2, &AnswerEnd::Finished));
    let call = Call { id: "call_1_1".into(), tool: "read".into(), arguments: r#"{"path":"x"}"#.into() };
    assert_eq!(one.calls[0], call);
    assert_eq!(one.calls[1].arguments, "{broken");
    for _ in 0..2 {
        let error = play(&mut engine, &turns).unwrap_err();
        assert_eq!(error.to_string(), "`scripted:test` is overloaded: busy");
        assert!(matches!(error, EngineError::Overloaded { retry_after: Some(wait), .. } if wait.as_secs() == 2));
    }
    let two = play(&mut engine, &turns).unwrap();
    assert_eq!((two.model.as_str(), &two.end), ("m", &AnswerEnd::OutputLimit));
    let tokens = Tokens::new;
    let usage = Usage {
        fresh_input: tokens(9),
        cache_read: tokens(8),
        cache_write: tokens(0),
        output: tokens(7),
        reasoning: tokens(6),
        ..Usage::default()
    };
    assert_eq!(two.usage, usage);
    let end = play(&mut engine, &turns).unwrap_err();
    assert_eq!(end.to_string(), "the cassette `scripted:test` cannot go on: all 3 answers are played");
}

#[test]
fn run_4_the_same_cassette_gives_the_same_answers() {
    let all = || {
        let mut engine = scripted(GOOD);
        (0..5).map(|_| play(&mut engine, &conversation())).collect::<Vec<_>>()
    };
    assert_eq!(all(), all());
}

#[test]
fn a_resumed_session_goes_on_where_it_was() {
    for skipped in 0..6 {
        let (mut whole, mut resumed) = (scripted(GOOD), scripted(GOOD));
        for _ in 0..skipped {
            drop(play(&mut whole, &conversation()));
        }
        resumed.skip(skipped);
        assert_eq!(play(&mut whole, &conversation()), play(&mut resumed, &conversation()), "after {skipped}");
    }
}

#[test]
fn run_4_a_divergence_is_found_and_told() {
    let mut engine = scripted("{\"cassette\": 1}\n{\"expect\": \"go on\", \"text\": \"yes\"}");
    let other = [
        Turn::User("go on".to_owned()),
        Turn::Model { text: String::new(), calls: vec![] },
        Turn::User("stop".to_owned()),
    ];
    let error = play(&mut engine, &other).unwrap_err().to_string();
    assert_eq!(error, "the cassette `scripted:test` cannot go on: line 2 expects `go on`, heard `stop`");
    assert_eq!(play(&mut engine, &conversation()).unwrap().text, "yes", "the entry is still there");
}

#[test]
fn run_4_one_json_object_is_a_cassette_too() {
    let text = "{\n \"cassette\": 1,\n \"answers\": [\n  {\"text\": \"a\"},\n  {\"text\": \"b\"}\n ]\n}";
    assert_eq!(cassette::parse(text).unwrap().entries.len(), 2);
    assert_eq!(cassette::parse(r#"{"cassette": 1, "answers": [{"text": "a"}]}"#).unwrap().entries.len(), 1);
}

#[test]
fn run_4_a_bad_cassette_is_refused_with_line_field_and_reason() {
    for (text, place, field, why) in [
        ("{\"cassette\": 1}\n\n{\"txt\": \"a\"}", "line 3", "`txt`: ", "unknown field `txt`"),
        ("{\"cassette\": 1}\n{\"calls\": [{\"arguments\": {}}]}", "line 2", "`calls[0]`: ", "missing field `tool`"),
        ("{\"cassette\": 1}\n{\"text\": 7}", "line 2", "`text`: ", "invalid type"),
        ("{\"cassette\": 1}\n{\"text\": \"a\"", "line 2", "", "EOF"),
        ("{\"cassette\": 1}\n{\"text\": \"a\"} {}", "line 2", "", "trailing characters"),
        ("{\"cassette\": 1}\n{\"text\": \"a\", \"error\": {\"kind\": \"broken\"}}", "line 2", "", "either `text`"),
        ("{\"cassette\": 1}\n{}", "line 2", "", "either `text`"),
        (
            "{\"cassette\": 1}\n{\"error\": {\"kind\": \"tired\"}}",
            "line 2",
            "`error.kind`: ",
            "unknown variant `tired`",
        ),
        ("{\"cassette\": 1}\n{\"text\": \"a\", \"repeat\": 0}", "line 2", "`repeat`: ", "at least once"),
        ("{\"cassette\": 1}\n{\"text\": \"a\", \"question\": \"x\"}", "line 2", "`question`: ", "64 hexadecimal"),
        (
            "{\"cassette\": 1}\n{\"calls\": [{\"tool\": \"t\", \"arguments\": 7}]}",
            "line 2",
            "`calls.arguments`: ",
            "an object",
        ),
        (
            "{\"cassette\": 1}\n{\"text\": \"a\", \"usage\": {\"input\": -1}}",
            "line 2",
            "`usage.input`: ",
            "invalid value",
        ),
        ("{\n\"cassette\": 1,\n\"answers\": [\n{]", "line 4", "", "key must be"),
        (
            "{\"cassette\": 1, \"answers\": [{\"text\": \"a\"}, {\"tx\": 1}]}",
            "the object",
            "`answers[1].tx`: ",
            "unknown field",
        ),
    ] {
        match cassette::parse(text).unwrap_err() {
            CassetteError::Bad { place: at, field: name, why: reason } => {
                assert_eq!((at.as_str(), name.as_str()), (place, field), "{text}: {reason}");
                assert!(reason.contains(why), "{text}: {reason}");
            }
            other @ (CassetteError::Unreadable { .. } | CassetteError::Version { .. } | CassetteError::NoHeader) => {
                panic!("{text}: {other}")
            }
        }
    }
    assert_eq!(cassette::parse("{\"cassette\": 2}").unwrap_err(), CassetteError::Version { found: 2 });
    for text in ["", "# nothing\n", "{\"text\": \"a\"}", "[1]", "7"] {
        assert_eq!(cassette::parse(text).unwrap_err(), CassetteError::NoHeader, "{text}");
    }
}

#[test]
fn run_4_what_was_recorded_is_played_back_to_the_same_questions_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cassette.jsonl");
    let (turns, tools) = (conversation(), tools());
    let mut source = scripted(GOOD);
    let heard: Vec<_> = (0..4).map(|_| play(&mut source, &turns)).collect();
    let mut recorder = Recorder::create(&path, "recorded", Binding::Exact).unwrap();
    for answer in &heard {
        recorder.record(&question(&turns, &tools), answer, &Redactor::default()).unwrap();
    }
    let cut = Err(EngineError::Deadline { engine: "e".to_owned() });
    recorder.record(&question(&turns, &tools), &cut, &Redactor::default()).unwrap();
    let name = format!("scripted:{}", path.display());
    let mut played = open(&name, &|_| None).unwrap();
    for answer in heard {
        let answer = answer.map(|answer| Answer { engine: engine_label(&name), ..answer });
        assert_eq!(play(played.as_mut(), &turns), answer.map_err(|error| error.by(&name)));
    }
    let mut other = open(&name, &|_| None).unwrap();
    let error = play(other.as_mut(), &turns[..1]).unwrap_err().to_string();
    assert!(error.contains("line 2 was recorded for question sha256:"), "{error}");
    let again = Recorder::create(&path, "", Binding::Loose).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists, "nothing is written over");
}

#[test]
fn run_4_a_delay_is_cut_by_the_deadline_and_by_the_listener() {
    let text = "{\"cassette\": 1}\n{\"delayMs\": 60000, \"text\": \"late\"}";
    let (turns, tools) = (conversation(), tools());
    let begin = Instant::now();
    let soon = begin + Duration::from_millis(200);
    let error = scripted(text).ask(&question(&turns, &tools), soon, &mut |_| ControlFlow::Continue(()));
    assert!(matches!(error, Err(EngineError::Deadline { .. })));
    let far = begin + Duration::from_secs(600);
    let error = scripted(text).ask(&question(&turns, &tools), far, &mut |_| ControlFlow::Break(()));
    assert!(matches!(error, Err(EngineError::Cut { .. })));
    assert!(begin.elapsed() < Duration::from_secs(20));
}

#[test]
fn run_4_the_embedded_cassette_plays_without_key_and_network() {
    let mut engine = open("scripted", &|_| None).unwrap();
    assert!(play(engine.as_mut(), &conversation()).unwrap().text.contains("--engine"));
    assert!(matches!(play(engine.as_mut(), &conversation()), Err(EngineError::CassetteEnded { .. })));
}
