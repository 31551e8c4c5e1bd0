"""A model on loopback that follows a script: the Chat Completions API, as far as the frameworks use it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "gpt-4.1"


class ScriptedModel:
    """Answers the n-th request of each conversation with the n-th line of a script: a tool call, or a text."""

    def __init__(self, script, input_tokens=200):
        self.requests = 0
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.requests += 1
                done = sum(message["role"] == "tool" or message["role"] == "tool-response" for message in body["messages"])
                # smolagents writes results as user messages.
                done += sum("Observation:" in json.dumps(message) for message in body["messages"] if message["role"] == "user")
                tools = [tool["function"]["name"] for tool in body.get("tools", [])]
                step = script(done, tools)
                message = {"role": "assistant", "content": None}
                if isinstance(step, str):
                    if "final_answer" in tools:
                        step = ("final_answer", {"answer": step})
                    else:
                        message["content"] = step
                if isinstance(step, tuple):
                    name, args = step
                    message["tool_calls"] = [
                        {
                            "id": f"call-{model.requests}",
                            "type": "function",
                            "function": {"name": name, "arguments": json.dumps(args)},
                        }
                    ]
                answer = {
                    "id": f"answer-{model.requests}",
                    "object": "chat.completion",
                    "created": 1,
                    "model": MODEL,
                    "choices": [
                        {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
                    ],
                    "usage": {"prompt_tokens": input_tokens, "completion_tokens": 20, "total_tokens": input_tokens + 20},
                }
                data = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
