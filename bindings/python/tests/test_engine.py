"""The pure engine and the observer: the same decisions as the binary, and errors instead of panics."""

import json
import threading

import pytest

from tripwire import Engine, UsageError, observe


def calls(count, same=True):
    for n in range(count):
        command = "make" if same else f"cat file{n}"
        yield {"timestamp": n * 1000, "tool": "Bash", "args": {"command": command}, "output": "error" if same else f"text {n}"}


def test_a_loop_is_refused_and_distinct_work_is_not():
    engine = Engine(profile="strict")
    decisions = [engine.step(call) for call in calls(6)]
    last = decisions[-1]
    assert not last.allowed and last.rule and last.reason
    assert any(decision.evidence for decision in decisions)
    assert any(decision.effects for decision in decisions) and any(decision.findings for decision in decisions)
    engine = Engine(profile="strict")
    assert all(engine.step(call).allowed for call in calls(6, same=False))


def test_the_decisions_are_those_of_the_binary(binary):
    stream = list(calls(6)) + [{"timestamp": 9000, "tokenCount": 5, "toolCalls": 0, "latencyMs": 1, "outputLength": 2}]
    engine = Engine()
    ours = [engine.step(event).json() for event in stream]
    decided = binary("decide", "-", "--json", input="".join(json.dumps(event) + "\n" for event in stream))
    assert decided.returncode == 0, decided.stderr
    assert ours == decided.stdout.splitlines()


def test_a_policy_is_a_file_or_settings(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("profile: strict\n")
    for engine in (Engine(str(file)), Engine(file), Engine({"profile": "strict"}), Engine(profile="strict")):
        assert not [engine.step(call) for call in calls(6)][-1].allowed
    for wrong in ({"no.such.setting": 1}, {"profile": "lax"}, str(tmp_path / "missing.yaml")):
        with pytest.raises(UsageError):
            Engine(wrong)


@pytest.mark.parametrize("event", ["", "{", "[]", "7", {}, {"timestamp": -1, "tool": "x"}, {"timestamp": 1}, "{}" * 3])
def test_a_bad_event_is_named_and_changes_nothing(event):
    engine = Engine()
    before = engine.step({"timestamp": 0, "tool": "Read", "args": {"path": "a"}}).json()
    with pytest.raises(UsageError):
        engine.step(event)
    other = Engine()
    assert other.step({"timestamp": 0, "tool": "Read", "args": {"path": "a"}}).json() == before
    following = {"timestamp": 5, "tool": "Read", "args": {"path": "b"}}
    assert engine.step(following).json() == other.step(following).json()


def test_values_without_a_form_in_json_are_refused():
    with pytest.raises(TypeError):
        Engine().step({"timestamp": 1, "tool": "x", "args": {"a": object()}})
    deep = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(UsageError):
        Engine().step({"timestamp": 1, "tool": "x", "args": deep})


def test_threads_share_one_engine():
    engine = Engine()
    failed = []

    def run(n):
        try:
            for event in calls(50, same=False):
                engine.step({**event, "timestamp": 10**6})
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failed


def test_the_observer_gives_the_facts_of_a_call():
    facts = observe("Bash", {"command": "pytest -q"}, "2 passed", exit_code=0)
    assert "test" in facts["flags"] and facts["outcome"]["test"] == "passed"
    failed = observe("Bash", {"command": "pytest -q"}, "1 failed", exit_code=1)
    assert failed["outcome"]["status"] == "error" and failed["resultDigest"] != facts["resultDigest"]
