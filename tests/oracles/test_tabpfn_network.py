"""The weights of TabPFN: found, loaded once, or missed with a message that says what to do."""

from __future__ import annotations

import shutil
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest

from imabo import Float, Space
from imabo.arms import ActiveSet
from imabo.errors import InvalidSetting, MissingData, MissingExtra
from imabo.oracles import Proposal, TabPFN
from imabo.settings import describe, restore

from .checkpoint import write_checkpoint
from .sets import proposals, sampled

DEFAULT = "tabpfn-v3-regressor-v3_default.ckpt"


@pytest.fixture
def arms() -> ActiveSet:
    space = Space(x=Float(0, 1), y=Float(0, 1))
    return sampled(space, 12, lambda config: float(config["x"] or 0.0))


@pytest.fixture
def fresh(checkpoint: Path, tmp_path: Path) -> Path:
    """The weights in a place that nothing was loaded from yet."""
    return Path(shutil.copy(checkpoint, tmp_path / "fresh-v3.ckpt"))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that the package was asked to load."""
    from tabpfn import model_loading

    load, asked = model_loading.load_model, []

    def listen(*, path: Path, **options: Any) -> Any:
        asked.append(path)
        return load(path=path, **options)

    monkeypatch.setattr(model_loading, "load_model", listen)
    return asked


@pytest.fixture
def empty_cache(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's folder for downloaded weights, empty, on a machine without a network."""
    from tabpfn.settings import settings

    def refuse(*args: object, **options: object) -> object:
        raise URLError("no network here")

    monkeypatch.setattr(settings.tabpfn, "model_cache_dir", tmp_path / "cache")
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    monkeypatch.setenv("TABPFN_NO_BROWSER", "1")
    return tmp_path / "cache"


# --- loading ------------------------------------------------------------------------------------


def test_the_weights_are_loaded_once_for_all_proposals_of_all_oracles(
    fresh: Path, loads: list[Path], arms: ActiveSet
) -> None:
    proposals(TabPFN(model_path=str(fresh)), arms, 3)
    proposals(TabPFN(model_path=str(fresh), quantile=0.5), arms, 2)
    assert loads == [fresh]


def test_they_are_loaded_when_the_service_starts_if_it_says_so(
    fresh: Path, loads: list[Path], arms: ActiveSet
) -> None:
    oracle = TabPFN(model_path=str(fresh))
    oracle.prepare()
    assert loads == [fresh]
    proposals(oracle, arms, 1)
    assert loads == [fresh]


def test_threads_share_one_load_and_propose_as_one_alone(
    fresh: Path, loads: list[Path], arms: ActiveSet
) -> None:
    oracle = TabPFN(model_path=str(fresh))

    def propose(seed: int) -> object:
        return oracle.propose(arms, arms.means, np.random.default_rng(seed))

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(propose, range(8)))
    assert loads == [fresh]
    assert made == proposals(oracle, arms, 8)


def test_what_is_proposed_depends_on_the_weights_and_not_on_where_they_are(
    checkpoint: Path, fresh: Path, tmp_path: Path, arms: ActiveSet
) -> None:
    other = write_checkpoint(tmp_path / "other-v3.ckpt", seed=1)
    made = [proposals(TabPFN(model_path=str(p)), arms, 5) for p in (checkpoint, fresh, other)]
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_a_path_may_start_at_home(
    fresh: Path, arms: ActiveSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(fresh.parent))
    (proposal,) = proposals(TabPFN(model_path=f"~/{fresh.name}"), arms, 1)
    assert proposal.origin == "oracle"


# --- weights that are missing -------------------------------------------------------------------


def test_a_file_that_is_not_there_is_named_with_what_to_do(
    checkpoint: Path, tmp_path: Path, arms: ActiveSet
) -> None:
    oracle = TabPFN(model_path=str(tmp_path / "nothing.ckpt"))
    for attempt in (oracle.prepare, lambda: proposals(oracle, arms, 1)):
        with pytest.raises(MissingData) as raised:
            attempt()
        assert str(tmp_path / "nothing.ckpt") in raised.value.what
        assert "model_path" in raised.value.why
        assert "model_path" in raised.value.fix
        assert "licence" in raised.value.fix


def test_without_a_path_a_proposal_looks_where_the_package_keeps_them_and_downloads_nothing(
    empty_cache: Path, arms: ActiveSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tabpfn import model_loading

    asked: list[object] = []
    monkeypatch.setattr(model_loading, "download_model", lambda *to, **_: asked.append(to))
    with pytest.raises(MissingData) as raised:
        proposals(TabPFN(), arms, 1)
    assert str(empty_cache / DEFAULT) in raised.value.what
    with pytest.raises(MissingData):
        TabPFN().prepare()
    assert "prepare(download=True)" in raised.value.fix
    assert asked == []


def test_a_download_that_fails_says_so(empty_cache: Path) -> None:
    with pytest.raises(MissingData) as raised:
        TabPFN().prepare(download=True)
    assert str(empty_cache / DEFAULT) in raised.value.what
    assert "the download failed" in raised.value.why
    assert raised.value.__cause__ is not None


def test_a_download_that_works_is_used_from_then_on(
    empty_cache: Path, checkpoint: Path, arms: ActiveSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tabpfn import model_loading
    from tabpfn.constants import ModelVersion

    def deliver(to: Path, *, version: object, which: str) -> str:
        assert (version, which) == (ModelVersion.V3, "regressor")
        to.parent.mkdir()
        shutil.copy(checkpoint, to)
        return "ok"

    monkeypatch.setattr(model_loading, "download_model", deliver)
    TabPFN().prepare(download=True)
    assert proposals(TabPFN(), arms, 2) == proposals(TabPFN(model_path=str(checkpoint)), arms, 2)


def test_a_file_that_is_no_checkpoint_is_refused_with_the_reason(
    checkpoint: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.ckpt"
    wrong.write_text("these are not weights")
    with pytest.raises(MissingData, match="cannot be read") as raised:
        TabPFN(model_path=str(wrong)).prepare()
    assert str(wrong) in raised.value.what
    assert "Error" in raised.value.why


def test_a_device_that_this_torch_does_not_have_is_refused(checkpoint: Path) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(InvalidSetting, match="cuda"):
        TabPFN(model_path=str(checkpoint), device="cuda").prepare()


# --- without the package ------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["tabpfn", "torch"])
def test_without_the_extra_the_message_names_it(
    package: str, arms: ActiveSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tabpfn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    oracle = TabPFN(model_path="weights.ckpt")
    for attempt in (oracle.prepare, lambda: proposals(oracle, arms, 1)):
        with pytest.raises(MissingExtra, match=r'pip install "imabo\[tabpfn\]"') as raised:
            attempt()
        assert package in raised.value.why


def test_without_the_extra_a_study_with_it_can_be_made_and_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tabpfn", None)
    oracle = TabPFN(model_path="weights.ckpt", device="cuda:1", estimators=8)
    assert restore(describe(oracle), {"TabPFN": TabPFN}, "oracle") == oracle
    few = ActiveSet(Space(x=Float(0, 1)))
    assert isinstance(oracle.propose(few, few.means, np.random.default_rng(0)), Proposal)
