"""What to watch, in the Prometheus text format."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, get_args

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from imabo.errors import ImaboError
from imabo.server.access import may_see
from imabo.server.commits import Commits
from imabo.server.gauges import LOOK_BACK, RECENT, Gauges, StudyGauges, feedback_rate
from imabo.server.registry import Registry
from imabo.stores.base import KeyRecord
from imabo.stores.outbox import DeliveryState
from imabo.study import Study

MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

# Upper ends of the buckets, one more takes what is above them all.
SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_STUCK_S: Final = 1.0

_Counts = dict[str, Any]


class Metrics:
    """What this process counted. The event loop counts, any thread may read.

    In the folder ``shared`` the server's processes leave their counts, so that whichever of them is
    asked answers for all; None is for a process alone.
    """

    def __init__(
        self,
        registry: Registry,
        commits: Commits,
        shared: Path | None = None,
        webhook_tries: Mapping[str, int] | None = None,
    ) -> None:
        self.n_asks = 0  # pulls that were handed out
        self.n_rewards = 0
        self.errors: dict[str, int] = {}  # by their code
        # Of each route, method and class of status, how many requests took up to each of SECONDS,
        # how many took longer, and the sum of their seconds.
        self.requests: dict[tuple[str, str, int], list[float]] = {}
        self._registry = registry
        self._commits = commits
        self._shared = shared
        self._webhook_tries = webhook_tries or {}
        self._gauges = Gauges()

    def text(self, caller: KeyRecord | None) -> bytes:
        """The page, with the studies that a caller may see."""
        return generate_latest(_Page(lambda: self.families(caller)))

    # --- counts of all processes of one server ------------------------------------------------

    def leave(self) -> None:
        """Write this process's counts where the others find them."""
        if self._shared is not None:
            path = self._shared / f"{os.getpid()}.json"
            fresh = path.with_suffix(".new")
            fresh.write_text(json.dumps(self.counts()), encoding="utf-8")
            fresh.replace(path)  # whole or not at all

    def counts(self) -> _Counts:
        """What was counted so far, as JSON-safe values."""
        return {
            "asks": self.n_asks,
            "rewards": self.n_rewards,
            "waiting": self._commits.n_waiting,
            "study_waiting": dict(self._commits.waiting),
            "study_refused": dict(self._commits.refused),
            "stuck": len(self._registry.lanes.stuck(_STUCK_S)),
            "errors": dict(self.errors),
            "drifts": self._registry.n_drifts(),
            "rollbacks": self._registry.n_rollbacks(),
            "webhook_tries": dict(self._webhook_tries),
            "sizes": list(self._commits.sizes.items()),
            "requests": [[*label, tally] for label, tally in list(self.requests.items())],
        }

    def all_counts(self) -> list[_Counts]:
        """The counts of this process, then those that the others left."""
        found = [self.counts()]
        if self._shared is not None:
            for path in self._shared.glob("*.json"):
                if path.stem != str(os.getpid()):
                    with suppress(OSError, ValueError):
                        found.append(json.loads(path.read_text(encoding="utf-8")))
        return found

    def families(self, caller: KeyRecord | None) -> Iterator[Metric]:
        """The page's metrics."""
        everyone = self.all_counts()

        def total(count: str) -> int:
            return sum(counts[count] for counts in everyone)

        def by(
            kind: type[CounterMetricFamily | GaugeMetricFamily],
            name: str,
            text: str,
            count: str,
            label: str = "study",
        ) -> Metric:
            family, sums = kind(name, text, labels=[label]), Counter[str]()
            for counts in everyone:
                sums.update(counts[count])
            for word, n in sorted(sums.items()):
                if label != "study" or may_see(caller, word):
                    family.add_metric([word], n)
            return family

        yield CounterMetricFamily("imabo_asks", "pulls that were handed out", total("asks"))
        yield CounterMetricFamily("imabo_rewards", "rewards that were recorded", total("rewards"))
        yield by(CounterMetricFamily, "imabo_errors", "refusals by their code", "errors", "code")
        yield by(
            CounterMetricFamily, "imabo_drifts", "changes of the world that were noticed", "drifts"
        )
        text = "times that a guardrail rolled a study back"
        yield by(CounterMetricFamily, "imabo_rollbacks", text, "rollbacks")
        yield _request_family(everyone)
        yield _size_family(everyone)
        text = "requests that wait to be committed"
        yield GaugeMetricFamily("imabo_queue_length", text, total("waiting"))
        text = "requests of a study that wait"
        yield by(GaugeMetricFamily, "imabo_study_queue_length", text, "study_waiting")
        text = "requests that a full queue of a study refused"
        yield by(CounterMetricFamily, "imabo_study_refused", text, "study_refused")
        text = "studies whose commit has been under way for more than a second"
        yield GaugeMetricFamily("imabo_studies_stuck", text, total("stuck"))
        text = "tries to send a webhook, by what became of them"
        yield by(CounterMetricFamily, "imabo_webhook_tries", text, "webhook_tries", "outcome")
        yield self._delivery_family()
        yield from self._study_families(caller)
        yield from self._gauge_families(caller)

    def _delivery_family(self) -> Metric:
        text = "deliveries to webhooks in the database, by their state"
        family = GaugeMetricFamily("imabo_webhook_deliveries", text, labels=["state"])
        if not self._registry.is_away:
            with suppress(ImaboError):
                found = self._registry.store.n_deliveries()
                for state in get_args(DeliveryState):
                    family.add_metric([state], found.get(state, 0))
        return family

    def _gauge_families(self, caller: KeyRecord | None) -> Iterator[Metric]:
        """What is read of studies; one that has nothing to show is left out."""
        registry = self._registry
        studies = [study for study in registry.open_studies() if may_see(caller, study.name)]
        known = self._gauges.read(studies, is_away=registry.is_away)
        now = registry.clock()

        def age_s(one: StudyGauges) -> float | None:
            at = one.last_request_at
            return None if at is None else max(now - at, 0.0)

        def lift(place: int) -> Callable[[Study, StudyGauges], float | None]:
            return lambda study, one: None if one.lift is None else one.lift[place]

        table: list[tuple[str, str, Callable[[Study, StudyGauges], float | None]]] = [
            (
                "imabo_reward_recent",
                f"mean of the newest {RECENT} rewards among the last {LOOK_BACK} requests",
                lambda study, one: one.reward_recent,
            ),
            (
                "imabo_study_rewards",
                "rewards of a study so far",
                lambda study, one: study.n_rewards,
            ),
            (
                "imabo_reward_sum",
                "sum of a study's rewards so far",
                lambda study, one: study.view.totals.reward_sum,
            ),
            (
                "imabo_feedback_rate",
                "share of a study's requests that bring a reward",
                lambda study, one: feedback_rate(study),
            ),
            (
                "imabo_last_request_age_seconds",
                "how long ago a study was last asked",
                lambda study, one: age_s(one),
            ),
            ("imabo_lift", "tuned minus control", lift(0)),
            ("imabo_lift_low", "lower end of the lift's interval", lift(1)),
            ("imabo_lift_high", "upper end of the lift's interval", lift(2)),
            (
                "imabo_rolled_back",
                "1 while a study serves its control to everyone",
                lambda study, one: float(study.state == "rolled back"),
            ),
        ]
        for name, text, value in table:
            family = GaugeMetricFamily(name, text, labels=["study"])
            for study, one in known:
                found = value(study, one)
                if found is not None:
                    family.add_metric([study.name], found)
            yield family

    def _study_families(self, caller: KeyRecord | None) -> Iterator[Metric]:
        registry = self._registry
        studies = [study for study in registry.open_studies() if may_see(caller, study.name)]
        table: list[tuple[str, str, Callable[[Study], float]]] = [
            ("imabo_arms", "arms of a study, retired ones included", lambda s: s.n_arms),
            ("imabo_pulls", "pulls of a study so far", lambda s: s.n_pulls),
            ("imabo_pending", "pulls that wait for a reward", lambda s: s.n_pending),
            ("imabo_expired", "pulls whose window passed", lambda s: s.n_expired),
            ("imabo_view_age_seconds", "age of the view", lambda s: registry.age_s(s.name)),
            ("imabo_proposals_ready", "proposals to be taken", lambda s: registry.n_ready(s.name)),
        ]
        for name, text, value in table:
            family = GaugeMetricFamily(name, text, labels=["study"])
            for study in studies:
                family.add_metric([study.name], value(study))
            yield family


