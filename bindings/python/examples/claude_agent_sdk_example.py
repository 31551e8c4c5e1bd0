"""An agent of the Claude Agent SDK under the guard. ANTHROPIC_API_KEY is read from the environment."""

import asyncio

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from tripwire import Stopped, guard
from tripwire.integrations.claude_agent_sdk import GuardedClaude


async def main() -> None:
    async with guard(budget="1usd", wait=60) as g:
        guarded = GuardedClaude(g)
        options = guarded.options(ClaudeAgentOptions(tools=["Bash"], allowed_tools=["Bash"], setting_sources=[], max_turns=50))
        try:
            async for message in guarded.messages(query(prompt="Fix the build.", options=options)):
                if isinstance(message, ResultMessage):
                    print(message.result)
        except Stopped as stop:
            print("held:", stop.rule, stop)


asyncio.run(main())
