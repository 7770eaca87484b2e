"""Doubt: what clearly pays less than it did is believed less, before that is proof of a change.

Pure functions of the memory. Unlike a change that is noticed (``drift``), a doubt is no event, and
it ends when later rewards contradict it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from imabo.memory import Floats, Memory

_CLEAR: Final = 4.0  # standard errors below what it paid, from which on a group is doubted
_FEWEST: Final = 100.0  # rewards of it, before and after: a sudden fall is for ``drift`` to see


def doubted(memory: Memory, groups: Floats) -> Memory:
    """The memory with what to doubt of the rewards before its moments; eq. (doubt).

    All rewards of a group count, whichever of its arms had them: nothing among them was chosen for
    having been lucky, so that even a slow fall shows without a test for each arm.

    Args:
        memory: Its last moment is now.
        groups: One column a group, with a 1 for each row of the active set that is in it.
    """
    doubted_at, shifts = np.zeros(memory.n_rows), np.zeros(memory.n_rows)
    counts, sums = memory.counts @ groups, memory.sums @ groups
    errors = errors_below(memory, counts, sums, counts[-1], sums[-1], _FEWEST)
    if memory.since is not None:
        # What was left of a group after a change that was noticed is no stretch to compare with.
        is_past = np.array(memory.moments) < memory.since["noticed"]
        errors[np.ix_(is_past, np.full(len(counts), True), memory.base @ groups > 0.0)] = -np.inf
    clearest = errors.max(axis=(0, 1), initial=-np.inf)
    for group in np.argsort(clearest, kind="stable").tolist():  # the clearest has the last word
        if not clearest[group] >= _CLEAR:
            continue
        start, end = np.unravel_index(errors[:, :, group].argmax(), errors.shape[:2])
        n, total = counts[:, group], sums[:, group]
        before = (total[end] - total[start]) / (n[end] - n[start])
        after = (total[-1] - total[end]) / (n[-1] - n[end])
        is_member = groups[:, group] > 0.0
        doubted_at[is_member] = memory.moments[end]
        shifts[is_member] = memory.change(float(before), float(after))
    return replace(memory, doubted_at=doubted_at, shifts=shifts)


def errors_below(
    memory: Memory,
    counts: Floats,
    sums: Floats,
    n_now: Floats | float,
    sum_now: Floats | float,
    fewest: float,
) -> Floats:
    """By how many standard errors rewards since one moment are below those between it and another.

    ``counts`` and ``sums`` are rewards up to each moment, one row a moment, of all arms together or
    of one group a column. Found are one row for where the earlier stretch begins, one column for
    where it ends and the later one begins; minus infinity where either has fewer than ``fewest``.
    """
    old_counts, old_sums = counts - counts[:, None], sums - sums[:, None]
    n, m = np.broadcast_arrays(old_counts, n_now - counts)
    old, new = np.broadcast_arrays(old_sums, sum_now - sums)
    found = np.full(n.shape, -np.inf)
    is_shown = (n >= fewest) & (m >= fewest)
    n, m, old, new = n[is_shown], m[is_shown], old[is_shown], new[is_shown]
    _, noise = memory.predict(n + m, old + new, 0.0)
    found[is_shown] = (old / n - new / m) / np.sqrt(noise * (1.0 / n + 1.0 / m))
    return found
