"""What a decision and a question cost in process, beside the way through a process for each.

    TRIPWIRE_BINARY=target/…/tripwire python bindings/python/bench.py
"""

import json
import os
import subprocess
import sys
import tempfile
import time

from tripwire import Engine, guard, observe


def median(times):
    return sorted(times)[len(times) // 2] * 1e6


def measure(count, work):
    times = []
    for n in range(count):
        begun = time.perf_counter()
        work(n)
        times.append(time.perf_counter() - begun)
    return median(times)


def main():
    binary = os.environ.get("TRIPWIRE_BINARY")
    engine = Engine()
    lines = [json.dumps({"timestamp": n * 10, "tool": "Read", "args": {"path": f"f{n}"}, "output": f"text {n}"}) for n in range(4000)]
    events = [json.loads(line) for line in lines]
    print(f"engine, a line:  {measure(2000, lambda n: engine.step(lines[n])):8.1f} us")
    print(f"engine, a dict:  {measure(2000, lambda n: engine.step(events[2000 + n])):8.1f} us")
    print(f"observe:         {measure(2000, lambda n: observe('Read', {'path': str(n)}, 'text')):8.1f} us")
    free = {"gate.max_tool_calls_per_minute": 10**6, "gate.max_tokens_per_minute": 10**9}
    for name, folder in (("disk", None), ("memory", "/dev/shm")):
        with tempfile.TemporaryDirectory(dir=folder) as place, guard(workspace=place, settings=free) as g:
            calls = []
            before = measure(300, lambda n: calls.append(g.before("Read", {"path": f"part{n}.rs"})))
            after = measure(300, lambda n: calls[n].after(f"line {n}"))
            with open(os.path.join(place, "anchor"), "ab") as anchor:

                def sync(_n):
                    os.write(anchor.fileno(), b"x" * 2600)
                    os.fdatasync(anchor.fileno())

                print(f"session, {name}: before {before:8.1f} us, after {after:8.1f} us; a synced append {measure(300, sync):8.1f} us")
    if binary:
        line = lines[0].encode()
        print(f"a process each:  {measure(40, lambda n: subprocess.run([binary, 'decide', '-', '--json'], input=line, capture_output=True, check=True)):8.1f} us")
    else:
        print("a process each: not measured, TRIPWIRE_BINARY is not set", file=sys.stderr)


if __name__ == "__main__":
    main()
