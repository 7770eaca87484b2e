"""Help that teaches: groups, examples that work, exit codes, and no waiting for it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from imabo import Signal, Study, __version__, cli, insight
from imabo.cli.arguments import SORTS
from imabo.cli.commands import GROUPS
from imabo.cli.exits import MEANINGS
from imabo.cli.parser import Command, make_parser
from tests.cli.calls import STUDY, Imabo
from tests.server.shell import serving

COMMANDS = [command for _, commands in GROUPS for command in commands]


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        cli.main([*command.split(), "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_help_lists_every_command_in_a_group_and_every_exit_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = help_of("", capsys)
    for title, commands in GROUPS:
        assert f"\n{title}:\n" in text
        for command in commands:
            assert f"  {command.name:11} {command.help}\n" in text
    for code, meaning in MEANINGS.items():
        assert f"  {code:<4} {meaning}\n" in text
    assert {"demo", "serve", "keys", "bench"} <= {command.name for command in COMMANDS}


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"imabo {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_describes_itself_with_an_example(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    text = help_of(command.name, capsys)
    assert text.endswith(f"example:\n  {command.example}\n")
    assert len(text.partition("\n\n")[2].partition("\n\n")[0]) > 40, "a description"


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if one.name != "serve"], ids=lambda command: command.name
)
def test_the_example_of_a_command_works(command: Command, imabo: Imabo) -> None:
    if command.name == "resume":
        assert imabo("pause", STUDY, "1").code == 0
    if command.name == "lift":
        assert imabo("control", STUDY, "--random").code == 0
    if command.name in ("signal", "frontier", "budget"):
        with Study.open(STUDY, store="sqlite:///imabo.db") as study:
            study.update(signals={"cost": Signal(low=0.0)})
            study.tell(study.ask().id, 0.5, signals={"cost": 1.0})
    if command.name == "import":
        assert imabo("export", STUDY, "--out", f"{STUDY}.jsonl").code == 0
    if command.name == "create":
        text = 'name = "new"\n[space.x]\ntype = "float"\nlow = 0\nhigh = 1\n'
        Path("study.toml").write_text(text, encoding="utf-8")
    if command.name == "gateway":
        text = '[imabo]\nstore = "sqlite:///imabo.db"\n[upstreams.x]\nbase_url = "http://x"\n'
        Path("gateway.toml").write_text(text, encoding="utf-8")
    program, *arguments = shlex.split(command.example)
    assert program == "imabo"
    done = imabo(*arguments)
    assert (done.code, done.err if "Traceback" in done.err else "") == (0, "")
    assert done.out or command.name in ("export", "report")


def test_the_example_of_serve_works(folder: Path) -> None:
    (command,) = (one for one in COMMANDS if one.name == "serve")
    options = make_parser("serve").parse_args(shlex.split(command.example)[1:])
    assert (options.store, options.port) == ("sqlite:///imabo.db", "8766")
    with serving(f"sqlite:///{folder}/imabo.db") as server:
        assert server.url.startswith("http://127.0.0.1:")


def test_help_loads_nothing_that_only_commands_need() -> None:
    code = (
        "import sys; from imabo import cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = set(done.stderr.split())
    assert "imabo.cli.parser" in loaded
    heavy = {"imabo_bench", "imabo.client", "imabo.insight", "imabo.server", "imabo.demo"}
    assert not (heavy | {"rich", "shtab", "httpx", "plotly", "starlette"}) & loaded


@pytest.mark.parametrize("name", ["serve", "keys", "webhook", "bench"])
def test_the_list_of_commands_says_what_the_command_itself_says(name: str) -> None:
    """Their parsers are declared elsewhere, and the list is printed without loading them."""
    (command,) = (one for one in COMMANDS if one.name == name)
    whole = make_parser("*").format_help()
    assert command.help in whole
    assert make_parser(name).parse_args([name, *_least(name)]).run is not None


def _least(name: str) -> list[str]:
    return [] if name == "serve" else ["list"]


def test_arms_can_be_sorted_by_everything_that_insight_sorts_by() -> None:
    assert set(SORTS) == set(insight.SORTS)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("sho", "show"), ("exprot", "export"), ("keys craete", "create"), ("list", "studies")],
)
def test_a_command_that_is_nearly_one_is_named(typed: str, meant: str, imabo: Imabo) -> None:
    done = imabo(*typed.split())
    assert (done.code, f"did you mean {meant!r}?" in done.err) == (2, True)
    assert "did you mean" not in imabo("zzz").err


def test_an_option_that_is_nearly_one_is_named_by_its_command(imabo: Imabo) -> None:
    done = imabo("demo", "--roundz", "3")
    assert done.code == 2
    assert "unrecognized arguments: --roundz 3; did you mean '--rounds'?" in done.err
    assert "For how it goes: imabo demo --help" in done.err
    assert (
        "did you mean '--name'?"
        in imabo("keys", "create", "--name=x", "--role=reader", "--nmae=y").err
    )


def test_a_study_that_is_nearly_one_is_named(anywhere: Imabo) -> None:
    done = anywhere("show", "suport-answers")
    assert (done.code, f"write {STUDY!r}" in done.err) == (3, True)
    assert "write" not in anywhere("show", "zzz").err


def test_the_help_of_serve_shows_what_every_setting_is_and_may_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = " ".join(help_of("serve", capsys).split())
    for words in (
        "--port N port to listen on; 0 takes a free one [8766; from 0 to 65535]",
        "--host ADDRESS address to listen on [127.0.0.1]",
        "--store-limit-s SECONDS",
        "[8; from 0.1 to 3600]",
        "--max-body-bytes BYTES the longest body of a request [1048576; from 1024 to 1073741824]",
        "kept; for ever by default [none; from 1 to 1e+10]",
        "may do everything [off]",
        "--log-format FORMAT",
    ):
        assert words in text
    assert "None" not in text
