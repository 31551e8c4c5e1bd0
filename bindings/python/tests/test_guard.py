"""The journaled session: questions, results, parallel calls, threads, forks, and what it raises."""

import asyncio
import json
import multiprocessing
import os
import pickle
import threading

import pytest

import tripwire
from tripwire import Held, Refused, Stopped, UsageError, guard


def work(g, command, output, **result):
    g.before("Bash", {"command": command})
    return g.after(output=output, **result)


def test_the_example_of_the_readme():
    with guard(budget="5usd", profile="balanced") as g:
        g.before("Bash", {"cmd": "pytest"})
        done = g.after(output="2 passed", exit_code=0)
        assert done.stop is None
        status = g.status()
    assert status["budgetMicroUsd"] == 5_000_000 and status["steps"] == 1
    with pytest.raises(UsageError):
        g.before("Bash", {"cmd": "pytest"})


def test_distinct_work_is_untouched():
    with guard() as g:
        for n in range(30):
            work(g, f"grep -n name{n} src/file{n}.py", f"{n}: def name{n}(): pass", exit_code=0)
        assert "held" not in g.status()


@pytest.mark.parametrize("commands", [["make"], ["make", "cat Makefile"]])
def test_a_loop_is_held_and_replays_equal_in_the_binary(commands, binary):
    with guard() as g:
        with pytest.raises(Held) as held:
            for n in range(60):
                command = commands[n % len(commands)]
                work(g, command, f"error: {command} failed the same way", exit_code=2)
        session = g.session
        assert held.value.rule and held.value.hint and held.value.evidence and "tripwire" in str(held.value)
        with pytest.raises(Stopped):
            g.before("Read", {"path": "a.py"})
    replayed = binary("replay", session)
    assert replayed.returncode == 0, replayed.stderr
    assert binary("verify").returncode == 0


def test_held_and_refused_are_both_stopped_and_say_why():
    assert issubclass(Held, Stopped) and issubclass(Refused, Stopped) and issubclass(tripwire.GuardFailed, Stopped)
    with guard() as g:
        with pytest.raises(Held) as held:
            g.before("Bash", {"command": "rm -rf /usr/share"})
        assert held.value.code and held.value.rule == "FLOOR-1" and held.value.evidence
        with pytest.raises(Refused) as refused:
            g.before("Bash", {"command": "rm -rf .geometry"})
        assert refused.value.rule and refused.value.reason
        again = pickle.loads(pickle.dumps(held.value))
        assert type(again) is Held and again.code == held.value.code and str(again) == str(held.value)


def test_a_person_allows_a_held_call_with_the_binary(binary):
    with guard() as g:
        with pytest.raises(Held) as held:
            g.before("Bash", {"command": "rm -rf /usr/share"})
        allowed = binary("allow", "--once", held.value.code)
        assert allowed.returncode == 0, allowed.stderr
        assert g.before("Bash", {"command": "rm -rf /usr/share"}).id


def test_the_budget_holds_over_sub_agents():
    with guard(budget="0.10usd") as g:
        first, second = g.child("researcher"), g.child("researcher")
        assert first.agent != second.agent
        grandchild = first.child("reader")
        for agent in (first, second, grandchild):
            told = agent.usage("claude-sonnet-4-5", input_tokens=12_000)
        assert isinstance(told.stop, Held)
        with pytest.raises(Held):
            second.before("Read", {"path": "a"})
        with pytest.raises(Held):
            told.raise_if_stopped()


def test_a_stop_file_holds_everything(place):
    with guard() as g:
        work(g, "ls", "a", exit_code=0)
        (place / ".geometry" / "STOP").touch()
        with pytest.raises(Held):
            g.before("Bash", {"command": "ls b"})
        assert g.status()["held"]


def test_a_throttle_tells_how_long_to_wait_and_is_waited_out():
    with guard(settings={"gate.max_tool_calls_per_minute": 3, "gate.tool_call_warning_threshold": 2}) as g:
        with pytest.raises(Refused) as refused:
            for n in range(6):
                work(g, f"ls {n}", str(n), exit_code=0)
        assert 0 < refused.value.retry_after <= 120


def test_parallel_calls_close_by_themselves_and_after_needs_exactly_one():
    with guard() as g:
        first, second = g.before("Read", {"path": "a"}), g.before("Read", {"path": "b"})
        with pytest.raises(UsageError):
            g.after(output="which?")
        second.after("b")
        first.after("a")
        with pytest.raises(UsageError):
            g.after(output="none is open")
        with pytest.raises(UsageError):
            first.after("twice")


