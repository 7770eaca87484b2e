"""The report: one file that needs nothing else, whatever the study is called."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from imabo import insight
from imabo.insight import FIGURES, StudySnapshot
from imabo.insight.reporting import plotly_script, script_json
from tests.insight.story import situations


class Page(HTMLParser):
    """What a browser would see: tags, text, and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        else:
            self.texts.append(data)


def test_a_report_has_every_figure_and_every_word_of_users_as_text(
    any_snapshot: StudySnapshot,
) -> None:
    page = Page(insight.report(any_snapshot))
    places = [attrs["data-figure"] for _, attrs in page.tags if "data-figure" in attrs]
    assert tuple(places) == FIGURES
    assert page.texts.count(any_snapshot.name) == 2  # the title and the heading
    figures, library, code = page.scripts
    assert json.loads(figures) == [insight.figure(name, any_snapshot) for name in FIGURES]
    assert library == plotly_script()
    assert "Plotly.react" in code
    assert not {"img", "link", "iframe", "a"} & {tag for tag, _ in page.tags}


def test_a_report_fetches_nothing() -> None:
    page = Page(insight.report(insight.read(situations()["instant"]())))
    assert not [attrs for _, attrs in page.tags if {"src", "href", "srcset"} & set(attrs)]
    (policy,) = [
        attrs["content"]
        for tag, attrs in page.tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_a_report_shows_the_arms_of_the_study() -> None:
    study = situations()["instant"]()
    text = insight.report(insight.read(study))
    rows = re.findall(r'<tr><th scope="row">(\d+)', text)
    most = sorted(study.arms(), key=lambda arm: (-arm.n_pulls, arm.id))
    assert [int(row) for row in rows] == [arm.id for arm in most][:100]


@pytest.mark.parametrize("text", ["</script>", "<!--", "]]>", "\u2028&<>", "a'\"b"])
def test_json_in_a_script_cannot_end_it_and_reads_back(text: str) -> None:
    written = script_json({"x": text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"x": text}


def test_a_report_says_since_when_the_best_arm_is_judged() -> None:
    snapshot = insight.read(situations()["a change of the world"]())
    text = " ".join(Page(insight.report(snapshot)).texts)
    assert re.search(r"rewards since a change noticed at 2001-09-\d\d \d\d:\d\d:\d\d UTC", text)
