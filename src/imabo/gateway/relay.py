"""One request through the gateway: ask, send it upstream, fall back once, pass the answer on."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from imabo.client.reports import Trouble
from imabo.errors import InvalidConfig
from imabo.gateway.answering import refused
from imabo.gateway.asking import Studies
from imabo.gateway.bodies import Body, with_id
from imabo.gateway.breaking import Breakers
from imabo.gateway.connections import Headers
from imabo.gateway.guarding import Guard
from imabo.gateway.keeping import Lines
from imabo.gateway.mapping import CHAT, COUNTED, EMBEDDINGS, Asked, Sent, asked_of, request_of
from imabo.gateway.served import Reply, Serving
from imabo.gateway.settings import PREFIX, GatewaySettings, Route, Target
from imabo.gateway.streams import Events, usage_of
from imabo.gateway.upstream import Answer, UpstreamFailure, Upstreams
from imabo.gateway.watching import Watch
from imabo.space.scalars import show

_log: Final = logging.getLogger("imabo.gateway")
requests: Final = logging.getLogger("imabo.gateway.requests")
_REFUSED: Final = (400, 422)  # what servers answer to a field that they do not know
_SHOWN: Final = 200  # characters of a header of ours


@dataclass(slots=True)
class Parts:
    """What the requests of a gateway share."""

    settings: GatewaySettings
    studies: Studies
    upstreams: Upstreams
    guard: Guard
    bodies: Lines | None = None  # what passes is kept there
    breakers: Breakers = field(default_factory=Breakers)
    uncounting: set[tuple[str, str]] = field(default_factory=set)  # upstreams with their models
    trouble: Trouble = field(default_factory=Trouble)  # failures are said once in a while
    saved: Trouble = field(default_factory=Trouble)


class Relay:
    """The ASGI application of one path of the OpenAI API.

    Args:
        parts: What requests share.
        path: ``chat/completions``, ``completions`` or ``embeddings``.
    """

    def __init__(self, parts: Parts, path: str) -> None:
        self._parts = parts
        self._path = path
        self._prefix = "chatcmpl" if path == CHAT else "cmpl"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; when its caller goes, so does what is under way upstream."""
        body = await self._parts.guard.refusal(scope) or await self._read(scope, receive)
        if body is None:
            return
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        watch = Watch(receive)
        try:
            await self._answer(scope, body, watch.guarded(send), receive)
        except asyncio.CancelledError:
            if not watch.is_gone:
                raise
            watch.forgive()
        except Exception as error:
            if watch.has_begun:  # too late for an answer: break the connection, so it is noticed
                raise
            _log.error("a request failed", exc_info=error)
            words = "the gateway failed; its log has more"
            await refused(500, "internal", words)(scope, receive, send)
        finally:
            watch.end()

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Response | None:
        most, parts, size = self._parts.settings.max_body_bytes, [], 0
        length = dict(scope["headers"]).get(b"content-length", b"0")
        is_long = length.isdigit() and int(length[:20]) > most
        while not is_long:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            is_long = size > most
            if not message.get("more_body", False):
                break
        if is_long:
            words = f"the body is longer than {most} bytes; the gateway bounds it (max_body_bytes)"
            return refused(413, "too_large", words)
        return b"".join(parts)

    async def _answer(self, scope: Scope, body: bytes, send: Send, receive: Receive) -> None:
        settings = self._parts.settings
        try:
            text = body.decode()
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            words = f"the body is no JSON that can be read ({type(error).__name__})"
            await refused(400, "invalid_json", words)(scope, receive, send)
            return
        if not isinstance(document, dict):
            words = f"the body is {show(document)[:_SHOWN]}; it must be a JSON object"
            await refused(400, "invalid_json", words)(scope, receive, send)
            return
        model, guard = document.get("model"), self._parts.guard
        route, target = settings.route(model), settings.target(model)
        if route is not None and guard.allows(scope, route.study):
            await self._tuned(route, text, document, scope, send)
        elif route is None and target is not None and guard.allows(scope):
            try:
                await self._passed(target, text, document, scope, send)
            except UpstreamFailure as failure:
                await self._failed(failure)(scope, receive, send)
        else:
            await _no_model(model, settings)(scope, receive, send)

    def _failed(self, failure: UpstreamFailure) -> Response:
        if self._parts.trouble.add(1):
            _log.warning("%s: %s", failure.reason, failure.words)
        status = 504 if failure.reason == "timeout" else 502
        return refused(status, "upstream_failed", failure.words)

    # --- a model of its own name ----------------------------------------------------------------

    async def _passed(
        self, target: Target, text: str, document: Mapping[str, Any], scope: Scope, send: Send
    ) -> None:
        if target.model != document["model"]:
            body = Body(text, document)
            body.set("model", target.model)
            text = body.text
        answer = await self._send(target, scope, text.encode())
        try:
            piece = await answer.read()  # until then the failure can still be said
            headers = answer.headers
            if answer.length is not None:
                headers = [*headers, (b"content-length", answer.length)]
            await send(_start(answer.status, headers))
            with suppress(UpstreamFailure):  # it ends as abruptly for the caller
                while piece:
                    await send(_piece(piece))
                    piece = await answer.read()
                await send(_end())
        finally:
            answer.close()

    # --- a tuned one ----------------------------------------------------------------------------

    async def _tuned(
        self, route: Route, text: str, document: Mapping[str, Any], scope: Scope, send: Send
    ) -> None:
        chosen = await self._decide(route, text, document)
        first = await self._first(chosen, scope)
        try:
            serving, reply = await self._saved(chosen, first, text, document, scope)
        except BaseException:
            first.close()
            raise
        if first.has_failed:
            self._blame(chosen, is_saved=serving is not chosen and not reply.has_failed)
        if reply.failure is not None:
            answer = self._failed(reply.failure)
            headers = [*answer.raw_headers, *serving.headers()]
            await send(_start(answer.status_code, headers))
            await send(_end(bytes(answer.body)))
            self._done(serving, 0)
        elif reply.is_whole:
            await self._pass_whole(serving, reply, send)
        else:
            await self._pass_events(serving, reply, send)

    async def _first(self, serving: Serving, scope: Scope) -> Reply:
        """What the chosen model answers; none is waited for that failed several times in a row."""
        fallback, target = serving.route.fallback, serving.sent.target
        if fallback is None or fallback == target or self._parts.breakers.of(target).admits():
            return await self._reply(serving, scope)
        words = f"model {target.model!r} failed several times in a row and is left alone"
        return Reply(failure=UpstreamFailure(target.upstream, "left alone", words))

    def _blame(self, serving: Serving, *, is_saved: bool) -> None:
        """Tell the arm whose model failed what that counts as; nobody else can know it."""
        route, pull = serving.route, serving.pull
        if not pull.arm:
            return
        reward = None if route.on_error is False else route.on_error
        if route.on_error is None and is_saved:
            reward = self._parts.studies.declared(route.study).lowest
        self._parts.studies.note(route.study, pull.id, {"fallback": float(is_saved)}, reward)

    async def _saved(
        self, serving: Serving, reply: Reply, text: str, document: Mapping[str, Any], scope: Scope
    ) -> tuple[Serving, Reply]:
        """The fallback's answer, once, where the chosen upstream failed and there is one."""
        route = serving.route
        if reply.has_failed and route.fallback is not None:
            second = request_of(
                route, route.default, self._path, text, document, self._parts.settings,
                target=route.fallback, counts=self._counts(route),
            )  # fmt: skip
            instead = Serving(route, serving.pull, second, time.monotonic(), "fallback")
            if n_times := self._parts.saved.add(1):
                why = reply.failure or f"status {reply.status}"
                _log.warning("route %r fell back, %d times: %s", route.name, n_times, why)
            other = await self._reply(instead, scope)
            if other.failure is None or reply.failure is not None:
                reply.close()
                return instead, other
        return serving, reply

    async def _decide(self, route: Route, text: str, document: Mapping[str, Any]) -> Serving:
        asked, settings = asked_of(document), self._parts.settings
        pull = await self._parts.studies.ask(route, asked)
        said, counts = (self._path, text, document, settings), self._counts(route)
        try:
            sent = request_of(route, pull.config, *said, counts=counts)
        except InvalidConfig as error:
            pull = self._parts.studies.default(route, Asked(None, None), error)
            sent = request_of(route, pull.config, *said, counts=counts)
        served = "arm" if pull.arm else "default"
        return Serving(route, pull, sent, time.monotonic(), served)

    def _counts(self, route: Route) -> bool:
        """Whether the study wants to know how many tokens there were."""
        return not COUNTED.isdisjoint(self._parts.studies.declared(route.study).signals)

    async def _reply(self, serving: Serving, scope: Scope) -> Reply:
        """The whole answer, or the first piece of a stream: until then it may be made again."""
        breaker, is_known = self._parts.breakers.of(serving.sent.target), False
        try:
            reply = await self._tried(serving, scope)
            breaker.record(not reply.has_failed)
            is_known = True
            return reply
        finally:
            if not is_known:
                breaker.release()

    async def _tried(self, serving: Serving, scope: Scope) -> Reply:
        try:
            answer = await self._counted(serving.sent, scope)
        except UpstreamFailure as failure:
            return Reply(failure=failure)
        is_kept = False
        try:
            if answer.is_stream and not answer.is_failure:
                first = await answer.read()
                serving.first_s = time.monotonic() - serving.began
                is_kept = True
                return Reply(answer, first, is_whole=False)
            most, whole = self._parts.settings.max_answer_bytes, []
            while piece := await answer.read():
                whole.append(piece)
                most -= len(piece)
                if most < 0:
                    is_kept = True
                    return Reply(answer, b"".join(whole), is_whole=False)
            serving.first_s = serving.latency_s = time.monotonic() - serving.began
            return Reply(answer, b"".join(whole))
        except UpstreamFailure as failure:
            return Reply(failure=failure)
        finally:
            if not is_kept:
                answer.close()

    async def _counted(self, sent: Sent, scope: Scope) -> Answer:
        """The answer; a server that refuses to count the tokens of a stream is not asked again."""
        place = (sent.target.upstream.name, sent.target.model)
        if sent.uncounted is None or place in self._parts.uncounting:
            return await self._send(sent.target, scope, sent.uncounted or sent.body)
        answer = await self._send(sent.target, scope, sent.body)
        if answer.status not in _REFUSED:
            return answer
        answer.close()
        answer = await self._send(sent.target, scope, sent.uncounted)
        if answer.status not in _REFUSED:  # so it was this, and nothing of the caller's
            self._parts.uncounting.add(place)
            words = "model %r of upstream %r does not count the tokens of streams"
            _log.warning(words, sent.target.model, sent.target.upstream.name)
        return answer

    async def _pass_whole(self, serving: Serving, reply: Reply, send: Send) -> None:
        answer, body = reply.answer, reply.body
        if answer.is_plain:
            serving.usage = usage_of(body)
            if (new_id := self._id(serving, answer)) is not None:
                body = with_id(body, new_id)
        headers = [*answer.headers, *serving.headers()]
        headers.append((b"content-length", str(len(body)).encode()))
        await send(_start(answer.status, headers))
        await send(_end(body))
        self._done(serving, answer.status)
        self._keep(serving, answer.status, body)

    async def _pass_events(self, serving: Serving, reply: Reply, send: Send) -> None:
        answer = reply.answer
        is_read = answer.is_plain and answer.is_stream
        new_id = self._id(serving, answer) if is_read else None
        events = Events(new_id, hides_usage=is_read and serving.sent.uncounted is not None)
        status, kept = answer.status, bytearray()
        most = 0 if self._parts.bodies is None else self._parts.settings.max_answer_bytes
        try:
            await send(_start(answer.status, [*answer.headers, *serving.headers()]))
            piece = reply.body
            try:
                while piece:
                    if sent := events.feed(piece):
                        kept += sent[: most - len(kept)]
                        await send(_piece(sent))
                    piece = await answer.read()
            except UpstreamFailure as failure:
                # The head is sent, so all that can be said is that it did not end well.
                status = 0
                await _send_some(send, events.end())
                _log.warning("a stream of route %r: %s", serving.route.name, failure.words)
            else:
                await send(_end(events.end()))
        finally:
            answer.close()
        serving.latency_s = time.monotonic() - serving.began
        serving.usage = events.usage if is_read else None
        self._done(serving, status)
        self._keep(serving, status, bytes(kept))

    def _keep(self, serving: Serving, status: int, answer: bytes) -> None:
        """Keep what was sent and answered, where the file asks for that."""
        if self._parts.bodies is not None:
            facts = self._facts(serving, status)
            self._parts.bodies.note({**facts, "request": serving.sent.body, "answer": answer})

    def _id(self, serving: Serving, answer: Answer) -> str | None:
        """The id that the answer gets; None where it keeps its own."""
        is_ours = self._parts.settings.ids == "pull" and self._path != EMBEDDINGS
        if not is_ours or answer.status >= 400:
            return None
        return f"{self._prefix}-{serving.pull_id}"

    def _done(self, serving: Serving, status: int) -> None:
        """Say what was measured: in the log, and to the study where it declares it."""
        signals = serving.signals()
        if requests.isEnabledFor(logging.INFO):
            measured = {name: round(value, 9) for name, value in signals.items()}
            facts = {**self._facts(serving, status), **measured}
            requests.info("request", extra={"facts": facts})
        is_whole = serving.served == "arm" and 200 <= status < 300
        if is_whole:
            signals |= {"fallback": 0.0, "overridden": float(len(serving.sent.overridden))}
            self._parts.studies.note(serving.route.study, serving.pull.id, signals)

    def _facts(self, serving: Serving, status: int) -> dict[str, Any]:
        return {
            "route": serving.route.name,
            "study": serving.route.study,
            "pull": serving.pull_id,
            "arm": serving.pull.arm,
            "served": serving.served,
            "model": serving.sent.target.model,
            "status": status,
        }

    async def _send(self, target: Target, scope: Scope, body: bytes) -> Answer:
        headers = scope["headers"]
        return await self._parts.upstreams.send(target.upstream, self._path, headers, body)


def _no_model(model: object, settings: GatewaySettings) -> Response:
    names = [PREFIX + name for name in settings.routes]
    words = (
        f"the model is {show(model)[:_SHOWN]}; this gateway has {', '.join(names) or 'no route'}"
    )
    return refused(404, "model_not_found", f"{words}, and the models of GET /v1/models", "model")


def _start(status: int, headers: Headers) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _piece(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}


def _end(body: bytes = b"") -> Message:
    return {"type": "http.response.body", "body": body, "more_body": False}


async def _send_some(send: Send, body: bytes) -> None:
    if body:
        await send(_piece(body))
