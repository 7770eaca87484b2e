"""When a store keeps a milestone, and which ones it lets go: the rule that all stores share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_NARROWEST: Final = 8  # pulls; a younger study is read from its pulls as well
_MOST: Final = 128  # milestones of one width


def milestone_width(n_pulls: int) -> int:
    """How many pulls lie between two milestones of a study that has this many.

    A power of two, at least 8, and as small as 128 milestones allow. Use it to know how fine the
    history of a study is.

    Args:
        n_pulls: The study's pulls, at least 0.

    Example:
        >>> [milestone_width(n) for n in (0, 1024, 1025, 2048, 2049, 1_000_000)]
        [8, 8, 16, 16, 32, 8192]
    """
    # The smallest power of two that is at least n_pulls / 128, without rounding.
    return max(_NARROWEST, 1 << (max(n_pulls - 1, 0) // _MOST).bit_length())


def is_milestone(before: int, after: int) -> bool:
    """Whether a serve that takes a study from one number of pulls to another reaches a milestone.

    Example:
        >>> is_milestone(6, 7), is_milestone(7, 8), is_milestone(7, 40), is_milestone(8, 9)
        (False, True, True, False)
    """
    width = milestone_width(after)
    return after // width > before // width


def is_wider(before: int, after: int) -> bool:
    """Whether the milestone of a serve may be the first of its width, so that others must go.

    Example:
        >>> is_wider(1016, 1024), is_wider(1039, 1040), is_wider(1055, 1056)
        (False, True, False)
    """
    width = milestone_width(after)
    return milestone_width(before // width * width) < width


def superfluous(kept: Sequence[int]) -> list[int]:
    """The milestones to let go, by their numbers of pulls: one stays for each multiple.

    It is the first at or after the multiple; the last milestone tells the width.

    Args:
        kept: The numbers of pulls of all milestones of a study, growing.

    Example:
        >>> superfluous([*range(8, 1025, 8), 1040])[:3]
        [8, 24, 40]
    """
    width = milestone_width(kept[-1]) if kept else _NARROWEST
    pairs = zip([0, *kept], kept, strict=False)
    return [n for previous, n in pairs if n // width == previous // width]
