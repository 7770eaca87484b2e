"""Every public oracle, with the settings that change what it does."""

from __future__ import annotations

from typing import Final

from imabo import oracles
from imabo.oracles import GP, TPE, Mixed, Mutate, Oracle, Random

ORACLES: Final[dict[str, Oracle]] = {
    "Random": Random(),
    "TPE": TPE(),
    "TPE-univariate": TPE(multivariate=False),
    "TPE-greedy": TPE(gamma=0.99, candidates=1, startup=0),
    "Mutate": Mutate(),
    "Mutate-greedy": Mutate(gamma=0.99, candidates=1, startup=0),
    "GP": GP(),
    "GP-greedy": GP(kappa=0.0, epsilon=0.0, mutations=20, draws=1, startup=0),
    "Mixed-TPE": Mixed(TPE(), epsilon=0.5),
    "Mixed-Mutate": Mixed(Mutate(), epsilon=0.05),
    "Mixed-Mixed": Mixed(Mixed(Random(), epsilon=0.0), epsilon=0.2),
}


def public_classes() -> set[type[Oracle]]:
    """Every oracle class that the package exports, found by looking."""
    exported = (getattr(oracles, name) for name in oracles.__all__)
    return {
        cls
        for cls in exported
        if isinstance(cls, type) and issubclass(cls, Oracle) and cls is not Oracle
    }
