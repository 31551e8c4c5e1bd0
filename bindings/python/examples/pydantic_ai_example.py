"""A pydantic-ai agent under the guard. OPENAI_API_KEY and, for another provider, OPENAI_BASE_URL are read from the environment."""

import subprocess

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.toolsets import FunctionToolset

from tripwire import Stopped, guard
from tripwire.integrations.pydantic_ai import GuardModel, GuardToolset


def bash(command: str) -> str:
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60).stdout


with guard(budget="1usd", wait=60) as g:
    model = GuardModel(OpenAIChatModel("gpt-4.1"), g)
    agent = Agent(model, toolsets=[GuardToolset(FunctionToolset([bash]), g)])
    try:
        print(agent.run_sync("Fix the build.").output)
    except Stopped as stop:
        print("held:", stop.rule, stop)
