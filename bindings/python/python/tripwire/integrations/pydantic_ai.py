"""pydantic-ai: a toolset that asks before each call, and a model that counts what it used.

    agent = Agent(GuardModel(model, g), toolsets=[GuardToolset(FunctionToolset([...]), g)])
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Dict

from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.toolsets import WrapperToolset

from .._guard import Guard
from ._common import acall, stopped_by

__all__ = ["GuardModel", "GuardToolset", "stopped_by"]


@dataclass
class GuardToolset(WrapperToolset[Any]):
    """A toolset whose calls are asked for."""

    guard: Guard

    async def call_tool(self, name: str, tool_args: Dict[str, Any], ctx: Any, tool: Any) -> Any:
        """Asks, runs, reports."""
        return await acall(self.guard, name, tool_args, lambda: self.wrapped.call_tool(name, tool_args, ctx, tool))


class GuardModel(WrapperModel):
    """A model whose answers are counted; a held session ends the run."""

    def __init__(self, wrapped: Any, guard: Guard) -> None:
        super().__init__(wrapped)
        self._guard = guard

    async def request(self, messages: Any, model_settings: Any, model_request_parameters: Any) -> Any:
        """Asks the model, and counts its answer."""
        response = await super().request(messages, model_settings, model_request_parameters)
        used = response.usage
        result = await asyncio.to_thread(
            self._guard.usage,
            response.model_name or self.model_name,
            input_tokens=max(0, used.input_tokens - used.cache_read_tokens - used.cache_write_tokens),
            output_tokens=used.output_tokens,
            cache_read_tokens=used.cache_read_tokens,
            cache_write_tokens=used.cache_write_tokens,
        )
        result.raise_if_stopped()
        return response
