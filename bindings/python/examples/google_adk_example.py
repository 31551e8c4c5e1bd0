"""An agent of google-adk under the guard. GOOGLE_API_KEY is read from the environment."""

import asyncio
import subprocess

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

from tripwire import guard
from tripwire.integrations.google_adk import GuardPlugin, stopped_by


def bash(command: str) -> str:
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60).stdout


async def main() -> None:
    agent = Agent(name="worker", model="gemini-2.5-pro", instruction="Fix the build.", tools=[bash])
    async with guard(budget="1usd", wait=60) as g:
        runner = InMemoryRunner(app=App(name="example", root_agent=agent, plugins=[GuardPlugin(g)]))
        session = await runner.session_service.create_session(app_name="example", user_id="someone")
        task = types.Content(role="user", parts=[types.Part(text="Fix the build.")])
        try:
            async for event in runner.run_async(user_id="someone", session_id=session.id, new_message=task):
                if event.is_final_response() and event.content:
                    print(event.content.parts[0].text)
        except Exception as error:
            stop = stopped_by(error)
            if stop is None:
                raise
            print("held:", stop.rule, stop)


asyncio.run(main())
