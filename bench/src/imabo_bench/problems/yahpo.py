"""YAHPO-Gym surrogates: networks, run by onnxruntime, that stand in for real training runs."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from imabo.arms import Floats
from imabo.errors import MissingExtra
from imabo.space import Choice, Config, Float, Int, Parameter, Space
from imabo_bench.problems.base import Problem
from imabo_bench.problems.cache import remembered
from imabo_bench.problems.external import find, missing
from imabo_bench.problems.names import unknown_instance

UNIFORM_INTS = "uniform-ints"
N_DRAWS = 100_000  # P0 draws among which the best one is taken as the optimum
_BATCH = 10_000
_SCHEME = 1  # raise it when the draws or the encoding change, so that old estimates are not used
_MOST_KEPT = 200_000  # configurations whose prediction is remembered
_SOURCE = "https://github.com/slds-lmu/yahpo_data"


class Surrogate(Problem):
    """A YAHPO-Gym surrogate at full fidelity; rewards are coin flips with the accuracy.

    The optimum is the best of 100,000 draws of P0 (cached on disk), so that a run can do better.

    Args:
        task: The OpenML task, as in the surrogate's ``config_space.json``.
        data: The folder that holds ``folder``; None: the one that IMABO_DATA names.
        uniform_ints: Whether whole numbers are drawn uniformly although their scale is
            logarithmic. P0 and the scale that oracles see are one thing in a `Space`, so that
            oracles then see a linear scale.
    """

    is_exact: ClassVar[bool] = False
    family: ClassVar[str]
    folder: ClassVar[str]  # of the surrogate, inside the data folder
    task_name: ClassVar[str]  # the parameter that names the task
    tuned: ClassVar[tuple[str, ...]]  # the parameters of the space, in order
    score: ClassVar[tuple[int, float]]  # output column of the accuracy, and what a perfect one is
    seconds: ClassVar[int]  # output column of the time

    def __init__(
        self, task: str, *, data: Path | str | None = None, uniform_ints: bool = False
    ) -> None:
        self.task, self.uniform_ints = str(task), uniform_ints
        self.name = f"{self.family}/{task}" + (f":{UNIFORM_INTS}" if uniform_ints else "")
        self._folder = self.locate(data)
        known = tasks(self._folder, self.task_name)
        if self.task not in known:
            raise unknown_instance(self.family, task, known)
        self._kept: dict[tuple[object, ...], tuple[float, float]] = {}

    @classmethod
    def locate(cls, data: Path | str | None) -> Path:
        """The surrogate's folder, or the error that says what to get."""
        found = find(data, f"{cls.folder}/model.onnx", f"yahpo/{cls.folder}/model.onnx")
        if found is None:
            raise missing(
                f"the YAHPO-Gym surrogate of {cls.family}",
                data,
                f"{_SOURCE} (model.onnx, config_space.json and encoding.json)",
                f"{cls.folder}/",
            )
        return found.parent

    @abstractmethod
    def rows(self, configs: Iterable[Config]) -> dict[str, NDArray[Any]]:
        """The surrogate's inputs, one row a configuration."""

    @cached_property
    def space(self) -> Space:
        """The tuned parameters of ``config_space.json``, at full fidelity."""
        document = _document(self._folder / "config_space.json")
        entries = {entry["name"]: entry for entry in document["hyperparameters"]}
        conditions = {entry["child"]: entry for entry in document["conditions"]}
        return Space(
            {
                name: self.parameter(entries[name], _when(conditions.get(name)))
                for name in self.tuned
            }
        )

    def parameter(self, entry: dict[str, Any], when: dict[str, Any]) -> Parameter:
        """Read one entry of ``config_space.json``."""
        if entry["type"] == "categorical":
            return Choice(*entry["choices"], when=when)
        if entry["type"] == "uniform_int":
            log = entry["log"] and not self.uniform_ints
            return Int(entry["lower"], entry["upper"], log=log, when=when)
        return Float(entry["lower"], entry["upper"], log=entry["log"], when=when)

    @cached_property
    def encoding(self) -> dict[str, dict[str, int]]:
        """The numbers that stand for categories."""
        encoding: dict[str, dict[str, int]] = _document(self._folder / "encoding.json")
        return encoding

    def predict(self, configs: Sequence[Config]) -> tuple[Floats, Floats]:
        """Accuracies in [0, 1] and seconds of many configurations."""
        outputs = _session(self._folder / "model.onnx").run(None, self.rows(configs))[0]
        column, full = self.score
        scores = np.clip(outputs[:, column].astype(np.float64) / full, 0.0, 1.0)
        return scores, np.maximum(outputs[:, self.seconds].astype(np.float64), 0.0)

    def _predicted(self, config: Config) -> tuple[float, float]:
        key = tuple(map(config.get, self.tuned))
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            scores, seconds = self.predict([config])
            found = self._kept[key] = (float(scores[0]), float(seconds[0]))
        return found

    def mean(self, config: Config) -> float:
        """The predicted accuracy."""
        return self._predicted(config)[0]

    def runtime(self, config: Config) -> float:
        """The predicted time of training."""
        return self._predicted(config)[1]

    def runtimes(self, configs: Sequence[Config]) -> Floats:
        """The predicted times of many configurations."""
        return self.predict(configs)[1]

    @cached_property
    def optimum(self) -> float:
        """The best mean of 100,000 draws from P0: not the highest there is."""
        digest = hashlib.sha256((self._folder / "model.onnx").read_bytes()).hexdigest()[:12]
        name = self.name.replace("/", "-").replace(":", "-")
        return remembered(f"{name}-{digest}-v{_SCHEME}", self._best_draw)

    def _best_draw(self) -> float:
        rng = np.random.default_rng(0)
        best = 0.0
        for _ in range(N_DRAWS // _BATCH):
            scores, _ = self.predict([self.space.sample(rng) for _ in range(_BATCH)])
            best = max(best, float(scores.max()))
        return best

    def __getstate__(self) -> dict[str, object]:
        """Leave the remembered predictions behind."""
        return {**vars(self), "_kept": {}}


def tasks(folder: Path, task_name: str) -> list[str]:
    """The tasks that a surrogate knows."""
    document = _document(folder / "config_space.json")
    choices = next(e["choices"] for e in document["hyperparameters"] if e["name"] == task_name)
    return sorted(choices, key=int)


def _when(condition: dict[str, Any] | None) -> dict[str, Any]:
    if condition is None:
        return {}
    values = condition["values"] if condition["type"] == "IN" else [condition["value"]]
    return {condition["parent"]: values}


@lru_cache(maxsize=16)
def _document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=4)
def _session(path: Path) -> Any:
    """The surrogate, loaded once a process; one thread, since runs are spread over processes."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra(
            "onnxruntime is not installed",
            "the YAHPO-Gym surrogates are networks that it runs",
            "run pip install imabo-bench",
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )
