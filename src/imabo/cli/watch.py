"""``imabo watch``: a study followed live, in a terminal, as lines or as JSON lines."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from imabo.cli.console import ended_by_signals, keyboard
from imabo.cli.exits import error_document
from imabo.cli.look import events_of, recent_text
from imabo.cli.output import clean, count, number, say, span, tell, write_json
from imabo.cli.places import Place, place_of
from imabo.cli.run import missing
from imabo.documents import Document
from imabo.errors import ImaboError, StoreError, Unavailable


@dataclass
class Look:
    """What was seen at one look; ``problem`` when it is old because the place was away since.

    ``drift`` is the event of the last change that was noticed, None when there is none.
    """

    at: float
    overview: Document
    table: Document
    drift: Document | None = None
    problem: ImaboError | None = None


_POINTS: Final = 100  # of the reward over time
_EVENTS: Final = 100  # in which the last change is looked for

Wait = Callable[[float], bool]


def watch(options: argparse.Namespace) -> None:
    """Follow a study until q, Ctrl-C or ``--count``."""
    is_live = sys.stdout.isatty() and not options.json
    with ended_by_signals(), place_of(options) as place:
        if is_live:
            last = _watch_live(place, options)
        else:
            for last in looks(place, options, _sleep):
                _write(last, as_json=options.json)
    if last.problem is not None:
        raise last.problem


def looks(place: Place, options: argparse.Namespace, wait: Wait) -> Iterator[Look]:
    """Look again and again; when the place is away, the last look again with the problem.

    The first look must succeed. ``wait`` says whether to end.
    """
    name, n_done = options.study, 0
    look: Look | None = None
    while True:
        try:
            events = events_of(place, name, _EVENTS)
            look = Look(
                time.time(),
                place.overview(name, trend=_POINTS),
                place.table(name, {"limit": max(options.top, 1)}),
                next((one for one in reversed(events) if one["kind"] == "drift"), None),
            )
            look.table["rows"] = look.table["rows"][: options.top]
        except (Unavailable, StoreError) as error:
            if look is None:
                raise
            look.problem = error
        yield look
        n_done += 1
        if n_done == options.count or wait(options.every):
            return


def _watch_live(place: Place, options: argparse.Namespace) -> Look:
    try:
        from imabo.cli.screen import Screen
    except ImportError as error:
        raise missing("watch", "rich") from error
    with keyboard() as typed, Screen(options.study) as screen:
        for look in looks(place, options, lambda seconds: _wait(typed, seconds)):
            screen.show(look)
    screen.leave(look)
    return look


def _wait(typed: Callable[[float], str], seconds: float) -> bool:
    """Wait for a key; True for q. Other keys do not shorten the wait."""
    ends_at = time.monotonic() + seconds
    while (left := ends_at - time.monotonic()) > 0:
        if "q" in typed(left).lower():
            return True
    return False


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _write(look: Look, *, as_json: bool) -> None:
    if look.problem is not None and as_json:
        write_json(error_document(look.problem), sys.stderr)
    elif look.problem is not None:
        tell(clean(f"imabo: {look.problem}"))
    elif as_json:
        write_json({"overview": look.overview, "table": look.table, "drift": look.drift})
    else:
        say(line_of(look))
        sys.stdout.flush()


def line_of(look: Look) -> str:
    """A look on one line."""
    overview, best = look.overview, look.overview["best"]
    parts = [
        time.strftime("%H:%M:%S", time.localtime(look.at)),
        clean(overview["state"]),
        f"requests {count(overview['n_pulls'])}",
        f"rewards {count(overview['n_rewards'])}",
        f"arms {count(overview['n_active'])}",
        f"lately {recent_text(overview)}",
    ]
    if best is not None:
        parts.append(f"best arm {best['arm']} {number(best['mean'])} {span(best['interval'])}")
    parts += [f"{clean(one['text'])}" for one in overview.get("goals", [])]
    if look.drift is not None:
        parts.append(f"changed {look.drift['at'][11:19]} UTC: {clean(look.drift['text'])}")
    return "  ".join(parts)
