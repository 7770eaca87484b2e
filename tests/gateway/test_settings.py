"""The gateway's file: what is wrong is said with its place, its value and what to do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo import Objective, Signal, Study
from imabo.cli import main
from imabo.errors import InvalidSetting
from imabo.gateway.serving import check_exposure, summary
from imabo.gateway.settings import GatewaySettings, read_settings, settings_of
from imabo.gateway.tables import Table
from tests.gateway.conftest import SPACE, UPSTREAM_KEY, file_of
from tests.gateway.upstream import MODELS, Stub
from tests.server.running import RunningServer

ENVIRON = {"UP_KEY": UPSTREAM_KEY, "OWN_KEY": "gw-secret-4242", "BAD": "two words"}
TOML = """
[imabo]
store = "{store}"

[upstreams.main]
base_url = "{upstream}/v1"
key_env = "UP_KEY"
models.small = {{input = 1e-6, output = 2e-6}}
models.large = {{}}
models.cut-stream = {{}}

[routes.answers]
study = "answers"
default = {{model = "small", temperature = 0.5}}
fields = {{model = "model", temperature = "temperature"}}
"""


def read(**changes: Any) -> GatewaySettings:
    return settings_of(
        Table("", file_of("http://127.0.0.1:1", "http://127.0.0.1:1") | changes), ENVIRON
    )


def changed(path: str, value: object) -> dict[str, Any]:
    file = file_of("http://127.0.0.1:1", "http://127.0.0.1:1")
    *tables, name = path.split(".")
    table = file
    for one in tables:
        table = table.setdefault(one, {})
    table[name] = value
    return file


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("rotes", {}, "rotes is {}: the file takes.*write 'routes'"),
        ("imabo.store", "x", "both a url and a store"),
        ("imabo.url", "ftp://x", "imabo.url is 'ftp://x'"),
        ("imabo.deadline_s", 0, "imabo.deadline_s is 0.*from 0.001 to 60"),
        ("imabo.deadlin_s", 1, "imabo.deadlin_s is 1.*write 'deadline_s'"),
        ("gateway.ids", "pulls", "gateway.ids is 'pulls'.*write 'pull'"),
        ("gateway.max_body_bytes", 1.5, "must be a whole number"),
        ("gateway.key_env", "NOT_SET", "'NOT_SET', which is not set"),
        ("gateway.key_env", "BAD", "set to something that cannot be a key"),
        ("upstreams.main.key_env", "sk-upstream-secret-7731", "key_env is no such name"),
        ("upstreams.main.key_env", UPSTREAM_KEY.replace("-", ""), "not set, and is not shown"),
        ("upstreams.main.key", UPSTREAM_KEY, "main.key is set to something that is not shown"),
        ("upstreams.main.api_token", UPSTREAM_KEY, "main.api_token is set to something"),
        ("gateway.headers", {"x": UPSTREAM_KEY}, "gateway.headers is a table"),
        ("imabo.url", f"http://me:{UPSTREAM_KEY}@x", "imabo.url is 'http://...@x'"),
        ("upstreams.main.forward_key", True, "a request carries one key"),
        ("upstreams.main.models", {"small": {"inputs": 1}}, "models.small.inputs is 1.*'input'"),
        ("upstreams.down.models", {"small": {}}, "has it, too"),
        ("upstreams.down.models", {"imabo/x": {}}, "those of routes"),
        ("routes.answers.fields.temprature", "x", "fields.temprature is 'x'.*'temperature'"),
        ("routes.answers.default", {"model": "smal"}, "has model = 'smal'.*no upstream"),
        ("routes.answers.fallback", "smal", "fallback is 'smal'.*write 'small'"),
        ("routes.answers.model", "small", "has two models"),
        ("routes.answers.caller_wins", ["modl"], "caller_wins is"),
        ("routes.answers.scores", {"a": 0}, "are all 0"),
        ("routes.prompted.system.mode", "put", "one of keep, insert, replace"),
        ("routes.prompted.system.texts", {}, "texts is empty"),
        ("routes.prompted.system.texts", {"long": "x"}, "prompt = 'short'"),
        ("routes.prompted.examples.turns", {"short": [{"role": "system"}]}, "a list of turns"),
    ],
)
def test_what_is_wrong_is_said(path: str, value: object, words: str) -> None:
    with pytest.raises(InvalidSetting, match=words) as refused:
        settings_of(Table("", changed(path, value)), ENVIRON)
    assert UPSTREAM_KEY not in str(refused.value)
    assert UPSTREAM_KEY.replace("-", "") not in str(refused.value)


def test_the_routes_of_a_study_weigh_scores_the_same_way() -> None:
    file = file_of("http://127.0.0.1:1", "http://127.0.0.1:1")
    same = file["routes"]["answers"]
    file["routes"]["same"], file["routes"]["silent"] = same, same | {"scores": {}}
    assert settings_of(Table("", file), ENVIRON).weights("answers") == {"right": 3.0, "polite": 1.0}
    file["routes"]["other"] = same | {"scores": {"right": 1.0, "polite": 1.0}}
    with pytest.raises(InvalidSetting, match=r"other.scores are not those of routes.answers"):
        settings_of(Table("", file), ENVIRON)


def test_a_password_of_the_store_is_not_shown() -> None:
    settings = read(imabo={"store": "postgresql://imabo:pw-5510@db/imabo?password=pw-5510"})
    assert summary(settings)["imabo"] == "postgresql://...@db/imabo?password=..."


def test_without_upstreams_or_a_place_there_is_no_gateway() -> None:
    with pytest.raises(InvalidSetting, match="no upstream"):
        read(upstreams={}, routes={})
    with pytest.raises(InvalidSetting, match="no url and no store"):
        read(imabo={})


def test_other_machines_are_served_with_a_key_alone() -> None:
    settings = read()
    check_exposure(settings, "127.0.0.1", allow_open=False)
    check_exposure(settings, "0.0.0.0", allow_open=True)
    check_exposure(read(gateway={"key_env": "OWN_KEY"}), "0.0.0.0", allow_open=False)
    with pytest.raises(InvalidSetting, match="could spend the keys"):
        check_exposure(settings, "0.0.0.0", allow_open=False)


@pytest.fixture
def path(tmp_path: Path, stub: tuple[Stub, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose studies are in a database beside it."""
    store = f"sqlite:///{tmp_path}/imabo.db"
    Study.create("answers", SPACE, store=store, seed=0).close()
    path = tmp_path / "gateway.toml"
    path.write_text(TOML.format(store=store, upstream=stub[1]))
    monkeypatch.setenv("UP_KEY", UPSTREAM_KEY)
    return path


