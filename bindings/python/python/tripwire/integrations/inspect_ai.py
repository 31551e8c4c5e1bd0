"""inspect-ai: a limit that counts what the model used, an approver that asks before each tool, a reviewer that reports after it.

    with GuardLimit(g) as limit:
        eval(task, approval=guard_approval(), review=guard_review())
    limit.raise_if_stopped()

The approver and the reviewer ask the guard of the innermost `GuardLimit` around them: give a sub-agent its own, as in
`as_tool(agent, limits=[GuardLimit(g.child("helper"))])`. A held session ends the sample, and each that follows.
"""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import Any, Dict, List, NamedTuple, Optional

import anyio.to_thread
from inspect_ai.approval import Approval, ApprovalPolicy, approver
from inspect_ai.hooks import Hooks, hooks
from inspect_ai.review import Review, ReviewPolicy, reviewer
from inspect_ai.util import Limit, LimitExceededError

from .._errors import Refused, Stopped
from .._guard import Call, Guard

__all__ = ["GuardLimit", "guard_approval", "guard_review"]


class _Scope(NamedTuple):
    """The innermost limit that is open here, and those around it."""

    limit: "GuardLimit"
    outer: Optional["_Scope"]


_scope: ContextVar[Optional[_Scope]] = ContextVar("tripwire_guard_limit", default=None)


class GuardLimit(Limit):
    """What is inside is guarded. It may be entered several times, also at once: a tool is called again."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self.guard = guard
        #: Why nothing may follow, once that is so.
        self.stop: Optional[Stopped] = None
        self._open: Dict[str, Call] = {}

    def __enter__(self) -> "GuardLimit":
        _scope.set(_Scope(self, _scope.get()))
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        scope = _scope.get()
        _scope.set(None if scope is None else scope.outer)

    def __deepcopy__(self, memo: Any) -> "GuardLimit":
        # Inspect copies the limits of a handoff; the session is one.
        return self

    @property
    def limit(self) -> Optional[float]:
        """None: the session's policy limits more than one number."""
        return None

    @property
    def usage(self) -> float:
        """What the session has spent, in dollars."""
        return self.guard.status()["spentMicroUsd"] / 1e6

    def raise_if_stopped(self) -> None:
        """Raise the stop, if there is one: Inspect ends a sample with an entry in its log, not with an exception."""
        if self.stop is not None:
            raise self.stop


def guard_approval() -> List[ApprovalPolicy]:
    """For `approval=` of `eval` or a `Task`: every tool is asked for."""
    return [ApprovalPolicy(guard_approver(), "*")]


def guard_review() -> List[ReviewPolicy]:
    """For `review=` of `eval` or a `Task`: every result is reported."""
    return [ReviewPolicy(guard_reviewer(), "*")]


@approver(name="tripwire")
def guard_approver() -> Any:
    """Approves what the guard allows, rejects what it refuses, terminates a sample that is held."""

    async def approve(message: str, call: Any, view: Any, history: Any) -> Approval:
        scope = _scope.get()
        if scope is None:
            return Approval(decision="terminate", explanation="no GuardLimit is open around this tool call")
        try:
            open_call = await _in_thread(scope.limit.guard.before, call.function, call.arguments)
        except Refused as refused:
            return Approval(decision="reject", explanation=str(refused))
        except Stopped as stop:
            _stopped(scope, stop)
            return Approval(decision="terminate", explanation=str(stop))
        scope.limit._open[call.id] = open_call
        return Approval(decision="approve", explanation=open_call.note)

    return approve


@reviewer(name="tripwire")
def guard_reviewer() -> Any:
    """Reports the result of a call, and terminates the sample when nothing may follow."""

    async def review(message: str, call: Any, result: Any, output: Any, view: Any, history: Any) -> Review:
        scope = _scope.get()
        open_call = scope.limit._open.pop(call.id, None) if scope else None
        if scope is None or open_call is None:
            return Review(decision="terminate", explanation="the guard was not asked about this tool call")
        failed = result.error is not None
        text = result.error.message if failed else result.text
        done = await _in_thread(open_call.after, text, error=True if failed else None)
        if done.stop is not None:
            _stopped(scope, done.stop)
            return Review(decision="terminate", explanation=str(done.stop))
        return Review(decision="continue", explanation=done.note)

    return review


@hooks(name="tripwire", description="Counts what the models of a guarded evaluation used")
class _Usage(Hooks):
    async def on_before_model_generate(self, data: Any) -> None:
        scope = _scope.get()
        if scope is not None and scope.limit.stop is not None:
            # Inspect tells the model of a limit that was exceeded inside a tool; here it is not asked again.
            raise _exceeded(scope)

    async def on_model_usage(self, data: Any) -> None:
        scope = _scope.get()
        if scope is None:
            return
        used = data.usage
        reasoning = used.reasoning_tokens or 0
        result = await _in_thread(
            scope.limit.guard.usage,
            # The provider stands in front of the model's name.
            data.model_name.rpartition("/")[2],
            input_tokens=used.input_tokens,
            output_tokens=max(0, used.output_tokens - reasoning),
            cache_read_tokens=used.input_tokens_cache_read or 0,
            cache_write_tokens=used.input_tokens_cache_write or 0,
            reasoning_tokens=reasoning,
        )
        if result.stop is not None:
            _stopped(scope, result.stop)
            raise _exceeded(scope)


def _stopped(scope: Optional[_Scope], stop: Stopped) -> None:
    """What stops a sub-agent stops those that it works for: the session is one."""
    while scope is not None:
        scope.limit.stop = stop
        scope = scope.outer


def _exceeded(scope: _Scope) -> LimitExceededError:
    return LimitExceededError("custom", value=scope.limit.usage, limit=0, message=str(scope.limit.stop))


async def _in_thread(work: Any, *args: Any, **kwargs: Any) -> Any:
    """Inspect runs on asyncio or trio."""
    return await anyio.to_thread.run_sync(partial(work, *args, **kwargs))
