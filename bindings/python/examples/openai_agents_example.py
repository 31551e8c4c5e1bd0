"""An agent of openai-agents under the guard. OPENAI_API_KEY and, for another provider, OPENAI_BASE_URL are read from the environment."""

import asyncio
import subprocess

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

from tripwire import guard
from tripwire.integrations.openai_agents import GuardHooks, guard_agent, stopped_by


@function_tool
def bash(command: str) -> str:
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60).stdout


async def main() -> None:
    model = OpenAIChatCompletionsModel(model="gpt-4.1", openai_client=AsyncOpenAI())
    async with guard(budget="1usd", wait=60) as g:
        agent = guard_agent(Agent(name="worker", model=model, tools=[bash]), g)
        try:
            done = await Runner.run(
                agent, "Fix the build.", hooks=GuardHooks(g), max_turns=50, run_config=RunConfig(tracing_disabled=True)
            )
            print(done.final_output)
        except Exception as error:
            stop = stopped_by(error)
            if stop is None:
                raise
            print("held:", stop.rule, stop)


asyncio.run(main())
