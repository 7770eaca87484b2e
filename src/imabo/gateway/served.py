"""What a tuned request was served with, what it took, and what its answer says of that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from imabo.arms import Pull
from imabo.defaults import DEFAULT_PREFIX
from imabo.gateway.connections import Headers
from imabo.gateway.mapping import Sent
from imabo.gateway.settings import Route
from imabo.gateway.upstream import Answer, UpstreamFailure

_UNFIT: Final = re.compile(rb"[^ -~]")
_LONGEST: Final = 200  # characters of a header of ours


@dataclass(slots=True)
class Serving:
    """What one tuned request was served with, and what it took."""

    route: Route
    pull: Pull
    sent: Sent
    began: float
    served: str = "arm"  # or default, or fallback
    first_s: float | None = None
    latency_s: float | None = None
    usage: tuple[int, int] | None = None

    @property
    def pull_id(self) -> str:
        """The pull's id; one that no study has where its arm did not answer."""
        is_arms = self.served == "arm" or not self.pull.arm
        return self.pull.id if is_arms else f"{DEFAULT_PREFIX}{self.pull.id}"

    @property
    def cost(self) -> float | None:
        """What the tokens cost, where the file says what they cost."""
        return None if self.usage is None else self.sent.target.prices.cost(*self.usage)

    def headers(self) -> Headers:
        """What the answer says of it."""
        said: dict[str, object] = {
            "pull": self.pull_id,
            "study": self.route.study,
            "arm": self.pull.arm if self.served == "arm" else 0,
            "served": self.served,
            "model": self.sent.target.model,
            "overridden": ",".join(self.sent.overridden),
            "latency-s": "" if self.latency_s is None else f"{self.latency_s:.6f}",
            "cost": "" if self.cost is None else f"{self.cost:.9g}",
        }
        return [
            (b"x-imabo-" + name.encode(), _header(str(value)))
            for name, value in said.items()
            if value != ""
        ]

    def signals(self) -> dict[str, float]:
        """What was measured, by the names of signals."""
        counts = self.usage or (None, None)
        found = {
            "latency_s": self.latency_s,
            "first_token_s": self.first_s,
            "input_tokens": counts[0],
            "output_tokens": counts[1],
            "tokens": None if self.usage is None else sum(self.usage),
            "cost": self.cost,
        }
        return {name: float(value) for name, value in found.items() if value is not None}


class Reply:
    """What came of a request: a failure; or an answer, whole or with its rest still to come."""

    def __init__(
        self,
        answer: Answer | None = None,
        body: bytes = b"",
        failure: UpstreamFailure | None = None,
        *,
        is_whole: bool = True,
    ) -> None:
        self._answer, self.body, self.failure, self.is_whole = answer, body, failure, is_whole

    @property
    def answer(self) -> Answer:
        """The answer, where there is one."""
        if self._answer is None:
            raise RuntimeError("there is no answer")
        return self._answer

    @property
    def status(self) -> int:
        """Its status."""
        return self.answer.status

    def close(self) -> None:
        """Let its connection go."""
        if self._answer is not None:
            self._answer.close()

    @property
    def has_failed(self) -> bool:
        """Whether another upstream may do better."""
        return self.failure is not None or self.answer.is_failure


def _header(text: str) -> bytes:
    """A text as the value of a header: short, and in ASCII."""
    return _UNFIT.sub(b"?", text.encode("ascii", "backslashreplace"))[:_LONGEST]
