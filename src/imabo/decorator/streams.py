"""What a tuned generator function returns: its items, with an eye on its call."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, TypeVar

from imabo.decorator.calls import TunedCall

T = TypeVar("T")


class TunedStream(Generator[Any, Any, Any]):
    """The items of a tuned generator function; ``call`` is the call that makes them.

    The study is asked when the first item is taken, so a stream that nobody reads costs no pull.
    """

    def __init__(
        self,
        call: TunedCall[Any],
        begin: Callable[[], Generator[Any, Any, Any]],
        fail: Callable[[Exception], None],
        show: Callable[[TunedCall[Any]], object],
    ) -> None:
        self.call = call
        self._begin = begin
        self._fail = fail
        self._show = show  # whoever runs now is the last call
        self._items: Generator[Any, Any, Any] | None = None

    def send(self, value: Any) -> Any:
        """The next item."""
        if self._items is None:
            try:
                self._items = self._begin()
            except BaseException:
                self.close()
                raise
        items = self._items
        return self._step(lambda: items.send(value), None)

    def throw(self, *error: Any) -> Any:
        """Raise an error where the generator waits; one that has not begun asks for nothing."""
        items = self._begun_or_none()
        return self._step(lambda: items.throw(*error), error[-1])

    def close(self) -> None:
        """End the generator; its ``finally`` blocks run."""
        try:
            self._begun_or_none().close()
        finally:
            self.call.end("abandoned")

    def __del__(self) -> None:
        self.call.end("abandoned")

    def _begun_or_none(self) -> Generator[Any, Any, Any]:
        if self._items is None:
            nothing: list[Any] = []
            self._items = (item for item in nothing)
        return self._items

    def _step(self, advance: Callable[[], Any], thrown: object) -> Any:
        self._show(self.call)
        try:
            item = advance()
        except StopIteration:
            self.call.end("returned")
            raise
        except Exception as error:
            # What the reader threw in is no failure of the function.
            self.call.end("abandoned" if error is thrown else "raised")
            if error is not thrown:
                self._fail(error)
            raise
        except BaseException:
            self.call.end("abandoned")
            raise
        self.call.mark_item()
        return item


class AsyncTunedStream(AsyncGenerator[Any, Any]):
    """The twin of ``TunedStream`` for asynchronous generator functions."""

    def __init__(
        self,
        call: TunedCall[Any],
        begin: Callable[[], Awaitable[AsyncGenerator[Any, Any]]],
        fail: Callable[[Exception], Awaitable[None]],
        show: Callable[[TunedCall[Any]], object],
    ) -> None:
        self.call = call
        self._begin = begin
        self._fail = fail
        self._show = show
        self._items: AsyncGenerator[Any, Any] | None = None

    async def asend(self, value: Any) -> Any:
        """The next item."""
        if self._items is None:
            try:
                self._items = await self._begin()
            except BaseException:
                await self.aclose()
                raise
        return await self._step(self._items.asend(value), None)

    async def athrow(self, *error: Any) -> Any:
        """Raise an error where the generator waits; one that has not begun asks for nothing."""
        return await self._step(self._begun_or_none().athrow(*error), error[-1])

    async def aclose(self) -> None:
        """End the generator; its ``finally`` blocks run."""
        try:
            await self._begun_or_none().aclose()
        finally:
            self.call.end("abandoned")

    def __del__(self) -> None:
        self.call.end("abandoned")

    def _begun_or_none(self) -> AsyncGenerator[Any, Any]:
        if self._items is None:
            self._items = _nothing()
        return self._items

    async def _step(self, advance: Awaitable[T], thrown: object) -> T:
        self._show(self.call)
        try:
            item = await advance
        except StopAsyncIteration:
            self.call.end("returned")
            raise
        except Exception as error:
            self.call.end("abandoned" if error is thrown else "raised")
            if error is not thrown:
                await self._fail(error)
            raise
        except BaseException:
            self.call.end("abandoned")
            raise
        self.call.mark_item()
        return item


async def _nothing() -> AsyncGenerator[Any, Any]:
    nothing: list[Any] = []
    for item in nothing:
        yield item
