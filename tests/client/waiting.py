"""The asyncio client for code that waits, so that it meets the same tests."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from imabo.arms import Pull
from imabo.client import AsyncClient, AsyncRemoteStudy

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, Any]], Any]


class Waiting:
    """An object of the asyncio client whose methods wait; what they return is wrapped as well."""

    def __init__(self, inner: Any, run: Run) -> None:
        self._inner = inner
        self._run = run

    def __getattr__(self, name: str) -> Any:
        if isinstance(self._inner, AsyncRemoteStudy) and not hasattr(self._inner, name):
            return getattr(self._run(self._inner.facts()), name)
        value = getattr(self._inner, name)
        return self._waiting(value) if inspect.iscoroutinefunction(value) else value

    def _waiting(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
        def call(*args: Any, **settings: Any) -> Any:
            result = self._run(method(*args, **settings))
            is_study = isinstance(result, AsyncRemoteStudy)
            return Waiting(result, self._run) if is_study else result

        return call

    def study(self, name: str) -> Waiting:
        return Waiting(self._inner.study(name), self._run)

    @contextmanager
    def serve(self, **settings: Any) -> Iterator[Pull]:
        serving = self._inner.serve(**settings)
        pull = self._run(serving.__aenter__())
        try:
            yield pull
        except BaseException as error:
            if not self._run(serving.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._run(serving.__aexit__(None, None, None))

    def __iter__(self) -> Iterator[Pull]:
        async def read() -> list[Pull]:
            return [pull async for pull in self._inner]

        yield from self._run(read())

    def __len__(self) -> int:
        return int(self._run(self._inner.facts()).n_pulls)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return repr(self._inner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._run(self._inner.close())


@contextmanager
def waiting_client(url: str, **settings: Any) -> Iterator[Any]:
    """An ``AsyncClient`` whose loop runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(60.0)

    try:
        with Waiting(AsyncClient(url, **settings), run) as client:
            yield client
    finally:
        run(loop.shutdown_default_executor())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
