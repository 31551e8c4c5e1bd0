//! Streams of events of tool servers, against random bytes: in any pieces the same events, every byte of the stream in one of them,
//! and in each the data that the standard's own words give.
//!
//! Run it with `just fuzz-stream 60`. A crash is written to `fuzz/artifacts/decode_stream/`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tripwire_gateway::tool_server::events_in;

/// The data of each event that ends, read line by line as the standard says it.
fn plainly(stream: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut rest = stream;
    while let Some((byte, behind)) = rest.split_first() {
        rest = behind;
        match byte {
            b'\r' => {
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            other => lines.last_mut().expect("one").push(*other),
        }
    }
    // What has no end is no line.
    lines.pop();
    let (mut events, mut data): (Vec<Option<Vec<u8>>>, Option<Vec<u8>>) = (Vec::new(), None);
    for line in lines {
        if line.is_empty() {
            events.push(data.take());
            continue;
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (&line[..], &[][..]),
        };
        if name == b"data" {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut data {
                Some(known) => {
                    known.push(b'\n');
                    known.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            }
        }
    }
    events
}

fuzz_target!(|bytes: &[u8]| {
    let expected = plainly(bytes);
    for size in [usize::MAX, 1, 2, 3, 7] {
        let Some(events) = events_in(bytes, size) else { continue };
        let joined: Vec<u8> = events.iter().flat_map(|event| event.raw.clone()).collect();
        assert!(bytes.starts_with(&joined), "every byte of an event is one of the stream, in its order");
        let data: Vec<Option<Vec<u8>>> = events.into_iter().map(|event| event.data).collect();
        assert_eq!(data, expected, "in pieces of {size}");
    }
});
