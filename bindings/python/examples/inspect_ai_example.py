"""An Inspect task under the guard. OPENAI_API_KEY and, for another provider, OPENAI_BASE_URL are read from the environment."""

import subprocess

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

from tripwire import guard
from tripwire.integrations.inspect_ai import GuardLimit, guard_approval, guard_review


@tool
def bash():
    async def execute(command: str) -> str:
        """Run a command.

        Args:
            command: The command line.
        """
        return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60).stdout

    return execute


task = Task(
    dataset=[Sample(input="Fix the build.")],
    solver=[use_tools(bash()), generate()],
    approval=guard_approval(),
    review=guard_review(),
    message_limit=100,
)
with guard(budget="1usd", wait=60) as g, GuardLimit(g) as limit:
    log = eval(task, model="openai/gpt-4.1", model_args={"responses_api": False}, display="none")[0]
    if limit.stop is not None:
        print("held:", limit.stop.rule, limit.stop)
    else:
        print(log.status, log.samples[0].output.completion if log.samples else log.error)
