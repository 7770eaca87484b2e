"""Export, import and report: files that are whole or not there."""

from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from imabo import Study
from imabo.stores import open_store
from tests.cli.calls import CHANGED, N_PULLS, N_REWARDS, STRANGE, STUDY, Imabo
from tests.cli.terminals import Terminal
from tests.server.running import RunningServer
from tests.server.shell import COMMAND, environment


@pytest.fixture
def log(imabo: Imabo, folder: Path) -> Path:
    """A log with a change of each kind in it."""
    (folder / "space.json").write_text(imabo("space", STUDY, "--json").out.replace("0.0", "-1.0"))
    for arguments in (
        ["pause", STUDY, "1"],
        ["retire", STUDY, "2"],
        ["add", STUDY, "model=small", "temperature=0.5"],
        ["space", STUDY, "--set=space.json", "--yes"],
        ["export", STUDY, "--out=log.jsonl"],
    ):
        assert imabo(*arguments).code == 0
    return folder / "log.jsonl"


# --- export -------------------------------------------------------------------------------------


def test_an_export_is_what_the_study_exports(anywhere: Imabo, folder: Path) -> None:
    for form in ("jsonl", "csv"):
        with Study.open(STUDY, store=f"sqlite:///{folder}/imabo.db") as study:
            study.export(folder / f"wanted.{form}")
        done = anywhere("export", STUDY, f"--out=made.{form}", "--json")
        wanted = (folder / f"wanted.{form}").read_bytes()
        assert (folder / f"made.{form}").read_bytes() == wanted
        assert done.json == {
            "study": STUDY,
            "format": form,
            "out": f"made.{form}",
            "bytes": len(wanted),
        }
        printed = anywhere("export", STUDY, f"--format={form}")
        assert printed.out.splitlines() == wanted.decode().splitlines()
        assert printed.err == ""
    rows = list(csv.DictReader((folder / "made.csv").read_text().splitlines()))
    assert len(rows) == N_PULLS


def test_a_file_takes_its_name_only_when_it_is_whole(imabo: Imabo, folder: Path) -> None:
    (folder / "kept.csv").write_text("old")
    assert imabo("export", "nothing", "--out=kept.csv").code == 3
    assert (folder / "kept.csv").read_text() == "old"
    (folder / "link.csv").symlink_to("kept.csv")
    assert imabo("export", STUDY, "--out=link.csv").code == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "kept.csv").read_text().startswith("id,arm")
    assert not list(folder.glob("*.part")) + list(folder.glob(".*.part"))


def test_a_file_has_the_permissions_of_any_other(imabo: Imabo, folder: Path) -> None:
    (folder / "plain").touch()
    assert imabo("export", STUDY, "--out=made.csv").code == 0
    assert stat.S_IMODE((folder / "made.csv").stat().st_mode) == stat.S_IMODE(
        (folder / "plain").stat().st_mode
    )


def test_a_device_is_written_to_and_stays_one(imabo: Imabo) -> None:
    assert imabo("export", STUDY, "--out=/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# --- import -------------------------------------------------------------------------------------


def test_an_imported_log_is_the_same_study_again(imabo: Imabo, anywhere: Imabo, log: Path) -> None:
    done = anywhere("import", str(log), "--name=copy", "--json").json
    assert done["checked"] == {
        "decided": N_PULLS,
        "followed": 0,
        "rewards": N_REWARDS,
        "expirations": 0,
        "changes": 4,
    }
    shown = [imabo("show", STUDY, "--json").json, anywhere("show", "copy", "--json").json]
    assert shown[0]["study"] | {"name": "copy"} == shown[1]["study"] == done["study"]
    assert shown[0]["table"] == shown[1]["table"]
    assert anywhere("export", "copy").out.splitlines()[1:] == log.read_text().splitlines()[1:]


def test_an_import_makes_the_database_and_takes_the_logs_name(imabo: Imabo, log: Path) -> None:
    done = imabo("import", str(log), "--store=sqlite:///new.db")
    assert done.code == 0
    assert f"{STUDY} is there: " in done.out
    assert f"{N_PULLS} decisions were made again and came out as in the log" in done.out
    assert imabo("best", STUDY, "--store=sqlite:///new.db").code == 0


def test_a_name_that_is_taken_is_left_alone(anywhere: Imabo, log: Path) -> None:
    before = anywhere("export", STUDY).out
    done = anywhere("import", str(log), "--json")
    assert (done.code, done.error["code"]) == (1, "study_exists")
    assert done.error["what"] == f"there is already a study named {STUDY!r} in this store"
    assert "--name" in done.error["fix"]
    assert anywhere("export", STUDY).out == before


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [
            line.replace('"pull": 40, "arm": ', '"pull": 40, "arm": 1') for line in lines
        ],
        lambda lines: [*lines[:-1], lines[-1][:-20]],
        lambda lines: [*lines[:5], "no JSON"],
        lambda lines: [lines[0].replace('"format": 1', '"format": 99')],
        lambda lines: [],
        lambda lines: ["id,arm,reason"],
    ],
)
def test_a_log_that_does_not_replay_leaves_nothing_behind(
    anywhere: Imabo, log: Path, edit: object
) -> None:
    lines = edit(log.read_text().splitlines())  # type: ignore[operator]
    log.write_text("\n".join(lines) + "\n" if lines else "")
    done = anywhere("import", str(log), "--name=copy", "--json")
    assert (done.code, done.error["code"]) == (1, "replay_mismatch")
    names = [study["name"] for study in anywhere("studies", "--json").json["studies"]]
    assert names == [STRANGE, CHANGED, STUDY]


