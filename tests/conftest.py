"""Settings of all tests."""

from __future__ import annotations

import signal

from hypothesis import settings

# Without deadlines, which say more of the machine than of us.
settings.register_profile("imabo", deadline=None)
settings.load_profile("imabo")

# A run that was started in the background ignores Ctrl-C, and so would all processes of the tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
