"""The simulated users and the assistant they meet."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.demo.traffic import Inbox
from imabo.demo.world import (
    AFTER,
    BEFORE,
    DEFAULT,
    FALLEN_MODEL,
    IDEAL,
    NEW_MODEL,
    World,
    success_rate,
)
from imabo.space import Config, Space


def test_a_seed_gives_the_same_users_whatever_they_are_served() -> None:
    first, again, other = World(200, 7), World(200, 7), World(200, 8)
    assert first.visits == again.visits
    assert first.visits != other.visits


def test_most_feedback_is_late_or_lost() -> None:
    visits = World(3000, 0).visits
    delays = np.array([one.rated_at - one.n for one in visits if one.rated_at is not None])
    assert 0.38 < len(delays) / len(visits) < 0.44  # 59 % never comes
    assert (delays > 0).all()
    assert 0.5 < (delays > 1.0).mean() < 0.7
    assert delays.max() > 300


def test_serving_at_random_knows_the_new_model_only_once_it_ships() -> None:
    world = World(400, 1)
    before, after = world.visits[: world.ships_after], world.visits[world.ships_after :]
    assert all(BEFORE.allows(one.at_random) for one in before)
    assert all(AFTER.allows(one.at_random) for one in after)
    assert any(one.at_random["model"] == NEW_MODEL for one in after)


def test_what_was_allowed_before_is_allowed_after() -> None:
    rng = np.random.default_rng(0)
    assert all(AFTER.allows(BEFORE.sample(rng)) for _ in range(200))
    assert BEFORE.allows(DEFAULT)
    assert not BEFORE.allows(IDEAL)


@pytest.mark.parametrize("space", [BEFORE, AFTER])
def test_nothing_is_better_than_the_ideal(space: Space) -> None:
    rng = np.random.default_rng(1)
    rates = [success_rate(space.sample(rng)) for _ in range(500)]
    assert max(rates) <= success_rate(IDEAL)


def test_the_new_model_is_better_only_in_the_right_settings() -> None:
    def with_model(**changes: object) -> Config:
        return AFTER.validate(IDEAL | changes)

    old = dict(IDEAL, model="medium")
    del old["thinking_tokens"]
    assert success_rate(with_model()) > success_rate(AFTER.validate(old)) + 0.1
    hasty = with_model(thinking_tokens=256, temperature=1.0, passages=20)
    assert success_rate(hasty) < success_rate(AFTER.validate(old))


def test_the_same_seed_is_the_same_users_and_the_rates_are_as_told() -> None:
    world = World(100, seed=1)
    assert (len(world.visits), world.changes_after, world.ships_after) == (100, 50, 66)
    assert world.visits == World(100, seed=1).visits
    poor: Config = {"model": "small", "prompt": "plain", "temperature": 0.9, "passages": 1}
    assert round(success_rate(poor | {"rerank": False}), 2) == 0.03
    assert (round(success_rate(DEFAULT), 2), round(success_rate(IDEAL), 2)) == (0.37, 0.94)


def test_halfway_one_model_gets_worse_and_nothing_else_does() -> None:
    before, after = World(100, seed=1).visits[49:51]
    rng = np.random.default_rng(2)
    for config in (AFTER.sample(rng) for _ in range(100)):
        has_fallen = after.rate(config) < before.rate(config)
        assert has_fallen == (config["model"] == FALLEN_MODEL)
    assert DEFAULT["model"] != FALLEN_MODEL  # the control stays what it was


def test_ratings_arrive_in_the_order_of_their_times() -> None:
    inbox = Inbox()
    inbox.expect(7.5, "b", 1.0)
    inbox.expect(2.5, "a", 0.0)
    assert (list(inbox.arrived(3)), list(inbox.arrived(8))) == ([("a", 0.0)], [("b", 1.0)])