class _Page(Collector):
    def __init__(self, families: Callable[[], Iterator[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return self._families()


def _request_family(everyone: Sequence[_Counts]) -> Metric:
    family = HistogramMetricFamily(
        "imabo_request_seconds", "time to answer a request", labels=["route", "method", "status"]
    )
    sums: dict[tuple[str, str, int], list[float]] = {}
    for counts in everyone:
        for route, method, status, tally in counts["requests"]:
            label = (route, method, status)
            sums[label] = [*map(sum, zip(sums.get(label, [0.0] * len(tally)), tally, strict=True))]
    for (route, method, status), tally in sorted(sums.items()):
        labels = [route, method, f"{status}xx"]
        family.add_metric(labels, _buckets(SECONDS, tally[:-1]), tally[-1])
    return family


def _size_family(everyone: Sequence[_Counts]) -> Metric:
    family = HistogramMetricFamily("imabo_commit_requests", "requests that shared one commit")
    tally = [0.0] * (len(_SIZES) + 1)
    total = 0.0
    for counts in everyone:
        for size, n in counts["sizes"]:
            tally[bisect_left(_SIZES, size)] += n
            total += size * n
    family.add_metric([], _buckets(_SIZES, tally), total)
    return family


def _buckets(bounds: Sequence[float], counts: Sequence[float]) -> list[tuple[str, float]]:
    """Bounds as text and how many values are at most that, as Prometheus wants them."""
    texts = [*map(repr, map(float, bounds)), "+Inf"]
    return [(text, sum(counts[: i + 1])) for i, text in enumerate(texts)]
