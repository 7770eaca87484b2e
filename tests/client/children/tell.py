"""Tells the rewards that it is told to: ``tell.py KIND URL [OUTBOX] [SETTING=JSON ...]``.

Each line of the input is a pull to reward with 1.0, or ``fork`` and several of them: a child tells
those with an even number while the parent tells the others. Each line of the output is a pull whose
``tell`` returned, or ``!`` and the code of the error that it raised. The input's end is the end of
the program.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import warnings

from imabo.client import AsyncClient, Client
from imabo.errors import ImaboError


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())  # in one piece: a parent and its child may speak at once


def tell(client: Client, pull: str) -> None:
    try:
        client.study("s").tell(pull, 1.0, wait=False)
    except ImaboError as error:
        say(f"! {error.code}")
    else:
        say(pull)


def fork(client: Client, pulls: list[str]) -> None:
    child = os.fork()
    for pull in pulls[0 if child else 1 :: 2]:
        tell(client, pull)
    if not child:
        os._exit(0)  # without the usual end of a program
    assert os.waitpid(child, 0)[1] == 0


async def tell_in_loop(client: AsyncClient) -> None:
    study = client.study("s")
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            await study.tell(line.strip(), 1.0, wait=False)
        except ImaboError as error:
            say(f"! {error.code}")
        else:
            say(line.strip())


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads is what this is about
    kind, url, outbox, *pairs = sys.argv[1:]
    settings = {name: json.loads(text) for name, _, text in (pair.partition("=") for pair in pairs)}
    settings |= {"outbox": outbox} if outbox else {}
    if kind == "asyncio":
        asyncio.run(tell_in_loop(AsyncClient(url, retries=0, **settings)))
    else:
        client = Client(url, retries=0, **settings)
        for line in iter(sys.stdin.readline, ""):
            first, *others = line.split()
            if others:
                fork(client, others)
            else:
                tell(client, first)
