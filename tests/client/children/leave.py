"""Tells rewards in the background and ends at once: ``leave.py KIND URL FLUSH_S PULL...``."""

from __future__ import annotations

import asyncio
import gc
import sys

from imabo.client import AsyncClient, Client


def tell_and_leave(client: Client, pulls: list[str]) -> None:
    study = client.study("s")
    for pull in pulls:
        study.tell(pull, 1.0, wait=False)


async def tell_and_leave_loop(client: AsyncClient, pulls: list[str]) -> None:
    study = client.study("s")
    for pull in pulls:
        await study.tell(pull, 1.0, wait=False)


if __name__ == "__main__":
    kind, url, flush_s, *pulls = sys.argv[1:]
    if kind == "blocking":
        tell_and_leave(Client(url, flush_s=float(flush_s), timeout_s=30.0), pulls)
    else:
        client = AsyncClient(url, flush_s=float(flush_s), timeout_s=30.0)
        asyncio.run(tell_and_leave_loop(client, pulls))
        del client  # nobody refers to it any more
        gc.collect()
    print("left", flush=True)
