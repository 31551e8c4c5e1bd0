# Every chore by one name. `just` without a name lists them.

_list:
    @just --list

# Everything a change must pass before it is committed
check: fmt clippy test tidy

# The formatting is the tool's, so that no review discusses it
fmt:
    cargo fmt --all --check

# The lint table of the workspace, warnings included
clippy:
    cargo clippy --workspace --all-targets -- -D warnings

# The README's test command
test:
    cargo test --workspace

# Limits, walls and names; `just test` runs the same check as a test
tidy:
    cargo xtask tidy

# One step of the chain, the similarity sketch, the decode rate
bench:
    cargo bench --package tripwire-core

# The hook on the path of every tool call, against an empty process
bench-hook:
    RUSTFLAGS="-C target-feature=+crt-static" cargo bench --package tripwire-cli --bench hook \
        --target "$(rustc -vV | sed -n 's/^host: //p')"

# A judgement before a shell command, and a permission's question
bench-judge:
    cargo bench --package tripwire-host --bench judge --bench authority

# The cost of entering, working in and leaving the sandbox, beside bwrap
bench-sandbox:
    cargo build --release --package tripwire-cli
    cargo bench --package tripwire-sandbox --bench cost

# One static binary, because a hook is started at every tool call and the dynamic loader costs time. The explicit target
# keeps the flag away from proc-macros, which cannot be linked statically.
[doc('The static release binary for this machine')]
static:
    RUSTFLAGS="-C target-feature=+crt-static" cargo build --release --package tripwire-cli \
        --target "$(rustc -vV | sed -n 's/^host: //p')"

# Licences, advisories, duplicate versions, sources (cargo install --locked cargo-deny)
deny:
    cargo deny --workspace check

# The decoder against random bytes, for so many seconds (needs a nightly toolchain and cargo install cargo-fuzz)
fuzz seconds="60":
    mkdir -p fuzz/corpus/decode_event
    cargo +nightly fuzz run decode_event fuzz/corpus/decode_event fuzz/seeds/decode_event -- -max_total_time={{ seconds }} -max_len=65536

# The hooks' decoders against random bytes, for so many seconds
fuzz-hook seconds="60":
    mkdir -p fuzz/corpus/decode_hook
    cargo +nightly fuzz run decode_hook fuzz/corpus/decode_hook fuzz/seeds/decode_hook -- -max_total_time={{ seconds }} -max_len=65536
