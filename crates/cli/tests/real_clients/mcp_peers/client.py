"""The official Python SDK as a client of a tool server: does everything the server offers and prints what it got, a line each.

client.py everything|files|parallel (stdio COMMAND... | http URL)
"""

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import ClientSession, types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

# What differs between two runs of the same server: times, random ids, and its own port.
UNSTABLE = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{32}\b"), "ID"),
    (re.compile(r"UmVzb3VyY2Ug[A-Za-z0-9+/=]*"), "BLOB"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?|\d{1,2}:\d\d:\d\d( [AP]M)?"), "TIME"),
]
CALLS = 1000


def stable(value):
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    for pattern, name in UNSTABLE:
        text = pattern.sub(name, text)
    return json.loads(text)


def plain(value):
    return stable(value.model_dump(mode="json") if hasattr(value, "model_dump") else value)


class Record:
    """What the client got, in the order in which it got it."""

    def __init__(self):
        self.heard = []

    async def step(self, name, awaitable):
        try:
            got = plain(await awaitable)
        except Exception as error:  # a refusal is something that was said, too
            got = {"error": stable(str(error))}
        print(json.dumps({"step": name, "got": got}, sort_keys=True, ensure_ascii=False), flush=True)
        return got

    async def handle(self, message):
        # Logging comes by a clock of the server's own.
        if isinstance(message, types.LoggingMessageNotification):
            return
        self.heard.append(plain(message) if not isinstance(message, Exception) else {"error": str(message)})

    async def sample(self, context, params):
        self.heard.append({"sampling": plain(params)})
        content = types.TextContent(type="text", text="sampled")
        return types.CreateMessageResult(role="assistant", content=content, model="scripted", stop_reason="endTurn")

    async def elicit(self, context, params):
        self.heard.append({"elicitation": plain(params)})
        return types.ElicitResult(action="decline")

    async def roots(self, context):
        self.heard.append({"roots": True})
        return types.ListRootsResult(roots=[types.Root(uri="file:///srv/example", name="example")])

    def flush(self):
        heard = sorted(json.dumps(one, sort_keys=True, ensure_ascii=False) for one in self.heard)
        print(json.dumps({"heard": heard}, ensure_ascii=False), flush=True)


@asynccontextmanager
async def session(where, record):
    if where[0] == "http":
        # A thousand calls at once wait for a connection for longer than the SDK's own bound on a busy machine.
        transport = streamable_http_client(where[1], http_client=httpx2.AsyncClient(timeout=120))
    else:
        transport = stdio_client(StdioServerParameters(command=where[1], args=where[2:]))
    async with transport as streams:
        async with ClientSession(
            streams[0],
            streams[1],
            sampling_callback=record.sample,
            elicitation_callback=record.elicit,
            list_roots_callback=record.roots,
            message_handler=record.handle,
        ) as opened:
            yield opened


async def everything(client, record):
    await record.step("initialize", client.initialize())
    # The server offers some tools only to clients that can do what they need, and only after it has asked.
    await asyncio.sleep(1.5)
    tools = await record.step("tools", client.list_tools())
    await record.step("ping", client.send_ping())
    await record.step("logging level", client.set_logging_level("debug"))
    for name, arguments in [
        ("echo", {"message": "hello “world” \u2028 \U0001f980"}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 4}),
        ("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
        ("get-resource-reference", {"resourceType": "Blob", "resourceId": 3}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-sum", {"a": 2.5, "b": 40}),
        ("get-tiny-image", {}),
        ("toggle-simulated-logging", {}),
        ("toggle-simulated-logging", {}),
        ("toggle-subscriber-updates", {}),
        ("toggle-subscriber-updates", {}),
        ("get-roots-list", {}),
        ("trigger-sampling-request", {"prompt": "say it", "maxTokens": 10}),
        ("trigger-elicitation-request", {}),
    ]:
        await record.step(f"call {name}", client.call_tool(name, arguments))
    progress = []

    async def on_progress(done, total, message):
        progress.append([done, total, message])

    long = client.call_tool(
        "trigger-long-running-operation", {"duration": 1, "steps": 4}, progress_callback=on_progress
    )
    await record.step("long call", long)
    await record.step("progress", asyncio.sleep(0, progress))
    given_up = client.call_tool(
        "trigger-long-running-operation", {"duration": 5, "steps": 2}, read_timeout_seconds=0.5
    )
    await record.step("cancelled call", given_up)
    resources = await record.step("resources", client.list_resources())
    await record.step("resource templates", client.list_resource_templates())
    for uri in [one["uri"] for one in resources["resources"]] + [
        "demo://resource/dynamic/text/7",
        "demo://resource/dynamic/blob/8",
        "demo://nothing",
    ]:
        await record.step(f"read {uri}", client.read_resource(uri))
    await record.step("subscribe", client.subscribe_resource("demo://resource/dynamic/text/7"))
    await record.step("unsubscribe", client.unsubscribe_resource("demo://resource/dynamic/text/7"))
    await record.step("prompts", client.list_prompts())
    for name, arguments in [
        ("simple-prompt", None),
        ("args-prompt", {"city": "Oslo", "state": "x"}),
        ("completable-prompt", {"department": "Engineering", "name": "Alice"}),
        ("resource-prompt", {"resourceType": "Text", "resourceId": "4"}),
    ]:
        await record.step(f"prompt {name}", client.get_prompt(name, arguments))
    reference = types.PromptReference(type="ref/prompt", name="completable-prompt")
    argument = {"name": "department", "value": "E"}
    await record.step("completion", client.complete(reference, argument))
    await record.step("roots changed", client.send_roots_list_changed())
    await asyncio.sleep(1)
    record.flush()
    return tools


async def files(client, record):
    await record.step("initialize", client.initialize())
    await asyncio.sleep(0.5)
    await record.step("tools", client.list_tools())
    for name, arguments in [
        ("list_allowed_directories", {}),
        ("write_file", {"path": "note.txt", "content": "one\ntwo\n"}),
        ("read_text_file", {"path": "note.txt"}),
        ("list_directory", {"path": "."}),
        ("edit_file", {"path": "note.txt", "edits": [{"oldText": "two", "newText": "three"}]}),
        ("read_text_file", {"path": "note.txt", "tail": 1}),
        ("read_text_file", {"path": "/etc/hostname"}),
        ("move_file", {"source": "note.txt", "destination": "moved.txt"}),
    ]:
        await record.step(f"call {name}", client.call_tool(name, arguments))


async def parallel(client, record):
    await client.initialize()
    await asyncio.sleep(1.5)
    await client.list_tools()
    texts = [f"message {n}" for n in range(CALLS)]
    answers = await asyncio.gather(*(client.call_tool("echo", {"message": text}) for text in texts))
    right = sum(answer.content[0].text == f"Echo: {text}" for answer, text in zip(answers, texts, strict=True))
    print(json.dumps({"calls": CALLS, "right": right}))


async def main():
    record = Record()
    async with session(sys.argv[2:], record) as client:
        await {"everything": everything, "files": files, "parallel": parallel}[sys.argv[1]](client, record)


asyncio.run(main())
