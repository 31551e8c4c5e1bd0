"""smolagents: guarded tools, and a step callback that counts what the model used and ends a held run.

    agent = guard_agent(ToolCallingAgent(tools=[...], model=model), g)
"""

from __future__ import annotations

from typing import Any

from smolagents.memory import ActionStep

from .._guard import Guard
from ._common import call, model_name, stopped_by

__all__ = ["guard_agent", "stopped_by"]

# The tool by which an agent gives its answer: it does nothing else.
_ANSWER = "final_answer"


def guard_agent(agent: Any, guard: Guard) -> Any:
    """Guards the tools of this agent, in place, and returns it. Guard managed agents with `guard.child(name)`."""
    for name, tool in agent.tools.items():
        if name != _ANSWER:
            _guard_tool(tool, guard)

    # A tool's exception is only told to the model, so what ends the run is raised here, after the step.
    def count(step: Any, agent: Any = None) -> None:
        used = getattr(step, "token_usage", None)
        guard.usage(
            model_name(agent.model) if agent is not None else "unknown",
            input_tokens=used.input_tokens if used else 0,
            output_tokens=used.output_tokens if used else 0,
        ).raise_if_stopped()

    agent.step_callbacks.register(ActionStep, count)
    return agent


def _guard_tool(tool: Any, guard: Guard) -> None:
    forward = tool.forward

    def guarded(*args: Any, **kwargs: Any) -> Any:
        named = {**dict(zip(tool.inputs, args)), **kwargs}
        return call(guard, tool.name, named, lambda: forward(*args, **kwargs))

    tool.forward = guarded
