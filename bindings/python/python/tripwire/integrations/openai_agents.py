"""openai-agents: guarded tools, and run hooks that count what the model used.

    agent = guard_agent(Agent(name="a", tools=[...]), g)
    await Runner.run(agent, "task", hooks=GuardHooks(g))
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any, Dict

from agents import Agent, FunctionTool, RunHooks

from .._errors import UsageError
from .._guard import Guard
from ._common import acall, model_name, stopped_by

__all__ = ["GuardHooks", "guard_agent", "stopped_by"]


def guard_agent(agent: Agent, guard: Guard) -> Agent:
    """The agent with every function tool guarded. A tool that runs at the provider cannot be, and is refused."""
    hosted = [tool.name for tool in agent.tools if not isinstance(tool, FunctionTool)]
    if hosted:
        raise UsageError(f"these tools run where no guard is asked: {', '.join(hosted)}")
    return agent.clone(tools=[_guarded(tool, guard) for tool in agent.tools])


def _guarded(tool: FunctionTool, guard: Guard) -> FunctionTool:
    invoke = tool.on_invoke_tool

    async def on_invoke_tool(context: Any, arguments: str) -> Any:
        return await acall(guard, tool.name, arguments, lambda: invoke(context, arguments))

    return dataclasses.replace(tool, on_invoke_tool=on_invoke_tool)


class GuardHooks(RunHooks):
    """Counts the tokens of every answer, and ends the run when the session is held. Agents of the run may have guards of their own."""

    def __init__(self, guard: Guard, agents: Dict[str, Guard] | None = None) -> None:
        self._guard = guard
        self._agents = agents or {}

    async def on_llm_end(self, context: Any, agent: Agent, response: Any) -> None:
        used = response.usage
        cached = getattr(used.input_tokens_details, "cached_tokens", 0) or 0
        reasoning = getattr(used.output_tokens_details, "reasoning_tokens", 0) or 0
        guard = self._agents.get(agent.name, self._guard)
        result = await asyncio.to_thread(
            guard.usage,
            model_name(agent.model),
            input_tokens=max(0, used.input_tokens - cached),
            output_tokens=max(0, used.output_tokens - reasoning),
            cache_read_tokens=cached,
            reasoning_tokens=reasoning,
        )
        result.raise_if_stopped()
