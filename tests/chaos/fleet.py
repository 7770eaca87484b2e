"""The servers: real processes that are killed, stopped for a while, and started anew."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

ROOT: Final = Path(__file__).parents[2]
COMMAND: Final = (sys.executable, "-m", "imabo.cli", "serve", "--port", "0")
TALKATIVE: Final = {"PYTHONFAULTHANDLER": "1"}
START_S: Final = 120.0  # much more than a busy machine needs
STOP_S: Final = 60.0
STORE_AWAY: Final = 5  # exit status of a server that cannot use its database at the start


class Server:
    """A server process on a port of its own, and where its log is."""

    def __init__(self, process: Process, log: Path) -> None:
        self.process = process
        self.port = 0  # until it serves
        self._log = log

    @classmethod
    async def start(cls, command: Sequence[str], log: Path) -> Server:
        """Start one and wait until it serves; its port stays 0 when it ended instead."""
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                # With a faulthandler, one that hangs says where.
                *command, stdout=PIPE, stderr=file, cwd=ROOT, env=os.environ | TALKATIVE
            )  # fmt: skip
        server = cls(process, log)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(START_S):
                line = await process.stdout.readline()  # "imabo serves http://127.0.0.1:PORT"
        except TimeoutError:
            raise AssertionError(await server.why_it_hangs("does not start")) from None
        except asyncio.CancelledError:
            process.kill()
            raise
        if line:
            server.port = int(line.rpartition(b":")[2])
        else:
            await process.wait()
        return server

    async def end(self) -> list[str]:
        """End it in good order; says what was wrong with that."""
        self.process.terminate()
        try:
            async with asyncio.timeout(STOP_S):
                status = await self.process.wait()
        except TimeoutError:
            return [await self.why_it_hangs("does not end")]
        return [f"server: {self._log.name} ended with {status}"] if status else []

    async def why_it_hangs(self, what: str) -> str:
        """Let it say where all its threads are, and end."""
        self.process.send_signal(signal.SIGABRT)
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await self.process.wait()
        return f"server: {self._log.name} {what}: {self._log.read_text()}"


def tracebacks(folder: Path) -> list[str]:
    """What is wrong with the logs of servers, ``server-*.log`` in a folder.

    A process whose parent was killed as it began says so, and is none of that.
    """
    wrong = []
    for log in sorted(folder.glob("server-*.log")):
        _, *found = log.read_text().split("Traceback")
        wrong += [
            f"server: {log.name} has a traceback: {one[:3000]}"
            for one in found
            if not ("in spawn_main" in one and "EOFError: Ran out of input" in one)
        ]
    return wrong


async def _gone(server: Server) -> None:
    await server.process.wait()


class Fleet:
    """So many servers on one store; whoever is killed is replaced.

    Args:
        store: The store's URL.
        folder: Where their logs go.
        options: More for each server's command line.
    """

    def __init__(self, store: str, folder: Path, options: Sequence[str] = ()) -> None:
        self._command = [*COMMAND, "--store", store, *options]
        self._folder = folder
        self._n_started = 0
        self._changing: set[asyncio.Task[None]] = set()
        self.servers: list[Server] = []

    @property
    def ports(self) -> list[int]:
        """Where servers listen, as far as is known."""
        return [server.port for server in self.servers]

    async def start(self, count: int = 1) -> None:
        """Start servers, all at the same moment."""
        await asyncio.gather(*(self._start() for _ in range(count)))

    async def _start(self) -> None:
        """Start one, again when the database is away, as those who run services do."""
        while True:
            self._n_started += 1
            log = self._folder / f"server-{self._n_started}.log"
            server = await Server.start(self._command, log)
            if server.port:
                self.servers.append(server)
                return
            assert server.process.returncode == STORE_AWAY, log.read_text()

    async def _victim(self, rng: Random) -> Server:
        while not self.servers:
            await asyncio.sleep(0.01)
        return rng.choice(self.servers)

    async def kill(self, rng: Random) -> None:
        """Kill one with SIGKILL; another starts while the rest goes on."""
        server = await self._victim(rng)
        self.servers.remove(server)
        server.process.kill()
        self._changing.add(asyncio.create_task(self._start()))
        self._changing.add(asyncio.create_task(_gone(server)))

    async def freeze(self, rng: Random, seconds: float) -> None:
        """Stop one for a while, in whatever it is doing, and let it go on."""
        pid = (await self._victim(rng)).process.pid
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    async def stop(self) -> list[str]:
        """End all in good order; says what was wrong with that, and with their logs."""
        done = await asyncio.gather(*self._changing, return_exceptions=True)
        wrong = [f"server: {error}" for error in done if error is not None]
        for found in await asyncio.gather(*(server.end() for server in self.servers)):
            wrong += found
        return wrong + tracebacks(self._folder)

    async def clean_up(self) -> None:
        """Leave no process behind, whatever happened."""
        for task in self._changing:
            task.cancel()
        for server in self.servers:
            if server.process.returncode is None:
                server.process.kill()
                await server.process.wait()
