"""Making a study, going on with it, and everything that can be wrong with the settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from imabo import Float, Space, Study, oracles, policies
from imabo.arms import ActiveSet, Floats
from imabo.errors import (
    ImaboError,
    InvalidSetting,
    StoreClosed,
    StoreError,
    StudyExists,
    UnknownStudy,
)
from imabo.space.scalars import show
from imabo.stores import MemoryStore, Store
from imabo.testing.stores.facts import study_record
from imabo.testing.study.base import facts_of, letters, mixed_space, play


@dataclass(frozen=True)
class Greedy(policies.Policy):
    """A policy of the user's own."""

    arms_wanted: int = 3
    weights: tuple[float, ...] = (1.0, 2.0)

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        return "oracle" if arms.n_growing < self.arms_wanted else None

    def scores(self, arms: ActiveSet) -> Floats:
        return arms.known_means()


@dataclass(frozen=True)
class Stubborn(oracles.Oracle):
    """An oracle of the user's own that always proposes the same."""

    x: float = 0.25

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> oracles.Proposal | oracles.Exhausted:
        return oracles.Proposal({"x": self.x})


@dataclass(frozen=True)
class Unwritable(Greedy):
    """A policy that cannot be written down."""

    what: Any = field(default_factory=set)


class NotADataclass(policies.Policy):
    """A policy whose settings nobody can read."""

    def growth(self, arms: ActiveSet) -> None:
        return None

    def scores(self, arms: ActiveSet) -> Floats:
        return arms.means


LINE = Space(x=Float(0, 1))
NON_DEFAULT: dict[str, Any] = {
    "policy": policies.UCBAIR(beta=0.4),
    "oracle": oracles.Mixed(oracles.TPE(), epsilon=0.2),
    "seed": 2**100,
    "reward_range": (-1, 3),
    "window_s": 60,
}


# --- create and open ----------------------------------------------------------------------------


def test_create_keeps_every_setting_through_open(store: Store) -> None:
    Study.create("s", mixed_space(), store=store, **NON_DEFAULT)
    study = Study.open("s", store=store)
    assert study.name == "s"
    assert study.space == mixed_space()
    for name, value in NON_DEFAULT.items():
        assert getattr(study, name) == value


def test_creating_twice_goes_on_with_the_same_study(store: Store) -> None:
    first = Study.create("s", mixed_space(), store=store, **NON_DEFAULT)
    play(first, 12, lambda pull: 0.5)
    second = Study.create("s", mixed_space(), store=store, **NON_DEFAULT)
    assert facts_of(second) == facts_of(first)
    assert len(store.names()) == 1


def test_a_script_without_a_seed_may_run_again(store: Store) -> None:
    first = Study.create("s", mixed_space(), store=store)
    assert Study.create("s", mixed_space(), store=store).seed == first.seed


def test_creating_with_an_earlier_space_goes_on_with_the_current_one(store: Store) -> None:
    Study.create("s", letters("a"), store=store, seed=1).update_space(letters("a", "b"))
    assert Study.create("s", letters("a"), store=store, seed=1).space == letters("a", "b")


@pytest.mark.parametrize(
    "other",
    [
        {"space": letters("z")},
        {"policy": policies.IMOSS()},
        {"policy": policies.UCBAIR(beta=0.3)},
        {"oracle": oracles.Mixed(oracles.TPE(), epsilon=0.3)},
        {"oracle": oracles.Mixed(oracles.Random(), epsilon=0.2)},
        {"seed": 5},
        {"reward_range": (0, 3)},
        {"reward_range": None},
        {"window_s": 61},
        {"window_s": None},
    ],
    ids=lambda other: next(iter(other)),
)
def test_creating_with_other_settings_is_refused(store: Store, other: dict[str, Any]) -> None:
    settings = {"space": mixed_space(), **NON_DEFAULT}
    study = Study.create("s", store=store, **settings)
    study.ask()
    before = facts_of(study)
    with pytest.raises(StudyExists, match="'s'"):
        Study.create("s", store=store, **(settings | other))
    assert facts_of(study) == before


def test_opening_what_is_not_there_names_what_is(store: Store) -> None:
    Study.create("here", LINE, store=store)
    with pytest.raises(UnknownStudy, match=r"'gone'.*'here'"):
        Study.open("gone", store=store)
    assert store.names() == ["here"]


def test_studies_of_one_store_do_not_mix(store: Store) -> None:
    one, two = (Study.create(name, letters("a", "b"), store=store, seed=1) for name in ("1", "2"))
    play(one, 5, lambda pull: 1.0)
    assert (len(one), len(two), one.n_rewards, two.n_rewards) == (5, 0, 5, 0)


