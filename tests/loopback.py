"""What servers on loopback share."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def completion(message: dict[str, Any], prompt: int = 1, reply: int = 1, **choice: Any) -> dict[str, Any]:
    """The body of a reply in OpenAI's protocol, with the numbers of tokens."""
    usage = {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}
    choices = [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop", **choice}]
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}


class Rejected(Exception):
    """Raised by what answers requests, it rejects one with this message and HTTP status."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, status: int, body: Any = b"", **headers: str) -> None:
        """Answer with bytes, or with JSON; `X_Error_Code` is the header X-Error-Code."""
        kind = {} if isinstance(body, bytes) else {"Content-Type": "application/json"}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**kind, **headers, "Content-Length": str(len(data))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Quiet."""


class Server(ThreadingHTTPServer):
    """Serves in this process until its `with` ends."""

    request_queue_size = 512
    daemon_threads = True

    def __init__(self, handler: type[Handler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        # looks often whether to end: a test waits for that
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __exit__(self, *error: Any) -> None:
        self.shutdown()
        super().__exit__(*error)
