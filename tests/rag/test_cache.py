"""The cache survives a kill, and two processes may share it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import imabo_rag
from imabo_rag.cache import Cache, key_of

FOLDER = str(Path(imabo_rag.__file__).parents[1])
WRITER = """
import sys
from imabo_rag.cache import Cache
cache, name, count = Cache(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for n in range(count):
    kept = cache.keep(f"k{n}", {"text": f"{name} {n}"})
    print(n, kept["text"], sep="|", flush=True)
sys.stdin.read()
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": FOLDER},
    )


def test_an_answer_that_was_kept_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with writer(path, "a", 1_000_000) as child:
        assert child.stdout is not None
        for _ in range(50):
            last = child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    n = int(last.partition("|")[0])
    with Cache(path) as cache:
        assert cache.n_answers > n
        assert all(cache.answer(f"k{i}") == {"text": f"a {i}"} for i in range(n + 1))
        assert cache.keep("k0", {"text": "another"}) == {"text": "a 0"}


def test_two_processes_keep_one_answer_and_both_see_that_one(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    children = [writer(path, name, 200) for name in "ab"]
    seen = [dict(line.split("|") for line in child.communicate()[0].split("\n") if line)
            for child in children]  # fmt: skip
    assert [child.returncode for child in children] == [0, 0]
    assert len(seen[0]) == 200
    assert seen[0] == seen[1]
    with Cache(path) as cache:
        assert cache.n_answers == 200


def test_keys_differ_when_anything_differs() -> None:
    keys = {
        key_of("q", {"top_k": 1, "t": 0.1}),
        key_of("q", {"top_k": 1, "t": 0.2}),
        key_of("q", {"top_k": 1}),
        key_of("r", {"top_k": 1}),
        key_of(["q", {"top_k": 1}]),
    }
    assert len(keys) == 5
