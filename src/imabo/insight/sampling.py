"""A bounded sample of a study's pulls, spread over its whole past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from imabo.arms import Bools, Floats
from imabo.stores.base import Milestone, PullRecord, Store

PAGES: Final = 40
PAGE: Final = 50


@dataclass(frozen=True, eq=False)
class Sample:
    """Pulls from evenly spread places of the past, in order.

    Of the pulls numbered above ``whole_from`` none was pruned, as far as the sample shows: only
    among those do finished and waiting pulls appear as often as they happened.
    """

    pulls: Sequence[PullRecord]
    whole_from: int

    def __len__(self) -> int:
        return len(self.pulls)

    @cached_property
    def served_at(self) -> Floats:
        """When each was served."""
        return np.array([pull.served_at for pull in self.pulls], dtype=np.float64)

    @cached_property
    def delays(self) -> Floats:
        """Seconds until the reward came, NaN where there is none."""
        delays = [
            np.nan if pull.rewarded_at is None else pull.rewarded_at - pull.served_at
            for pull in self.pulls
        ]
        return np.maximum(np.array(delays, dtype=np.float64), 0.0)

    @cached_property
    def is_whole(self) -> Bools:
        """Which pulls lie where nothing was pruned."""
        return np.array([pull.number > self.whole_from for pull in self.pulls], dtype=np.bool_)


def sample_pulls(store: Store, name: str, n_pulls: int) -> Sample:
    """Read the pulls of a small study, or 40 pages of 50 from all over a large one."""
    is_small = n_pulls <= PAGES * PAGE
    starts = [0] if is_small else [i * n_pulls // PAGES for i in range(PAGES)]
    pulls: dict[int, PullRecord] = {}
    whole_from = next_number = 0
    for start in starts if n_pulls else []:
        if start + 1 < next_number:
            continue  # pruned up to there: it would give the same page again
        page = store.pulls(name, after=start, limit=PAGES * PAGE if is_small else PAGE)
        if not page:
            break
        next_number, before = page[0].number, start
        for pull in page:
            if pull.number > before + 1:
                whole_from = pull.number - 1
            before = pull.number
            pulls[pull.number] = pull
    return Sample([pulls[number] for number in sorted(pulls)], whole_from)


def last_pull_at(
    store: Store, name: str, n_pulls: int, milestones: Sequence[Milestone]
) -> float | None:
    """When the newest pull was served, None before the first: one pull is read."""
    newest = store.pull(name, n_pulls) if n_pulls else None
    if newest is not None:
        return newest.served_at
    # It was pruned, and milestones are kept as pulls are served.
    return milestones[-1].at if milestones else None