def test_a_file_is_checked_against_its_studies(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gateway", str(path), "--check"]) == 0
    assert "imabo/answers (answers); 3 models of main" in capsys.readouterr().out
    assert main(["gateway", str(path), "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["routes"] == {"imabo/answers": "answers"}
    text = path.read_text()
    for old, new, words in (
        ("temperature = 0.5", "temperature = 5.0", "routes.answers.default"),
        ('temperature = "temperature"', 'temperature = "temperatur"', "write 'temperature'"),
        ("models.large = {}", "", "may choose 'large'"),
        ('study = "answers"', 'study = "answer"', "routes.answers.study is 'answer'"),
        ("[imabo]", "[imabo", "cannot be read"),
    ):
        path.write_text(text.replace(old, new))
        assert main(["gateway", str(path), "--check"]) == 1
        assert words in capsys.readouterr().err


def test_a_database_that_is_not_there_is_not_made(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text(path.read_text().replace("imabo.db", "nobody.db"))
    assert main(["gateway", str(path), "--check"]) == 1
    assert "there is no such file" in capsys.readouterr().err
    assert not (tmp_path / "nobody.db").exists()


def test_a_budget_that_cannot_be_kept_is_said(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, signals = f"sqlite:///{path.parent}/imabo.db", {"cost": Signal(low=0.0)}
    objective = Objective(budgets={"cost": 0.01})
    Study.create("paid", SPACE, store=store, signals=signals, objective=objective).close()
    text = path.read_text().replace('study = "answers"', 'study = "paid"')
    path.write_text(text)
    assert main(["gateway", str(path), "--check", "--json"]) == 0
    said = capsys.readouterr()
    (warning,) = json.loads(said.out)["warnings"]
    assert "what tokens of 'large' cost" in warning
    path.write_text(
        text.replace("models.large = {}", "models.large = {input = 1, output = 1}")
        + "ask_usage = false\n"
    )
    assert main(["gateway", str(path), "--check", "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "ask_usage is false" in warning


def test_a_service_is_looked_at_before_the_first_request(
    path: Path, imabo: RunningServer, capsys: pytest.CaptureFixture[str]
) -> None:
    text = path.read_text()
    head = text.splitlines()[2]
    path.write_text(text.replace(head, f'url = "{imabo.url}"'))
    assert main(["gateway", str(path), "--check"]) == 0
    path.write_text(path.read_text().replace('study = "answers"', 'study = "nobody"'))
    assert main(["gateway", str(path), "--check"]) == 1
    assert "create it first" in capsys.readouterr().err
    assert read_settings(path, ENVIRON).url == imabo.url


def test_the_command_serves_until_it_is_told_to_stop(path: Path) -> None:
    command = [sys.executable, "-m", "imabo.cli", "gateway", str(path), "--port", "0", "--json"]
    environ = os.environ | {"UP_KEY": UPSTREAM_KEY}
    command += ["--log-format", "json"]
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ
        ) as process,
        ExitStack() as stack,
    ):
        stack.callback(process.kill)  # else a check that fails waits for it for ever
        assert process.stdout is not None
        assert process.stderr is not None
        url = json.loads(process.stdout.readline())["url"]
        answer = httpx.post(f"{url}/v1/chat/completions", json={"model": "imabo/answers"})
        assert answer.status_code == 200
        with suppress(httpx.RemoteProtocolError):
            body = {"model": "cut-stream", "stream": True}
            httpx.post(f"{url}/v1/chat/completions", json=body)
        # A page on this machine's browser sends such requests without asking anyone.
        page = {"origin": "http://evil.example", "content-type": "text/plain"}
        for address in ("chat/completions", "feedback"):
            body = {"model": "imabo/answers", "id": answer.json()["id"], "reward": 0}
            refused = httpx.post(f"{url}/v1/{address}", content=json.dumps(body), headers=page)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
        other_name = {"host": "evil.example"}
        assert httpx.get(f"{url}/v1/models", headers=other_name).status_code == 403
        process.send_signal(signal.SIGTERM)
        lines = process.stderr.read().splitlines()
        assert process.wait(60.0) == 0
    assert all(isinstance(json.loads(one), dict) for one in lines)
    assert any("without completing" in one for one in lines)
    (line,) = [json.loads(one) for one in lines if '"pull"' in one]
    assert line["pull"] == answer.headers["x-imabo-pull"]
    assert line["input_tokens"] == 10
    assert UPSTREAM_KEY not in "".join(lines)


def test_every_key_of_the_file_is_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: set[str] = set()
    take = Table.take

    def noted(table: Table, name: str) -> Any:
        if name.isidentifier() and table.place.rpartition(".")[2] not in ("texts", "turns"):
            taken.add(name)
        return take(table, name)

    monkeypatch.setattr(Table, "take", noted)
    read(gateway={"feedback_file": "x", "bodies_file": "y"})
    page = Path(__file__).parents[2] / "docs" / "reference" / "gateway.md"
    text = page.read_text(encoding="utf-8")
    names = {"imabo", "gateway", "upstreams", "routes"} | set(file_of("", "")["routes"])
    names |= set(file_of("", "")["upstreams"]) | {*MODELS, "right", "polite", "short"}
    assert {"deadline_s", "caller_wins", "any_model", "ids"} <= taken
    assert sorted(name for name in taken - names if f"`{name}`" not in text) == []
