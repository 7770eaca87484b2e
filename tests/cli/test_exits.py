"""Exit codes, and errors as text and as JSON."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from imabo import errors
from imabo.cli.exits import MEANINGS, exit_code
from tests.cli.calls import STRANGE, STUDY, Imabo
from tests.server.running import RunningServer
from tests.server.shell import COMMAND, environment, run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "command"),
        (["shwo"], "shwo"),
        (["show"], "STUDY"),
        (["show", STUDY, "--store", "sqlite:///a.db", "--url", "http://a"], "exclude each other"),
        (["show", STUDY, "--url", "sqlite:///a.db"], "http"),
        (["show", STUDY, "--key", "k"], "--url"),
        (["show", STUDY, "--top", "-1"], "-1 is not from 0 to 1000"),
        (["arms", STUDY, "--sort", "luck"], "admitted_at or signal:NAME, the mean of a signal"),
        (["pause", STUDY, "one"], "one"),
        (["add", STUDY, "large"], "name=value"),
        (["add", STUDY, "model=a", "model=b"], "twice"),
        (["add", STUDY, "{model"], "not JSON"),
        (["space", STUDY, "--yes"], "--set"),
        (["export", STUDY, "--json"], "--out"),
        (["delete", STUDY, "--json"], "--yes"),
        (["watch", STUDY, "--every", "0"], "0 is not from 0.1"),
        (["demo", "--rounds", "5"], "5 is not from 100"),
        (["demo", "--rounds", "many"], "many"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_is_wrong(
    imabo: Imabo, arguments: list[str], words: str
) -> None:
    done = imabo(*arguments)
    assert done.code == 2
    assert words in done.err
    assert done.out == ""
    assert "--help" in done.err


def test_wrong_usage_is_json_too(imabo: Imabo) -> None:
    done = imabo("show", "--json")
    assert done.code == 2
    assert done.error["code"] == "usage"
    assert "STUDY" in done.error["what"]


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["show", "nothing"], 3, "unknown_study"),
        (["best", "nothing"], 3, "unknown_study"),
        (["export", "nothing", "--out", "x.csv"], 3, "unknown_study"),
        (["delete", "nothing", "--yes"], 3, "unknown_study"),
        (["pause", STUDY, "1", "999"], 3, "unknown_arm"),
        (["add", STUDY, "model=tiny", "temperature=0"], 1, "invalid_config"),
        (["add", STUDY, "@nothing.json"], 1, "invalid_setting"),
        (["space", STUDY, "--set", "nothing.json", "--yes"], 1, "invalid_setting"),
        (["best", STUDY, "--level", "2"], 1, "invalid_setting"),
        (["best", STRANGE, "--level", "2"], 1, "invalid_setting"),
        (["export", STUDY, "--out", "no/such/folder/x.csv"], 1, "invalid_setting"),
    ],
)
def test_an_error_has_its_code_and_its_three_parts(
    anywhere: Imabo, arguments: list[str], code: int, kind: str
) -> None:
    done = anywhere(*arguments, "--json")
    assert done.code == code
    assert set(done.error) == {"code", "what", "why", "fix"}
    assert done.error["code"] == kind
    assert anywhere(*arguments).err.startswith("imabo: ")


def test_a_command_with_several_arms_changes_none_when_one_is_wrong(anywhere: Imabo) -> None:
    assert anywhere("pause", STUDY, "1", "2", "999").code == 3
    rows = anywhere("arms", STUDY, "--json").json["rows"]
    assert {row["state"] for row in rows} == {"active"}


def test_a_key_that_is_missing_wrong_or_too_weak_ends_with_4(
    folder: Path, imabo: Imabo, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"reader": ("reader", None), "other": ("admin", ("elsewhere",))}
    with RunningServer(f"sqlite:///{folder}/imabo.db", keys=keys) as server:  # type: ignore[arg-type]
        place = ["--url", server.url, "--json"]
        assert imabo("studies", *place).code == 4
        assert imabo("studies", *place, "--key", "imabo_x_y").error["code"] == "unauthorized"
        assert imabo("studies", *place, "--key", server.keys["other"]).json == {"studies": []}
        monkeypatch.setenv("IMABO_KEY", server.keys["reader"])
        assert imabo("best", STUDY, *place).code == 0
        refused = imabo("pause", STUDY, "1", *place)
        assert (refused.code, refused.error["code"]) == (4, "forbidden")
        assert server.keys["reader"] not in refused.err


def test_a_service_or_a_database_that_is_not_there_ends_with_5(imabo: Imabo, folder: Path) -> None:
    assert imabo("studies", "--url", "http://127.0.0.1:1").code == 5
    missing = imabo("studies", "--store", "sqlite:///typo.db", "--json")
    assert (missing.code, missing.error["code"]) == (5, "store_error")
    assert not (folder / "typo.db").exists(), "looking must not make a database"
    (folder / "broken.db").write_bytes(b"this is no database, but long enough to be read as one")
    assert imabo("studies", "--store", "sqlite:///broken.db").code == 5


def test_every_error_has_an_exit_code_that_is_documented() -> None:
    classes = [
        thing
        for thing in vars(errors).values()
        if isinstance(thing, type) and issubclass(thing, errors.ImaboError)
    ]
    assert {exit_code(error("a", "b", "c")) for error in classes} == {1, 3, 4, 5}
    assert set(MEANINGS) == {0, 1, 2, 3, 4, 5, 130}
    assert exit_code(errors.SchemaTooNew("a", "b", "c")) == 1


def test_codes_reach_the_shell(folder: Path) -> None:
    store = f"--store=sqlite:///{folder}/imabo.db"
    assert run("best", STUDY, store).returncode == 0
    assert run("best", "nothing", store).returncode == 3
    refused = run("nothing")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Traceback" not in refused.stderr


def test_a_reader_that_has_had_enough_ends_the_command_quietly(folder: Path) -> None:
    for arguments in (["export", STUDY], ["arms", STUDY], ["watch", STUDY, "--every=0.1"]):
        with subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(),
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.wait(60) == 0
            assert process.stderr.read() == b""


def test_a_full_disk_is_told(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "export", STUDY],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment(),
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("imabo: ")
    assert "No space left" in done.stderr
    assert done.stderr.count("\n") == 1


def test_ctrl_c_ends_with_130(folder: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "watch", STUDY, "--every=60", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == "\nimabo: stopped\n"
