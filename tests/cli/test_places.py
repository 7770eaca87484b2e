"""A database and a service: the same command says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.calls import CHANGED, SMALLER, STRANGE, STUDY, Imabo
from tests.server.running import RunningServer

READS = [
    ["studies"],
    ["show", STUDY],
    ["show", STRANGE, "--top", "2"],
    ["arms", STUDY],
    ["arms", STUDY, "--sort=n_pulls", "--ascending", "--limit=3", "--offset=2"],
    ["arms", STUDY, "--state=active", "--state=paused", "--text=model = large"],
    ["arms", STUDY, "--state=retired"],
    ["best", STUDY, "--level=0.9"],
    ["events", STUDY],
    ["events", CHANGED, "--limit=1"],
    ["show", CHANGED],
    ["best", CHANGED],
    ["watch", CHANGED, "--count=1"],
    ["space", STUDY],
    ["space", STUDY, "--set=smaller.json", "--dry-run"],
    ["watch", STUDY, "--count=1"],
]
CHANGES = [
    ["pause", STUDY, "1", "2"],
    ["resume", STUDY, "1"],
    ["retire", STUDY, "3"],
    ["add", STUDY, "model=large", "temperature=0.125"],
    ["add", STUDY, '{"model": "small", "temperature": 0}'],
    ["space", STUDY, "--set=smaller.json", "--yes"],
    ["delete", STUDY, "--yes"],
]


@pytest.fixture(autouse=True)
def smaller(folder: Path) -> None:
    (folder / "smaller.json").write_text(json.dumps(SMALLER))


@pytest.mark.parametrize("arguments", READS, ids=" ".join)
def test_reading_says_the_same_from_a_database_and_a_service(
    imabo: Imabo, server: RunningServer, arguments: list[str]
) -> None:
    for extra in (["--json"], []):
        local = imabo(*arguments, *extra)
        remote = imabo(*arguments, *extra, "--url", server.url)
        assert (local.code, local.err) == (0, "")
        if arguments[0] == "watch" and not extra:  # starts with the time of day
            local.out, remote.out = local.out[8:], remote.out[8:]
        assert remote == local


def test_changing_says_the_same_through_a_database_and_a_service(
    imabo: Imabo, server: RunningServer
) -> None:
    for arguments in CHANGES:
        local = imabo(*arguments, "--json")
        remote = imabo(*arguments, "--json", "--url", server.url)
        assert local.code == 0, local.err
        assert without_times(remote.json) == without_times(local.json)
    for place in ([], ["--url", server.url]):
        names = [study["name"] for study in imabo("studies", "--json", *place).json["studies"]]
        assert names == [STRANGE, CHANGED]


def without_times(document: Any) -> Any:
    """A document without the moment at which an arm was added."""
    if isinstance(document, dict):
        return {k: without_times(v) for k, v in document.items() if k != "admitted_at"}
    return [without_times(one) for one in document] if isinstance(document, list) else document


def test_documents_are_those_of_the_http_api(imabo: Imabo, server: RunningServer) -> None:
    def answer(path: str, **query: str) -> Any:
        return httpx.get(f"{server.url}/v1/studies{path}", params=query).json()

    assert imabo("studies", "--json").json == answer("")
    assert imabo("best", STUDY, "--json").json == answer(f"/{STUDY}/best")
    shown = imabo("show", STUDY, "--json", "--top", "50").json
    assert shown["study"] == answer(f"/{STUDY}")
    assert shown["overview"] == answer(f"/{STUDY}/overview")
    assert shown["table"] == answer(f"/{STUDY}/table", limit="50")
    assert shown["events"] == answer(f"/{STUDY}/events", limit="5")["events"]
    assert imabo("events", CHANGED, "--json").json == answer(f"/{CHANGED}/events")
    arms = {arm["id"]: arm for arm in answer(f"/{STUDY}/arms")["arms"]}
    (paused,) = imabo("pause", STUDY, "4", "--json").json["arms"]
    assert paused == arms[4] | {"state": "paused"}


def test_the_place_may_come_from_the_environment(
    imabo: Imabo, server: RunningServer, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    (folder / "imabo.db").rename(folder / "elsewhere.db")
    assert imabo("studies").code == 5
    monkeypatch.setenv("IMABO_STORE", "sqlite:///elsewhere.db")
    assert imabo("studies").code == 0
    monkeypatch.setenv("IMABO_URL", server.url)
    both = imabo("studies")
    assert both.code == 2
    assert "IMABO_STORE and IMABO_URL are both set" in both.err
    assert imabo("pause", STUDY, "1", "--url", server.url).code == 0
    seen = imabo("arms", STUDY, "--state=paused", "--store=sqlite:///elsewhere.db", "--json")
    assert seen.json["n"] == 0, "a flag counts before the environment"
    monkeypatch.delenv("IMABO_STORE")
    assert imabo("arms", STUDY, "--state=paused", "--json").json["n"] == 1


def test_the_help_says_that_a_key_is_better_kept_in_the_environment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        Imabo(capsys)("show", "--help")
    text = " ".join(capsys.readouterr().out.split())
    assert "better in IMABO_KEY, because others on this machine can see" in text


def test_an_address_without_its_scheme_is_told_with_one(imabo: Imabo) -> None:
    done = imabo("studies", "--url", "127.0.0.1:8766")
    assert done.code == 2
    assert "--url is '127.0.0.1:8766'" in done.err
    assert "did you mean 'http://127.0.0.1:8766'?" in done.err
