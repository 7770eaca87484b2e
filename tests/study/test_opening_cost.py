"""What opening a study costs: a step an arm, whatever was served."""

from __future__ import annotations

from typing import Any

import pytest

from imabo import Float, Space, Study, oracles, policies
from imabo.arms import ActiveSet
from imabo.stores import Store


def test_every_arm_is_checked_once_and_the_view_is_shown_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Space(x=Float(0.0, 1.0))
    study = Study.create(
        "s", space, policy=policies.IMOSS(), oracle=oracles.Random(), store=store, seed=0
    )
    study.add_arms([{"x": n / 300} for n in range(300)])
    calls = {"validate": 0, "shown": 0}
    validate, ids = Space.validate, ActiveSet._expose

    def counted(self: Space, config: Any) -> Any:
        calls["validate"] += 1
        return validate(self, config)

    def shown(self: ActiveSet) -> None:
        calls["shown"] += not self._is_admitting
        ids(self)

    monkeypatch.setattr(Space, "validate", counted)
    monkeypatch.setattr(ActiveSet, "_expose", shown)
    again = Study.open("s", store=store)
    assert again.n_arms == 300
    assert calls["validate"] == 300
    assert calls["shown"] <= 3
    assert len(again.view) == len(again.view.ids) == 300
