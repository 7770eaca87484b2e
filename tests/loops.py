"""Many cases of one check: which are a part of ``make test``, and which run inside one test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def first(n: int, cases: Iterable[Any]) -> list[Any]:
    """Values for ``parametrize``: all but the first ``n`` only in ``make test-long``."""
    return [
        case if rank < n else pytest.param(*_values(case), marks=pytest.mark.long)
        for rank, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    """Those of one case: of several parameters it has several."""
    return case if isinstance(case, tuple) else (case,)


def seeds(n: int, more: int = 0) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Repeat a check for ``n`` seeds inside one test; ``make test-long`` does it for ``more``.

    A check that fails says of which seed.
    """

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(check)
        def test(*args: Any, n_seeds: int, **kwargs: Any) -> None:
            for seed in range(n_seeds):
                try:
                    check(*args, **kwargs, seed=seed)
                except BaseException as error:
                    error.add_note(f"with seed={seed}")
                    raise

        given = inspect.signature(check)
        names = [one for one in given.parameters.values() if one.name != "seed"]
        number = inspect.Parameter("n_seeds", inspect.Parameter.KEYWORD_ONLY)
        test.__signature__ = given.replace(parameters=[*names, number])  # type: ignore[attr-defined]
        cases = first(1, [n, more] if more else [n])
        marked: Callable[..., None] = pytest.mark.parametrize("n_seeds", cases)(test)
        return marked

    return decorate
