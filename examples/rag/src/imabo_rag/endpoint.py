"""A model behind an OpenAI-compatible endpoint, asked patiently."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx

from imabo.errors import ImaboError
from imabo_rag.settings import EndpointSettings

# Rate limits, overload and gateways that could not reach the model; 529 is some providers' own.
TRANSIENT: Final = frozenset({408, 429, 502, 503, 504, 529})
# What is wrong with these is wrong for good; other transport errors may be gone at the next try.
_LASTING: Final = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


class ModelFailed(ImaboError):
    """A model did not answer: at once for most errors, after every retry for overload."""

    code = "model_failed"


class Endpoint:
    """Chats with the models of an endpoint. May be used from several threads; close it.

    Overload (429, 503 and the like, timeouts, broken connections) is tried again after a random
    wait, whose limit doubles each time. Any other error is ``ModelFailed`` at once.

    Args:
        settings: Where it is and how patient to be.
        sleep: Waits so many seconds; tests do not.

    Example:
        >>> settings = EndpointSettings("http://127.0.0.1:1/v1", ("one",), retries=0)
        >>> with Endpoint(settings) as endpoint:  # nobody answers there
        ...     endpoint.chat("one", [{"role": "user", "content": "Hello"}], 0.0)
        Traceback (most recent call last):
        imabo_rag.endpoint.ModelFailed: ...
    """

    def __init__(
        self, settings: EndpointSettings, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.settings = settings
        self._sleep = sleep
        self._random = random.Random()
        self._counting = threading.Lock()
        key = settings.access_key
        self._http = httpx.Client(
            base_url=settings.url.rstrip("/"),
            timeout=settings.timeout_s,
            headers={} if key is None else {"Authorization": f"Bearer {key}"},
            trust_env=urlsplit(settings.url).hostname not in _LOOPBACK,  # no proxy on the way there
        )
        self.n_calls = 0  # requests sent, retries too

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def chat(
        self,
        model: str,
        messages: Sequence[Mapping[str, str]],
        temperature: float,
        *,
        seed: int | None = None,
    ) -> str:
        """What a model says.

        Args:
            model: One of the endpoint's.
            messages: The chat so far.
            temperature: At least 0.
            seed: Of its draws, for endpoints that take one; not sent when None.
        """
        settings = {
            "temperature": temperature,
            "max_tokens": self.settings.max_tokens,
            "seed": seed,
        }
        body: dict[str, Any] = {"model": model, "messages": list(messages)}
        body |= {name: value for name, value in settings.items() if value is not None}
        attempt = 0
        while True:
            try:
                return self._send(body)
            except _Busy as busy:
                if attempt >= self.settings.retries:
                    raise _failed(model, f"{busy}, also at attempt {attempt + 1}") from busy
                self._sleep(self._wait_s(attempt, busy.wait_s))
                attempt += 1

    def _wait_s(self, attempt: int, asked_s: float) -> float:
        longest = self.settings.longest_s
        # Past 2**64 the limit holds anyway, and a float would overflow some day.
        drawn = self._random.uniform(
            0.0, min(longest, self.settings.base_s * 2.0 ** min(attempt, 64))
        )
        return min(max(drawn, asked_s), longest)

    def _send(self, body: Mapping[str, Any]) -> str:
        """One attempt; ``_Busy`` when another one may help."""
        model = str(body["model"])
        with self._counting:
            self.n_calls += 1
        try:
            response = self._http.post("/chat/completions", json=body)
        except _LASTING as error:
            raise _failed(model, _words(error)) from error
        except httpx.TransportError as error:
            raise _Busy(_words(error)) from error
        except httpx.HTTPError as error:
            raise _failed(model, _words(error)) from error
        if response.status_code in TRANSIENT:
            raise _Busy(f"status {response.status_code}", _asked_wait_s(response))
        if not response.is_success:
            raise _failed(model, f"status {response.status_code}: {response.text[:200]}")
        try:
            document = response.json()
            # Some gateways say 200 and put the provider's error inside.
            code = (document.get("error") or {}).get("code")
            if code in TRANSIENT:
                raise _Busy(f"status {code} inside an answer")
            return str(document["choices"][0]["message"]["content"] or "")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            said = response.text[:200]
            raise _failed(model, f"an answer that is no chat completion: {said!r}") from error


class _Busy(Exception):
    """Another attempt may help; not before ``wait_s``, if the endpoint said so."""

    def __init__(self, what: str, wait_s: float = 0.0) -> None:
        super().__init__(what)
        self.wait_s = wait_s


def _asked_wait_s(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "")
    return float(text) if text.isdecimal() else 0.0


def _words(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()


def _failed(model: str, why: str) -> ModelFailed:
    return ModelFailed(
        f"the model {model!r} did not answer",
        why,
        "check the endpoint's address, key and models in the settings",
    )
