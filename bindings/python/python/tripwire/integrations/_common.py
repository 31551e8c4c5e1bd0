"""What all adapters do around a tool."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Optional

from .._errors import Refused, Stopped
from .._guard import Arguments, Guard, Result


async def acall(guard: Guard, tool: str, args: Arguments, invoke: Callable[[], Awaitable[Any]]) -> Any:
    """Ask, run, report: what the model gets to read. Raises what ends the run."""
    try:
        call = await guard.abefore(tool, args)
    except Refused as refused:
        return str(refused)
    try:
        output = await invoke()
    except Stopped:
        # A sub-agent of the same session was stopped: that ends this call as well.
        await call.aafter("stopped by the guard", error=True)
        raise
    except BaseException as error:
        await call.aafter(f"{type(error).__name__}: {error}", error=True)
        raise
    result = await call.aafter(output)
    result.raise_if_stopped()
    return with_note(output, result, call.note)


def call(guard: Guard, tool: str, args: Arguments, invoke: Callable[[], Any]) -> Any:
    """The same for a synchronous tool."""
    try:
        open_call = guard.before(tool, args)
    except Refused as refused:
        return str(refused)
    try:
        output = invoke()
    except Stopped:
        open_call.after("stopped by the guard", error=True)
        raise
    except BaseException as error:
        open_call.after(f"{type(error).__name__}: {error}", error=True)
        raise
    result = open_call.after(output)
    result.raise_if_stopped()
    return with_note(output, result, open_call.note)


def with_note(output: Any, result: Result, before: Optional[str] = None) -> Any:
    """The output with what the guard wants the model to know; only a text can carry it."""
    notes = [note for note in (before, result.note) if note]
    return "\n".join([output, *notes]) if notes and isinstance(output, str) else output


def stopped_by(error: Optional[BaseException]) -> Optional[Stopped]:
    """The stop behind an exception that a framework wrapped; none if it was something else."""
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, Stopped):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def model_name(model: Any) -> str:
    """The name of a model, however a framework holds it."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str):
            return name
    return model if isinstance(model, str) else type(model).__name__