def test_what_is_no_log_makes_no_database(imabo: Imabo, folder: Path) -> None:
    (folder / "bytes").write_bytes(b"\xff\xfe")
    for name in ("bytes", "nothing"):
        assert imabo("import", name, "--store=sqlite:///new.db").code == 1
    assert not (folder / "new.db").exists()


def test_a_file_that_cannot_be_read_is_told_as_such(anywhere: Imabo) -> None:
    done = anywhere("import", "nothing", "--json")
    assert (done.code, done.error["code"]) == (1, "invalid_setting")
    assert done.error["what"] == "the file is 'nothing'"


def test_a_service_that_is_away_or_refuses_has_its_exit_codes(imabo: Imabo, log: Path) -> None:
    assert imabo("import", str(log), "--url=http://127.0.0.1:1").code == 5
    with RunningServer(keys={"reader": ("reader", None)}) as locked:
        key = locked.keys["reader"]
        assert imabo("import", str(log), f"--url={locked.url}", f"--key={key}").code == 4


def test_what_a_service_served_with_prepared_proposals_is_followed_and_said(
    imabo: Imabo, log: Path
) -> None:
    """As the log of a service is: from the first such request on, requests are as logged."""
    lines = log.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if '"reason": "index"' in line)
    lines[place] = lines[place].replace('"reason": "index"', '"reason": "waiting"')
    log.write_text("\n".join(lines) + "\n")
    done = imabo("import", str(log), "--name=copy")
    assert done.code == 0, done.err
    decided = sum('"kind": "ask"' in line for line in lines[:place])
    assert f"checked: {decided} decisions" in done.out
    assert f"not checked: {N_PULLS - decided} " in done.out


def test_an_import_that_is_stopped_leaves_nothing_behind(folder: Path, log: Path) -> None:
    """The log comes through a pipe that stays open, so the import is surely under way."""
    with subprocess.Popen(
        [*COMMAND, "import", "-", "--name=copy"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(log.read_bytes()[:15_000])
        process.stdin.flush()
        store = open_store(f"sqlite:///{folder}/imabo.db")
        ends_at = time.monotonic() + 30.0
        while "copy" not in store.names() and time.monotonic() < ends_at:
            time.sleep(0.01)
        assert "copy" in store.names()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
        assert "copy" not in store.names()
        store.close()
        process.stdin.close()


# --- report -------------------------------------------------------------------------------------


def test_a_report_is_one_page_of_the_study(imabo: Imabo, server: RunningServer) -> None:
    pages = []
    for place in ([], ["--url", server.url]):
        done = imabo("report", STUDY, "--out=report.html", "--json", *place)
        page = Path("report.html").read_text(encoding="utf-8")
        assert done.json["bytes"] == len(page.encode())
        assert f"<h1>{STUDY}</h1>" in page
        pages.append(len(page))
    assert abs(pages[0] - pages[1]) < 1000, "they say when they were made"


# --- progress -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_remote", [False, True])
def test_progress_is_shown_on_a_terminal_and_goes_when_it_is_done(
    folder: Path, log: Path, server: RunningServer, is_remote: bool
) -> None:
    place = [f"--url={server.url}"] if is_remote else []
    terminal = Terminal("import", str(log), "--name=copy", *place, folder=folder)
    assert terminal.end() == 0
    assert "import" in terminal.text
    assert "%" in terminal.text
    assert terminal.text.rstrip().endswith("came out as in the log")


def test_json_lines_are_one_document_each(imabo: Imabo, log: Path) -> None:
    kinds = {json.loads(line)["kind"] for line in log.read_text().splitlines()}
    assert kinds == {"study", "ask", "tell", "state", "arm", "space"}


def test_a_parquet_file_is_one_from_a_database_and_a_service(anywhere: Imabo, folder: Path) -> None:
    from pyarrow import parquet

    done = anywhere("export", STUDY, "--out", "pulls.parquet", "--json")
    assert (done.code, done.json["format"]) == (0, "parquet"), done.err
    found = parquet.read_table(folder / "pulls.parquet")
    assert found.num_rows == N_PULLS
    assert set(found["config.model"].to_pylist()) == {"small", "large"}
    assert anywhere("export", STUDY, "--format", "parquet").code == 2  # not to a terminal


def test_an_ending_that_means_nothing_is_refused(imabo: Imabo, folder: Path) -> None:
    done = imabo("export", STUDY, "--out", "pulls.xlsx")
    assert done.code == 1
    assert "'jsonl', 'csv' or 'parquet'" in done.err
    assert not (folder / "pulls.xlsx").exists()
