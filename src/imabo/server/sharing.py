"""Sharing the interpreter: a study that computes for long must let the others in often."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Final

from imabo.server.lanes import Lanes

_LOOK_EVERY_S: Final = 0.1
_LONG_S: Final = 0.25  # that a job must be under way; few that only wait for the disk are
_KEEP_S: Final = 10.0  # after one was seen: the next is likely
SHORT_S: Final = 0.0005


async def share_interpreter(lanes: Lanes) -> None:
    """Have threads take turns more often while a job of a study is under way for long.

    Python lets a thread compute for 5 ms before another that waits gets its turn, and a request
    waits so several times: beside a study that computes all the time, the tail of the others was 4
    times as long. Shorter turns cost a little, so they are for such times alone.

    Args:
        lanes: Where studies are worked on.
    """
    usual_s = sys.getswitchinterval()
    is_short, until = False, 0.0
    try:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            now = time.monotonic()
            if lanes.stuck(_LONG_S):
                until = now + _KEEP_S
            if is_short != (now < until):
                is_short = not is_short
                sys.setswitchinterval(SHORT_S if is_short else usual_s)
    finally:
        sys.setswitchinterval(usual_s)
