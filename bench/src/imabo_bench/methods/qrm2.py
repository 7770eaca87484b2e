"""QRM2, the quantile-regret baseline without an oracle."""

from __future__ import annotations

from imabo.oracles import Random
from imabo.policies import QRM2
from imabo_bench.methods.study import StudyMethod

METHODS = (
    StudyMethod("qrm2", "MOSS restarted in phases that double", QRM2(), Random(), has_probe=False),
)
