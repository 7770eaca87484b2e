"""Making a study again from its log, decision by decision."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from imabo.engine import Engine
from imabo.errors import ImaboError, ReplayMismatch
from imabo.export import FORMAT
from imabo.space import Space

Entry = dict[str, Any]


def read_log(lines: Iterable[str]) -> tuple[Entry, Iterator[tuple[int, Entry]]]:
    """The settings of an exported study, and its entries with their line numbers."""
    entries = _entries(lines)
    _, head = next(entries, (1, {}))
    wanted = {"name", "seed", "space", "policy", "oracle", "reward_range", "window_s", "created_at"}
    if head.get("kind") != "study" or head.get("format") != FORMAT or wanted - head.keys():
        raise ReplayMismatch(
            "the log does not start with a study that this version can read",
            f"its first line has kind {head.get('kind')!r} and format {head.get('format')!r}",
            "pass the lines that Study.export wrote as JSON lines",
        )
    return head, entries


def apply_entry(engine: Engine, number: int, entry: Entry) -> None:
    """Do again what an entry says; a decision that comes out differently is refused."""
    try:
        _apply(engine, entry)
    except ReplayMismatch:
        raise
    except (KeyError, TypeError, AttributeError, ImaboError) as error:
        raise ReplayMismatch(
            f"line {number} of the log cannot be replayed",
            f"{type(error).__name__}: {error}",
            "check that the log is whole and was not edited",
        ) from error


def _entries(lines: Iterable[str]) -> Iterator[tuple[int, Entry]]:
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            raise ReplayMismatch(
                f"line {number} of the log is {line[:80]!r}",
                "it is not a JSON object",
                "check that the log is whole",
            )
        yield number, entry


def _apply(engine: Engine, entry: Entry) -> None:
    kind = entry["kind"]
    if kind == "ask":
        # Without expiry by the clock: when it happened is in the log.
        _, (pull,) = engine.serve(1)
        config = engine.view.config_of(pull.arm)
        made = (pull.number, pull.arm, pull.reason, config)
        logged = (entry["pull"], entry["arm"], entry["reason"], entry["config"])
        if made != logged:
            raise ReplayMismatch(
                f"a decision came out as {made}",
                f"the log has {logged}",
                "replay with the version of imabo that wrote the log",
            )
    elif kind == "tell":
        if not engine.reward(entry["pull"], entry["reward"]):
            raise ReplayMismatch(
                f"a reward names pull {entry['pull']}",
                "the log has no such pull before it",
                "check that the log is whole",
            )
    elif kind == "expire":
        engine.expire_before(entry["before"])
    elif kind == "space":
        engine.update_space(Space.from_dict(entry["space"]))
    elif kind == "arm":
        engine.add_arm(entry["config"])
    elif kind == "state":
        engine.put_state(entry["arm"], entry["state"])
    else:
        raise ReplayMismatch(
            f"an entry has the kind {kind!r}",
            "this version does not know it",
            "replay with the version of imabo that wrote the log",
        )
