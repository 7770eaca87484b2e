from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import pytest

from imabo.errors import MissingExtra
from imabo_bench.report import write_report
from imabo_bench.report.browser import LIGHT, dump_page
from imabo_bench.report.page import plotly_script
from tests.bench.report import synthetic

# Runs before everything else in the page and writes what goes wrong where the test can see it.
WATCH = """<script>
const failed = (...words) => document.documentElement.setAttribute("data-failed", words.join(" "));
addEventListener("error", (event) => failed(event.message));
addEventListener("unhandledrejection", (event) => failed(event.reason));
addEventListener("securitypolicyviolation", (event) => failed(event.violatedDirective));
for (const level of ["error", "warn"]) console[level] = failed;
setTimeout(() => {
  const root = document.documentElement;
  root.setAttribute("data-overflow", root.scrollWidth - root.clientWidth);
}, 20000);
</script>"""
DARK = "--blink-settings=preferredColorScheme=0"


def watched(page: Path, folder: Path) -> Path:
    copy = folder / "watched.html"
    content = page.read_text(encoding="utf-8")
    copy.write_text(content.replace("<head>", f"<head>{WATCH}", 1), encoding="utf-8")
    return copy


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [synthetic.row(synthetic.HOSTILE, synthetic.HOSTILE, seed) for seed in (0, 1)]
    return write_report(synthetic.write(tmp_path_factory.mktemp("hostile"), rows))


def assert_drawn(document: str, n_figures: int, ink: str) -> None:
    assert re.findall(r'data-failed="[^"]*"', document) == []
    assert 'data-drawn="yes"' in document
    assert 'data-overflow="0"' in document
    figures = document.split("<figure>")[1:]
    assert len(figures) == n_figures
    assert all('class="main-svg"' in figure for figure in figures)
    assert f"fill: {ink}" in document


@pytest.mark.usefixtures("browser")
def test_a_browser_draws_every_figure_without_an_error(page: Path, tmp_path: Path) -> None:
    document = dump_page(watched(page, tmp_path))
    assert_drawn(document, n_figures=20, ink="rgb(28, 33, 38)")
    assert 'data-title="Zoom"' in document
    assert 'data-title="Share chart' not in document  # would send the figures away


@pytest.mark.usefixtures("browser")
def test_a_dark_and_narrow_browser_shows_hostile_names_as_text(
    hostile_page: Path, tmp_path: Path
) -> None:
    document = dump_page(watched(hostile_page, tmp_path), flags=[DARK, "--window-size=500,900"])
    assert_drawn(document, n_figures=5, ink="rgb(230, 233, 236)")
    assert "<title>Benchmark report</title>" in document


@pytest.mark.usefixtures("browser")
def test_a_figure_that_cannot_be_drawn_is_said_so(hostile_page: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    content = hostile_page.read_text(encoding="utf-8")
    broken.write_text(content.replace(plotly_script(), ""), encoding="utf-8")
    document = dump_page(watched(broken, tmp_path))
    assert 'data-failed="ReferenceError: Plotly is not defined"' in document
    assert "This figure could not be drawn" in document


@pytest.mark.usefixtures("browser")
def test_png_files_hold_the_figures(tmp_path: Path) -> None:
    folder = synthetic.write(tmp_path / "rows", synthetic.rows(["toy/sin1:d2"], n_seeds=2))
    write_report(folder, png=tmp_path / "png")
    files = sorted((tmp_path / "png").iterdir())
    kinds = ["arms", "cdf", "decomposition", "map", "plane", "proposals", "regret"]
    assert [file.name for file in files] == [f"01-toy-sin1-d2-{kind}.png" for kind in kinds]
    for file in files:
        content = file.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert struct.unpack(">I", content[16:20]) == (1800,)
        assert len(set(pixels(content))) > 50  # a blank picture has a handful of values


def pixels(png: bytes) -> bytes:
    """The filtered bytes of a PNG file."""
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    return zlib.decompress(data)


def test_png_files_need_a_browser(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    with pytest.raises(MissingExtra, match=r"no Chromium or Chrome was found.*BROWSER_PATH"):
        write_report(folder, png=folder / "png")
    assert (folder / "report.html").exists()


def test_a_browser_that_does_not_start_is_explained(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", "false")
    with pytest.raises(MissingExtra, match=r"false gave no page \(exit status 1"):
        write_report(folder, png=folder / "png")


def test_the_colours_of_png_files_are_those_of_the_light_page(page: Path) -> None:
    light = page.read_text(encoding="utf-8").partition("@media")[0]
    assert all(f"--{name}: {colour}" in light for name, colour in LIGHT.items())
