"""Claude Agent SDK: hooks that ask before each tool and report after it, and a stream of messages that counts what the model used.

    guarded = GuardedClaude(g)
    options = guarded.options(ClaudeAgentOptions(...))
    async for message in guarded.messages(query(prompt="task", options=options)):
        ...

A held session ends the run: the hooks tell Claude Code to stop, and `messages` raises the stop.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, AsyncIterator, Dict, Optional, Set

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, HookMatcher, ResultMessage

from .._errors import Refused, Stopped
from .._guard import Call, Guard, Result

__all__ = ["GuardedClaude"]

# What Claude Code gives a hook by itself, and what a question needs besides waiting for a throttle.
_HOOK_SECONDS = 60
# The classes of tokens: our name, that of an answer's usage, that of the result's sums.
_TOKENS = (
    ("input_tokens", "input_tokens", "inputTokens"),
    ("output_tokens", "output_tokens", "outputTokens"),
    ("cache_read_tokens", "cache_read_input_tokens", "cacheReadInputTokens"),
    ("cache_write_tokens", "cache_creation_input_tokens", "cacheCreationInputTokens"),
)


class GuardedClaude:
    """One guard around one client or several queries."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._children: Dict[str, Guard] = {}
        self._open: Dict[str, Call] = {}
        self._counted: Dict[str, Dict[str, int]] = {}
        self._answers: Set[str] = set()
        #: Why nothing may follow, once that is so.
        self.stop: Optional[Stopped] = None

    def options(self, options: Optional[ClaudeAgentOptions] = None) -> ClaudeAgentOptions:
        """The options with our hooks in front of their own. A hook that fails blocks."""
        options = options or ClaudeAgentOptions()
        hooks = {event: list(matchers) for event, matchers in (options.hooks or {}).items()}
        seconds = _HOOK_SECONDS + self._guard._wait
        for event, hook in (("PreToolUse", self._before), ("PostToolUse", self._after), ("PostToolUseFailure", self._failed)):
            hooks[event] = [HookMatcher(hooks=[hook], timeout=seconds, on_failure="block"), *hooks.get(event, [])]
        return dataclasses.replace(options, hooks=hooks)

    async def messages(self, stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """The messages of `query` or of `client.receive_response()`. Raises when the session is held, and ends the stream."""
        try:
            async for message in stream:
                await self._count(message)
                yield message
                self._raise_if_stopped()
            self._raise_if_stopped()
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def _before(self, data: Any, tool_use_id: Optional[str], context: Any) -> Dict[str, Any]:
        try:
            call = await (await self._of(data)).abefore(data["tool_name"], data["tool_input"])
        except Refused as refused:
            return _denied(refused)
        except Stopped as stop:
            return {**_denied(stop), **self._ended(stop)}
        self._open[data["tool_use_id"]] = call
        return _note("PreToolUse", call.note)

    async def _after(self, data: Any, tool_use_id: Optional[str], context: Any) -> Dict[str, Any]:
        return await self._report(data, _said(data["tool_response"]), None)

    async def _failed(self, data: Any, tool_use_id: Optional[str], context: Any) -> Dict[str, Any]:
        return await self._report(data, data["error"], True)

    async def _report(self, data: Any, output: Any, error: Optional[bool]) -> Dict[str, Any]:
        call = self._open.pop(data["tool_use_id"], None)
        if call is None:
            return {}
        millis = data.get("duration_ms")
        result = await call.aafter(output, error=error, duration=None if millis is None else millis / 1000)
        ended = {} if result.stop is None else self._ended(result.stop)
        return {**_note(data["hook_event_name"], result.note), **ended}

    def _ended(self, stop: Stopped) -> Dict[str, Any]:
        self.stop = stop
        return {"continue_": False, "stopReason": str(stop)}

    def _raise_if_stopped(self) -> None:
        if self.stop is not None:
            raise self.stop

    async def _of(self, data: Any) -> Guard:
        """The guard of the sub-agent that asks; the main agent has no id."""
        agent = data.get("agent_id")
        if not agent:
            return self._guard
        if agent not in self._children:
            self._children[agent] = await asyncio.to_thread(self._guard.child, data.get("agent_type") or "agent")
        return self._children[agent]

    async def _count(self, message: Any) -> None:
        if isinstance(message, AssistantMessage) and message.usage:
            # Claude Code tells an answer of several blocks in several messages, each with the same figures.
            answer = message.message_id or message.uuid or ""
            if answer in self._answers:
                return
            self._answers.add(answer)
            await self._use(message.model, {ours: message.usage.get(theirs) or 0 for ours, theirs, _ in _TOKENS})
        elif isinstance(message, ResultMessage) and message.model_usage:
            # The sums hold what was not known while an answer began: the rest of its output, and answers that no message told.
            for model, sums in message.model_usage.items():
                counted = self._counted.get(model, {})
                rest = {ours: max(0, (sums.get(theirs) or 0) - counted.get(ours, 0)) for ours, _, theirs in _TOKENS}
                if any(rest.values()):
                    await self._use(model, rest)

    async def _use(self, model: str, tokens: Dict[str, int]) -> None:
        counted = self._counted.setdefault(model, {})
        for name, count in tokens.items():
            counted[name] = counted.get(name, 0) + count
        result: Result = await asyncio.to_thread(self._guard.usage, model, **tokens)
        if result.stop is not None:
            self.stop = result.stop


def _denied(stop: Stopped) -> Dict[str, Any]:
    decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": str(stop)}
    return {"hookSpecificOutput": decision}


def _note(event: str, note: Optional[str]) -> Dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": note}} if note else {}


def _said(response: Any) -> Any:
    """The text of a tool's response, where it has one: blocks of an MCP tool, the streams of a command."""
    if isinstance(response, dict) and isinstance(response.get("content"), list):
        response = response["content"]
    if isinstance(response, list):
        texts = [block.get("text") for block in response if isinstance(block, dict)]
        return "\n".join(texts) if texts and all(isinstance(text, str) for text in texts) else response
    if isinstance(response, dict) and isinstance(response.get("stdout"), str):
        return "\n".join(text for text in (response["stdout"], response.get("stderr") or "") if text)
    return response
