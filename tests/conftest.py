"""Settings of all tests."""

from __future__ import annotations

import inspect
import signal
from contextlib import suppress

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


# A machine may stand still for seconds. Calls of tests wait for their answer all the same, a minute
# where httpx would have waited for five seconds; what is to be given up names its own time.
with suppress(ImportError):  # without extras
    import httpx

    _default = inspect.signature(httpx.get).parameters["timeout"].default
    for _part in ("connect", "read", "write", "pool"):
        setattr(_default, _part, 60.0)

# A run that was started in the background ignores Ctrl-C, and so would all processes of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
