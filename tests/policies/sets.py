"""Small active sets to work formulas out on by hand."""

from __future__ import annotations

from collections.abc import Sequence

from imabo.arms import ActiveSet, Restart
from imabo.space import Config, Float, Space

LINE = Space(x=Float(0.0, 1.0))


def arms_with(
    *rewards: Sequence[float],
    pending: Sequence[int] = (),
    expired: Sequence[int] = (),
    restart: Restart | None = None,
) -> ActiveSet:
    """One arm for each list of rewards; expired pulls imply that the study has a window."""
    waiting = [p + e for p, e in zip_padded(pending, expired, len(rewards))]
    configs: list[Config] = [{"x": row / 1000} for row in range(len(rewards))]
    arms = ActiveSet.from_rewards(
        LINE,
        list(zip(configs, rewards, strict=True)),
        pending=waiting,
        has_window=bool(expired),
    )
    for row, n in enumerate(expired):
        arms.count_expired(row, n)
    arms.restart = restart or Restart()
    return arms


def zip_padded(a: Sequence[int], b: Sequence[int], n: int) -> list[tuple[int, int]]:
    """Pairs of two sequences, each filled up with zeros to length n."""
    return [(a[i] if i < len(a) else 0, b[i] if i < len(b) else 0) for i in range(n)]


def equal_arms(n: int, total: int) -> ActiveSet:
    """n arms that share a total number of rewards of 0.5 as evenly as possible."""
    return arms_with(*([0.5] * (total // n + (row < total % n)) for row in range(n)))