def test_closing_a_study_leaves_a_shared_store_open(store: Store) -> None:
    Study.create("s", LINE, store=store).close()
    assert len(Study.open("s", store=store)) == 0


def test_closing_a_study_closes_the_store_it_opened(sqlite_url: str) -> None:
    study = Study.create("s", LINE, store=sqlite_url)
    study.close()
    with pytest.raises(StoreClosed):
        list(study)
    with Study.open("s", store=sqlite_url) as again:
        assert len(again) == 0


def test_a_study_on_a_closed_store_says_so() -> None:
    store = MemoryStore()
    study = Study.create("s", LINE, store=store)
    store.close()
    with pytest.raises(StoreClosed):
        study.ask()


def test_without_a_store_every_study_is_alone() -> None:
    Study.create("s", LINE).ask()
    assert len(Study.create("s", letters("a"))) == 0


# --- policies and oracles of the user's own -----------------------------------------------------


def test_own_classes_are_passed_again_to_open_and_create(store: Store) -> None:
    own: dict[str, Any] = {"policy": Greedy(2), "oracle": Stubborn()}
    study = Study.create("s", LINE, store=store, seed=1, **own)
    play(study, 10, lambda pull: 0.5)
    # The second proposal of the same configuration was replaced by a draw from P0.
    first, second = study.arms()
    assert first.config == {"x": 0.25} != second.config
    for again in (
        Study.open("s", store=store, **own),
        Study.create("s", LINE, store=store, seed=1, **own),
    ):
        assert (again.policy, again.oracle) == (Greedy(2), Stubborn())
        assert facts_of(again) == facts_of(study)


def test_own_classes_that_are_not_passed_are_named(store: Store) -> None:
    Study.create("s", LINE, store=store, policy=Greedy(), oracle=Stubborn())
    with pytest.raises(InvalidSetting, match=r"'Greedy'.*policy="):
        Study.open("s", store=store, oracle=Stubborn())
    with pytest.raises(InvalidSetting, match=r"'Stubborn'.*oracle="):
        Study.open("s", store=store, policy=Greedy())


def test_open_refuses_parts_with_other_settings(store: Store) -> None:
    Study.create("s", LINE, store=store, policy=Greedy(3))
    with pytest.raises(InvalidSetting, match="arms_wanted=4"):
        Study.open("s", store=store, policy=Greedy(4))
    with pytest.raises(InvalidSetting, match="TPE"):
        Study.open("s", store=store, policy=Greedy(3), oracle=oracles.TPE())


# --- wrong settings -----------------------------------------------------------------------------

WRONG: dict[str, list[Any]] = {
    "name": ["", " ", "x" * 201, "a\0b", "\ud800", None, 5, b"s", ["s"]],
    "space": [None, {}, {"x": 1}, "space", Float(0, 1), Space],
    "policy": ["IMOSS", policies.IMOSS, 1, oracles.Random(), {}, Unwritable(), NotADataclass()],
    "oracle": ["TPE", oracles.TPE, 1, policies.IMOSS(), [], Stubborn(math.nan)],
    "seed": [-1, 1.0, True, "1", np.float64(1), 2**128, 10**5000, []],
    "reward_range": [
        *[(1, 0), (0, 0), (0,), (0, 1, 2), "01", 1, (0, True), {0, 1}, (None, 1), ("0", "1")],
        *[(0, math.inf), (math.nan, 1), (-1e308, 1e308), (0, 10**400)],
    ],
    "window_s": [0, -1, math.inf, math.nan, True, "60", 10**400, []],
    "clock": [None, 5, "time.time", 0.0],
}


@pytest.mark.parametrize(
    ("argument", "value"),
    [(argument, value) for argument, values in WRONG.items() for value in values],
    ids=lambda value: show(value, 30),
)
def test_a_wrong_setting_is_refused_with_its_value(store: Store, argument: str, value: Any) -> None:
    settings: dict[str, Any] = {"name": "s", "space": LINE, argument: value}
    with pytest.raises(InvalidSetting) as caught:
        Study.create(store=store, **settings)
    assert show(value, 73).removesuffix("...") in str(caught.value)
    assert store.names() == []


@pytest.mark.parametrize("said", [None, "now", math.nan, math.inf, 1e18, 10**5000], ids=show)
def test_a_clock_that_says_nonsense_is_refused_at_once(store: Store, said: Any) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Study.create("s", LINE, store=store, clock=lambda: said)
    assert f"the clock said {show(said)}" in str(caught.value)
    assert store.names() == []


