"""Every public policy, with the settings that change what it does."""

from __future__ import annotations

from typing import Final

from imabo import policies
from imabo.policies import IMOSS, QRM2, UCBAIR, Informed, Policy

POLICIES: Final[dict[str, Policy]] = {
    "IMOSS": IMOSS(),
    "IMOSS-kl": IMOSS(index="kl"),
    "IMOSS-printed": IMOSS(delay="printed"),
    "IMOSS-kl-printed": IMOSS(index="kl", delay="printed"),
    "IMOSS-blind": IMOSS(delay="blind"),
    "IMOSS-kl-blind": IMOSS(index="kl", delay="blind"),
    "IMOSS-cold": IMOSS(warmup=0, beta=0.3, alpha=1.0),
    "Informed": Informed(),
    "Informed-greedy": Informed(warmup=0, bonus=0.0, trust=5.0),
    "UCBAIR": UCBAIR(),
    "QRM2": QRM2(),
}


def public_classes() -> set[type[Policy]]:
    """Every policy class that the package exports, found by looking."""
    exported = (getattr(policies, name) for name in policies.__all__)
    return {
        cls
        for cls in exported
        if isinstance(cls, type) and issubclass(cls, Policy) and cls is not Policy
    }
