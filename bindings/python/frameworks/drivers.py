"""Each framework, unmodified, with our adapter: one agent with one tool, and the same with a sub-agent behind a second tool."""

import asyncio
import importlib.metadata

from scripted import MODEL

TASK = "work"
STEPS = 60


class OpenAIAgents:
    package = "openai-agents"

    def run(self, g, address, work, helper=False):
        from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
        from openai import AsyncOpenAI
        from tripwire.integrations.openai_agents import GuardHooks, guard_agent

        config = RunConfig(tracing_disabled=True)

        async def main():
            client = AsyncOpenAI(base_url=address, api_key="fake", max_retries=0)
            model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)

            def bash(command: str) -> str:
                """Run a command."""
                return work(command)

            def worker(name, guard):
                tool = function_tool(bash, name_override="bash", failure_error_function=None)
                return guard_agent(Agent(name=name, model=model, tools=[tool]), guard)

            main_agent = worker("main", g)
            if helper:
                child = g.child("helper")

                @function_tool(failure_error_function=None)
                async def ask_helper(task: str) -> str:
                    """Ask the helper."""
                    done = await Runner.run(worker("helper", child), task, hooks=GuardHooks(child), max_turns=STEPS, run_config=config)
                    return str(done.final_output)

                main_agent = guard_agent(Agent(name="main", model=model, tools=[ask_helper]), g)
            await Runner.run(main_agent, TASK, hooks=GuardHooks(g), max_turns=STEPS, run_config=config)

        asyncio.run(main())


class LangGraph:
    package = "langgraph"

    def run(self, g, address, work, helper=False):
        from langchain_core.tools import tool
        from langchain_openai import ChatOpenAI
        from langgraph.prebuilt import create_react_agent
        from tripwire.integrations.langchain import GuardCallback, guard_tools

        model = ChatOpenAI(model=MODEL, base_url=address, api_key="fake", max_retries=0)

        @tool
        def bash(command: str) -> str:
            """Run a command."""
            return work(command)

        def invoke(tools, guard, task):
            graph = create_react_agent(model, guard_tools(tools, guard))
            config = {"callbacks": [GuardCallback(guard)], "recursion_limit": 2 * STEPS}
            return graph.invoke({"messages": [("user", task)]}, config)["messages"][-1].content

        if not helper:
            invoke([bash], g, TASK)
            return
        child = g.child("helper")

        @tool
        def ask_helper(task: str) -> str:
            """Ask the helper."""
            return invoke([bash], child, task)

        invoke([ask_helper], g, TASK)


class PydanticAI:
    package = "pydantic-ai-slim"

    def run(self, g, address, work, helper=False):
        from pydantic_ai import Agent, UsageLimits
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
        from pydantic_ai.toolsets import FunctionToolset
        from tripwire.integrations.pydantic_ai import GuardModel, GuardToolset

        def bash(command: str) -> str:
            """Run a command."""
            return work(command)

        def agent(tools, guard):
            model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=address, api_key="fake"))
            return Agent(GuardModel(model, guard), toolsets=[GuardToolset(FunctionToolset(tools), guard)])

        limits = UsageLimits(request_limit=STEPS)

        async def main():
            if not helper:
                await agent([bash], g).run(TASK, usage_limits=limits)
                return
            child = g.child("helper")

            async def ask_helper(task: str) -> str:
                """Ask the helper."""
                return (await agent([bash], child).run(task, usage_limits=limits)).output

            await agent([ask_helper], g).run(TASK, usage_limits=limits)

        asyncio.run(main())


class Smolagents:
    package = "smolagents"

    def run(self, g, address, work, helper=False):
        from smolagents import OpenAIServerModel, Tool, ToolCallingAgent
        from tripwire.integrations.smolagents import guard_agent

        class Bash(Tool):
            name = "bash"
            description = "Run a command."
            inputs = {"command": {"type": "string", "description": "The command."}}
            output_type = "string"

            def forward(self, command: str) -> str:
                return work(command)

        model = OpenAIServerModel(model_id=MODEL, api_base=address, api_key="fake")

        def agent(tools, **more):
            return ToolCallingAgent(tools=tools, model=model, max_steps=STEPS, verbosity_level=0, **more)

        if not helper:
            guard_agent(agent([Bash()]), g).run(TASK)
            return
        child = g.child("helper")

        class AskHelper(Tool):
            name = "ask_helper"
            description = "Ask the helper."
            inputs = {"task": {"type": "string", "description": "The task."}}
            output_type = "string"

            def forward(self, task: str) -> str:
                return str(guard_agent(agent([Bash()]), child).run(task))

        guard_agent(agent([AskHelper()]), g).run(TASK)


DRIVERS = [OpenAIAgents(), LangGraph(), PydanticAI(), Smolagents()]


def version(driver):
    try:
        return importlib.metadata.version(driver.package)
    except importlib.metadata.PackageNotFoundError:
        return None
