"""The report: one file that needs nothing else, whatever the study is called."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np

from imabo import insight, policies
from imabo.insight import FIGURES, StudySnapshot
from imabo.insight.drawings.svg import svg
from tests.insight.story import instant, situations


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
    places = [str(attrs["data-figure"]) for _, attrs in page.tags if "data-figure" in attrs]
    assert sorted(places) == sorted(insight.figures_of(any_snapshot))
    assert page.texts.count(any_snapshot.name) == 2  # the title and the heading
    assert not page.scripts
    assert not {"img", "link", "iframe", "a", "b", "script"} & {tag for tag, _ in page.tags}
    assert {one.answer for one in insight.overview(any_snapshot).answers} <= set(page.texts)


def test_drawings_are_whole_and_within_their_frames(any_snapshot: StudySnapshot) -> None:
    for name in FIGURES:
        made = insight.figure(name, any_snapshot)
        text = svg(made)
        if not text:
            continue
        root = ElementTree.fromstring(text)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for path in root.iter("path"):
            for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.attrib["d"]):
                assert -1 <= float(x) <= width + 1, (name, path.attrib)
                assert -1 <= float(y) <= height + 1, (name, path.attrib)
        for circle in root.iter("circle"):
            assert 0 <= float(circle.attrib["cx"]) <= width
            assert 0 <= float(circle.attrib["cy"]) <= height


def test_a_drawing_shows_each_point_where_its_value_is() -> None:
    snapshot = insight.read(instant(300)[0])
    made = insight.figure("descent", snapshot)
    circles = list(ElementTree.fromstring(svg(made)).iter("circle"))
    means = [y for trace in made["data"][1:] for y in trace["y"]]
    n_named = len(made["data"][1:])  # the legend's own
    drawn = [float(one.attrib["cy"]) for one in circles[: len(circles) - n_named]]
    assert len(drawn) == len(means)
    # A straight line leads from means to pixels, downwards.
    slope, start = np.polyfit(means, drawn, 1)
    assert slope < 0
    assert np.allclose(start + slope * np.array(means), drawn, atol=0.2)


def test_a_report_of_five_thousand_requests_is_small_and_shows_twenty_configurations() -> None:
    study, _ = instant(5000, policy=policies.IMOSS(warmup=150))
    assert study.n_arms >= 150
    text = insight.report(insight.read(study))
    assert len(text.encode()) < 300_000  # of the 1.5 MB that it may have
    rows = re.findall(r'<tr><th scope="row">.*?#(\d+)', text)
    most = sorted(study.arms(), key=lambda arm: (-arm.n_pulls, arm.id))
    assert [int(row) for row in rows] == [arm.id for arm in most][:20]
    assert "The 20 most served of" in text


def test_a_report_fetches_and_runs_nothing() -> None:
    page = Page(insight.report(insight.read(situations()["instant"]())))
    assert not [attrs for _, attrs in page.tags if {"src", "href", "srcset"} & set(attrs)]
    (policy,) = [
        attrs["content"]
        for tag, attrs in page.tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_a_report_says_since_when_the_best_arm_is_judged() -> None:
    snapshot = insight.read(situations()["a change of the world"]())
    text = " ".join(Page(insight.report(snapshot)).texts)
    assert re.search(r"rewards since a change noticed at 2001-09-\d\d \d\d:\d\d:\d\d UTC", text)
