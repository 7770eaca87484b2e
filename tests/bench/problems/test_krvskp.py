"""The two accuracy surfaces of kr-vs-kp, and the script that made them."""

import json
import math
import pickle
from importlib.resources import files

import numpy as np
import pytest

from imabo.arms import Floats
from imabo.errors import InvalidSetting
from imabo.space import Config, Float, Space
from imabo_bench.build import krvskp as build
from imabo_bench.build.training import scikit_learn, split
from imabo_bench.problems.krvskp import AXES, KrVsKp, LogSurface, table_of
from tests.bench.problems.arff_files import examples_of

MODELS = pytest.mark.parametrize("model", AXES)
#           second axis: 1, 10, 100
HAND_MADE = np.array([[0.0, 0.4, 0.2], [0.8, 0.6, 1.0], [0.5, 0.1, 0.3]])


def points(model: str) -> Floats:
    _, _, low, high = AXES[model]
    return np.geomspace(low, high, build.GRIDS[model].size)


def trained(part: str) -> None:
    pytest.importorskip(f"sklearn.{part}", reason="nothing was trained: no scikit-learn")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1.0, 1.0, 0.0),  # corners and knots
        (100.0, 100.0, 0.3),
        (10.0, 10.0, 0.6),
        (1.0, math.sqrt(10.0), 0.2),  # half of 0.4, along an edge
        (math.sqrt(10.0), 1.0, 0.4),  # half of 0.8
        (math.sqrt(10.0), math.sqrt(10.0), 0.45),  # mean of 0.0, 0.4, 0.8, 0.6
        # A quarter down, three quarters right in the last cell:
        # 0.75 * (0.25 * 0.6 + 0.75 * 1.0) + 0.25 * (0.25 * 0.1 + 0.75 * 0.3)
        (10.0**1.25, 10.0**1.75, 0.7375),
    ],
)
def test_interpolation_is_bilinear_in_log_space(
    first: float, second: float, expected: float
) -> None:
    assert LogSurface(HAND_MADE, 1.0, 100.0).at(first, second) == pytest.approx(expected)


def test_outside_the_grid_the_nearest_edge_counts() -> None:
    surface = LogSurface(HAND_MADE, 1.0, 100.0)
    assert surface.at(0.001, 1e9) == pytest.approx(0.2)


@MODELS
def test_the_space_is_the_papers(model: str) -> None:
    problem = KrVsKp(model)
    first, second, low, high = AXES[model]
    assert problem.name == f"kr-vs-kp/{model}"
    axis = Float(low, high, log=True)
    assert problem.space == Space({first: axis, second: axis})


@MODELS
def test_means_at_grid_points_are_the_table(model: str) -> None:
    problem = KrVsKp(model)
    first, second, _, _ = AXES[model]
    at = points(model).tolist()
    means = [[problem.mean({first: a, second: b}) for b in at] for a in at]
    assert means == pytest.approx(problem.surface.values, abs=1e-9)


@MODELS
def test_no_point_between_the_knots_beats_the_optimum(model: str) -> None:
    problem = KrVsKp(model)
    first, second, low, high = AXES[model]
    assert problem.optimum == problem.surface.values.max()
    best = np.unravel_index(problem.surface.values.argmax(), problem.surface.values.shape)
    at = points(model)
    around = [at[i] * (high / low) ** (s / 400) for i in best for s in range(-8, 9)]
    fine = np.clip([*np.geomspace(low, high, 97), *around], low, high).tolist()
    found = max(problem.mean({first: a, second: b}) for a in fine for b in fine)
    assert problem.optimum == pytest.approx(found, abs=1e-9)


def test_the_surfaces_look_as_the_models_must() -> None:
    lr, svm = KrVsKp("lr"), KrVsKp("svm")
    assert 0.96 < lr.optimum < svm.optimum <= 1.0
    # A kernel narrower than any distance, or no cost of errors: the larger class (52 %) wins.
    narrow, free = svm.surface.values[:, -1], svm.surface.values[0]
    assert max(narrow.max(), free.max()) == pytest.approx(0.522, abs=1e-3)
    # At a moderate width accuracy does not fall by more than a few examples as C grows.
    assert np.diff(svm.surface.values[:, 14]).min() > -0.01
    # Strong shrinkage costs accuracy at any rate.
    assert lr.surface.values[-1].max() < lr.optimum - 0.1


def test_a_pull_is_right_or_wrong_with_the_accuracy() -> None:
    problem = KrVsKp("lr")
    config: Config = {"alpha": 1.0, "eta0": 1e-5}
    rng = np.random.default_rng(0)
    rewards = [problem.draw(config, rng) for _ in range(4000)]
    assert set(rewards) == {0.0, 1.0}
    assert np.mean(rewards) == pytest.approx(problem.mean(config), abs=0.03)


def test_an_unknown_model_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidSetting, match="'lr', 'svm'"):
        KrVsKp("knn")


def test_a_problem_survives_pickling() -> None:
    problem = KrVsKp("svm")
    config: Config = {"C": 3.0, "gamma": 0.02}
    before = problem.mean(config)
    assert pickle.loads(pickle.dumps(problem)).mean(config) == before


@MODELS
def test_the_note_beside_the_table_describes_it(model: str) -> None:
    path = files("imabo_bench.problems.data") / f"{table_of(model)}.json"
    note = json.loads(path.read_text("utf-8"))
    first, second, low, high = AXES[model]
    size = build.GRIDS[model].size
    assert list(note["axes"]) == [first, second]
    assert {(a["low"], a["high"], a["points"]) for a in note["axes"].values()} == {
        (low, high, size)
    }
    assert KrVsKp(model).surface.values.shape == (size, size)
    assert note["asked"] == 1055


def test_logistic_regressions_trained_now_answer_as_the_table_says() -> None:
    trained("linear_model")
    parts = split(examples_of("kr-vs-kp.arff"), build.SEED)
    problem, at = KrVsKp("lr"), points("lr")
    for i, j in ((0, 0), (6, 18), (30, 6), (12, 24)):
        alpha, eta0 = float(at[i]), float(at[j])
        now = build.lr_right(parts, alpha, eta0) / len(parts.asked_labels)
        assert now == pytest.approx(problem.mean({"alpha": alpha, "eta0": eta0}), abs=0.01)


def test_support_vector_machines_trained_now_answer_as_the_table_says() -> None:
    trained("svm")
    parts = split(examples_of("kr-vs-kp.arff"), build.SEED)
    problem, at = KrVsKp("svm"), points("svm")
    # Trained with scikit-learn's own kernel, not with the one that the script computes.
    for i, j in ((0, 0), (20, 0), (20, 10), (30, 14), (40, 20), (20, 40)):
        cost, gamma = float(at[i]), float(at[j])
        model = scikit_learn("svm").SVC(C=cost, gamma=gamma).fit(parts.features, parts.labels)
        now = parts.right(model.predict(parts.asked_features)) / len(parts.asked_labels)
        assert now == pytest.approx(problem.mean({"C": cost, "gamma": gamma}), abs=2e-3)
