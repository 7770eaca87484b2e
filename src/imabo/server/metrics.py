"""What to watch, in the Prometheus text format."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector

from imabo.server.commits import Commits
from imabo.server.histogram import Histogram
from imabo.server.keys import may_see
from imabo.server.registry import Registry
from imabo.stores.base import KeyRecord

MEDIA_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

_STUCK_S: Final = 1.0
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """What this process counted. The event loop counts, any thread may read.

    Args:
        registry: The open studies.
        commits: The queue.
        shared: A folder where the server's processes leave their counts, so that whichever of them
            is asked answers for all; None for a process alone.
    """

    def __init__(self, registry: Registry, commits: Commits, shared: Path | None = None) -> None:
        self.n_asks = 0
        self.n_rewards = 0
        self._registry = registry
        self._commits = commits
        self._shared = shared
        self._errors: dict[str, int] = {}
        self._requests: dict[tuple[str, str, int], Histogram] = {}

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        label = (route, method, status // 100)
        histogram = self._requests.get(label)
        if histogram is None:
            histogram = self._requests[label] = Histogram(_SECONDS)
        histogram.observe(seconds)

    def count_error(self, code: str) -> None:
        """Count a refusal."""
        self._errors[code] = self._errors.get(code, 0) + 1

    def text(self, caller: KeyRecord | None) -> bytes:
        """The page, with the studies that a caller may see."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Page(self, caller))
        return generate_latest(registry)

    # --- counts of all processes of one server ------------------------------------------------

    def leave(self) -> None:
        """Write this process's counts where the others find them."""
        if self._shared is not None:
            path = self._shared / f"{os.getpid()}.json"
            fresh = path.with_suffix(".new")
            fresh.write_text(json.dumps(self.counts()), encoding="utf-8")
            fresh.replace(path)  # whole or not at all

    def counts(self) -> dict[str, Any]:
        """What was counted so far, as JSON-safe values."""
        return {
            "asks": self.n_asks,
            "rewards": self.n_rewards,
            "waiting": self._commits.n_waiting,
            "study_waiting": dict(self._commits.waiting),
            "study_refused": dict(self._commits.refused),
            "stuck": len(self._registry.lanes.stuck(_STUCK_S)),
            "errors": dict(self._errors),
            "drifts": self._registry.n_drifts(),
            "sizes": [self._commits.sizes.counts, self._commits.sizes.total],
            "requests": [
                [*label, histogram.counts, histogram.total]
                for label, histogram in list(self._requests.items())
            ],
        }

    def all_counts(self) -> list[dict[str, Any]]:
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
        yield _counter("imabo_asks", "pulls that were handed out", sum(c["asks"] for c in everyone))
        yield _counter(
            "imabo_rewards", "rewards that were recorded", sum(c["rewards"] for c in everyone)
        )
        yield self._error_family(everyone)
        yield self._drift_family(everyone, caller)
        yield self._request_family(everyone)
        sizes = Histogram(self._commits.sizes.bounds)
        for counts in everyone:
            sizes.add(*counts["sizes"])
        batches = HistogramMetricFamily("imabo_commit_requests", "requests that shared one commit")
        batches.add_metric([], sizes.buckets(), sizes.total)
        yield batches
        waiting = sum(c["waiting"] for c in everyone)
        yield GaugeMetricFamily("imabo_queue_length", "requests that wait to be committed", waiting)
        queues = GaugeMetricFamily(
            "imabo_study_queue_length", "requests of a study that wait", labels=["study"]
        )
        yield _by_study(queues, everyone, "study_waiting", caller)
        refused = CounterMetricFamily(
            "imabo_study_refused", "requests that a full queue of a study refused", labels=["study"]
        )
        yield _by_study(refused, everyone, "study_refused", caller)
        stuck = sum(c["stuck"] for c in everyone)
        text = "studies whose commit has been under way for more than a second"
        yield GaugeMetricFamily("imabo_studies_stuck", text, stuck)
        yield from self._study_families(caller)

    def _error_family(self, everyone: list[dict[str, Any]]) -> Metric:
        family = CounterMetricFamily("imabo_errors", "refusals by their code", labels=["code"])
        codes: dict[str, int] = {}
        for counts in everyone:
            for code, n in counts["errors"].items():
                codes[code] = codes.get(code, 0) + n
        for code, n in sorted(codes.items()):
            family.add_metric([code], n)
        return family

    def _drift_family(self, everyone: list[dict[str, Any]], caller: KeyRecord | None) -> Metric:
        family = CounterMetricFamily(
            "imabo_drifts", "changes of the world that were noticed", labels=["study"]
        )
        return _by_study(family, everyone, "drifts", caller)

    def _request_family(self, everyone: list[dict[str, Any]]) -> Metric:
        family = HistogramMetricFamily(
            "imabo_request_seconds",
            "time to answer a request",
            labels=["route", "method", "status"],
        )
        merged: dict[tuple[str, str, int], Histogram] = {}
        for counts in everyone:
            for route, method, status, buckets, total in counts["requests"]:
                merged.setdefault((route, method, status), Histogram(_SECONDS)).add(buckets, total)
        for (route, method, status), histogram in sorted(merged.items()):
            labels = [route, method, f"{status}xx"]
            family.add_metric(labels, histogram.buckets(), histogram.total)
        return family

    def _study_families(self, caller: KeyRecord | None) -> Iterator[Metric]:
        registry = self._registry
        studies = [study for study in registry.open_studies() if may_see(caller, study.name)]
        ready = registry.n_ready
        for name, text, value in (
            ("imabo_arms", "arms of a study, retired ones included", lambda s: s.n_arms),
            ("imabo_pulls", "pulls of a study so far", lambda s: s.n_pulls),
            ("imabo_pending", "pulls that wait for a reward", lambda s: s.n_pending),
            ("imabo_expired", "pulls whose window passed", lambda s: s.n_expired),
            ("imabo_view_age_seconds", "age of the view", lambda s: registry.age_s(s.name)),
            ("imabo_proposals_ready", "proposals to be taken", lambda s: ready(s.name)),
        ):
            family = GaugeMetricFamily(name, text, labels=["study"])
            for study in studies:
                family.add_metric([study.name], value(study))
            yield family


class _Page(Collector):
    def __init__(self, metrics: Metrics, caller: KeyRecord | None) -> None:
        self._metrics = metrics
        self._caller = caller

    def collect(self) -> Iterator[Metric]:
        return self._metrics.families(self._caller)


def _by_study(
    family: CounterMetricFamily | GaugeMetricFamily,
    everyone: list[dict[str, Any]],
    count: str,
    caller: KeyRecord | None,
) -> Metric:
    """Add up a count by study, of the studies that a caller may see."""
    studies: dict[str, int] = {}
    for counts in everyone:
        for name, n in counts[count].items():
            studies[name] = studies.get(name, 0) + n
    for name, n in sorted(studies.items()):
        if may_see(caller, name):
            family.add_metric([name], n)
    return family


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value)
