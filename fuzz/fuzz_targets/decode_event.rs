//! The decoder against random bytes: it must answer with a value or an error, and a value must survive the way to disk.
//!
//! Run it with `just fuzz 60`. A crash is written to `fuzz/artifacts/decode_event/`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tripwire_core::input::Input;

fuzz_target!(|bytes: &[u8]| {
    let Ok(input) = serde_json::from_slice::<Input>(bytes) else {
        return;
    };
    // The journal stores the encoded input and replay decodes it again: a loss in between would change decisions.
    let encoded = serde_json::to_vec(&input).expect("a decoded input can be encoded");
    let again: Input = serde_json::from_slice(&encoded).expect("an encoded input can be decoded");
    assert_eq!(input, again, "the input changed on its way through the journal");
});
