"""The leader of a round, and of many rounds in a row, is the arm of highest index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from imabo.arms import ActiveSet, Beliefs
from imabo.bounds import kl_upper_of
from imabo.drift import Drift, forget, remember
from imabo.policies import Expand, Informed
from imabo.policies.base import Draws
from imabo.policies.informed_runs import Alike, Index
from tests.loops import seeds

from .sets import arms_with

GROWING = Index(bonus=0.1, lasting=0.0, trust=1.0, limit=50.0)
USED_UP = Index(bonus=0.6, lasting=0.4, trust=1.0, limit=50.0)


def drawn_arms(seed: int) -> ActiveSet:
    """Arms of all kinds: rewarded, waiting, silent, unserved, equal ones, paused ones."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    rewards = [rng.integers(0, 2, rng.integers(0, 30)).tolist() for _ in range(n)]
    if seed % 3 == 0:
        rewards = [rewards[row % 3] for row in range(n)]
    waiting = rng.integers(0, 12, n).tolist() if seed % 4 else []
    expired = rng.integers(0, 3, n).tolist() if seed % 2 else []
    arms = arms_with(*rewards, pending=waiting, expired=expired)
    if seed % 5:
        means, counts = rng.random(n), rng.choice([0.0, 3.0, 1000.0], n)
        arms.put_beliefs(Beliefs(means, counts, {}))
    for row in range(n - 1):
        if seed % 7 == 0 and rng.random() < 0.4:
            arms.put_state(row, "paused")
    return arms


def remembering_arms(seed: int) -> ActiveSet:
    """Such arms with a memory, contradicted or not, and with or without a change noticed."""
    arms, rng = drawn_arms(seed), np.random.default_rng(1000 + seed)
    for stage in range(1 + seed % 4):
        arms.put_memory(remember(arms))
        if seed % 3 == 1 and stage == 1:
            arm = None if rng.random() < 0.5 else int(rng.choice(arms.ids))
            drift = Drift(arms.totals.n_rewards, 0.6, 0.3, 20.0, 15.0, arm)
            arms.put_memory(forget(arms, drift, 5.0))
        for row in rng.integers(0, len(arms), 40).tolist():
            arms.count_pull(row)
            if rng.random() < 0.9:
                arms.count_reward(row, float(rng.random() < rng.random()), was_pending=True)
    if seed % 2:
        beliefs = Beliefs(rng.random(len(arms)), rng.choice([0.0, 4.0, 90.0], len(arms)), {}, 0.4)
        arms.put_beliefs(beliefs)
        arms.count_pull(0)
        arms.count_reward(0, 1.0, was_pending=True)
        arms.admit(5000, {"x": 0.9999})  # one that neither memory nor model knows
    return arms


INDICES = pytest.mark.parametrize("index", [GROWING, USED_UP])
SETS = pytest.mark.parametrize("made", [drawn_arms, remembering_arms])


def assert_highest(policy: Informed, arms: ActiveSet, row: int) -> None:
    """By the definition of the index, whatever was done to find it fast."""
    tried = policy.tried_again(arms)
    if tried is not None:
        assert row == tried
        return
    scores = np.where(arms.servable, policy.scores(arms), -np.inf)
    assert scores[row] >= scores.max() - 1e-9


@SETS
@INDICES
@seeds(60)
def test_the_terms_of_one_arm_are_those_of_all(
    seed: int, index: Index, made: Callable[[int], ActiveSet]
) -> None:
    arms = made(seed)
    now = index.moment(arms)
    found = [index.terms_of(index.known(arms, row, now), now) for row in range(len(arms))]
    assert_allclose(np.transpose(found), index.terms(arms, now), rtol=1e-12)


@SETS
@INDICES
@seeds(120)
def test_the_leaders_are_the_servable_arms_of_highest_index(
    seed: int, index: Index, made: Callable[[int], ActiveSet]
) -> None:
    arms = made(seed)
    now = index.moment(arms)
    rows = np.flatnonzero(arms.servable).tolist()
    scores = {row: kl_upper_of(*index.terms_of(index.known(arms, row, now), now)) for row in rows}
    best = max(scores.values())
    assert index.leaders(arms).tolist() == [row for row in rows if scores[row] == best]


@pytest.mark.slow
@SETS
@pytest.mark.parametrize("policy", [Informed(), Informed(bonus=0.7, trust=3.0), Informed(bonus=0)])
@seeds(60)
def test_what_is_served_has_the_highest_index(
    seed: int, policy: Informed, made: Callable[[int], ActiveSet]
) -> None:
    arms = made(seed)
    assert_highest(policy, arms, policy.serve(arms, Draws(seed, 1)).row)


@seeds(10, 40)
def test_what_rounds_in_a_row_serve_has_the_highest_index(seed: int) -> None:
    policy, arms = Informed(), remembering_arms(seed)
    rounds = policy.rounds(arms, 150)
    for number in range(150):
        decided = rounds.decide(Draws(seed, number))
        if isinstance(decided, Expand):
            decided = rounds.serve(Draws(seed, number))
        assert_highest(policy, arms, decided.row)
        arms.count_pull(decided.row)


@pytest.mark.slow
@SETS
@pytest.mark.parametrize("n", [4, 40, 150])
@seeds(15, 60)
def test_rounds_in_a_row_are_decided_as_each_for_itself(
    seed: int, n: int, made: Callable[[int], ActiveSet]
) -> None:
    # No growth: an arm that is admitted would end the run.
    policy = replace(Informed(), scale=1e-9, warmup=1)
    arms, apart = made(seed), made(seed)
    rounds = policy.rounds(arms, n)
    for number in range(n):
        decided = rounds.decide(Draws(seed, number))
        assert decided == policy.decide(apart, Draws(seed, number))
        if isinstance(
            decided, Expand
        ):  # after a change one is always due: as if none was to be had
            decided = rounds.serve(Draws(seed, number))
            assert decided == policy.serve(apart, Draws(seed, number))
        arms.count_pull(decided.row)
        apart.count_pull(decided.row)


