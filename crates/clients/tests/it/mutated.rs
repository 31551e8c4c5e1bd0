//! Events of the clients, bent and broken at random: read or refused, never a panic, and every answer is JSON.
//!
//! It is what the fuzz target `decode_hook` does, on a stable toolchain and in bounded time. `TRIPWIRE_FUZZ_CASES` asks for
//! more cases than the suite has time for; `TRIPWIRE_HOOK_FIXTURES` names a folder of recorded inputs
//! (`claude/EVENT.json`, …), each of which must decode and is bent as well.

use crate::{input, tool};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tripwire_clients::Client;
use tripwire_clients::hooks::{self, Answer, Turn};

/// Cases in an ordinary run of the suite.
const CASES: usize = 4_000;
/// The longest input that is bent.
const BYTES_MAX: usize = 1 << 16;

/// Pieces that hit decoders where they are weak.
const PIECES: [&str; 22] = [
    "null",
    "true",
    "-1",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "{}",
    "[]",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\u{1f600}",
    "\"hook_event_name\":\"PreToolUse\",",
    "\"tool_input\":",
    "\"tool_response\":",
    "\"session_id\":null,",
    "\"cwd\":\"\",",
    "\"cwd\":\"/../..\",",
    "\n",
    "\u{7f}",
];

/// A small generator: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).unwrap();
        usize::try_from(self.next() % limit).unwrap()
    }
}

/// One event of each form.
fn seeds() -> Vec<Vec<u8>> {
    let results = [
        json!({"tool_response": {"stdout": "a", "stderr": "b", "interrupted": false}, "duration_ms": 71}),
        json!({"tool_response": "tick\n", "turn_id": "x"}),
        json!({"tool_response": {"llmContent": "Output: tick\nProcess Group PGID: 7", "returnDisplay": "x"}}),
        json!({"error": "Exit code 1", "is_interrupt": false}),
        json!({"agent_id": "a", "agent_transcript_path": "/t/a.jsonl", "stop_hook_active": true, "source": "compact"}),
        json!({"llm_request": {"model": "gemini-2.5-pro", "messages": [{"role": "user", "content": "x"}]}}),
    ];
    let events = ["PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "SessionStart", "SubagentStop"];
    let geminis = ["BeforeTool", "AfterTool", "BeforeModel", "AfterAgent"];
    let all = events.iter().chain(&geminis).flat_map(|event| results.iter().map(move |more| (event, more)));
    all.map(|(event, more)| input(event, &tool(more))).collect()
}

/// The recorded inputs that a person has, with the client that sent each.
fn recorded() -> Vec<(Client, PathBuf, Vec<u8>)> {
    let Some(folder) = std::env::var_os("TRIPWIRE_HOOK_FIXTURES").map(PathBuf::from) else { return Vec::new() };
    let mut found = Vec::new();
    for client in Client::ALL {
        let listed = fs::read_dir(folder.join(client.name())).unwrap().filter_map(Result::ok).map(|entry| entry.path());
        for path in listed.filter(|path| path.extension().is_some_and(|ending| ending == "json")) {
            let bytes = fs::read(&path).unwrap();
            // Not every file there is a hook's input: a program that is notified gets another form.
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            if value.get("hook_event_name").is_some() {
                found.push((client, path, bytes));
            }
        }
    }
    found
}

#[test]
fn every_recorded_input_decodes_to_its_event() {
    let recorded = recorded();
    for (client, path, bytes) in &recorded {
        let call = hooks::read(*client, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value: Value = serde_json::from_slice(bytes).unwrap();
        assert_eq!(call.session, value["session_id"].as_str().unwrap(), "{}", path.display());
        assert_eq!(path.file_stem().unwrap().to_str(), value["hook_event_name"].as_str());
    }
    let count = |client: Client| recorded.iter().filter(|(of, ..)| *of == client).count();
    println!(
        "decoded: claude {}, codex {}, gemini {}",
        count(Client::Claude),
        count(Client::Codex),
        count(Client::Gemini)
    );
}

/// Bends an input in one of the ways in which inputs are broken.
fn bend(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.below(bytes.len() + 1);
    let end = (at + dice.below(40)).min(bytes.len());
    match dice.below(7) {
        0 => {
            let bit = dice.below(8);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        1 => drop(bytes.drain(at..end)),
        2 => {
            let copy = bytes[at..end].to_vec();
            bytes.splice(at..at, copy);
        }
        3 | 4 => {
            let piece = PIECES[dice.below(PIECES.len())];
            bytes.splice(at..at, piece.bytes());
        }
        5 => {
            let from = dice.below(other.len());
            bytes.splice(at..end, other[from..(from + 60).min(other.len())].iter().copied());
        }
        _ => bytes.truncate(at),
    }
    bytes.truncate(BYTES_MAX);
}

/// What must hold for any bytes; says whether they were understood by somebody.
fn holds(bytes: &[u8]) -> bool {
    let mut understood = false;
    for client in Client::ALL {
        let broken = hooks::broken(client, bytes, "bent");
        assert!(broken.exit_code == 2 || serde_json::from_str::<Value>(&broken.stdout).is_ok(), "{broken:?}");
        let Ok(call) = hooks::read(client, bytes) else { continue };
        understood = true;
        let reason = String::from_utf8_lossy(bytes).into_owned();
        let refusals = [Turn::GoesOn, Turn::Ends].map(|turn| Answer::Refuse { reason: reason.clone(), turn });
        let told = [Answer::Tell(reason.clone()), Answer::SendBack(reason.clone())];
        let overridden = Answer::Override { text: reason.clone(), result: reason };
        for answer in refusals.into_iter().chain(told).chain([overridden]) {
            let reply = hooks::say(&call, &answer);
            assert!(reply.stdout.is_empty() || serde_json::from_str::<Value>(&reply.stdout).is_ok(), "{reply:?}");
        }
    }
    understood
}

#[test]
fn no_bent_event_makes_a_decoder_panic() {
    let cases = std::env::var("TRIPWIRE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let mut inputs = seeds();
    inputs.extend(recorded().into_iter().map(|(_, _, bytes)| bytes));
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut understood = 0;
    for _ in 0..cases {
        let mut bytes = inputs[dice.below(inputs.len())].clone();
        let other = inputs[dice.below(inputs.len())].clone();
        for _ in 0..=dice.below(6) {
            bend(&mut bytes, &other, &mut dice);
        }
        understood += usize::from(holds(&bytes));
    }
    println!("{cases} bent inputs, {understood} of them understood");
    assert!(understood > cases / 100, "inputs that nobody understands test only the first line of a decoder");
}
