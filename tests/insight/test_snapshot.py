"""Reading a study: bounded, from any store, and refused where it makes no sense."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imabo import Study, insight
from imabo.errors import InvalidSetting, StoreClosed, UnknownArm
from imabo.insight.sampling import PAGE, PAGES, sample_pulls
from imabo.stores import MemoryStore, open_store
from imabo.stores.base import NewPull, PullRecord
from imabo.testing.study.base import ManualClock
from imabo_bench.insight import fill
from tests.insight.story import SPACE, eventful, instant, make
from tests.study.traffic import SPACES, WINDOW_S, Traffic


def test_a_study_opened_by_name_on_a_file_shows_the_same_as_the_one_that_was_played(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    study, _ = instant(100, store=url)
    before = insight.overview(insight.read(study))
    study.close()
    with Study.open("story", store=url) as opened:
        snapshot = insight.read(opened)
        assert insight.overview(snapshot) == before
        assert snapshot.totals.n_pulls == 100


def test_the_facts_agree_with_the_study() -> None:
    study = eventful()
    snapshot = insight.read(study)
    assert [
        (arm.id, arm.n_pulls, arm.n_rewards, arm.n_pending, arm.state) for arm in study.arms()
    ] == [
        (r.id, r.tally.n_pulls, r.tally.n_rewards, r.tally.n_pending, r.state)
        for r in snapshot.arms.records
    ]
    assert snapshot.best_arm == study.best().arm
    assert snapshot.space == study.space
    assert snapshot.history.n_pulls[-1] == study.n_pulls
    assert (np.diff(snapshot.history.n_pulls) > 0).all()
    assert (np.diff(snapshot.history.at) >= 0).all()
    assert snapshot.history.by_arm[-1].sum() == study.n_pulls


def test_facts_do_not_change_while_the_study_goes_on() -> None:
    study, _ = instant(20)
    snapshot = insight.read(study)
    before = insight.figure("arms", snapshot)
    study.tell(study.ask().id, 1.0)
    assert snapshot.totals.n_pulls == 20
    assert insight.figure("arms", snapshot) == before


def everything(snapshot: insight.StudySnapshot) -> dict[str, Any]:
    """All that is shown of a study."""
    figures = {name: insight.figure(name, snapshot) for name in insight.FIGURES}
    table = insight.arm_table(snapshot, sort="id", limit=1000)
    return {**figures, "overview": insight.overview(snapshot), "table": table}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["memory", "file"])
def test_facts_that_go_on_from_earlier_ones_are_those_of_a_new_read(
    tmp_path: Path, where: str
) -> None:
    clock = ManualClock(1e9)
    store = MemoryStore() if where == "memory" else open_store(f"sqlite:///{tmp_path / 'a.db'}")
    study = make(space=SPACES[0], clock=clock, window_s=WINDOW_S, store=store)
    snapshot = insight.read(study)
    traffic = Traffic(study, clock, 4)
    n_versions = set()
    for steps in (1, 0, 30, 200, 1, 300):
        traffic.run(steps)
        everything(snapshot)  # so that all that can be taken over is there
        snapshot = insight.read(study, since=snapshot)
        assert everything(snapshot) == everything(insight.read(study))
        n_versions.add(snapshot.space_version)
    assert len(n_versions) > 1
    store.close()


def test_what_was_read_of_another_study_of_that_name_is_not_taken_over() -> None:
    store = MemoryStore()
    snapshot = insight.read(instant(50, store=store)[0])
    store.delete("story")
    study, _ = instant(20, store=store)
    again = insight.read(study, since=snapshot)
    assert everything(again) == everything(insight.read(study))
    assert again.totals.n_pulls == 20


@pytest.mark.slow
def test_many_arms_show_the_same_as_few_when_only_those_that_are_shown_are_looked_at() -> None:
    store = MemoryStore()
    fill(store, "many", 60_000)
    snapshot, whole = (insight.read(Study.open("many", store=store)) for _ in range(2))
    low = whole.arms.intervals[0]  # of all arms, so that the others are taken from them
    assert len(low) > 700
    assert everything(snapshot) == everything(whole)
    assert "intervals" not in vars(snapshot.arms)
    best = np.lexsort((whole.arms.ids, -whole.arms.means, -low))[:50]
    assert [row.id for row in insight.arms(snapshot, limit=50).rows] == whole.arms.ids[
        best
    ].tolist()


def test_a_closed_study_is_refused() -> None:
    study = make()
    study.close()
    with pytest.raises(StoreClosed):
        insight.read(study)


@pytest.mark.parametrize("thing", [None, "story", object()])
def test_what_is_not_a_study_is_refused(thing: Any) -> None:
    with pytest.raises(InvalidSetting):
        insight.read(thing)


@pytest.mark.parametrize("arm", [0, -1, 99, True, "1", 2**70, None])
def test_an_arm_that_is_not_there_is_refused(arm: Any) -> None:
    snapshot = insight.read(instant(5)[0])
    with pytest.raises(UnknownArm):
        snapshot.arms.row_of(arm)


class CountingStore(MemoryStore):
    """Counts the pulls that are read."""

    n_read = 0

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        page = super().pulls(name, after=after, limit=limit)
        self.n_read += len(page)
        return page


def long_study(n_pulls: int, store: MemoryStore) -> Study:
    """A study with many pulls of one arm, written straight to the store, a pull a second."""
    study = make(store=store)
    arm = study.add_arm(SPACE.validate({**SPACE.sample(np.random.default_rng(0))})).id
    seq = study.seq
    for number in range(1, n_pulls + 1, 100):
        pulls = [NewPull(n, arm, "index") for n in range(number, number + 100)]
        seq = store.serve(study.name, seq=seq, at=1e9 + number, pulls=pulls)
    return study


def test_a_long_study_is_sampled_evenly_and_never_read_whole() -> None:
    store = CountingStore()
    study = long_study(10_000, store)
    sample = insight.read(study).sample
    assert store.n_read == len(sample) == PAGES * PAGE
    numbers = np.array([pull.number for pull in sample.pulls])
    assert np.bincount((numbers - 1) // 1000).tolist() == [PAGES * PAGE // 10] * 10
    assert sample.whole_from == 0


def test_a_short_study_is_read_whole() -> None:
    study = eventful()
    sample = insight.read(study).sample
    assert [pull.number for pull in sample.pulls] == list(range(1, study.n_pulls + 1))


def test_pulls_that_were_pruned_are_not_there_and_the_sample_knows_from_where_it_is_whole() -> None:
    store = CountingStore()
    study = long_study(10_000, store)
    store.reward_many(study.name, [(n, 0.5) for n in range(1, 6001) if n != 3000], at=2e9)
    study.prune(datetime.fromtimestamp(1e9 + 5001, UTC))
    sample = sample_pulls(store, study.name, 10_000)
    kept = [pull.number for pull in sample.pulls]
    assert [number for number in kept if number <= 5000] == [3000]
    assert sample.whole_from == 5000
    assert sum(sample.is_whole) == len(kept) - 1
    assert len(set(kept)) == len(kept)
