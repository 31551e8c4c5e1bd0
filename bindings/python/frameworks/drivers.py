"""Each framework, unmodified, with our adapter: one agent with one tool, and the same with a sub-agent behind a second tool."""

import asyncio
import importlib.metadata

from scripted import GEMINI, MESSAGES, MODEL

TASK = "work"
STEPS = 60


class OpenAIAgents:
    package = "openai-agents"

    def run(self, g, model, work, helper=False):
        from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
        from openai import AsyncOpenAI
        from tripwire.integrations.openai_agents import GuardHooks, guard_agent

        config = RunConfig(tracing_disabled=True)

        async def main():
            client = AsyncOpenAI(base_url=model.address, api_key="fake", max_retries=0)
            asked = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)

            def bash(command: str) -> str:
                """Run a command."""
                return work(command)

            def worker(name, guard):
                tool = function_tool(bash, name_override="bash", failure_error_function=None)
                return guard_agent(Agent(name=name, model=asked, tools=[tool]), guard)

            main_agent = worker("main", g)
            if helper:
                child = g.child("helper")

                @function_tool(failure_error_function=None)
                async def ask_helper(task: str) -> str:
                    """Ask the helper."""
                    done = await Runner.run(worker("helper", child), task, hooks=GuardHooks(child), max_turns=STEPS, run_config=config)
                    return str(done.final_output)

                main_agent = guard_agent(Agent(name="main", model=asked, tools=[ask_helper]), g)
            await Runner.run(main_agent, TASK, hooks=GuardHooks(g), max_turns=STEPS, run_config=config)

        asyncio.run(main())


class LangGraph:
    package = "langgraph"

    def run(self, g, model, work, helper=False):
        from langchain_core.tools import tool
        from langchain_openai import ChatOpenAI
        from langgraph.prebuilt import create_react_agent
        from tripwire.integrations.langchain import GuardCallback, guard_tools

        asked = ChatOpenAI(model=MODEL, base_url=model.address, api_key="fake", max_retries=0)

        @tool
        def bash(command: str) -> str:
            """Run a command."""
            return work(command)

        def invoke(tools, guard, task):
            graph = create_react_agent(asked, guard_tools(tools, guard))
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

    def run(self, g, model, work, helper=False):
        from pydantic_ai import Agent, UsageLimits
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider
        from pydantic_ai.toolsets import FunctionToolset
        from tripwire.integrations.pydantic_ai import GuardModel, GuardToolset

        def bash(command: str) -> str:
            """Run a command."""
            return work(command)

        def agent(tools, guard):
            asked = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=model.address, api_key="fake"))
            return Agent(GuardModel(asked, guard), toolsets=[GuardToolset(FunctionToolset(tools), guard)])

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

    def run(self, g, model, work, helper=False):
        from smolagents import OpenAIServerModel, Tool, ToolCallingAgent
        from tripwire.integrations.smolagents import guard_agent

        class Bash(Tool):
            name = "bash"
            description = "Run a command."
            inputs = {"command": {"type": "string", "description": "The command."}}
            output_type = "string"

            def forward(self, command: str) -> str:
                return work(command)

        asked = OpenAIServerModel(model_id=MODEL, api_base=model.address, api_key="fake")

        def agent(tools, **more):
            return ToolCallingAgent(tools=tools, model=asked, max_steps=STEPS, verbosity_level=0, **more)

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


class InspectAI:
    package = "inspect-ai"

    def run(self, g, model, work, helper=False):
        from inspect_ai import Task, eval
        from inspect_ai.agent import as_tool, react
        from inspect_ai.dataset import Sample
        from inspect_ai.model import get_model
        from inspect_ai.solver import generate, use_tools
        from inspect_ai.tool import tool
        from tripwire.integrations.inspect_ai import GuardLimit, guard_approval, guard_review

        @tool
        def bash():
            async def execute(command: str) -> str:
                """Run a command.

                Args:
                    command: The command line.
                """
                return work(command)

            return execute

        tools = [bash()]
        if helper:
            agent = react(name="ask_helper", description="Ask the helper.", tools=tools, submit=False)
            tools = [as_tool(agent, limits=[GuardLimit(g.child("helper"))])]
        asked = get_model(f"openai/{MODEL}", base_url=model.address, api_key="fake", responses_api=False, memoize=False)
        task = Task(dataset=[Sample(input=TASK)], solver=[use_tools(tools), generate()], message_limit=4 * STEPS)
        with GuardLimit(g) as limit:
            log = eval(task, model=asked, approval=guard_approval(), review=guard_review(), display="none", log_dir="logs")[0]
        limit.raise_if_stopped()
        assert log.status == "success", log.error


class ClaudeAgentSDK:
    package = "claude-agent-sdk"

    def run(self, g, model, work, helper=False):
        from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, create_sdk_mcp_server, query, tool
        from tripwire.integrations.claude_agent_sdk import GuardedClaude

        @tool("bash", "Run a command.", {"command": str})
        async def bash(args):
            return {"content": [{"type": "text", "text": work(args["command"])}]}

        guarded = GuardedClaude(g)
        name = "mcp__work__bash"
        options = ClaudeAgentOptions(
            model=MESSAGES.model,
            tools=["Agent"] if helper else [],
            allowed_tools=[name, "Agent"],
            agents={"helper": AgentDefinition("Helps.", "You help.", tools=[name], background=False)} if helper else None,
            mcp_servers={"work": create_sdk_mcp_server("work", tools=[bash])},
            strict_mcp_config=True,
            setting_sources=[],
            max_turns=STEPS,
            env=claude_environment(model),
        )

        async def main():
            async for _ in guarded.messages(query(prompt=TASK, options=guarded.options(options))):
                pass

        asyncio.run(main())


def claude_environment(model):
    """Claude Code asks nobody but the scripted model."""
    return {
        "ANTHROPIC_BASE_URL": model.root,
        "ANTHROPIC_API_KEY": "sk-ant-made-up",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DO_NOT_TRACK": "1",
    }


class GoogleADK:
    package = "google-adk"

    def run(self, g, model, work, helper=False):
        from google.adk.agents import Agent
        from google.adk.agents.run_config import RunConfig
        from google.adk.apps import App
        from google.adk.models.google_llm import Gemini
        from google.adk.runners import InMemoryRunner
        from google.adk.tools.agent_tool import AgentTool
        from google.genai import types
        from tripwire.integrations.google_adk import GuardPlugin

        def bash(command: str) -> str:
            """Run a command."""
            return work(command)

        def agent(name, tools):
            asked = Gemini(model=GEMINI.model, base_url=model.root)
            return Agent(name=name, description=name, model=asked, instruction="Work.", tools=tools)

        root = agent("main", [AgentTool(agent("ask_helper", [bash]))] if helper else [bash])

        async def main():
            runner = InMemoryRunner(app=App(name="matrix", root_agent=root, plugins=[GuardPlugin(g)]))
            session = await runner.session_service.create_session(app_name="matrix", user_id="someone")
            said = types.Content(role="user", parts=[types.Part(text=TASK)])
            config = RunConfig(max_llm_calls=STEPS)
            async for _ in runner.run_async(user_id="someone", session_id=session.id, new_message=said, run_config=config):
                pass

        asyncio.run(main())


DRIVERS = [OpenAIAgents(), LangGraph(), PydanticAI(), Smolagents(), InspectAI(), ClaudeAgentSDK(), GoogleADK()]


def version(driver):
    try:
        return importlib.metadata.version(driver.package)
    except importlib.metadata.PackageNotFoundError:
        return None
