"""What is true of a study at every moment."""

from __future__ import annotations

from collections import Counter

import pytest

from imabo import Pull, Study
from imabo.testing.study.base import facts_of


def check_counters(study: Study) -> list[Pull]:
    """Counters are sums over the pulls, ids are unique, no two arms are the same configuration."""
    counts, arms, pulls = facts_of(study)
    states = Counter(pull.state for pull in pulls)
    assert (
        (counts["n_pulls"], counts["n_arms"])
        == (len(study), len(arms))
        == (
            len(pulls),
            len({arm.id for arm in arms}),
        )
    )
    assert (counts["n_rewards"], counts["n_pending"], counts["n_expired"]) == (
        states["rewarded"],
        states["pending"],
        states["expired"],
    )
    assert len({pull.id for pull in pulls}) == len(pulls)
    assert len({study.space.identity(arm.config) for arm in arms}) == len(arms)
    by_arm: dict[int, list[Pull]] = {arm.id: [] for arm in arms}
    for pull in pulls:
        by_arm[pull.arm].append(pull)
    for arm in arms:
        mine = by_arm[arm.id]
        rewards = [pull.reward for pull in mine if pull.reward is not None]
        assert (arm.n_pulls, arm.n_rewards) == (len(mine), len(rewards))
        assert arm.n_pending == sum(pull.state == "pending" for pull in mine)
        assert arm.mean == (pytest.approx(sum(rewards) / len(rewards)) if rewards else None)
        assert all(pull.config == arm.config for pull in mine)
        assert arm.state == "retired" or study.space.allows(arm.config)
    return pulls
