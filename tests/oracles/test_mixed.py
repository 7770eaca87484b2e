"""Mixed: the share of P0 draws, and what it refuses (thm. quantile-regret)."""

from __future__ import annotations

import pytest

from imabo import Float, Space
from imabo.errors import InvalidSetting
from imabo.oracles import TPE, Mixed, Mutate, Random

from .sets import proposals, sampled


@pytest.mark.parametrize(("epsilon", "low", "high"), [(0.0, 0, 0), (0.3, 60, 120), (1.0, 300, 300)])
def test_epsilon_is_the_share_of_p0_draws(epsilon: float, low: int, high: int) -> None:
    arms = sampled(Space(x=Float(0, 1)), 20, lambda config: float(config["x"] or 0.0))
    made = proposals(Mixed(Mutate(), epsilon=epsilon), arms, 300)
    assert low <= sum(p.origin == "baseline" for p in made) <= high


@pytest.mark.parametrize("epsilon", [-0.1, 1.1, float("nan"), True, "0.1"])
def test_an_epsilon_that_is_no_share_is_refused(epsilon: object) -> None:
    with pytest.raises(InvalidSetting, match="epsilon"):
        Mixed(Random(), epsilon=epsilon)  # type: ignore[arg-type]


def test_something_that_is_no_oracle_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="oracle"):
        Mixed(TPE)  # type: ignore[arg-type]
