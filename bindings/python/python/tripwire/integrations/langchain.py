"""LangChain and LangGraph: guarded tools, and a callback that counts what the model used.

    tools = guard_tools([...], g)
    graph.invoke(task, config={"callbacks": [GuardCallback(g)]})
"""

from __future__ import annotations

from typing import Any, List, Sequence

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import BaseTool, StructuredTool

from .._guard import Guard
from ._common import acall, call, stopped_by

__all__ = ["GuardCallback", "guard_tools", "stopped_by"]


def guard_tools(tools: Sequence[BaseTool], guard: Guard) -> List[BaseTool]:
    """The tools, each asking before it runs. Give these to `ToolNode`, `create_react_agent` or `bind_tools`."""
    return [_guarded(tool, guard) for tool in tools]


def _guarded(tool: BaseTool, guard: Guard) -> BaseTool:
    def run(**kwargs: Any) -> Any:
        return call(guard, tool.name, kwargs, lambda: tool.invoke(kwargs))

    async def arun(**kwargs: Any) -> Any:
        return await acall(guard, tool.name, kwargs, lambda: tool.ainvoke(kwargs))

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.args_schema,
        func=run,
        coroutine=arun,
        return_direct=tool.return_direct,
    )


class GuardCallback(BaseCallbackHandler):
    """Counts the tokens of every answer, and ends the run when the session is held."""

    # Otherwise LangChain logs what a callback raises, and goes on.
    raise_error = True

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        for generations in response.generations:
            for generation in generations:
                message = getattr(generation, "message", None)
                used = getattr(message, "usage_metadata", None)
                if not used:
                    continue
                read = used.get("input_token_details", {}).get("cache_read", 0) or 0
                written = used.get("input_token_details", {}).get("cache_creation", 0) or 0
                reasoning = used.get("output_token_details", {}).get("reasoning", 0) or 0
                name = (message.response_metadata or {}).get("model_name", "unknown")
                self._guard.usage(
                    name,
                    input_tokens=max(0, used["input_tokens"] - read - written),
                    output_tokens=max(0, used["output_tokens"] - reasoning),
                    cache_read_tokens=read,
                    cache_write_tokens=written,
                    reasoning_tokens=reasoning,
                ).raise_if_stopped()
