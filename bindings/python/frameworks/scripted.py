"""A model on loopback that follows a script, in the words of three providers, as far as the frameworks use them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OUTPUT_TOKENS = 20


class ScriptedModel:
    """Answers a request of a conversation in which n tools have answered with the n-th line of a script: a tool call, or a text."""

    def __init__(self, script, input_tokens=200):
        self.requests = 0
        #: The last conversation, as it was sent.
        self.last = ""
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                model.last = self.rfile.read(int(self.headers["content-length"])).decode()
                body = json.loads(model.last)
                wire = next((wire for wire in WIRES if wire.ending in self.path.partition("?")[0]), None)
                if wire is None:
                    self.send_error(404)
                    return
                model.requests += 1
                tools = wire.tools(body)
                step = script(wire.done(body), list(tools)) if tools else "done"
                if isinstance(step, str) and "final_answer" in tools:
                    step = ("final_answer", {"answer": step})
                if isinstance(step, tuple):
                    name, args = step
                    theirs, schema = tools[name]
                    step = (theirs, wire.args(theirs, fitting(args, schema)))
                kind, text = wire.answer(model.requests, body, step, input_tokens)
                data = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.send_error(404)

            def do_HEAD(self):
                self.send_error(404)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_port}"
        self.address = f"{self.root}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def fitting(args, schema):
    """A tool that takes one thing gets it under its own name: each framework names the task of a sub-agent differently."""
    wanted = schema.get("required") or list(schema.get("properties", {}))
    return dict(zip(wanted, args.values())) if len(wanted) == 1 else args


class Chat:
    """OpenAI's Chat Completions."""

    ending = "/chat/completions"
    model = "gpt-4.1"

    def tools(self, body):
        return {tool["function"]["name"]: (tool["function"]["name"], tool["function"]["parameters"]) for tool in body.get("tools", [])}

    def done(self, body):
        done = sum(message["role"] == "tool" or message["role"] == "tool-response" for message in body["messages"])
        # smolagents writes results as user messages.
        return done + sum("Observation:" in json.dumps(message) for message in body["messages"] if message["role"] == "user")

    def args(self, name, args):
        return args

    def answer(self, number, body, step, input_tokens):
        message = {"role": "assistant", "content": None if isinstance(step, tuple) else step}
        if isinstance(step, tuple):
            function = {"name": step[0], "arguments": json.dumps(step[1])}
            message["tool_calls"] = [{"id": f"call-{number}", "type": "function", "function": function}]
        total = input_tokens + OUTPUT_TOKENS
        return "application/json", json.dumps(
            {
                "id": f"answer-{number}",
                "object": "chat.completion",
                "created": 1,
                "model": self.model,
                "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if isinstance(step, tuple) else "stop"}],
                "usage": {"prompt_tokens": input_tokens, "completion_tokens": OUTPUT_TOKENS, "total_tokens": total},
            }
        )


class Gemini:
    """Google's generateContent."""

    ending = ":generateContent"
    model = "gemini-2.5-pro"

    def tools(self, body):
        declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
        return {one["name"]: (one["name"], one.get("parameters_json_schema", {})) for one in declared}

    def done(self, body):
        return sum("functionResponse" in part for content in body["contents"] for part in content.get("parts", []))

    def args(self, name, args):
        return args

    def answer(self, number, body, step, input_tokens):
        call = isinstance(step, tuple) and {"functionCall": {"id": f"call-{number}", "name": step[0], "args": step[1]}}
        parts = [call or {"text": step}]
        return "application/json", json.dumps(
            {
                "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, "finishReason": "STOP"}],
                "usageMetadata": {
                    "promptTokenCount": input_tokens,
                    "candidatesTokenCount": OUTPUT_TOKENS,
                    "totalTokenCount": input_tokens + OUTPUT_TOKENS,
                },
                "modelVersion": self.model,
                "responseId": f"answer-{number}",
            }
        )


class Messages:
    """Anthropic's Messages, as a stream of events. Tools have the names that Claude Code gives them."""

    ending = "/messages"
    model = "claude-opus-4-5"
    names = {"mcp__work__bash": "bash", "Bash": "bash", "Agent": "ask_helper"}

    def tools(self, body):
        offered = {tool["name"]: tool.get("input_schema", {}) for tool in body.get("tools", [])}
        return {self.names.get(name, name): (name, schema) for name, schema in offered.items()}

    def done(self, body):
        blocks = [block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]]
        return sum(block.get("type") == "tool_result" for block in blocks)

    def args(self, name, args):
        return {"description": "a part", "prompt": args["task"], "subagent_type": "helper"} if name == "Agent" else args

    def answer(self, number, body, step, input_tokens):
        call = isinstance(step, tuple)
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": step[0], "input": {}} if call else {"type": "text", "text": ""}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])} if call else {"type": "text_delta", "text": step}
        usage = {"input_tokens": input_tokens, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}
        start = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"], "content": []}
        start.update(stop_reason=None, stop_sequence=None, usage=usage)
        end = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        events = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": OUTPUT_TOKENS}},
            {"type": "message_stop"},
        ]
        if not body.get("stream"):
            content = [{**block, "input": step[1]} if call else {**block, "text": step}]
            return "application/json", json.dumps({**start, **end, "content": content, "usage": {**usage, "output_tokens": OUTPUT_TOKENS}})
        return "text/event-stream", "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


CHAT, GEMINI, MESSAGES = Chat(), Gemini(), Messages()
WIRES = [CHAT, GEMINI, MESSAGES]
MODEL = CHAT.model
