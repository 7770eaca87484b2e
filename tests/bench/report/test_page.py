from __future__ import annotations

import json
import re
import sys
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from imabo.errors import MissingExtra
from imabo_bench.report import write_report
from imabo_bench.report.page import plotly_script
from tests.bench.report import synthetic
from tests.bench.report.synthetic import HOSTILE


class Outline(HTMLParser):
    """Tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] not in ("script", "style"):
            self.words.append(data)


def without_plotly(page: Path) -> str:
    return page.read_text(encoding="utf-8").replace(plotly_script(), "")


def figures_in(content: str) -> dict[str, object]:
    found = re.search(r'id="figures">(.*?)</script>', content, re.DOTALL)
    assert found is not None
    figures: dict[str, object] = json.loads(found[1])
    return figures


def test_the_page_names_every_problem_method_and_version(page: Path) -> None:
    outline = Outline(without_plotly(page))
    headings = " ".join(outline.words)
    for expected in (*synthetic.PROBLEMS, *synthetic.METHODS, "python 3.11.7", "2 cores", "10,000"):
        assert expected in headings


def test_the_contents_lead_to_every_section(page: Path) -> None:
    outline = Outline(without_plotly(page))
    links = {a["href"] for tag, a in outline.tags if tag == "a"}
    sections = {f"#{a['id']}" for tag, a in outline.tags if tag == "section"}
    assert links == sections
    assert len(sections) == 1 + len(synthetic.PROBLEMS)


def test_every_figure_has_a_place_and_every_place_a_figure(page: Path) -> None:
    content = without_plotly(page)
    places = {a["id"] for _, a in Outline(content).tags if a.get("class") == "plot"}
    assert places == set(figures_in(content))
    assert len(places) == 7 + 7 + 6


def test_the_tables_hold_mean_spread_test_and_ratio(tmp_path: Path) -> None:
    content = [
        synthetic.row("p", method, seed, regret=[end] * len(synthetic.CHECKPOINTS))
        for method, ends in (("best", (100.0, 104.0)), ("worse", (150.0, 162.0)))
        for seed, end in enumerate(ends)
    ]
    shown = without_plotly(write_report(synthetic.write(tmp_path, content)))
    row = re.search(r"<tr>(?:(?!</tr>).)*worse</th>(.*?)</tr>", shown.split("rho-regret</th>")[1])
    assert row is not None
    cells = [unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", row[1])]
    # differences 50 and 58: t = 54 / 4 = 13.5 with one degree of freedom
    assert cells[:6] == ["2", "156 ± 8.49", "6.00", "0.047", "1.53", "0.0156 ± 0.0008"]


def test_a_problem_that_cannot_be_opened_is_noted(page: Path) -> None:
    notes = re.findall(r'<p class="note">(.*?)</p>', without_plotly(page))
    assert any("landscape figures are left out" in note for note in notes)
    assert any("found better" in note for note in notes)


def test_nothing_is_fetched_from_anywhere(page: Path) -> None:
    content = without_plotly(page)
    outline = Outline(content)
    for tag, attributes in outline.tags:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        assert "src" not in attributes
        assert "://" not in str(attributes)
    for code in re.findall(r"<(?:script|style)[^>]*>(.*?)</", content, re.DOTALL):
        assert "://" not in code
    (policy,) = [a["content"] for _, a in outline.tags if a.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert not re.search(r"url\(|@import", content)


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    content = [synthetic.row(HOSTILE, f"m{HOSTILE}", seed) for seed in (0, 1)]
    delayed = synthetic.row(HOSTILE, f"m{HOSTILE}", 0, delay={HOSTILE: HOSTILE})
    manifest = {HOSTILE: {HOSTILE: [HOSTILE, {HOSTILE: 1}]}}
    folder = synthetic.write(tmp_path, [*content, delayed], **manifest)
    shown = without_plotly(write_report(folder))
    assert HOSTILE not in shown
    assert escape(HOSTILE) in shown
    outline = Outline(shown)
    assert [tag for tag, _ in outline.tags if tag in ("img", "script")] == ["script"] * 3
    assert not any(name.startswith("on") for _, attributes in outline.tags for name in attributes)


def test_the_page_goes_where_it_is_told(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    assert write_report(folder, out=out) == out
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert write_report(folder) == folder / "report.html"


def test_one_seed_and_no_recommendation_leave_gaps_not_errors(tmp_path: Path) -> None:
    row = synthetic.row("p", "m", 0)
    row |= {"simple": [None] * len(row["simple"]), "arm_means": []}
    shown = without_plotly(write_report(synthetic.write(tmp_path, [row])))
    assert "nan" not in Outline(shown).words
    assert "NaN" not in shown
    assert "<td>–</td>" in shown


def test_without_plotly_the_error_names_the_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingExtra, match=r"imabo-bench"):
        write_report(folder)
