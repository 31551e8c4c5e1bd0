#!/usr/bin/env python3
"""Lists the functions that a hook runs: those of every hook first, then those of fewer, each in the order of their first run.

A hook lives for a millisecond, and most of what it costs beyond its own work is code that has to be paged in. `cargo xtask
dist` hands this list to the linker, which puts these functions side by side (packaging/ordering-cc.sh). Names that a build
does not have are passed over, so an old list costs speed and nothing else; make a new one when hooks have changed a lot:

    RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=static -C symbol-mangling-version=v0" \\
        cargo --config 'profile.dist.package.tripwire-cli.strip="none"' build --profile dist --package tripwire-cli \\
        --features telemetry,fleet --target x86_64-unknown-linux-gnu
    python3 packaging/hook-order.py target/x86_64-unknown-linux-gnu/dist/tripwire > packaging/hook-order.txt

It needs `nm` and `c++filt` (binutils) and steps through six hooks, which takes some minutes.
"""

import bisect
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

TRACE_ME, PEEK_USER, SINGLE_STEP = 0, 3, 9
# Where `user_regs_struct` of x86-64 holds the address of the next instruction.
NEXT_INSTRUCTION = 16 * 8
# What the optimiser puts behind the name of a function's copy.
NUMBER_OF_A_COPY = re.compile(r"\.(llvm\.)?[0-9]+$")
# What `c++filt` writes behind the name of a crate.
NUMBER_OF_A_CRATE = re.compile(r"\[[0-9a-f]{12,16}\]")

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def functions(binary):
    """The names of the functions at each address."""
    names = {}
    for line in subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout.splitlines():
        address, _, rest = line.partition(" ")
        kind, _, name = rest.partition(" ")
        if kind in {"t", "T", "w", "W"}:
            names.setdefault(int(address, 16), []).append(name)
    if not names:
        sys.exit(f"{binary} has no symbols; build it as the beginning of {__file__} says")
    return names


def addresses(command, work, home, text):
    """Steps through a command and gives each address that it runs."""
    with tempfile.TemporaryFile() as given:
        given.write(text.encode())
        given.seek(0)
        child = os.fork()
        if child == 0:
            os.dup2(given.fileno(), 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.chdir(work)
            libc.ptrace(TRACE_ME, 0, None, None)
            os.execve(command[0], command, {"HOME": home, "PATH": "/usr/bin:/bin"})
        os.waitpid(child, 0)
        while True:
            yield libc.ptrace(PEEK_USER, child, NEXT_INSTRUCTION, None)
            libc.ptrace(SINGLE_STEP, child, None, None)
            _, status = os.waitpid(child, 0)
            if not os.WIFSTOPPED(status):
                return


def events(work, transcript):
    """Calls as a client reports them: the first ones fill the session, the last ones are stepped through."""

    def event(name, tool, call, given, **more):
        return json.dumps(
            {
                "session_id": "order",
                "transcript_path": transcript,
                "cwd": work,
                "hook_event_name": name,
                "tool_name": tool,
                "tool_use_id": call,
                "tool_input": given,
                **more,
            }
        )

    def call(tool, given, number):
        name = f"{tool}{number}"
        done = {"stdout": f"test result: ok {number}", "stderr": "", "interrupted": False}
        yield event("PreToolUse", tool, name, given)
        yield event("PostToolUse", tool, name, given, tool_response=done)

    before = [text for n in range(3) for text in call("Read", {"file_path": f"a{n}.rs"}, n)]
    before += [text for n in range(3) for text in call("Bash", {"command": f"ls {n}"}, n)]
    after = [*call("Read", {"file_path": "b.rs"}, 9), *call("Bash", {"command": "cargo test"}, 9)]
    after += call("Edit", {"file_path": "c.rs", "old_string": "a", "new_string": "b"}, 9)
    return before, after


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    binary = os.path.abspath(sys.argv[1])
    names = functions(binary)
    starts = sorted(names)
    # How many hooks run a function; the order of the first runs is that of the entries.
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        work, home, transcript = (os.path.join(folder, name) for name in ("work", "home", "transcript.jsonl"))
        os.mkdir(work)
        os.mkdir(home)
        open(transcript, "w", encoding="utf-8").close()
        command = [binary, "hook", "claude"]
        before, after = events(work, transcript)
        for text in before:
            subprocess.run(
                command,
                cwd=work,
                env={"HOME": home, "PATH": "/usr/bin:/bin"},
                input=text.encode(),
                stdout=subprocess.DEVNULL,
                check=True,
            )
        for text in after:
            places = (bisect.bisect_right(starts, address) - 1 for address in addresses(command, work, home, text))
            for place in dict.fromkeys(places):
                if place >= 0:
                    runs[starts[place]] = runs.get(starts[place], 0) + 1
            print(f"{len(runs)} functions", file=sys.stderr)
    order = sorted(runs, key=lambda start: -runs[start])
    symbols = [NUMBER_OF_A_COPY.sub("", name) for start in order for name in names[start]]
    written = subprocess.run(["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True).stdout
    print("\n".join(dict.fromkeys(NUMBER_OF_A_CRATE.sub("", written).splitlines())))


main()
