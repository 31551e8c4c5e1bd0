"""A journaled session in process: ask before a call, report after it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
import weakref
from types import TracebackType
from typing import Any, Dict, List, Mapping, Optional, Type, Union

from . import _native
from ._errors import Held, Refused, Stopped, UsageError

_log = logging.getLogger("tripwire")

Arguments = Union[None, str, Mapping[str, Any], List[Any]]


def guard(
    *,
    budget: Optional[str] = None,
    profile: Optional[str] = None,
    workspace: Union[None, str, "os.PathLike[str]"] = None,
    session: Optional[str] = None,
    role: Optional[str] = None,
    settings: Optional[Mapping[str, Any]] = None,
    wait: float = 0.0,
) -> "Guard":
    """Begin a guarded session.

    Args:
        budget: the money budget, such as ``"5usd"``.
        profile: ``"balanced"`` (the default) or ``"strict"``.
        workspace: a folder of the workspace; by default the one that the current folder belongs to.
        session: a session to take up; by default a new one begins.
        role: the role to act in; by default ``TRIPWIRE_ROLE``, else that of the policy.
        settings: other settings of the policy by their dotted path, as ``tripwire policy show`` lists them.
        wait: how many seconds `before` waits for a throttle by itself before it raises `Refused`.

    Use it as ``with guard() as g`` or ``async with guard() as g``. In a notebook call `close()` yourself; what is left open is
    closed when the interpreter ends.
    """
    texts = {str(path): _setting(value) for path, value in (settings or {}).items()}
    native = _native.NativeSession(
        None if workspace is None else os.fspath(workspace), session, budget, profile, role, texts
    )
    return Guard(native, wait)


class Guard:
    """A session, or a sub-agent's part of it. Safe to use from several threads and from asynchronous code."""

    def __init__(self, native: "_native.NativeSession", wait: float, agent: Optional[str] = None) -> None:
        self._native = native
        self._wait = wait
        self._agent = agent
        self._open: Dict[str, "Call"] = {}
        self._lock = threading.Lock()
        self._finalizer = None if agent else weakref.finalize(self, _close_quietly, native)

    # Before and after a call.

    def before(
        self, tool: str, args: Arguments = None, *, turn: Optional[str] = None, wait: Optional[float] = None
    ) -> "Call":
        """Ask before a call. Returns the open call, or raises `Refused` or `Held`.

        Args:
            tool: the tool's name.
            args: its arguments: a mapping, or JSON text.
            turn: the model's answer that asked for it; calls of one answer share it and are one step.
            wait: overrides the guard's own.
        """
        text = _arguments(args)
        until = time.monotonic() + (self._wait if wait is None else wait)
        while True:
            call, pause = self._ask(tool, text, turn, until)
            if call is not None:
                return call
            time.sleep(pause)

    async def abefore(
        self, tool: str, args: Arguments = None, *, turn: Optional[str] = None, wait: Optional[float] = None
    ) -> "Call":
        """The same from asynchronous code: neither the disk nor a throttle holds up the event loop."""
        text = _arguments(args)
        until = time.monotonic() + (self._wait if wait is None else wait)
        while True:
            call, pause = await asyncio.to_thread(self._ask, tool, text, turn, until)
            if call is not None:
                return call
            await asyncio.sleep(pause)

    def after(
        self,
        output: Any = "",
        *,
        exit_code: Optional[int] = None,
        error: Optional[bool] = None,
        duration: Optional[float] = None,
    ) -> "Result":
        """Report the result of the one call that is open; raises `UsageError` unless exactly one is."""
        with self._lock:
            calls = list(self._open.values())
        if len(calls) != 1:
            what = "no call is open" if not calls else f"{len(calls)} calls are open"
            raise UsageError(f"{what}; use `call = g.before(...)` and `call.after(...)`")
        return calls[0].after(output, exit_code=exit_code, error=error, duration=duration)

    # What else the session hears of.

    def usage(
        self,
        model: str,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        reasoning_tokens: int = 0,
        context_tokens: Optional[int] = None,
    ) -> "Result":
        """Count what one answer of a model used. The classes do not overlap: cached input is not in `input_tokens`."""
        tokens = (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens)
        return _result(self._native.usage(model, tokens, context_tokens, self._agent))

    def child(self, name: str) -> "Guard":
        """Announce a sub-agent and return its guard: same session, same budget, calls under its own name."""
        agent, stop = self._native.child(name, self._agent)
        if stop is not None:
            raise _stopped(stop)
        return Guard(self._native, self._wait, agent)

    def status(self) -> Dict[str, Any]:
        """How the session stands, with what people did meanwhile."""
        return json.loads(self._native.status())

    @property
    def session(self) -> str:
        """The session's id, for ``tripwire log --session ID``."""
        return self._native.id()

    @property
    def agent(self) -> Optional[str]:
        """The sub-agent whose guard this is; none for the main agent."""
        return self._agent

    def close(self) -> None:
        """Close the session. Calls that are open are recorded as having no result. A sub-agent's guard closes nothing."""
        if self._agent is None:
            self._native.close()
            if self._finalizer is not None:
                self._finalizer.detach()

    def __enter__(self) -> "Guard":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    async def __aenter__(self) -> "Guard":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        agent = f", agent={self._agent!r}" if self._agent else ""
        return f"<tripwire.Guard{agent}>"

    def _ask(self, tool: str, text: str, turn: Optional[str], until: float):
        """One question: the open call, or how long to wait before the next."""
        call_id, note, stop, notes = self._native.before(tool, text, self._agent, turn)
        _tell(notes)
        if stop is None:
            call = Call(self, call_id, tool, note)
            with self._lock:
                self._open[call_id] = call
            return call, 0.0
        wait = stop.retry_after_ms
        if wait is not None and not stop.held and time.monotonic() + wait / 1000 <= until:
            return None, max(wait / 1000, 0.001)
        raise _stopped(stop)

    def _closed(self, call: "Call") -> None:
        with self._lock:
            self._open.pop(call.id, None)


