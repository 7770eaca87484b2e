"""``imabo watch``: live on a terminal, lines in a pipe, JSON lines for programs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from imabo import Study
from imabo.cli.output import labelled_sparkline
from tests.cli.calls import N_PULLS, STRANGE, STUDY, Imabo
from tests.cli.terminals import Terminal
from tests.server.running import RunningServer
from tests.server.shell import COMMAND, environment


def test_the_live_view_shows_figures_arms_and_a_line_and_ends_with_q(folder: Path) -> None:
    terminal = Terminal("watch", STUDY, "--every=60", folder=folder)
    terminal.until(lambda text: "q ends" in text and "temperature=" in text)
    terminal.type("x")  # not a key that ends it
    terminal.type("q")
    assert terminal.end() == 0
    for words in (f"{STUDY}: ", "requests", str(N_PULLS), "reward lately", "at random", "interval"):
        assert words in terminal.text
    assert re.search(r"over time +[▁▂▃▄▅▆▇█]{15,}  [0-9.]+ to [0-9.]+", terminal.text)
    assert "\x1b[?1049h" in terminal.raw, "it takes the screen"
    assert terminal.raw.rindex("\x1b[?1049l") > terminal.raw.index("\x1b[?1049h"), "and leaves it"
    assert terminal.raw.rindex("\x1b[?25h") > terminal.raw.rindex("\x1b[?25l"), "with its cursor"


def test_a_narrow_terminal_cuts_the_configurations_and_nothing_else(folder: Path) -> None:
    terminal = Terminal("watch", STUDY, "--count=1", folder=folder, columns=80)
    assert terminal.end() == 0
    lines = terminal.text.splitlines()
    (titles,) = {line.rstrip() for line in lines if "interval" in line}
    assert re.fullmatch(r" +arm +state +pulls +rewards +share +estimate +interval +config", titles)
    best = re.compile(r"\* +\d+  active +\d+ +\d+ +[\d.]+% +[\d.]+  \[.*\] +(small|large), .*…$")
    assert any(best.match(line.rstrip()) for line in lines)


def test_the_live_view_follows_the_study(folder: Path) -> None:
    terminal = Terminal("watch", STUDY, "--every=0.1", folder=folder)
    terminal.until(lambda text: "requests" in text)
    with Study.open(STUDY, store=f"sqlite:///{folder}/imabo.db") as study:
        study.ask(count=1000 - N_PULLS)
    terminal.until(lambda text: "1,000" in text)
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text


def test_the_live_view_ends_by_itself_and_shows_strange_names_harmlessly(folder: Path) -> None:
    terminal = Terminal("watch", STRANGE, "--count=2", "--every=0.1", folder=folder)
    assert terminal.end() == 0
    assert r"a\x1b[31m\nb: warming up" in terminal.text
    assert STRANGE not in terminal.raw


def test_the_terminal_is_as_before_when_the_study_goes_away(folder: Path, imabo: Imabo) -> None:
    terminal = Terminal("watch", STUDY, "--every=0.1", folder=folder)
    terminal.until(lambda text: "q ends" in text)
    assert imabo("delete", STUDY, "--yes").code == 0
    assert terminal.end() == 3
    assert "no study is named" in terminal.text
    assert "\x1b[?1049l" in terminal.raw


def test_in_a_pipe_it_writes_a_line_a_look(anywhere: Imabo) -> None:
    done = anywhere("watch", STUDY, "--count=2", "--every=0.1")
    assert done.code == 0
    lines = done.out.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert re.match(r"\d\d:\d\d:\d\d  \w+  requests 150  rewards 100  arms \d+  lately 0", line)
        assert "best arm" in line


def test_as_json_it_writes_a_document_a_line(anywhere: Imabo) -> None:
    done = anywhere("watch", STUDY, "--count=2", "--every=0.1", "--top=3", "--json")
    documents = [json.loads(line) for line in done.out.splitlines()]
    assert len(documents) == 2
    for document in documents:
        assert set(document) == {"overview", "table", "drift"}
        assert document["drift"] is None
        assert document["overview"]["n_pulls"] == N_PULLS
        assert len(document["overview"]["trend"]) > 10
        assert len(document["table"]["rows"]) == 3


def test_a_service_that_goes_away_and_comes_back_is_waited_for(
    folder: Path, server: RunningServer
) -> None:
    process = subprocess.Popen(
        [*COMMAND, "watch", STUDY, "--every=0.1", "--json", "--url", server.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process, process.stdout, process.stderr:
        assert json.loads(process.stdout.readline())["overview"]["n_pulls"] == N_PULLS
        server.stop()
        assert json.loads(process.stderr.readline())["error"]["code"] == "unavailable"
        assert process.poll() is None
        with RunningServer(f"sqlite:///{folder}/served.db", port=server.port) as again:
            assert again.port == server.port
            with Study.open(STUDY, store=f"sqlite:///{folder}/served.db") as study:
                study.ask()
            while json.loads(process.stdout.readline())["overview"]["n_pulls"] != N_PULLS + 1:
                pass
        process.terminate()
        assert process.wait(60) == 130


@pytest.mark.parametrize(
    ("trend", "line"),
    [
        ([], "no reward yet"),
        ([None, None], "no reward yet"),
        ([None, 0.5], "-  0.5 to 0.5"),
        ([0.0, None, 1.0], "_#  0 to 1"),
    ],
)
def test_a_trend_with_gaps_is_drawn_without_them(trend: list[float | None], line: str) -> None:
    assert labelled_sparkline(trend, 40, plain=True) == line
