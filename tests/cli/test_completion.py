"""``imabo completion``: scripts that shells take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from imabo.cli.arguments import SHELLS
from tests.cli.calls import Imabo

SORTED = (("arms s --sort n_r", 4, "n_rewards"),)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_knows_the_commands_and_their_options(imabo: Imabo, shell: str) -> None:
    done = imabo("completion", shell)
    assert done.code == 0
    for word in ("studies", "watch", "serve", "claims", "dry-run"):
        assert word in done.out, word


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options(imabo: Imabo, folder: Path) -> None:
    script = folder / "completion.bash"
    script.write_text(imabo("completion", "bash").out)
    ask = (
        f"source {script}; COMP_WORDS=(imabo {{0}}); COMP_CWORD={{1}}; "
        "$(complete -p imabo | sed 's/.*-F \\([^ ]*\\).*/\\1/'); echo ${COMPREPLY[@]}"
    )
    for words, place, wanted in (("re", 1, "report"), ("space --d", 2, "--dry-run"), *SORTED):
        line = ask.replace("{0}", words).replace("{1}", str(place))
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True
        )
        assert wanted in done.stdout.split(), (words, done)