@pytest.mark.parametrize(
    "url",
    ["imabo.db", "sqlite://", "sqlite://x.db", "sqlite:///", "sqlite:///:memory:", "", "mysql://h/d",
     "sqlite", 5, b"sqlite:///x.db", Path("x.db"), MemoryStore, {}],
    ids=repr,
)  # fmt: skip
def test_a_wrong_store_is_refused_with_its_value(url: Any) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Study.create("s", LINE, store=url)
    assert repr(url) in str(caught.value)
    with pytest.raises(InvalidSetting) as caught:
        Study.open("s", store=url)
    assert repr(url) in str(caught.value)


def test_a_file_that_cannot_be_used_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, not at all" * 100)
    for path in ("missing/imabo.db", "text.db", "."):
        with pytest.raises(StoreError, match="SQLite could not use"):
            Study.create("s", LINE, store=f"sqlite:///{tmp_path}/{path}")


@pytest.mark.parametrize("name", ["", None, 5, [], "a\0b"], ids=repr)
def test_open_refuses_a_wrong_name_and_a_wrong_clock(store: Store, name: Any) -> None:
    Study.create("s", LINE, store=store)
    with pytest.raises(InvalidSetting) as caught:
        Study.open(name, store=store)
    assert repr(name) in str(caught.value)
    clock: Any = 5
    with pytest.raises(InvalidSetting, match="clock is 5"):
        Study.open("s", store=store, clock=clock)


def test_a_wrong_setting_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(ImaboError):
        Study.create("s", LINE, store=f"sqlite:///{tmp_path}/imabo.db", seed=-1)
    assert list(tmp_path.iterdir()) == []


OLDER: dict[str, dict[str, Any]] = {
    "policy": {
        "type": "Informed",
        "beta": 0.5,
        "scale": 3.0,
        "warmup": 10,
        "bonus": 0.1,
        "trust": 1.0,
        "limit": 50.0,
    },
    "oracle": {
        "type": "GP",
        "kappa": 2.0,
        "epsilon": 0.05,
        "mutations": 300,
        "draws": 100,
        "startup": 10,
    },
}


class TestSettingsThatCameLater:
    """A study that an earlier version made has the settings that came since at their defaults."""

    @pytest.fixture
    def older(self, store: Store) -> Store:
        """With a study of the defaults as they were written before there were memories."""
        space = Space(x=Float(0.0, 1.0)).to_dict()
        store.create(study_record("s", seed=3, space=space, **OLDER))
        return store

    def test_it_opens_with_them(self, older: Store) -> None:
        study = Study.open("s", store=older)
        assert study.policy == policies.Informed()
        assert study.oracle == oracles.GP()
        play(study, 20, lambda pull: 0.5)
        assert study.view.memory is not None

    def test_it_is_the_study_of_the_defaults(self, older: Store) -> None:
        space = Space(x=Float(0.0, 1.0))
        Study.create("s", space, store=older)
        Study.create("s", space, store=older, policy=policies.Informed(), oracle=oracles.GP())
        Study.open("s", store=older, policy=policies.Informed(), oracle=oracles.GP())

    @pytest.mark.parametrize(
        "other",
        [
            {"policy": policies.Informed(changes=False)},
            {"policy": policies.Informed(top=0.5)},
            {"oracle": oracles.GP(kappa=1.0)},
        ],
        ids=str,
    )
    def test_other_settings_are_still_another_study(
        self, older: Store, other: dict[str, Any]
    ) -> None:
        with pytest.raises(StudyExists):
            Study.create("s", Space(x=Float(0.0, 1.0)), store=older, **other)
        with pytest.raises(InvalidSetting, match="created with"):
            Study.open("s", store=older, **other)

    def test_what_is_mixed_goes_by_its_parts(self, store: Store) -> None:
        mixed = {"type": "Mixed", "oracle": OLDER["oracle"], "epsilon": 0.1}
        space = Space(x=Float(0.0, 1.0))
        store.create(study_record("s", seed=3, space=space.to_dict(), **OLDER | {"oracle": mixed}))
        Study.create("s", space, store=store, oracle=oracles.Mixed(oracles.GP(), epsilon=0.1))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://user:secret@host/db", "no store for MySQL.*'postgresql://.*pass one of these"),
        ("mongodb+srv://host", "no store for MongoDB"),
        ("nosuch://host", "no store for 'nosuch'"),
        ("postgres://user:secret@host/db", "begins with 'postgresql://'"),
        ("http://127.0.0.1:8766", "address of a service"),
        ("data/imabo.db", "a path and not a URL.*write 'sqlite:///data/imabo.db'"),
        ("sqlite://imabo.db", "three slashes"),
    ],
)
def test_a_foreign_url_is_told_what_there_is(url: str, words: str) -> None:
    with pytest.raises(InvalidSetting, match=words) as caught:
        Study.open("s", store=url)
    assert "secret" not in str(caught.value)
