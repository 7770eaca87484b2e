"""The shipped grid of random forests, and the script that made it."""

import itertools
import json
import pickle
from importlib.resources import files

import numpy as np
import pytest

from imabo.space import Choice, Space
from imabo_bench.build import rf_grid as build
from imabo_bench.build.training import split
from imabo_bench.problems.data import shares
from imabo_bench.problems.rf_grid import AXES, TABLE, RfGrid
from tests.bench.problems.arff_files import examples_of

ARMS = [dict(zip(AXES, arm, strict=True)) for arm in itertools.product(*AXES.values())]


def test_the_grid_has_the_papers_number_of_arms_and_each_has_a_mean() -> None:
    problem = RfGrid()
    assert problem.space.n_configs == len(ARMS) == 2250
    assert problem.table.shape == (9, 10, 5, 5)
    assert np.isfinite(problem.table).all()


def test_means_stand_where_their_configuration_says() -> None:
    problem = RfGrid()
    means = [problem.mean(arm) for arm in ARMS]
    assert means == problem.table.reshape(-1).tolist()
    assert problem.optimum == max(means)


def test_the_plain_variant_hides_the_order_and_keeps_the_means() -> None:
    ordered, plain = RfGrid(), RfGrid(is_plain=True)
    assert (ordered.name, plain.name) == ("rf-grid/credit-g", "rf-grid/credit-g:plain")
    for problem, is_ordered in ((ordered, True), (plain, False)):
        choices = {name: Choice(*values, ordered=is_ordered) for name, values in AXES.items()}
        assert problem.space == Space(choices)
    assert plain.mean(ARMS[777]) == ordered.mean(ARMS[777])


def test_forests_without_depth_only_know_the_larger_class() -> None:
    # 70 of 100 applicants are good, in each stratified part.
    assert RfGrid().table[0, 0] == pytest.approx(0.7)


def test_depth_helps_and_is_needed_for_many_features_to_help() -> None:
    table = RfGrid().table.mean(axis=(2, 3))
    assert table[:, -1].argmax() > 0
    assert table[-1, -1] > table[-1, 0] + 0.02
    assert table[-1, -1] > table[0, -1] + 0.02


def test_a_problem_survives_pickling() -> None:
    problem = RfGrid()
    assert problem.table is not None
    assert pickle.loads(pickle.dumps(problem)).mean(ARMS[5]) == problem.mean(ARMS[5])


def test_the_note_beside_the_table_describes_it() -> None:
    note = json.loads((files("imabo_bench.problems.data") / f"{TABLE}.json").read_text("utf-8"))
    assert note["axes"] == {name: list(values) for name, values in AXES.items()}
    assert (note["trees"], tuple(note["seeds"])) == (build.TREES, build.SEEDS)
    assert shares(TABLE).shape == (9, 10, 5, 5, len(note["seeds"]))
    assert note["asked"] == 330


def test_forests_trained_now_answer_as_the_table_says() -> None:
    pytest.importorskip("sklearn", reason="nothing was trained: scikit-learn is not installed")
    parts = split(examples_of("credit-g.arff"), seed=3)
    table = shares(TABLE)[..., 3].reshape(-1)
    for arm in (0, 249, 1130, 1777, 2249):
        now = build.right_answers(parts, ARMS[arm], seed=3) / len(parts.asked_labels)
        # Equal with the same scikit-learn; another version may draw other forests.
        assert now == pytest.approx(table[arm], abs=0.04)
