"""The library as a user meets it: every default, and the recommendation of ``Study.best``."""

from __future__ import annotations

from imabo.policies import Informed
from imabo_bench.methods.study import StudyMethod, best_by_interval

METHODS = (
    StudyMethod("imabo", "Study.create with its defaults", recommendation=best_by_interval),
    StudyMethod(
        "imabo-still",
        "the default for a world that stands still: Informed(changes=False)",
        Informed(changes=False),
        recommendation=best_by_interval,
    ),
)
