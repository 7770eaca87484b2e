"""Contract suites for a problem or a method of your own; they need the extra ``testing``.

Subclass one in your tests and give it the fixture that its docstring names.
"""

from __future__ import annotations

from imabo.errors import MissingExtra

try:
    import pytest
except ImportError as error:  # pragma: no cover
    raise MissingExtra(
        "pytest is not installed",
        "the contract suites are pytest classes",
        'install it with: pip install "imabo-bench[testing]"',
    ) from error

# Before the suites are imported: a failing assert then shows its values.
pytest.register_assert_rewrite("imabo_bench.testing.methods", "imabo_bench.testing.problems")

from imabo_bench.testing.methods import LateFeedbackContract, MethodContract  # noqa: E402
from imabo_bench.testing.problems import ProblemContract  # noqa: E402

__all__ = ["LateFeedbackContract", "MethodContract", "ProblemContract"]
