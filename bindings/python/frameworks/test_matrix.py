"""Six behaviours of each framework, unmodified, on a scripted model on loopback. The table of the docs is made from this run."""

import os
import pathlib
import subprocess
import sys

import pytest
from drivers import DRIVERS, claude_environment, version
from scripted import ScriptedModel

from tripwire import Held, guard
from tripwire.integrations._common import stopped_by

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "reference" / "frameworks.md"
BEHAVIOURS = ["identical loop", "A-B-A-B", "distinct work", "budget over sub-agents", "STOP file", "replay equal"]
SEEN = {}
# Of what the model reads when it calls tools too fast.
REFUSED = "gate.max_tool_calls_per_minute"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    for name in ("OPENAI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "fake")
    return work


def drive(driver, script, work, helper=False, input_tokens=200, **options):
    """One run: what stopped it, how the session stands, what ran, and the model with what it was asked."""
    if version(driver) is None:
        pytest.skip(f"{driver.package} IS NOT INSTALLED")
    model = ScriptedModel(script, input_tokens)
    ran = []

    def counted(command):
        ran.append(command)
        return work(command)

    try:
        with guard(**options) as g:
            try:
                driver.run(g, model, counted, helper)
                stop = None
            except Exception as error:
                stop = stopped_by(error)
                if stop is None:
                    raise
            status, session = g.status(), g.session
    finally:
        model.close()
    replay = subprocess.run([os.environ["TRIPWIRE_BINARY"], "replay", session], capture_output=True, text=True)
    assert replay.returncode == 0, replay.stderr
    SEEN.setdefault(driver.package, {})["replay equal"] = "yes"
    return stop, status, ran, model


def seen(driver, behaviour, text):
    SEEN.setdefault(driver.package, {})[behaviour] = text


fails = lambda command: f"error: {command} failed the same way"


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.package)
class TestFramework:
    def test_an_identical_loop_is_stopped(self, driver):
        stop, _, ran, _ = drive(driver, lambda n, tools: ("bash", {"command": "make"}), fails)
        assert isinstance(stop, Held) and len(ran) < 12, (stop, len(ran))
        seen(driver, "identical loop", f"held after {len(ran)} calls")

    def test_two_calls_in_turn_are_stopped(self, driver):
        script = lambda n, tools: ("bash", {"command": ["make", "cat Makefile"][n % 2]})
        stop, _, ran, _ = drive(driver, script, fails)
        assert isinstance(stop, Held) and len(ran) < 30, (stop, len(ran))
        seen(driver, "A-B-A-B", f"held after {len(ran)} calls")

    def test_distinct_work_is_untouched(self, driver):
        script = lambda n, tools: ("bash", {"command": f"grep -n name{n} src/f{n}.py"}) if n < 15 else "done"
        stop, status, ran, _ = drive(driver, script, lambda command: f"3: found by {command}")
        assert stop is None and len(ran) == 15 and "held" not in status
        seen(driver, "distinct work", f"{len(ran)} calls, none stopped")

    def test_the_budget_holds_over_sub_agents(self, driver):
        def script(n, tools):
            if "ask_helper" in tools:
                return ("ask_helper", {"task": f"part {n}"}) if n < 9 else "done"
            return ("bash", {"command": f"grep -n name{n} src/f{n}.py"}) if n < 40 else "done"

        stop, status, ran, model = drive(
            driver, script, lambda command: f"3: found by {command}", helper=True, input_tokens=5_000, budget="0.10usd"
        )
        assert isinstance(stop, Held), (stop, status)
        assert status["spentMicroUsd"] >= 100_000 and status["spentMicroUsd"] < 140_000 and model.requests < 20, (status, model.requests)
        seen(driver, "budget over sub-agents", f"held at ${status['spentMicroUsd'] / 1e6:.2f} of $0.10")

    def test_a_stop_file_holds_the_run(self, driver, place):
        def work(command):
            if command.endswith("2"):
                (place / ".geometry" / "STOP").touch()
            return f"text of {command}"

        stop, _, ran, _ = drive(driver, lambda n, tools: ("bash", {"command": f"cat file{n}"}), work)
        assert isinstance(stop, Held) and len(ran) <= 4, (stop, ran)
        seen(driver, "STOP file", f"held after {len(ran)} calls")

    def test_a_refused_call_gives_its_reason_to_the_model_and_the_run_goes_on(self, driver):
        script = lambda n, tools: ("bash", {"command": f"cat file{n}"}) if n < 6 else "done"
        slow = {"gate.max_tool_calls_per_minute": 3, "gate.tool_call_warning_threshold": 2}
        stop, _, ran, model = drive(driver, script, lambda command: f"text of {command}", settings=slow)
        assert stop is None and 1 <= len(ran) < 6, (stop, ran)
        assert REFUSED in model.last, model.last[-2000:]


EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*_example.py")), ids=lambda file: file.stem)
def test_the_example_runs_and_its_loop_is_held(example):
    package = example.stem.removesuffix("_example").replace("_", "-")
    driver = next(driver for driver in DRIVERS if driver.package.startswith(package))
    if version(driver) is None:
        pytest.skip(f"{driver.package} IS NOT INSTALLED")
    model = ScriptedModel(lambda n, tools: ("bash", {"command": "echo the same error; false"}))
    try:
        addresses = {"OPENAI_BASE_URL": model.address, "GOOGLE_GEMINI_BASE_URL": model.root}
        environment = {**os.environ, **addresses, **claude_environment(model)}
        ended = subprocess.run([sys.executable, str(example)], env=environment, capture_output=True, text=True, timeout=120)
    finally:
        model.close()
    assert ended.returncode == 0 and "held: " in ended.stdout, (ended.stdout[-400:], ended.stderr[-2000:])


def table():
    lines = ["| package | version | " + " | ".join(BEHAVIOURS) + " |", "| --- " * (len(BEHAVIOURS) + 2) + "|"]
    for driver in DRIVERS:
        cells = [SEEN.get(driver.package, {}).get(behaviour, "not tried") for behaviour in BEHAVIOURS]
        lines.append(f"| {driver.package} | {version(driver)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_table_of_the_docs_is_what_was_seen():
    if any(version(driver) is None for driver in DRIVERS) or len(SEEN) < len(DRIVERS):
        pytest.skip("NOT ALL FRAMEWORKS WERE TRIED")
    begin, end = "<!-- matrix -->\n", "\n<!-- end of matrix -->"
    text = PAGE.read_text()
    before, rest = text.split(begin)
    written, after = rest.split(end)
    if os.environ.get("TRIPWIRE_WRITE_DOCS") == "1":
        PAGE.write_text(before + begin + table() + end + after)
    else:
        assert written == table(), "run it with TRIPWIRE_WRITE_DOCS=1"
