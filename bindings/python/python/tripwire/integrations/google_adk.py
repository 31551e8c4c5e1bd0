"""google-adk: a plugin of the runner that asks before each tool, reports after it, and counts what the model used.

    runner = InMemoryRunner(app=App(name="app", root_agent=agent, plugins=[GuardPlugin(g)]))

It sees every agent of the runner: those that are reached by a transfer, and those behind an `AgentTool`. Each but the first is a
sub-agent of the session. ADK raises `RuntimeError` from what a plugin raises: `stopped_by(error)` finds the stop.
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, Optional

from google.adk.plugins.base_plugin import BasePlugin

from .._errors import Refused
from .._guard import Call, Guard
from ._common import stopped_by

__all__ = ["GuardPlugin", "stopped_by"]


class GuardPlugin(BasePlugin):
    """Guards every agent of a runner; a held session ends the run. One plugin serves one runner and its nested ones."""

    def __init__(self, guard: Guard, name: str = "tripwire") -> None:
        super().__init__(name=name)
        self._guard = guard
        self._main: Optional[str] = None
        self._children: Dict[str, Guard] = {}
        self._open: Dict[Any, Call] = {}

    async def before_run_callback(self, *, invocation_context: Any) -> None:
        """The agent of the first run is the main one."""
        if self._main is None:
            self._main = invocation_context.agent.name

    async def before_tool_callback(self, *, tool: Any, tool_args: Dict[str, Any], tool_context: Any) -> Optional[Dict[str, Any]]:
        """Asks; a refusal is the tool's answer."""
        try:
            call = await (await self._of(tool_context)).abefore(tool.name, tool_args)
        except Refused as refused:
            return {"error": str(refused)}
        self._open[_key(tool_context)] = call
        return None

    async def after_tool_callback(
        self, *, tool: Any, tool_args: Dict[str, Any], tool_context: Any, result: Any
    ) -> Optional[Dict[str, Any]]:
        """Reports the result, and adds what the model should know."""
        call = self._open.pop(_key(tool_context), None)
        if call is None:
            # It was refused, and did not run.
            return None
        done = await call.aafter(_said(result))
        done.raise_if_stopped()
        notes = [note for note in (call.note, done.note) if note]
        return {**_mapping(result), self.name: "\n".join(notes)} if notes else None

    async def on_tool_error_callback(
        self, *, tool: Any, tool_args: Dict[str, Any], tool_context: Any, error: Any
    ) -> Optional[Dict[str, Any]]:
        """Reports the error; it goes on its way."""
        call = self._open.pop(_key(tool_context), None)
        if call is not None:
            text = "stopped by the guard" if stopped_by(error) else f"{type(error).__name__}: {error}"
            await call.aafter(text, error=True)
        return None

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Counts an answer; a part of one that is streamed is counted with its last."""
        used = llm_response.usage_metadata
        if used is None or llm_response.partial:
            return
        guard = await self._of(callback_context)
        cached = used.cached_content_token_count or 0
        given = (used.prompt_token_count or 0) + (used.tool_use_prompt_token_count or 0)
        result = await asyncio.to_thread(
            guard.usage,
            llm_response.model_version or "unknown",
            input_tokens=max(0, given - cached),
            output_tokens=used.candidates_token_count or 0,
            cache_read_tokens=cached,
            reasoning_tokens=used.thoughts_token_count or 0,
        )
        result.raise_if_stopped()

    async def _of(self, context: Any) -> Guard:
        name = context.agent_name
        if self._main is None or name == self._main:
            return self._guard
        if name not in self._children:
            self._children[name] = await asyncio.to_thread(self._guard.child, name)
        return self._children[name]


def _key(context: Any) -> Any:
    return context.invocation_id, context.agent_name, context.function_call_id


def _mapping(result: Any) -> Dict[str, Any]:
    return result if isinstance(result, dict) else {"result": result}


def _said(result: Any) -> Any:
    """A tool that returns a text gives `{"result": text}`: the text is what it said."""
    return result["result"] if isinstance(result, dict) and set(result) == {"result"} else result
