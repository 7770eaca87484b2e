"""UCB-AIR, the infinitely many-armed baseline without an oracle."""

from __future__ import annotations

from imabo.oracles import Random
from imabo.policies import UCBAIR
from imabo_bench.methods.study import StudyMethod

METHODS = (
    StudyMethod(
        "ucb-air", "UCB-V on a set that grows from P0", UCBAIR(), Random(), has_probe=False
    ),
)
