"""What the parts of the study contract share: the fixture, a clock, and what 'unchanged' means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from imabo.arms import Arm, Pull
from imabo.errors import ImaboError
from imabo.oracles import Random
from imabo.space import Choice, Float, Int, Space
from imabo.study import Study

# make_study(name, space, **settings), with the settings of Study.create
MakeStudy = Callable[..., Study]


# For cases whose many rounds are not about the model of the default, which takes its time.
QUICK: Final[dict[str, Any]] = {"oracle": Random()}


class ManualClock:
    """A clock that stands still until it is moved; pass it as ``clock=``.

    Example:
        >>> clock = ManualClock(100.0)
        >>> clock.now += 5
        >>> clock()
        105.0
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now: Any = now

    def __call__(self) -> Any:
        """What the clock was set to, sensible or not."""
        return self.now


class StudyCases:
    """Base of the contract's parts: they all ask for a study through ``make_study``."""

    @pytest.fixture
    def make_study(self) -> MakeStudy:
        """Override it: a function ``make_study(name, space, **settings)``."""
        raise NotImplementedError("a subclass of StudyContract must provide the make_study fixture")

    @pytest.fixture
    def study(self, make_study: MakeStudy) -> Study:
        """A new study of ``mixed_space``."""
        return make_study("s", mixed_space(), seed=1)


def mixed_space() -> Space:
    """A space with every kind of parameter, a condition and a forbidden combination."""
    return Space(
        model=Choice("small", "large"),
        temperature=Float(0.0, 1.0),
        top_k=Int(1, 10),
        tokens=Int(256, 8192, log=True, when={"model": "large"}),
        forbid=[{"model": "small", "top_k": [9, 10]}],
    )


def letters(*values: str) -> Space:
    """A space of one choice: as many configurations as values."""
    return Space(letter=Choice(*values))


def facts_of(study: Study) -> tuple[dict[str, int], list[Arm], list[Pull]]:
    """Everything that a refused call must leave as it was."""
    counts = {
        name: getattr(study, name)
        for name in ("n_pulls", "n_rewards", "n_pending", "n_expired", "n_arms", "space_version")
    }
    return counts, study.arms(), list(study)


@contextmanager
def refused(
    study: Study, error: type[ImaboError], value: object = None
) -> Iterator[pytest.ExceptionInfo[ImaboError]]:
    """The block must raise ``error``, say ``value``, and leave the study as it was."""
    before = facts_of(study)
    with pytest.raises(error) as caught:
        yield caught
    if value is not None:
        assert repr(value) in str(caught.value)
    assert facts_of(study) == before


def play(study: Study, rounds: int, reward: Callable[[Pull], float]) -> list[Pull]:
    """Ask and tell at once, so many times."""
    pulls = []
    for _ in range(rounds):
        pull = study.ask()
        study.tell(pull.id, reward(pull))
        pulls.append(pull)
    return pulls


def change_world(study: Study, scale: float = 1.0) -> None:
    """Serve a study of ``letters("a", "b", "c")`` whose best letter, "a", stops being good.

    Rewards are 0 or ``scale``. It ends when the study, whose policy must watch, has noticed.
    """
    for done in range(0, 400, 20):
        rewards = []
        for pull in study.ask(count=20):
            good = (0.9 if done < 300 else 0.1) if pull.config["letter"] == "a" else 0.3
            number = int(pull.id.rpartition("-")[2])
            rewards.append((pull.id, scale * float((number * 0.6180339887) % 1.0 < good)))
        assert study.tell_many(rewards) == [None] * 20
        if study.events(limit=1)[0].kind == "drift":
            return
    raise AssertionError("the change was not noticed within 100 rewards")


def temperature_of(pull: Pull) -> float:
    """The pull's temperature in ``mixed_space``; also a fine reward."""
    value = pull.config["temperature"]
    assert isinstance(value, float)
    return value


def arm_with(study: Study, **config: object) -> Arm:
    """The one arm with this configuration."""
    (arm,) = [arm for arm in study.arms() if arm.config == config]
    return arm
