"""The surrogates: inputs as their documentation says, and optima near the published ones."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from imabo.errors import MissingExtra
from imabo.space import Choice, Config, Float, Int
from imabo_bench.problems import open_problem
from imabo_bench.problems.lcbench import LCBench
from imabo_bench.problems.rbv2 import RBv2XGBoost
from tests.loops import first

NETWORK: Config = {
    "num_layers": 3,
    "batch_size": 64,
    "max_units": 256,
    "learning_rate": 0.01,
    "momentum": 0.9,
    "weight_decay": 0.001,
    "max_dropout": 0.2,
}
LINEAR: Config = {
    "booster": "gblinear",
    "num.impute.selected.cpo": "impute.median",
    "nrounds": 100,
    "lambda": 0.5,
    "alpha": 0.25,
    "subsample": 0.75,
}


def outputs(folder: Path, categories: list[int], numbers: list[float]) -> list[float]:
    """What the network says to one row, asked directly."""
    session = onnxruntime.InferenceSession(
        str(folder / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    row: dict[str, Any] = {
        "x_cat": np.array([categories], dtype=np.int32),
        "x_cont": np.array([numbers], dtype=np.float32),
    }
    result: list[float] = session.run(None, row)[0][0].tolist()
    return result


def test_lcbench_is_asked_for_epoch_52_with_raw_values(yahpo: Path) -> None:
    """167200 is encoded as 15; column 0 is the time, column 1 the accuracy in percent."""
    row = [52, 64, 0.01, 0.9, 0.001, 3, 256, 0.2]
    seconds, percent, *_ = outputs(yahpo / "lcbench", [15], row)
    problem = LCBench("167200", data=yahpo)
    assert problem.mean(NETWORK) == pytest.approx(percent / 100)
    assert problem.runtime(NETWORK) == pytest.approx(seconds)


def test_rbv2_gives_inactive_parameters_as_0(yahpo: Path) -> None:
    """Task 12 is 11, gblinear 2, the median 3; full fidelity is trainsize 1, repl 10."""
    row = [100, 0, 0, 0.5, 0.25, 0.75, 0, 0, 0, 0, 0, 0, 1.0, 10]
    accuracy, *_, seconds, _, _ = outputs(yahpo / "rbv2_xgboost", [11, 2, 3], row)
    problem = RBv2XGBoost("12", data=yahpo)
    assert problem.mean(LINEAR) == pytest.approx(accuracy)
    assert problem.runtime(LINEAR) == pytest.approx(seconds)


def test_the_space_of_table_lcbench_search_space(yahpo: Path) -> None:
    space = LCBench("167200", data=yahpo).space
    rate = space.parameters["learning_rate"]
    assert isinstance(rate, Float)
    assert [rate.low, rate.high] == pytest.approx([1e-4, 0.1])
    assert rate.log
    assert {name: p for name, p in space.parameters.items() if name != "learning_rate"} == {
        "num_layers": Choice(1, 2, 3, 4, 5),
        "batch_size": Int(16, 512, log=True),
        "max_units": Int(64, 1024, log=True),
        "momentum": Float(0.1, 0.99),
        "weight_decay": Float(1e-5, 0.1),
        "max_dropout": Float(0.0, 1.0),
    }


def test_uniform_ints_only_changes_the_scale_of_whole_numbers(yahpo: Path) -> None:
    usual, uniform = (
        LCBench("167200", data=yahpo, uniform_ints=flag).space.parameters for flag in (False, True)
    )
    changed = {name for name in usual if usual[name] != uniform[name]}
    assert changed == {"batch_size", "max_units"}
    assert uniform["batch_size"] == Int(16, 512)


def test_the_booster_decides_which_parameters_exist(yahpo: Path) -> None:
    space = RBv2XGBoost("12", data=yahpo).space
    rng = np.random.default_rng(0)
    sizes = {config["booster"]: len(config) for config in (space.sample(rng) for _ in range(100))}
    assert sizes == {"gblinear": 6, "gbtree": 12, "dart": 14}


def test_many_predictions_at_once_are_the_same(yahpo: Path) -> None:
    for name in ("lcbench/168868", "rbv2-xgboost/40981"):
        problem = open_problem(name, data=yahpo)
        assert isinstance(problem, LCBench | RBv2XGBoost)
        rng = np.random.default_rng(0)
        configs = [problem.space.sample(rng) for _ in range(50)]
        scores, seconds = problem.predict(configs)
        assert scores.tolist() == pytest.approx([problem.mean(c) for c in configs], abs=1e-5)
        assert seconds.tolist() == pytest.approx([problem.runtime(c) for c in configs], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "published", "spread"),
    # The first is that of the next test, too: it is drawn once for both.
    first(
        1,
        [
            ("lcbench/168868:uniform-ints", 0.9972, 0.0006),
            ("lcbench/167200:uniform-ints", 0.8524, 0.05),
            ("lcbench/189908", 0.9263, 0.02),
        ],
    ),
)
def test_the_optimum_is_near_the_reference(
    name: str, published: float, spread: float, yahpo: Path
) -> None:
    """Both are the best of 100,000 draws; the spread is what that varies by between seeds."""
    problem = open_problem(name, data=yahpo)
    assert not problem.is_exact
    assert problem.optimum == pytest.approx(published, abs=spread)
    assert problem.sampled_means[-1] <= problem.optimum + 1e-6


def test_the_optimum_is_remembered_for_the_next_process(yahpo: Path) -> None:
    """The second object asks the cache: it answers although the network cannot be asked."""
    first = LCBench("168868", data=yahpo, uniform_ints=True).optimum
    second = LCBench("168868", data=yahpo, uniform_ints=True)
    second.predict = None  # type: ignore[method-assign,assignment]
    assert second.optimum == first


def test_without_onnxruntime_the_extra_is_named(
    yahpo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(yahpo / "lcbench", tmp_path / "lcbench")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"imabo-bench"):
        LCBench("167200", data=tmp_path).mean(NETWORK)
