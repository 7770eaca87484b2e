"""The client of the endpoint against one that misbehaves on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from imabo.errors import InvalidSetting
from imabo_rag.endpoint import Endpoint, ModelFailed
from imabo_rag.settings import EndpointSettings, endpoint_from, read_settings
from tests.rag.misbehaving import Misbehaving, misbehaving

CHAT = [{"role": "user", "content": "Question: tea"}]


class Asked:
    """An endpoint whose waits are written down instead of waited."""

    def __init__(self, server: Misbehaving, **settings: object) -> None:
        self.waits: list[float] = []
        patience = {"timeout_s": 2.0, "retries": 5, "longest_s": 20.0} | settings
        table = {"url": server.url, "models": ["one"]} | patience
        self.endpoint = Endpoint(endpoint_from(table), sleep=self.waits.append)

    def chat(self) -> str:
        with self.endpoint:
            return self.endpoint.chat("one", CHAT, 0.5, seed=self.endpoint.settings.seed)


@pytest.mark.parametrize("mood", [408, 429, 502, 503, 504, 529, "inside", "slow", "closed", "cut"])
def test_what_may_pass_is_tried_again_until_it_has_passed(mood: int | str) -> None:
    with misbehaving([mood, mood]) as server:
        asked = Asked(server)
        assert asked.chat() == "about tea"
    assert len(server.bodies) == asked.endpoint.n_calls == 3
    assert len(asked.waits) == 2


@pytest.mark.parametrize("mood", [400, 401, 404, 500, "broken", "odd"])
def test_what_will_not_pass_fails_at_once(mood: int | str) -> None:
    with misbehaving([mood]) as server:
        asked = Asked(server)
        with pytest.raises(ModelFailed, match="'one' did not answer"):
            asked.chat()
    assert len(server.bodies) == 1
    assert asked.waits == []


def test_patience_ends_after_the_retries() -> None:
    with misbehaving([503] * 10) as server:
        asked = Asked(server, retries=3)
        with pytest.raises(ModelFailed, match="status 503, also at attempt 4"):
            asked.chat()
    assert len(server.bodies) == 4


def test_waits_are_random_and_their_limit_doubles_up_to_the_longest() -> None:
    with misbehaving([503] * 8) as server:
        asked = Asked(server, retries=8, base_s=2.0, longest_s=20.0)
        asked.chat()
    assert all(0 <= wait <= min(2.0 * 2**n, 20.0) for n, wait in enumerate(asked.waits))
    assert len(set(asked.waits)) == 8
    with misbehaving([503] * 60) as server:
        asked = Asked(server, retries=60, base_s=2.0, longest_s=20.0)
        asked.chat()
    assert max(asked.waits) > 8.0  # that many draws up to 20 do not all stay below


def test_the_endpoint_may_ask_for_a_longer_wait() -> None:
    with misbehaving([429]) as server:
        asked = Asked(server, base_s=0.1)
        asked.chat()
    assert asked.waits == [7.0]


def test_nobody_at_the_address_is_a_failure_and_no_crash() -> None:
    with misbehaving() as server:
        pass
    asked = Asked(server, retries=2)
    with pytest.raises(ModelFailed, match="ConnectError"):
        asked.chat()
    assert len(asked.waits) == 2


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with misbehaving() as server:
        assert Asked(server, retries=0).chat() == "about tea"


def test_what_is_sent_is_what_the_settings_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "s3cret")
    with misbehaving() as server:
        Asked(server, key_variable="SOME_KEY", max_tokens=9, seed=4).chat()
        Asked(server).chat()
    first, second = server.bodies
    assert first == {
        "path": "/v1/chat/completions",
        "model": "one",
        "messages": CHAT,
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 4,
    }
    assert not {"max_tokens", "seed"} & second.keys()
    sent = [{name.lower(): text for name, text in headers.items()} for headers in server.headers]
    assert sent[0]["authorization"] == "Bearer s3cret"
    assert "authorization" not in sent[1]


def test_a_key_is_not_shown_and_one_that_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = EndpointSettings("http://127.0.0.1:1/v1", ("one",), key="s3cret")
    assert "s3cret" not in repr(settings)
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(InvalidSetting, match="OPENROUTER_API_KEY is not set"):
        Endpoint(read_settings("hosted"))


@pytest.mark.parametrize(
    "text",
    [
        "[endpoint]\nurl = 'ftp://x'\nmodels = ['a']",
        "[endpoint]\nurl = 'http://x'\nmodels = []",
        "[endpoint]\nurl = 'http://x'\nmodels = ['a', 'a']",
        "[endpoint]\nurl = 'http://x'\nmodels = ['a']\ntimeout_s = 0",
        "[endpoint]\nurl = 'http://x'\nmodels = ['a']\nretries = -1",
        "[endpoint]\nurl = 'http://x'\nmodels = ['a']\ntypo = 1",
        "[endpoint]\nmodels = ['a']",
        "url = 'http://x'",
        "[endpoint",
    ],
)
def test_settings_that_make_no_sense_are_refused(text: str, tmp_path: Path) -> None:
    place = tmp_path / "settings.toml"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidSetting):
        read_settings(place)


def test_the_ready_made_settings_can_be_read() -> None:
    assert read_settings("local").models == ("smollm2-135m-instruct",)
    assert "meta-llama/llama-3.2-1b-instruct" in read_settings("hosted").models