class Call:
    """A call that may run, once. As a context manager it reports an exception as the call's error."""

    def __init__(self, owner: Guard, call_id: str, tool: str, note: Optional[str]) -> None:
        self._owner = owner
        self._done = False
        self.id = call_id
        self.tool = tool
        #: What the agent should know before it runs.
        self.note = note

    def after(
        self,
        output: Any = "",
        *,
        exit_code: Optional[int] = None,
        error: Optional[bool] = None,
        duration: Optional[float] = None,
    ) -> "Result":
        """Report what it gave, and close it."""
        millis = None if duration is None else max(0, int(duration * 1000))
        answer = self._owner._native.after(self.id, _text(output), error, exit_code, millis)
        return self._finished(answer)

    async def aafter(
        self,
        output: Any = "",
        *,
        exit_code: Optional[int] = None,
        error: Optional[bool] = None,
        duration: Optional[float] = None,
    ) -> "Result":
        """The same from asynchronous code."""
        return await asyncio.to_thread(self.after, output, exit_code=exit_code, error=error, duration=duration)

    def no_result(self) -> "Result":
        """Close it without a result: that is no success."""
        return self._finished(self._owner._native.no_result(self.id))

    def _finished(self, answer) -> "Result":
        self._done = True
        self._owner._closed(self)
        return _result(answer)

    def __enter__(self) -> "Call":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        if self._done:
            return
        if error is not None:
            self.after(f"{type(error).__name__}: {error}", error=True)
        else:
            self.no_result()

    def __repr__(self) -> str:
        return f"<tripwire.Call {self.id} of {self.tool}>"


class Result:
    """What followed from a result: a note for the agent, and why nothing may follow, where that is so."""

    __slots__ = ("note", "stop")

    def __init__(self, note: Optional[str], stop: Optional[Stopped]) -> None:
        #: Append it to the tool's result, so that the model reads it.
        self.note = note
        #: The exception that the next `before` would raise.
        self.stop = stop

    def raise_if_stopped(self) -> None:
        """Raise the stop, if there is one."""
        if self.stop is not None:
            raise self.stop

    def __repr__(self) -> str:
        return f"Result(note={self.note!r}, stop={self.stop!r})"


def _result(answer) -> Result:
    note, stop, notes = answer
    _tell(notes)
    return Result(note, None if stop is None else _stopped(stop))


def _stopped(stop: "_native.NativeStop") -> Stopped:
    kind = Held if stop.held else Refused
    return kind(
        stop.message,
        reason=stop.reason,
        rule=stop.rule,
        evidence=stop.evidence,
        retry_after=None if stop.retry_after_ms is None else stop.retry_after_ms / 1000,
        code=stop.code,
        hint=stop.hint,
    )


def _tell(notes: List[str]) -> None:
    for note in notes:
        _log.warning("%s", note)


def _arguments(args: Arguments) -> str:
    if args is None:
        return "{}"
    if isinstance(args, str):
        try:
            json.loads(args)
            return args
        except ValueError:
            # A plain text is an argument too; what cannot be read is not let pass unread.
            return json.dumps(args)
    return json.dumps(args, default=str)


def _text(output: Any) -> str:
    if output is None:
        return ""
    if isinstance(output, str):
        # Half a surrogate pair has no form outside of Python.
        return output.encode("utf-8", "replace").decode("utf-8")
    if isinstance(output, (bytes, bytearray)):
        return bytes(output).decode("utf-8", "replace")
    try:
        return json.dumps(output, default=str)
    except (TypeError, ValueError):
        return str(output)


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _close_quietly(native: "_native.NativeSession") -> None:
    try:
        native.close()
    except Exception:  # the interpreter ends; in a forked process the session is not ours
        pass
