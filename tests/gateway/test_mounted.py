"""The gateway within the service: its port, its keys, its studies, and no call in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo import Client, Signal, oracles
from imabo.cli import main
from imabo.errors import InvalidSetting
from imabo.gateway.settings import settings_of
from imabo.gateway.tables import Table
from imabo.server.settings import Settings
from tests.gateway.conftest import SPACE, UPSTREAM_KEY, file_of
from tests.gateway.upstream import Stub
from tests.server.running import RunningServer

TOML = """
[imabo]
deadline_s = {deadline_s}
[upstreams.main]
base_url = "{upstream}/v1"
key_env = "UP_KEY"
models.small = {{input = 0.001, output = 0.002}}
models.large = {{}}
[routes.answers]
default = {{model = "small", temperature = 0.5}}
fields = {{model = "model", temperature = "temperature"}}
[routes.others]
default = {{model = "small", temperature = 0.5}}
fields = {{model = "model", temperature = "temperature"}}
"""
ASK = {"messages": [{"role": "user", "content": "hi"}]}
Serve = Callable[..., RunningServer]


@pytest.fixture
def file(tmp_path: Path, stub: tuple[Stub, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UP_KEY", UPSTREAM_KEY)
    path = tmp_path / "gateway.toml"
    path.write_text(TOML.format(upstream=stub[1], deadline_s=30.0))
    return path


@pytest.fixture
def serve(file: Path) -> Iterator[Serve]:
    """Starts services with the gateway in them."""
    with ExitStack() as stack:

        def start(**keys: Any) -> RunningServer:
            settings = Settings(poll_s=0.05, proposals=False, gateway=str(file))
            server = stack.enter_context(RunningServer(settings=settings, keys=keys or None))
            with Client(server.url, key=server.keys.get("admin")) as client:
                signals = {"cost": Signal(low=0.0), "latency_s": Signal(low=0.0)}
                for name in ("answers", "others"):
                    client.create(name, SPACE, oracle=oracles.Random(), seed=0, signals=signals)
            return server

        yield start


def chat(server: RunningServer, model: str = "imabo/answers", key: str = "", **more: Any) -> Any:
    headers = {"authorization": f"Bearer {server.keys[key]}"} if key else {}
    url = f"{server.url}/v1/chat/completions"
    return httpx.post(url, json={"model": model, **ASK, **more}, headers=headers)


def test_one_port_has_the_studies_and_the_gateway(serve: Serve, stub: tuple[Stub, str]) -> None:
    server = serve()
    from openai import OpenAI  # here: two seconds, which every worker would spend

    with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        raw = client.chat.completions.with_raw_response.create(
            model="imabo/answers", messages=[{"role": "user", "content": "hi"}]
        )
        answer = raw.parse()
        assert raw.headers["x-imabo-served"] == "arm"
        assert raw.headers["x-request-id"]
        stream = client.chat.completions.create(
            model="imabo/answers", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        assert len({chunk.id for chunk in stream}) == 1
        assert {model.id for model in client.models.list()} == {
            "imabo/answers", "imabo/others", "small", "large",
        }  # fmt: skip
    feedback = {"id": answer.id, "reward": 1}
    told = httpx.post(f"{server.url}/v1/feedback", json=feedback).json()
    assert (told["status"], told["study"]) == ("told", "answers")
    assert (
        httpx.post(f"{server.url}/v1/feedback", json={**feedback, "reward": 0}).status_code == 409
    )
    unknown = httpx.post(f"{server.url}/v1/feedback", json={"id": "chatcmpl-x-1", "reward": 0})
    assert unknown.status_code == 404
    with Client(server.url) as imabo:
        study = imabo.open("answers")
        pull = study.pull(answer.id.removeprefix("chatcmpl-"))
        assert pull.reward == 1.0
        assert pull.config["model"] == answer.model
    metrics = httpx.get(f"{server.url}/metrics").text
    assert 'route="/v1/chat/completions"' in metrics
    assert stub[0].seen[-1][1]["authorization"] == f"Bearer {UPSTREAM_KEY}"


def test_signals_are_told_when_the_service_ends_at_the_latest(
    file: Path, database: str, stub: tuple[Stub, str]
) -> None:
    settings = Settings(poll_s=0.05, proposals=False, gateway=str(file))
    with RunningServer(database, settings=settings) as server:
        with Client(server.url) as client:
            declared = {"cost": Signal(low=0.0), "latency_s": Signal(low=0.0)}
            client.create("answers", SPACE, seed=0, oracle=oracles.Random(), signals=declared)
        answer = chat(server)
    with RunningServer(database) as again, Client(again.url) as client:
        signals = client.open("answers").pull(answer.headers["x-imabo-pull"]).signals
    expected = {"cost", "latency_s"} if answer.json()["model"] == "small" else {"latency_s"}
    assert set(signals) == expected


def test_the_services_keys_count(serve: Serve) -> None:
    server = serve(
        admin=("admin", None), reader=("reader", None), limited=("writer", ("answers",)),
        writer=("writer", None),
    )  # fmt: skip
    none = chat(server)
    assert (none.status_code, none.json()["error"]["code"]) == (401, "unauthorized")
    reader = chat(server, key="reader")
    assert (reader.status_code, reader.json()["error"]["code"]) == (403, "forbidden")
    theirs = chat(server, "imabo/others", key="writer")
    assert theirs.status_code == 200
    assert chat(server, "small", key="writer").status_code == 200
    assert chat(server, key="limited").status_code == 200
    for model in ("imabo/others", "small"):
        assert chat(server, model, key="limited").status_code == 404
    limited = {"authorization": f"Bearer {server.keys['limited']}"}
    listed = httpx.get(f"{server.url}/v1/models", headers=limited).json()["data"]
    assert [one["id"] for one in listed] == ["imabo/answers"]
    feedback = {"id": theirs.json()["id"], "reward": 1}
    url = f"{server.url}/v1/feedback"
    assert httpx.post(url, json=feedback, headers=limited).status_code == 404
    writer = {"authorization": f"Bearer {server.keys['writer']}"}
    assert httpx.post(url, json=feedback, headers=writer).status_code == 200


def test_a_page_elsewhere_cannot_make_a_browser_send(serve: Serve) -> None:
    server = serve()
    headers = {"origin": "http://elsewhere.example"}
    url = f"{server.url}/v1/chat/completions"
    refused = httpx.post(url, json={"model": "imabo/answers", **ASK}, headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")


def test_a_study_that_is_held_up_gets_the_default_in_time(
    serve: Serve, file: Path, stub: tuple[Stub, str]
) -> None:
    file.write_text(TOML.format(upstream=stub[1], deadline_s=0.05))
    server = serve()
    gate = threading.Event()
    server.app.parts.registry.lanes.put("answers", gate.wait)
    try:
        answer = chat(server)
        assert answer.headers["x-imabo-served"] == "default"
    finally:
        gate.set()
    bad = chat(server, "imabo/others", metadata={"imabo_context": "x" * 20_000})
    assert bad.headers["x-imabo-served"] == "default"


def test_what_a_service_has_no_use_for_is_refused(stub: tuple[Stub, str]) -> None:
    environ = {"UP_KEY": UPSTREAM_KEY}
    file = file_of(stub[1], "http://127.0.0.1:1")
    with pytest.raises(InvalidSetting, match=r"imabo\.url is .*the studies are its own"):
        settings_of(Table("", file), environ, is_mounted=True)
    del file["imabo"]["url"]
    assert settings_of(Table("", file), environ, is_mounted=True).url is None
    file["upstreams"]["down"]["forward_key"] = True
    with pytest.raises(InvalidSetting, match="the key that callers send is the service's"):
        settings_of(Table("", file), environ, is_mounted=True)


def test_the_command_serves_both_and_checks_the_file_first(
    file: Path, database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunningServer(database) as server, Client(server.url) as client:
        client.create("answers", SPACE, seed=0, oracle=oracles.Random())
    command = ["serve", "--store", database, "--port", "0", "--gateway", str(file), "--json"]
    assert main(command) == 1
    assert "routes.others.study is 'others'" in capsys.readouterr().err
    file.write_text(file.read_text().partition("[routes.others]")[0])
    environ = os.environ | {"UP_KEY": UPSTREAM_KEY}
    with subprocess.Popen(
        [sys.executable, "-m", "imabo.cli", *command, "--workers", "2"],
        stdout=subprocess.PIPE, text=True, env=environ,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        try:
            body = {"model": "imabo/answers", **ASK}
            answer = httpx.post(f"{url}/v1/chat/completions", json=body)
            told = httpx.post(f"{url}/v1/feedback", json={"id": answer.json()["id"], "reward": 1})
            assert told.json()["study"] == "answers"
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(60.0) == 0
