"""Settings of all tests."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# Without deadlines, which say more of the machine than of us.
settings.register_profile("imabo", deadline=None, max_examples=50)
settings.register_profile("fast", deadline=None, max_examples=25)
settings.register_profile("long", deadline=None, max_examples=1000)  # pytest --hypothesis-profile
settings.load_profile("imabo")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.fast:
        settings.load_profile("fast")


# A run that was started in the background ignores Ctrl-C, and so would all processes of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
