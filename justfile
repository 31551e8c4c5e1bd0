# Every chore by one name. `just` without a name lists them.

static_flags := "-C target-feature=+crt-static -C relocation-model=static"

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

# What needs the real clients, which `.ci/run` installs; says loudly which of them it did not find
test-clients:
    cargo test --package tripwire-cli --test real_clients -- --ignored --nocapture

# Limits, walls and names; `just test` runs the same check as a test
tidy:
    cargo xtask tidy

# One step of the chain, the similarity sketch, the decode rate
bench:
    cargo bench --package tripwire-core

# The hook on the path of every tool call, against an empty process
bench-hook:
    RUSTFLAGS="{{ static_flags }}" cargo bench --package tripwire-cli --bench hook \
        --target "$(rustc -vV | sed -n 's/^host: //p')"

# A judgement before a shell command, and a permission's question
bench-judge:
    cargo bench --package tripwire-host --bench judge --bench authority

# The cost of entering, working in and leaving the sandbox, beside bwrap: of the static binary, which is what is installed
bench-sandbox: static
    TRIPWIRE="$PWD/target/$(rustc -vV | sed -n 's/^host: //p')/release/tripwire" \
        cargo bench --package tripwire-sandbox --bench cost

# One static binary at a fixed address, because a hook is started at every tool call: the dynamic loader and the relocation
# of a large program cost more than the hook itself. The explicit target keeps the flags away from proc-macros, which
# cannot be linked statically.
[doc('The static release binary for this machine')]
static:
    RUSTFLAGS="{{ static_flags }}" cargo build --release --package tripwire-cli \
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

# Bent hook inputs against the hooks' decoders, on stable Rust; TRIPWIRE_HOOK_FIXTURES names a folder of recorded ones
bend-hook cases="100000":
    TRIPWIRE_FUZZ_CASES={{ cases }} cargo test --package tripwire-adapters --test hooks mutated -- --nocapture
