//! Lines between a client and a tool server, against random bytes: whatever any reader takes for a call is one here too, or refused.
//!
//! Run it with `just fuzz-mcp 60`. A crash is written to `fuzz/artifacts/decode_mcp/`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tripwire_mcp::wire::message::{
    CLIENT_DEPTH_MAX, Incoming, MessageKind, SERVER_DEPTH_MAX, id_of_refused, ids_of_refused_answers, read,
};
use tripwire_mcp::wire::result::heard;
use tripwire_mcp::wire::tools::ToolPage;

fuzz_target!(|bytes: &[u8]| {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let _ = id_of_refused(line);
    let _ = ids_of_refused_answers(line);
    let loosely = serde_json::from_slice::<serde_json::Value>(line).ok();
    let names_call = |value: &serde_json::Value| value["method"] == "tools/call";
    let is_call = loosely.as_ref().is_some_and(|value| {
        names_call(value) || value.as_array().is_some_and(|items| items.iter().any(names_call))
    });
    if let Ok(incoming) = read(line, CLIENT_DEPTH_MAX) {
        let messages = match incoming {
            Incoming::Blank => Vec::new(),
            Incoming::One(message) => vec![message],
            Incoming::Batch(messages) => messages,
        };
        let decided = messages.iter().any(|message| matches!(message.kind, MessageKind::Call(..)));
        assert!(decided || !is_call, "a call passes unasked: {}", String::from_utf8_lossy(line));
    }
    if let Ok(Incoming::One(message)) = read(line, SERVER_DEPTH_MAX)
        && let MessageKind::Response(_, answered) = message.kind
    {
        let _ = heard(answered);
        if let tripwire_mcp::wire::message::Answered::Result(result) = answered
            && let Some(page) = ToolPage::read(result)
        {
            let shown = page.with_only(message.raw, |_| true);
            assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok());
        }
    }
});
