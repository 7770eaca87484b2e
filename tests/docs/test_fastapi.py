"""The application of the FastAPI guide: short, and it does what the guide says of it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from imabo import Study
from imabo.errors import UnknownKey
from tests.docs.application import application
from tests.docs.pages import ADDRESS, DOCS, ROOT, blocks
from tests.server.running import RunningServer

EXAMPLE = ROOT / "examples" / "thumbs_up.py"
(PRINTED,) = (one.text for one in blocks(DOCS / "guides" / "fastapi.md") if one.kind == "python")


def test_the_guide_prints_the_example_and_it_has_at_most_25_lines() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == PRINTED
    own = [line for line in PRINTED.splitlines() if not re.fullmatch(r"\s*(#.*)?", line)]
    assert len(own) <= 25


class Served:
    """The application as printed, on a service of its own."""

    def __init__(self, service: RunningServer, url: str) -> None:
        self.service, self._url = service, url

    def answer(self) -> dict[str, str]:
        said = httpx.post(f"{self._url}/answers", params={"question": "When?"}, timeout=30)
        document: dict[str, str] = said.raise_for_status().json()
        return document

    def thumb(self, request_id: str, up: bool) -> int:
        address = f"{self._url}/answers/{request_id}/thumb"
        return httpx.put(address, params={"up": up}, timeout=30).status_code


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with RunningServer(f"sqlite:///{tmp_path}/imabo.db") as service:
        text = PRINTED.replace(ADDRESS, service.url)
        (tmp_path / "thumbs_up.py").write_text(text, encoding="utf-8")
        with application("thumbs_up:app", tmp_path) as url:
            yield Served(service, url)


def test_a_thumb_that_comes_later_is_the_reward_of_its_answer(
    served: Served, tmp_path: Path
) -> None:
    first, second, third = (served.answer() for _ in range(3))
    assert served.thumb(second["id"], True) == 204
    assert served.thumb(first["id"], False) == 204
    assert served.thumb(second["id"], True) == 204  # again: nothing changes
    assert served.thumb(second["id"], False) == 409
    assert served.thumb("nobody-asked", True) == 404
    with Study.open("thumbs-up", store=f"sqlite:///{tmp_path}/imabo.db") as study:
        pulls = [study.pull(key=one["id"]) for one in (first, second, third)]
        assert [pull.reward for pull in pulls] == [0.0, 1.0, None]
        assert (study.n_pulls, study.n_rewards) == (3, 2)
        for pull, said in zip(pulls, (first, second, third), strict=True):
            assert f"The {pull.config['model']} model" in said["text"]


def test_while_the_service_is_away_answers_go_on_and_thumbs_wait(
    served: Served, tmp_path: Path
) -> None:
    before = served.answer()
    served.service.stop()
    away = served.answer()
    assert "The small model, at 0.20" in away["text"]
    assert served.thumb(before["id"], True) == 204
    assert served.thumb(away["id"], True) == 204
    store = f"sqlite:///{tmp_path}/imabo.db"
    with (
        RunningServer(store, port=served.service.port),
        Study.open("thumbs-up", store=store) as study,
    ):
        until = time.monotonic() + 60.0
        while study.pull(key=before["id"]).reward is None and time.monotonic() < until:
            time.sleep(0.05)
        assert study.pull(key=before["id"]).reward == 1.0
        with pytest.raises(UnknownKey):
            study.pull(key=away["id"])
