"""A smolagents agent under the guard. OPENAI_API_KEY and, for another provider, OPENAI_BASE_URL are read from the environment."""

import os
import subprocess

from smolagents import OpenAIServerModel, ToolCallingAgent, tool

from tripwire import Stopped, guard
from tripwire.integrations.smolagents import guard_agent


@tool
def bash(command: str) -> str:
    """Run a command.

    Args:
        command: The command line.
    """
    return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60).stdout


with guard(budget="1usd", wait=60) as g:
    model = OpenAIServerModel(model_id="gpt-4.1", api_base=os.environ.get("OPENAI_BASE_URL"))
    agent = guard_agent(ToolCallingAgent(tools=[bash], model=model, verbosity_level=0), g)
    try:
        print(agent.run("Fix the build."))
    except Stopped as stop:
        print("held:", stop.rule, stop)
