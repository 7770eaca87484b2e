"""What a change of the space would do, against doing it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imabo import Choice, Space, insight
from imabo.errors import InvalidSetting
from tests.insight.story import SPACE, by_model, eventful, instant
from tests.study.traffic import SPACES


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), places=st.lists(st.sampled_from(SPACES), min_size=1, max_size=3))
def test_a_preview_says_what_the_change_then_does(seed: int, places: list[Space]) -> None:
    study = eventful(steps=80, seed=seed)
    for space in places:
        snapshot = insight.read(study)
        preview = insight.preview_space(snapshot, space)
        before = {arm.id: arm.state for arm in study.arms()}
        version = study.space_version
        study.update_space(space)
        after = {arm.id: arm.state for arm in study.arms()}
        changed = {arm for arm in before if before[arm] != after[arm]}
        gone = {arm for arm in changed if after[arm] == "retired"}
        assert {row.id for row in preview.retired} == gone
        assert {row.id for row in preview.restored} == changed - gone
        assert (preview.n_retired, preview.n_restored) == (len(gone), len(changed - gone))
        assert preview.n_active == sum(state != "retired" for state in after.values())
        assert preview.changes == (study.space_version != version)
        assert preview.retires_best == (snapshot.best_arm in gone)


def test_a_preview_names_the_parameters_that_change() -> None:
    study, _ = instant(100, by_model)
    best = study.best()
    space = Space(model=Choice("small", "huge"), fast=Choice(False, True), extra=Choice(1, 2))
    preview = insight.preview_space(insight.read(study), space)
    assert preview.added == ["extra"]
    assert preview.removed == ["temperature", "rate", "top_k", "tokens"]
    assert preview.changed == ["model"]
    assert preview.n_retired == study.n_arms
    assert preview.retires_best
    assert preview.share_retired == 1.0
    assert preview.n_configs == 8
    assert max(preview.retired, key=lambda row: row.n_pulls) == preview.retired[0]
    assert best.arm in {row.id for row in preview.retired}


def test_the_same_space_changes_nothing() -> None:
    preview = insight.preview_space(insight.read(instant(30)[0]), SPACE)
    assert not preview.changes
    assert (preview.n_retired, preview.n_restored, preview.changed) == (0, 0, [])


def test_what_is_not_a_space_is_refused() -> None:
    with pytest.raises(InvalidSetting):
        insight.preview_space(insight.read(instant(3)[0]), {"x": 1})  # type: ignore[arg-type]