def test_a_run_looks_at_few_arms_in_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    arms = arms_with(*((rng.random(200) < mean) * 1.0 for mean in rng.uniform(0.3, 0.8, 100)))
    looked: list[int] = []
    terms_of = Index.terms_of

    def counted(*arguments: object) -> tuple[float, float]:
        looked.append(1)
        return terms_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Index, "terms_of", counted)
    rounds = Informed(scale=1e-9, warmup=1).rounds(arms, 64)
    for number in range(64):
        arms.count_pull(rounds.serve(Draws(0, number)).row)
    assert len(looked) < 64 * 10


# --- many arms of few kinds -------------------------------------------------------------------


def many_arms(seed: int) -> ActiveSet:
    """Hundreds of arms that hardly differ: added and never served, waiting, with one reward."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(200, 400))
    n_known = int(n * [0.0, 0.1, 0.9][seed % 3])  # the others have no reward
    rewards = [rng.integers(0, 2, rng.integers(1, 3)).tolist() for _ in range(n_known)]
    waiting = rng.integers(0, 1 + seed % 4, n).tolist()
    expired = rng.integers(0, 2, n).tolist() if seed % 5 == 0 else []
    arms = arms_with(*rewards, *[[]] * (n - n_known), pending=waiting, expired=expired)
    if seed % 4 == 1:
        counts = np.where(rng.random(n) < 0.5, 0.0, 4.0)
        arms.put_beliefs(Beliefs(rng.choice([0.2, 0.7], n), counts, {}, 0.8))
    if seed % 4 == 2 and arms.totals.n_rewards:
        arms.put_memory(remember(arms))
    for number in range(n, n + 100):  # added by hand, after the model and the memory
        arms.admit(number + 1, {"x": number / 1000})
    if seed % 7 == 0:
        for row in rng.choice(len(arms), 150, replace=False).tolist():
            arms.put_state(row, "paused")
    return arms


def plainly(policy: Informed, arms: ActiveSet, draws: Draws) -> int:
    """What to serve, by the index of every arm; ties are broken as they always were."""
    tried = policy.tried_again(arms)
    if tried is not None:
        return tried
    index = policy.index(arms)
    now = index.moment(arms)
    rows = np.flatnonzero(arms.servable).tolist()
    scores = [kl_upper_of(*index.terms_of(index.known(arms, row, now), now)) for row in rows]
    tied = [row for row, score in zip(rows, scores, strict=True) if score == max(scores)]
    return tied[0] if len(tied) == 1 else int(draws.rng.choice(tied))


@pytest.mark.slow
@seeds(6, 42)
def test_many_arms_of_few_kinds_are_decided_as_by_the_index_of_each(seed: int) -> None:
    policy, arms = replace(Informed(), scale=1e-9, warmup=1), many_arms(seed)
    rounds = policy.rounds(arms, 40)
    for number in range(40):
        expected = plainly(policy, arms, Draws(seed, number))
        assert policy.serve(arms, Draws(seed, number)).row == expected
        assert rounds.serve(Draws(seed, number)).row == expected
        arms.count_pull(expected)


@seeds(3)
def test_arms_that_differ_only_in_what_still_waits_are_no_kind(seed: int) -> None:
    policy = replace(Informed(), scale=1e-9, warmup=1)
    waiting = np.random.default_rng(seed).integers(0, 3, 100)
    arms = arms_with(*[[]] * 100, pending=waiting.tolist(), expired=(2 - waiting).tolist())
    for number in range(30):
        expected = plainly(policy, arms, Draws(seed, number))
        assert policy.serve(arms, Draws(seed, number)).row == expected
        rounds = policy.rounds(arms, 4)
        assert rounds.serve(Draws(seed, number)).row == expected
        arms.count_pull(expected)


@pytest.mark.parametrize("is_rewarded", [False, True])
def test_arms_of_one_kind_are_looked_at_once(
    monkeypatch: pytest.MonkeyPatch, is_rewarded: bool
) -> None:
    arms = arms_with(*[[1.0] if is_rewarded else []] * 900)
    looked: list[int] = []
    terms_of = Index.terms_of

    def counted(*arguments: object) -> tuple[float, float]:
        looked.append(1)
        return terms_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Index, "terms_of", counted)
    policy = Informed(scale=1e-9, warmup=1)
    policy.serve(arms, Draws(0, 0))
    assert len(looked) == 1
    rounds = policy.rounds(arms, 64)
    for number in range(64):
        arms.count_pull(rounds.serve(Draws(0, number)).row)
    assert len(looked) < 64 * 20


def test_rows_are_alike_only_when_every_column_agrees() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.choice([0.0, -0.0, 1.0, np.nan], 300) for _ in range(3)]
    rows = np.flatnonzero(rng.random(300) < 0.7)
    kinds = Alike.of(columns, rows)
    found = [kinds.members(kind).tolist() for kind in range(len(kinds.starts))]
    expected: dict[bytes, list[int]] = {}
    for row in rows.tolist():
        key = b"".join(column[row].tobytes() for column in columns)
        expected.setdefault(key, []).append(row)
    assert sorted(found) == sorted(expected.values())
    assert kinds.joined(list(range(len(found)))).tolist() == rows.tolist()
