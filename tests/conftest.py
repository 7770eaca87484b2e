"""Settings of all tests: Hypothesis without deadlines, which say more of the machine than of us."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("imabo", deadline=None)
settings.load_profile("imabo")
