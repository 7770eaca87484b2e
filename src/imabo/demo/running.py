"""Running the demonstration from its first request to its summary."""

from __future__ import annotations

import json
import logging
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, Final, TextIO
from urllib.parse import quote

from imabo.demo.live_study import Counts, Embedded, Live, remote
from imabo.demo.service import missing_for_service, service
from imabo.demo.story import Story
from imabo.demo.summary import Played, answer_lines, outcome, summary
from imabo.demo.terminal import (
    imabo_command,
    is_watched,
    open_page,
    store_place,
    store_text,
    wait_for_enter,
)
from imabo.demo.traffic import Inbox, Pace, Reply, serve
from imabo.demo.world import AFTER, FALLEN_MODEL, NEW_MODEL, World
from imabo.errors import NoRewards, Unavailable
from imabo.recommend import Best
from imabo.stores import open_store

SECONDS: Final = 75.0  # that the traffic takes, when nobody says otherwise
# Of seeds 0 to 49 the one whose run ends in the middle; the picture in the README is of it, too.
# Chosen by: python -m imabo.demo.typical choose
TYPICAL_SEED: Final = 0
_PATIENCE_S: Final = 10.0  # for figures of the end
_STAY_S: Final = 120.0  # that the page stays after the end, for somebody at a terminal
_THOUGHTS: Final = (1024, 4096)  # thinking tokens that the operator gives the new model to start


def run(
    store: str,
    rounds: int,
    seed: int | None = None,
    *,
    seconds: float | None = None,
    embedded: bool = False,
    browser: bool = True,
    as_json: bool = False,
) -> None:
    """Serve ``rounds`` simulated requests and show what was learned; see ``imabo demo --help``.

    The study gets a name that is free in the store. Without ``seed`` it is a typical run. Without
    ``seconds`` the traffic takes 75 with a service and none without (``embedded``).
    """
    out = sys.stderr if as_json else sys.stdout
    open_store(store).close()  # what is wrong with it is said here, not by a child
    missing = None if embedded else missing_for_service()
    if missing is not None:
        out.write(
            f"The service and its page need {missing}, which is not installed. For them, run:\n"
            '  pip install "imabo[server,client]"\n'
            "Here is the demonstration without them.\n\n"
        )
    seed = TYPICAL_SEED if seed is None else seed
    world = World(rounds, seed)
    # What the study says in the log is in the story already.
    logging.getLogger("imabo").addHandler(logging.NullHandler())
    try:
        if embedded or missing is not None:
            with closing(Embedded(store, seed)) as study:
                played = play(world, study, Pace((seconds or 0.0) / rounds), out)
                _end(played, study, store, as_json, out)
            return
        _write(out, "Starting the service ...\n")
        request_s = (SECONDS if seconds is None else seconds) / rounds
        with service(store) as served, remote(served.url, seed, request_s) as live:
            page = f"{served.url}/#/studies/{quote(live.name)}"
            is_open = browser and is_watched() and open_page(page)
            _write(out, f"The page{', opened in your browser' if is_open else ''}: {page}\n\n")
            played = play(world, live, Pace(request_s), out, served.check)
            _end(played, live, store, as_json, out)
            if is_watched() and not as_json:
                _write(out, f"\nThe page stays for {_STAY_S:.0f} s more; Enter ends it now.\n")
                wait_for_enter(_STAY_S)
    except KeyboardInterrupt:
        out.write(f"\nWhat was learned until here is kept in {store_place(store)}\n")
        raise


def _write(out: TextIO, text: str) -> None:
    out.write(text)
    out.flush()


def play(
    world: World,
    study: Live,
    pace: Pace,
    out: TextIO,
    check: Callable[[], None] = lambda: None,
    *,
    looks: int = 100,
) -> Played:
    """Serve every user and tell the story, with so many looks at the study; what came of it."""
    story, inbox = Story(len(world.visits), out, looks), Inbox()
    replies: list[Reply] = []
    for visit in world.visits:
        pace.wait_for(visit.n)
        if visit.n == world.changes_after + 1:
            text = f"the {FALLEN_MODEL} model gets worse behind its name; nobody tells the study"
            story.say(visit.n, text)
        if visit.n == world.ships_after + 1:
            _ship(visit.n, study, story)
        replies.append(serve(study, visit, inbox))
        story.answered(replies[-1])
        if story.wants_look(visit.n):
            check()
            _look(visit.n, study, story)
    return Played(world, replies, story.noticed)


def _end(played: Played, study: Live, store: str, as_json: bool, out: TextIO) -> None:
    """Sum it up, for people or for programs, and say how to go on."""
    best, counts = _best(study), study.counts()
    answers = _answers(study, counts)
    out.write("\n".join(summary(played, best, counts)) + "\n")
    out.write("\n" + "\n".join(answer_lines(answers)) + "\n")
    imabo, url = imabo_command(), shlex.quote(store_text(store))
    seed = played.world.seed
    _write(
        out,
        f"\nThe database stays: {store_place(store)}\n"
        "Look at it again:\n"
        f"  {imabo} show {shlex.quote(study.name)} --store {url}\n"
        f"  {imabo} serve --store {url}\n"
        f"Meet the same users again: {imabo} demo --seed {seed}; others: --seed {seed + 1}\n",
    )
    if as_json:
        document = {"study": study.name, "store": store_text(store), "seed": seed}
        document |= outcome(played, best, counts) | {"answers": answers}
        _write(sys.stdout, json.dumps(document, allow_nan=False) + "\n")


def _ship(n: int, study: Live, story: Story) -> None:
    """A new model ships: the space grows, and the operator adds what they would try first."""
    best = _best(study)
    study.update_space(AFTER)
    story.say(n, f"a new model ships: {NEW_MODEL}. The space grows; what was learned stays")
    if best is not None:
        for tokens in _THOUGHTS:
            study.add_arm(best.config | {"model": NEW_MODEL, "thinking_tokens": tokens})
        story.say(n, "the operator adds the best configuration with the new model, by hand, twice")


def _best(study: Live) -> Best | None:
    try:
        return study.best()
    except NoRewards:
        return None


def _answers(study: Live, counts: Counts) -> Sequence[Mapping[str, Any]]:
    """The page's four answers, once its figures have all that came in: they may lag a little."""
    until = time.monotonic() + _PATIENCE_S
    found: Sequence[Mapping[str, Any]] = ()
    while True:
        with suppress(Unavailable):
            overview = study.overview()
            found = overview["answers"]
            if overview["n_rewards"] >= counts.n_rewards:
                return found
        if time.monotonic() > until:
            return found
        time.sleep(0.1)


def _look(n: int, study: Live, story: Story) -> None:
    try:
        overview, events = study.overview(), study.events()
    except Unavailable:
        return  # too busy just now; there is a next look
    story.happened(n, events)
    story.looked(n, overview)
