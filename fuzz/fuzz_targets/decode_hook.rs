//! What clients send to their hooks, against random bytes: read or refused, and every answer is words that JSON can hold.
//!
//! Run it with `just fuzz-hook 60`. A crash is written to `fuzz/artifacts/decode_hook/`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tripwire_clients::Client;
use tripwire_clients::hooks::{self, Answer, Turn};

fuzz_target!(|bytes: &[u8]| {
    for client in Client::ALL {
        let broken = hooks::broken(client, bytes, "random bytes");
        assert!(broken.exit_code == 2 || serde_json::from_str::<serde_json::Value>(&broken.stdout).is_ok());
        let Ok(call) = hooks::read(client, bytes) else { continue };
        let reason = String::from_utf8_lossy(bytes).into_owned();
        for turn in [Turn::GoesOn, Turn::Ends] {
            let reply = hooks::say(&call, &Answer::Refuse { reason: reason.clone(), turn });
            assert!(reply.stdout.is_empty() || serde_json::from_str::<serde_json::Value>(&reply.stdout).is_ok());
        }
    }
});
