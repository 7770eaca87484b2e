"""The library as a user meets it: every default, and the recommendation of ``Study.best``."""

from __future__ import annotations

from imabo.bench.methods.study import StudyMethod, best_by_interval

METHODS = (StudyMethod("imabo", "Study.create with its defaults", recommendation=best_by_interval),)