def test_a_call_without_a_result_is_no_success(place):
    with guard() as g:
        g.before("Bash", {"command": "make"})
        session = g.session
    journal = (place / ".geometry" / "journal" / session / "00000001.jsonl").read_text()
    assert "no result: the session was closed" in journal
    events = [line for line in journal.splitlines() if '"event"' in line]
    assert '"status":"error"' in events[-1]


def test_a_call_as_a_context_reports_its_exception():
    with guard() as g:
        with pytest.raises(KeyError):
            with g.before("lookup", {"key": "a"}):
                raise KeyError("a")
        with g.before("lookup", {"key": "b"}) as call:
            call.after({"found": 1})
        with g.before("lookup", {"key": "c"}):
            pass
        assert g.status()["openCalls"] == 0


def test_threads_ask_at_the_same_time():
    with guard() as g:
        failed = []

        def run(name):
            try:
                for n in range(8):
                    g.before("Read", {"path": f"{name}/{n}.py"}).after(f"text {name} {n}")
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=run, args=(name,)) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert g.status()["openCalls"] == 0


def test_asynchronous_calls_do_not_hold_up_the_event_loop():
    async def main():
        async with guard() as g:
            async def one(n):
                call = await g.abefore("fetch", {"url": f"http://127.0.0.1/{n}"})
                await asyncio.sleep(0)
                return await call.aafter(f"page {n}")

            await asyncio.gather(*(one(n) for n in range(10)))
            with pytest.raises(Held):
                await g.abefore("Bash", {"command": "rm -rf /"})
            return g.status()["openCalls"]

    assert asyncio.run(main()) == 0


def _in_child(g, queue):
    try:
        g.before("Bash", {"command": "ls"})
        queue.put("asked")
    except Exception as error:
        queue.put(type(error).__name__)


def test_a_forked_process_is_told_and_can_begin_its_own():
    with guard() as g:
        work(g, "ls", "a", exit_code=0)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        child = context.Process(target=_in_child, args=(g, queue))
        child.start()
        assert queue.get(timeout=20) == "ForkedAway"
        child.join(20)
        assert child.exitcode == 0
        # What the other process did changed nothing here.
        work(g, "ls b", "b", exit_code=0)


def test_a_session_is_taken_up_again():
    with guard(budget="3usd") as g:
        work(g, "ls", "a", exit_code=0)
        session = g.session
    with pytest.raises(UsageError):
        guard(session=session, budget="9usd")
    with guard(session=session) as g:
        assert g.status()["budgetMicroUsd"] == 3_000_000


@pytest.mark.parametrize(
    "wrong",
    [{"budget": "much"}, {"profile": "lax"}, {"session": "nobody"}, {"settings": {"no.such": 1}}],
)
def test_wrong_arguments_are_named_and_make_nothing(wrong, place):
    with pytest.raises(UsageError) as error:
        guard(**wrong)
    assert str(error.value)
    journal = place / ".geometry" / "journal"
    assert not journal.exists() or not list(journal.iterdir())


def test_a_damaged_journal_stops_everything(place):
    with guard() as g:
        work(g, "ls", "a", exit_code=0)
        session = g.session
    journal = place / ".geometry" / "journal" / session / "00000001.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[-2] = lines[-2].replace(b"a", b"b", 1)
    journal.write_bytes(b"".join(lines))
    (place / ".geometry" / "state" / f"{session}.state").unlink()
    with pytest.raises(tripwire.GuardFailed) as failed:
        guard(session=session)
    assert isinstance(failed.value, Stopped) and "tripwire verify" in str(failed.value)


@pytest.mark.parametrize("output", ["\ud800 half a pair", b"\xff\xfe", None, {"a": [1, object()]}, 3.5])
def test_any_output_can_be_reported(output):
    with guard() as g:
        g.before("tool", {"path": "a"})
        g.after(output=output)


def test_arguments_of_any_form_are_read_and_none_goes_unjudged():
    with guard() as g:
        for args in (None, {}, {"when": object()}, '{"path": "a"}', "plain text", ["a", 1]):
            g.before("tool", args).after("ok")
        with pytest.raises(Held):
            g.before("Bash", json.dumps({"command": "rm -rf /"}))


def test_a_notebook_needs_no_with():
    code = (
        "import tripwire\n"
        "g = tripwire.guard()\n"
        "g.before('Bash', {'command': 'ls'})\n"
        "print(g.session)\n"
    )
    import subprocess
    import sys

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert ended.returncode == 0, ended.stderr
    journal = f".geometry/journal/{ended.stdout.strip()}/00000001.jsonl"
    assert "no result" in open(journal).read(), "closed when the interpreter ended"
