"""The local model behind an OpenAI-compatible endpoint, on loopback only."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from imabo_rag.local_model import MODEL, Said, smollm2

SAID: Final = "serves "  # the line that tells a parent the address begins with it
_LARGEST: Final = 2**20  # bytes of a request

Chat = Callable[..., Said]


class ModelServer(ThreadingHTTPServer):
    """Answers ``/v1/chat/completions`` and ``/v1/models``.

    Args:
        chat: What answers; takes messages, temperature, max_tokens and seed.
        port: 0 for a free one.
        model: Its name.
    """

    daemon_threads = True

    def __init__(self, chat: Chat, port: int = 0, *, model: str = MODEL) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.chat, self.model = chat, model

    @property
    def url(self) -> str:
        """Its address, for the settings of an endpoint."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the one model."""
        if self.path != "/v1/models":
            self._refuse(404, f"there is nothing at {self.path}")
            return
        self._send(200, {"object": "list", "data": [{"id": self.server.model, "object": "model"}]})

    def do_POST(self) -> None:
        """Answer a chat."""
        length = int(self.headers.get("content-length") or 0)
        if length > _LARGEST:
            self.close_connection = True
            self._refuse(413, f"the request has {length} bytes")
            return
        text = self.rfile.read(length)
        if self.path != "/v1/chat/completions":
            self._refuse(404, f"there is nothing at {self.path}")
            return
        try:
            body = json.loads(text)
            if body["model"] != (only := self.server.model):
                self._refuse(404, f"there is no model {body['model']!r}, only {only}")
                return
            asked = _asked(body)
        except (ValueError, TypeError, LookupError) as error:
            self._refuse(400, f"{type(error).__name__}: {error}")
            return
        said = self.server.chat(**asked)
        self._send(
            200,
            {
                "id": f"chatcmpl-{secrets.token_hex(12)}",
                "object": "chat.completion",
                "created": int(time.time()),
                "model": self.server.model,
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": said.text},
                        "finish_reason": "stop",
                    }
                ],
                "usage": {
                    "prompt_tokens": said.n_read,
                    "completion_tokens": said.n_written,
                    "total_tokens": said.n_read + said.n_written,
                },
            },
        )

    def _refuse(self, status: int, why: str) -> None:
        self._send(status, {"error": {"message": why, "code": status}})

    def _send(self, status: int, document: Mapping[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: whoever asks knows."""


def _asked(body: Mapping[str, Any]) -> dict[str, Any]:
    messages = [{"role": str(m["role"]), "content": str(m["content"])} for m in body["messages"]]
    temperature = float(body.get("temperature", 1.0))
    max_tokens = body.get("max_tokens")
    seed = body.get("seed")
    if not messages or not 0 <= temperature <= 2 or (max_tokens is not None and max_tokens < 1):
        raise ValueError("messages, temperature (0 to 2) or max_tokens (at least 1) is wrong")
    return {
        "messages": messages,
        "temperature": temperature,
        "max_tokens": None if max_tokens is None else int(max_tokens),
        "seed": None if seed is None else int(seed),
    }


def serve_model(port: int) -> None:
    """Load SmolLM2 and serve it until interrupted.

    Args:
        port: On loopback; 0 for a free one.
    """
    with ModelServer(smollm2().chat, port) as server:
        sys.stdout.write(f"{SAID}{server.url}\n")
        sys.stdout.flush()
        server.serve_forever()
