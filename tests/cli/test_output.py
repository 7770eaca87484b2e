"""What reaches the terminal: nothing that it would obey, and the same without rich."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from imabo import Choice, Space, Study, oracles, policies
from imabo.cli.output import clean, value_text
from tests.cli.calls import CHANGED, STRANGE, STUDY, Imabo
from tests.cli.terminals import Terminal
from tests.server.shell import run

EVIL = "\x1b]0;title\x07\x9b31m\u202eevil\r"
EVIL_NAME = f"{EVIL}[red]"
# A process in which some packages cannot be imported.
WITHOUT = (
    "import sys\n"
    "for name in sys.argv[1].split(','): sys.modules[name] = None\n"
    "from imabo import cli\n"
    "sys.exit(cli.main(sys.argv[2:]))"
)


def without(*packages: str) -> list[str]:
    return [sys.executable, "-c", WITHOUT, ",".join(packages)]


@pytest.fixture
def evil(folder: Path) -> str:
    """A study that is strange in every text that it has."""
    space = Space({EVIL: Choice(EVIL, "b"), "p[bold]": Choice("v[/bold]", "w")})
    with create(EVIL_NAME, space, folder / "imabo.db") as study:
        for value in ("b", EVIL):
            study.tell(study.ask().id, 0.5)
            study.add_arm({EVIL: value, "p[bold]": "v[/bold]"})
    return EVIL_NAME


def create(name: str, space: Space, file: Path) -> Study:
    """A study that decides fast."""
    store = f"sqlite:///{file}"
    return Study.create(
        name, space, policy=policies.IMOSS(), oracle=oracles.Random(), store=store, seed=0
    )


@pytest.mark.parametrize(
    "command",
    [["studies"], ["show"], ["arms"], ["best"], ["space"], ["pause", "1"], ["delete", "--yes"]],
    ids=lambda command: command[0],
)
def test_control_characters_are_shown_as_escapes(
    evil: str, anywhere: Imabo, command: list[str]
) -> None:
    name = [] if command[0] == "studies" else [evil]
    done = anywhere(command[0], *name, *command[1:])
    assert done.code == 0, done.err
    written = done.out + done.err
    assert r"\x1b]0;title\x07\x9b31m\u202eevil\r" in written
    assert written.replace("\n", "").isprintable()


def test_a_terminal_gets_escapes_and_brackets_as_they_are(folder: Path, evil: str) -> None:
    for command in (["studies"], ["show", evil], ["space", evil], ["watch", evil, "--count=1"]):
        terminal = Terminal(*command, folder=folder)
        assert terminal.end() == 0, terminal.text
        for sequence in ("\x1b]0;", "\x07", "\x9b", "\u202e", EVIL):
            assert sequence not in terminal.raw
        assert "[red]" in terminal.text.replace("\n", "")


def test_an_error_shows_escapes_too(imabo: Imabo) -> None:
    done = imabo("show", "no\x1b[31mthing")
    assert done.code == 3
    assert "\x1b" not in done.err
    assert r"\x1b[31m" in done.err
    assert "\x1b" not in imabo("show", STUDY, "--top", "\x1b[31m").err


def test_json_is_ascii(imabo: Imabo, evil: str) -> None:
    done = imabo("show", evil, "--json")
    assert done.out.isascii()
    assert done.out.count("\n") == 1
    assert done.json["study"]["name"] == evil


def test_an_output_that_lacks_letters_gets_escapes_not_an_error(folder: Path) -> None:
    create("é→", Space(x=Choice("ü", "b")), folder / "imabo.db").close()
    done = run("studies", f"--store=sqlite:///{folder}/imabo.db", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"\xe9\u2192" in done.stdout


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("large", "large"),
        ("with space", '"with space"'),
        ("1", '"1"'),
        ("true", '"true"'),
        ("", '""'),
        (True, "true"),
        (None, "null"),
        (0.1 + 0.2, "0.3"),
        ("\x1b", '"\\u001b"'),
    ],
)
def test_values_are_written_so_that_text_and_numbers_stay_apart(value: object, text: str) -> None:
    assert value_text(value) == text


def test_what_prints_stays_as_it_is() -> None:
    assert clean("naïve 名前 → ok") == "naïve 名前 → ok"
    assert clean("\ud800") == r"\ud800"


# --- without the extra --------------------------------------------------------------------------


def test_without_rich_tables_are_plain_text(folder: Path) -> None:
    terminal = Terminal("show", STUDY, folder=folder, command=without("rich"))
    assert terminal.end() == 0
    assert "\x1b" not in terminal.raw
    titles = next(line for line in terminal.text.splitlines() if "interval" in line)
    assert titles.split()[:3] + titles.split()[-2:] == [
        "arm",
        "state",
        "pulls",
        "interval",
        "config",
    ]
    terminal = Terminal("export", STUDY, "--out=x.csv", folder=folder, command=without("rich"))
    assert terminal.end() == 0


def test_without_the_extra_the_live_view_and_completion_name_it(folder: Path) -> None:
    for arguments in (["watch", STUDY], ["completion", "bash"]):
        terminal = Terminal(*arguments, folder=folder, command=without("rich", "shtab"))
        assert terminal.end() == 1
        assert 'pip install "imabo[cli]"' in terminal.text


def test_a_remote_place_without_httpx_names_the_extra(
    imabo: Imabo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    done = imabo("studies", "--url=http://127.0.0.1:1", "--json")
    assert done.code == 1
    assert "imabo[client]" in done.error["fix"]


# --- a few words --------------------------------------------------------------------------------


def test_an_empty_store_says_how_to_begin(imabo: Imabo) -> None:
    for name in (STUDY, STRANGE, CHANGED):
        assert imabo("delete", name, "--yes").code == 0
    done = imabo("studies")
    assert done.code == 0
    assert "imabo demo" in done.out
    assert imabo("studies", "--json").json == {"studies": []}


def test_a_study_without_a_pull_can_be_looked_at(anywhere: Imabo, folder: Path) -> None:
    for file in folder.glob("*.db"):
        create("s", Space(x=Choice(1, 2)), file).close()
    assert "none before the first reward" in anywhere("show", "s").out
    assert anywhere("arms", "s").out == "No arm yet.\n"
    assert anywhere("arms", "s", "--state=paused").out == "No arm fits.\n"
    assert anywhere("best", "s", "--json").error["code"] == "no_rewards"
    assert anywhere("watch", "s", "--count=1").code == 0
