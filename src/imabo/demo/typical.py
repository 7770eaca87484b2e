"""Which run of ``imabo demo`` is a typical one, and a picture of it.

``python -m imabo.demo.typical choose`` plays it with many seeds and names the one in the
middle by the chance of a good answer at the end. ``... picture --out FILE`` draws a run. Both play
in this process, so the same seed gives the same run, as ``imabo demo --embedded`` does.
"""

from __future__ import annotations

import argparse
import io
import logging
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from imabo.demo.live_study import Embedded
from imabo.demo.picture import Moment, draw_rewards
from imabo.demo.running import TYPICAL_SEED, play
from imabo.demo.summary import Played
from imabo.demo.traffic import Pace
from imabo.demo.world import World

ROUNDS: Final = 3000
_LOOKS: Final = 20  # at the study in a run; they find when a change was noticed, and take time


class Ended(NamedTuple):
    """How a run ended."""

    seed: int
    final_rate: float
    noticed_at: int | None


def played(seed: int, rounds: int, looks: int = _LOOKS) -> tuple[Played, dict[str, Any]]:
    """A run in memory, and the key figures of its study at the end."""
    logging.getLogger("imabo").addHandler(logging.NullHandler())  # the story has it
    with closing(Embedded(None, seed)) as study:
        run = play(World(rounds, seed), study, Pace(0.0), io.StringIO(), looks=looks)
        return run, dict(study.overview())


def ended(seed: int, rounds: int) -> Ended:
    """How the run of a seed ends."""
    run, _ = played(seed, rounds)
    return Ended(seed, run.final_rate, run.noticed_at)


def middle(runs: Sequence[Ended]) -> Ended:
    """The run in the middle by its end; of an even number the lower one.

    Example:
        >>> middle([Ended(0, 0.9, None), Ended(1, 0.7, 1650), Ended(2, 0.8, None)]).seed
        2
    """
    return sorted(runs, key=lambda run: (run.final_rate, run.seed))[(len(runs) - 1) // 2]


def choose(n_seeds: int, rounds: int, workers: int) -> None:
    """Play seeds from 0 on, and say which is in the middle."""
    runs = []
    with ProcessPoolExecutor(workers) as pool:
        for run in pool.map(partial(ended, rounds=rounds), range(n_seeds)):
            runs.append(run)
            _say(f"seed {run.seed}: {run.final_rate:.3f} noticed {run.noticed_at}")
    rates = sorted(run.final_rate for run in runs)
    n_noticed = sum(run.noticed_at is not None for run in runs)
    _say(f"ends from {rates[0]:.3f} to {rates[-1]:.3f}; noticed in {n_noticed} of {len(runs)}")
    _say(f"in the middle: seed {middle(runs).seed} with {middle(runs).final_rate:.3f}")


def picture(seed: int, rounds: int, out: Path) -> None:
    """Draw what the users of a run were served, against the control."""
    run, key = played(seed, rounds, looks=100)
    world = run.world
    moments = [Moment(world.changes_after, "a model gets worse")]
    if run.noticed_at is not None:
        moments.append(Moment(run.noticed_at, "noticed"))
    moments.append(Moment(world.ships_after, "a new model ships"))
    known = ""
    if key["lift"] is not None and key["lift"]["estimate"] is not None:
        (low, high), lift = key["lift"]["interval"], key["lift"]["estimate"]
        known = f"; lift {lift:+.2f}, between {low:+.2f} and {high:+.2f}"
    note = f"imabo demo, seed {seed}: {rounds:,} requests, 59 % of the feedback lost{known}"
    tuned = [(one.visit.n, one.visit.rate(one.config)) for one in run.replies if not one.is_control]
    control = [(one.visit.n, one.visit.rate(one.config)) for one in run.replies if one.is_control]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(draw_rewards(tuned, control, moments, note), encoding="utf-8")
    _say(str(out))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """``choose`` or ``picture``."""
    parser = argparse.ArgumentParser(prog="python -m imabo.demo.typical")
    commands = parser.add_subparsers(dest="command", required=True)
    choosing = commands.add_parser("choose", help="play many seeds, name the one in the middle")
    choosing.add_argument("--seeds", type=int, default=50)
    choosing.add_argument("--workers", type=int, default=1)
    drawing = commands.add_parser("picture", help="draw a run as SVG")
    drawing.add_argument("--seed", type=int, default=TYPICAL_SEED)
    drawing.add_argument("--out", type=Path, required=True)
    for one in (choosing, drawing):
        one.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args(arguments)
    if options.command == "choose":
        choose(options.seeds, options.rounds, options.workers)
    else:
        picture(options.seed, options.rounds, options.out)


if __name__ == "__main__":
    main()
