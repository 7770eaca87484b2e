"""``imabo gateway``: the gateway as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import socket
import sys
from collections.abc import Callable
from typing import Final

import uvicorn

from imabo.errors import InvalidSetting
from imabo.gateway.app import Gateway, studies_of
from imabo.gateway.asking import Studies
from imabo.gateway.guarding import Guard, LocalGuard
from imabo.gateway.relay import requests
from imabo.gateway.settings import PREFIX, GatewaySettings, read_settings
from imabo.gateway.tables import hidden
from imabo.server.logs import everything, set_up
from imabo.server.protocol import protocol_for
from imabo.server.serving import address_of, allow_files, listen, quiet_config, run_quietly
from imabo.server.settings import Settings, is_loopback

_DRAIN_S: Final = 30
_FILES: Final = 3  # a request has its caller's connection, its upstream's and one to imabo


def run(options: argparse.Namespace) -> int:
    """Serve the gateway of a file until SIGTERM or SIGINT."""
    settings = read_settings(options.file)
    if options.check:
        found = summary(settings) | {"warnings": asyncio.run(look(settings)).doubts}
        _say(json.dumps(found) if options.json else _words(settings))
        return 0
    check_exposure(settings, options.host, allow_open=options.allow_open)
    set_up(options.log_format)
    share_log()
    requests.disabled = options.log_format != "json"
    looked = asyncio.run(look(settings))
    limits = Settings(host=options.host, port=options.port, log_format=options.log_format)
    allow_files(_FILES * limits.max_connections)
    listener = listen(options.host, options.port)
    address = address_of(listener)

    def ready() -> None:
        _say(json.dumps({"url": address}) if options.json else f"imabo gateway serves {address}/v1")

    is_open = options.allow_open or not is_loopback(options.host)
    guard = Guard(settings.own_key) if is_open or settings.own_key else LocalGuard()
    app = Gateway(settings, studies_of(settings, looked), guard)
    return serve(app, limits, listener, ready)


async def look(settings: GatewaySettings) -> Studies:
    """Compare the routes with their studies, where these can be reached."""
    studies = studies_of(settings)
    try:
        await studies.start()
    finally:
        await studies.close()
    return studies


def serve(
    app: Gateway, limits: Settings, listener: socket.socket, ready: Callable[[], None]
) -> int:
    """Serve on a socket until a signal comes; 1 when it could not start."""
    server = _Server(quiet_config(app, protocol_for(limits), _DRAIN_S), ready)
    run_quietly(server, listener)
    return 0 if server.started else 1


def share_log() -> None:
    """Have the server's own words (an answer that broke off, say) in the form of all others."""
    logger = logging.getLogger("uvicorn.error")
    if everything.handlers:  # else whoever made them sees to these, too
        logger.handlers, logger.propagate = everything.handlers, False
        logger.setLevel(logging.WARNING)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()


def check_exposure(settings: GatewaySettings, host: str, *, allow_open: bool) -> None:
    """Refuse to spend the upstreams' keys for other machines while nobody needs a key."""
    has_keys = any(one.key is not None for one in settings.upstreams.values())
    if is_loopback(host) or settings.own_key is not None or allow_open or not has_keys:
        return
    raise InvalidSetting(
        f"host is {host!r} and the gateway asks for no key",
        "anyone who reaches this address could spend the keys of the upstreams",
        "set gateway.key_env, or serve 127.0.0.1, or, where the network itself keeps others out, "
        "pass --allow-open",
    )


def summary(settings: GatewaySettings) -> dict[str, object]:
    """What a file says, without its keys."""
    return {
        "imabo": settings.url or hidden(settings.store or ""),
        "upstreams": {name: list(one.models) for name, one in settings.upstreams.items()},
        "routes": {PREFIX + name: one.study for name, one in settings.routes.items()},
    }


def _words(settings: GatewaySettings) -> str:
    routes = ", ".join(f"{PREFIX}{name} ({r.study})" for name, r in settings.routes.items())
    n_models = sum(len(one.models) for one in settings.upstreams.values())
    upstreams = ", ".join(settings.upstreams)
    return f"the file is good: {routes or 'no route'}; {n_models} models of {upstreams}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()  # whoever starts the gateway waits for its address
