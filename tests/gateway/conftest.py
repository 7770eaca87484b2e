"""An upstream, a service of imabo and a gateway between them, all real and on loopback."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo import Choice, Client, Float, Space, oracles
from imabo.gateway import make_app
from imabo.gateway.settings import GatewaySettings, settings_of
from imabo.gateway.tables import Table
from imabo.server.protocol import protocol_for
from imabo.server.settings import Settings
from tests.gateway.upstream import MODELS, NoHttp, Running, Stub
from tests.server.running import RunningServer

UPSTREAM_KEY = "sk-upstream-secret-7731"
SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
ONE = Space(model=Choice("small"), temperature=Choice(0.25), prompt=Choice("short"))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@dataclass
class Gateway:
    """A running gateway with what is around it."""

    url: str
    stub: Stub
    imabo: RunningServer
    http: httpx.Client
    settings: GatewaySettings

    def chat(self, model: str = "imabo/answers", **fields: Any) -> httpx.Response:
        """Send a chat."""
        body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **fields}
        return self.http.post("/v1/chat/completions", json=body)

    def feedback(self, **said: Any) -> httpx.Response:
        """Send feedback."""
        return self.http.post("/v1/feedback", json=said)

    def client(self) -> Client:
        """A client of the imabo behind it."""
        return Client(self.imabo.url)


@pytest.fixture(scope="session")
def stub() -> Iterator[tuple[Stub, str]]:
    upstream = Stub()
    with Running(upstream.app) as running:
        yield upstream, running.url


@pytest.fixture(scope="session")
def imabo() -> Iterator[RunningServer]:
    with RunningServer() as running:
        with Client(running.url) as client:
            client.create("answers", SPACE, oracle=oracles.Random(), seed=0)
            client.create("one", ONE, oracle=oracles.Random(), seed=0)
        yield running


def file_of(
    upstream: str, imabo: str, no_http: str = "http://127.0.0.1:1", **more: Any
) -> dict[str, Any]:
    """A gateway's file, with a route for every way in which an upstream fails."""
    served = {"model": "small", "temperature": 0.25, "prompt": "short"}
    wrong = [name for name in MODELS if name not in ("small", "large")]
    faults = {
        name: {"study": "one", "default": served, "model": name}
        for name in [*wrong, "down", "no-http"]
    }
    saved = {f"{name}-saved": {**route, "fallback": "large"} for name, route in faults.items()}
    one = {
        "study": "one",
        "default": served,
        "fields": {"model": "model", "temperature": "temperature"},
    }
    system = {"parameter": "prompt", "texts": {"short": "Be short."}}
    turns = {"short": [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}]}
    return {
        "imabo": {"url": imabo, "deadline_s": 30.0},
        "gateway": more.pop("gateway", {}),
        "upstreams": {
            "main": {"base_url": f"{upstream}/v1", "key_env": "UP_KEY", "timeout_s": 30.0,
                     "models": {"small": {"input": 0.001, "output": 0.002}, "large": {}}},
            "wrong": {"base_url": f"{upstream}/v1", "key_env": "UP_KEY", "timeout_s": 0.6,
                      "models": {name: {} for name in wrong}},
            "down": {"base_url": "http://127.0.0.1:1/v1", "models": {"down": {}}},
            "odd": {"base_url": no_http, "models": {"no-http": {}}},
        },
        "routes": {
            "answers": {
                "study": "answers",
                "default": {"model": "small", "temperature": 0.5},
                "fields": {"model": "model", "temperature": "temperature"},
                "scores": {"right": 3.0, "polite": 1.0},
            },
            "one": one,
            "prompted": {
                **one,
                "system": system,
                "examples": {"parameter": "prompt", "turns": turns},
            },
            "replaced": {
                **one,
                "caller_wins": False,
                "system": {**system, "mode": "replace"},
                "examples": {"parameter": "prompt", "mode": "replace", "turns": turns},
            },
            "inserted": {**one, "system": {**system, "mode": "insert"}, "ask_usage": True},
            **faults,
            **saved,
        },
        **more,
    }  # fmt: skip


@pytest.fixture(scope="session")
def no_http() -> Iterator[str]:
    server = NoHttp()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def gateway(stub: tuple[Stub, str], imabo: RunningServer, no_http: str) -> Iterator[Gateway]:
    """A gateway on the service."""
    with ExitStack() as stack:
        yield start(stack, stub, imabo, file_of(stub[1], imabo.url, no_http))


def start(
    stack: ExitStack, stub: tuple[Stub, str], imabo: RunningServer, file: dict[str, Any]
) -> Gateway:
    """Start a gateway of a file."""
    settings = settings_of(Table("", file), {"UP_KEY": UPSTREAM_KEY, "OWN_KEY": "gw-secret-4242"})
    running = stack.enter_context(Running(make_app(settings), http=protocol_for(Settings())))
    http = stack.enter_context(httpx.Client(base_url=running.url, timeout=60.0))
    return Gateway(running.url, stub[0], imabo, http, settings)


@pytest.fixture
def made(
    stub: tuple[Stub, str], imabo: RunningServer
) -> Iterator[Callable[[dict[str, Any]], Gateway]]:
    """Starts gateways of other files."""
    with ExitStack() as stack:
        yield lambda file: start(stack, stub, imabo, file)


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/imabo.db"
