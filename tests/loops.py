"""Of many cases of one check, the first few are a part of ``make test``, the others are long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first(n: int, cases: Iterable[Any]) -> list[Any]:
    """Values for ``parametrize``: all but the first ``n`` only in ``make test-long``."""
    return [
        case if rank < n else pytest.param(case, marks=pytest.mark.long)
        for rank, case in enumerate(cases)
    ]
