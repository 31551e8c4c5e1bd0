"""A LangGraph agent under the guard. OPENAI_API_KEY and, for another provider, OPENAI_BASE_URL are read from the environment."""

import subprocess

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

from tripwire import Stopped, guard
from tripwire.integrations.langchain import GuardCallback, guard_tools


@tool
def bash(command: str) -> str:
    """Run a command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60).stdout


with guard(budget="1usd", wait=60) as g:
    graph = create_react_agent(ChatOpenAI(model="gpt-4.1"), guard_tools([bash], g))
    try:
        config = {"callbacks": [GuardCallback(g)], "recursion_limit": 100}
        done = graph.invoke({"messages": [("user", "Fix the build.")]}, config)
        print(done["messages"][-1].content)
    except Stopped as stop:
        print("held:", stop.rule, stop)
