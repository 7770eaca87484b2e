"""Contract suites for your own store, policy or oracle; they need the extra ``testing``.

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
        'install it with: pip install "imabo[testing]"',
    ) from error

# Before the suites are imported: a failing assert then shows its values.
pytest.register_assert_rewrite(
    "imabo.testing.oracles",
    "imabo.testing.parts",
    "imabo.testing.policies",
    "imabo.testing.stores",
    "imabo.testing.study",
)

from imabo.testing.oracles import OracleContract  # noqa: E402
from imabo.testing.policies import PolicyContract  # noqa: E402
from imabo.testing.stores import StoreContract  # noqa: E402
from imabo.testing.study import StudyContract  # noqa: E402
from imabo.testing.study.base import ManualClock  # noqa: E402

__all__ = ["ManualClock", "OracleContract", "PolicyContract", "StoreContract", "StudyContract"]
