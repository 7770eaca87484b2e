"""What teams bring: small problems drawn by number, still ones and ones that change."""

from imabo_bench.problems.situations.catalogue import (
    FAMILY,
    INSTANCES,
    KINDS,
    open_situation,
)

__all__ = ["FAMILY", "INSTANCES", "KINDS", "open_situation"]
