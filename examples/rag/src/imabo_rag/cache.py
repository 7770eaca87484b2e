"""What was computed once, on disk: answers per (question, configuration), vectors per text.

One SQLite file that several processes may use at once; what a call returned is in it, also after
a kill.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import numpy as np

from imabo_rag.embedding import Vectors

_BUSY_S: Final = 30.0  # how long to wait while another process writes
_AT_ONCE: Final = 500  # names in one query
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""


def key_of(*parts: object) -> str:
    """A name for some values: equal values, equal name, whatever the order of a dict's keys.

    Example:
        >>> key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
        True
    """
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """The file. Use it as a context manager, or close it.

    Args:
        path: Of the SQLite file, made when it is not there; ``":memory:"`` keeps nothing.

    Example:
        >>> with Cache(":memory:") as cache:
        ...     cache.keep("k", {"text": "first"})
        ...     cache.keep("k", {"text": "second"})  # another process was faster: its answer counts
        {'text': 'first'}
        {'text': 'first'}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.executescript(_TABLES)
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def answer(self, key: str) -> dict[str, Any] | None:
        """The answer kept under a key; None when there is none."""
        with self._lock:
            row = self._database.execute(
                "SELECT document FROM answers WHERE key = ?", (key,)
            ).fetchone()
        return None if row is None else json.loads(row[0])

    def keep(self, key: str, document: dict[str, Any]) -> dict[str, Any]:
        """Keep an answer, unless there is one; the one that is kept."""
        with self._lock:
            self._database.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, json.dumps(document))
            )
        return self.answer(key) or document

    @property
    def n_answers(self) -> int:
        """How many answers are kept."""
        with self._lock:
            return int(self._database.execute("SELECT count(*) FROM answers").fetchone()[0])

    def vectors(
        self, model: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        """One row a text; only texts that were not seen before are embedded.

        Args:
            model: What embeds them; each has vectors of its own.
            texts: At least one.
            embed: Makes the rows of texts.
        """
        keys = [key_of(model, text) for text in texts]
        known = self._known(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = embed(list(missing.values()))
            rows = [(key, row.tobytes()) for key, row in zip(missing, made, strict=True)]
            with self._lock, self._database:  # commits, or rolls back
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            known |= dict(rows)
        return np.stack([np.frombuffer(known[key], dtype=np.float32) for key in keys])

    def _known(self, keys: Sequence[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            with self._lock:
                found |= dict(
                    self._database.execute(
                        f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some
                    ).fetchall()
                )
        return found
