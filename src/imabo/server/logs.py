"""Logs: plain text, or JSON lines with a line a request. Never keys, contexts or bodies."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any, Final

log: Final = logging.getLogger("imabo.server")
everything: Final = logging.getLogger("imabo")  # what studies say, too
requests: Final = logging.getLogger("imabo.server.requests")
requests.disabled = True  # until they are asked for


class JsonLines(logging.Formatter):
    """A record as one line of JSON.

    Example:
        >>> record = logging.makeLogRecord({"msg": "ready", "levelname": "INFO", "created": 0.0})
        >>> JsonLines().format(record)
        '{"at": "1970-01-01T00:00:00.000Z", "level": "info", "message": "ready"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "at": f"{seconds}.{int(record.created % 1 * 1000):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= getattr(record, "facts", {})
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def set_up(form: str) -> None:
    """Send the service's logs to standard error: ``text``, or ``json`` with a line a request."""
    handler = logging.StreamHandler(sys.stderr)
    if form == "json":
        handler.setFormatter(JsonLines())
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    everything.handlers = [handler]
    everything.propagate = False
    everything.setLevel(logging.INFO)
    requests.disabled = form != "json"


def log_request(route: str, method: str, status: int, seconds: float, request_id: str) -> None:
    """The line of one request."""
    facts = {
        "method": method,
        "route": route,
        "status": status,
        "duration_s": round(seconds, 6),
        "request_id": request_id,
    }
    requests.info("request", extra={"facts": facts})
