"""TPE-K: Optuna's TPE, each suggestion served K times and told its mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from imabo.errors import MissingExtra
from imabo.space import Choice, Config, Float, Int, Space
from imabo.space.base import Parameter
from imabo.space.conditions import matches, parents_first, requirements_of
from imabo.space.scalars import Scalar
from imabo_bench.methods.base import Method
from imabo_bench.methods.instant import rng_of
from imabo_bench.methods.late import LatePlayer
from imabo_bench.problems.base import Problem

if TYPE_CHECKING:
    from optuna import Study, Trial

_TRIES = 100  # suggestions that may be forbidden before one is drawn from P0


@dataclass
class _Suggestion:
    """A trial that Optuna was not told yet."""

    trial: Trial
    n_served: int = 0
    served_at: float = 0.0
    rewards: list[float] = field(default_factory=list)


class TPEPlayer(LatePlayer):
    """An Optuna study that is asked every ``repeats`` rounds.

    The sampler is ``TPESampler(seed=seed)`` with every other setting at its default. In Optuna 5
    these are: a joint (multivariate) density for the parameters that every trial has and single
    ones for the conditional rest, 10 random trials first, 24 candidates, the best min(10 %, 25)
    trials as the good group.

    A forbidden suggestion is told as failed, which teaches the sampler nothing, and asked again;
    after ``_TRIES`` of them a draw from P0 is enqueued.

    Rewards may be late: several trials are open then, and Optuna takes open ones for bad (its
    constant liar). Rewards may be lost: when the window of a trial's last round is over, the mean
    of what came is told, and a trial without any reward as failed.
    """

    def __init__(
        self, space: Space, repeats: int, seed: int, *, window: float | None = None
    ) -> None:
        super().__init__(space)
        optuna = _optuna()
        sampler = optuna.samplers.TPESampler(seed=seed % 2**32)
        self.study: Study = optuna.create_study(direction="maximize", sampler=sampler)
        self._failed = optuna.trial.TrialState.FAIL
        self._repeats = repeats
        self._rng = rng_of(seed)
        self._order = parents_first(space.parameters)
        self._configs: dict[int, Config] = {}
        self._current: _Suggestion | None = None
        self._untold: dict[int, _Suggestion] = {}  # by number, so the oldest first
        self._window = window
        self._clock = 0.0
        self._n_trials = 0
        self._n_finished = 0

    def choose(self) -> tuple[int, Config]:
        """The current suggestion, or a new one after its K rounds."""
        if self._current is None or self._current.n_served == self._repeats:
            self._current = _Suggestion(self._suggestion())
            self._untold[self._current.trial.number] = self._current
        self._current.n_served += 1
        self._current.served_at = self._clock
        number = self._current.trial.number
        return number, self._configs[number]

    def _suggestion(self) -> Trial:
        for _ in range(_TRIES):
            trial = self._ask()
            if not self.space.is_forbidden(self._configs[trial.number]):
                return trial
            self.study.tell(trial, state=self._failed)
        config = self.space.sample(self._rng)
        parameters = self.space.parameters
        self.study.enqueue_trial({n: _told(parameters[n], v) for n, v in config.items()})
        return self._ask()

    def _ask(self) -> Trial:
        trial = self.study.ask()
        self._n_trials += 1
        config: Config = {}
        for name in self._order:
            parameter = self.space.parameters[name]
            if matches(config, requirements_of(parameter.when)):
                config[name] = parameter.validate(_suggest(trial, name, parameter))
        self._configs[trial.number] = {n: config[n] for n in self.space.names if n in config}
        return trial

    def learn(self, number: int, reward: float) -> None:
        """Collect K rewards, then tell Optuna their mean; what comes after that is too late."""
        suggestion = self._untold.get(number)
        if suggestion is not None:
            suggestion.rewards.append(reward)
            if len(suggestion.rewards) == self._repeats:
                self._finish(suggestion)

    def advance(self, clock: float) -> None:
        """Finish what is past its window."""
        self._clock = clock
        if self._window is not None:
            for suggestion in list(self._untold.values()):
                if clock - suggestion.served_at <= self._window:
                    break
                if suggestion.n_served == self._repeats:
                    self._finish(suggestion)

    def _finish(self, suggestion: _Suggestion) -> None:
        del self._untold[suggestion.trial.number]
        if suggestion.rewards:
            self.study.tell(suggestion.trial, sum(suggestion.rewards) / len(suggestion.rewards))
            self._n_finished += 1
        else:
            self.study.tell(suggestion.trial, state=self._failed)

    def recommend(self) -> Config | None:
        """The suggestion with the best mean; before one is finished, the first with a reward."""
        if self._n_finished:
            return self._configs[self.study.best_trial.number]
        rewarded = (s.trial.number for s in self._untold.values() if s.rewards)
        number = next(rewarded, None)
        return None if number is None else self._configs[number]

    @property
    def n_proposals(self) -> int:
        """Suggestions that Optuna was asked for."""
        return self._n_trials


def _suggest(trial: Trial, name: str, parameter: Parameter) -> Scalar:
    """The parameter as an Optuna distribution; ordered categories are their place in the order."""
    if isinstance(parameter, Float):
        low, high = parameter.low, parameter.high
        return trial.suggest_float(name, low, high, log=parameter.log, step=parameter.step)
    if isinstance(parameter, Int):
        low, high = parameter.low, parameter.high
        return trial.suggest_int(name, low, high, log=parameter.log, step=parameter.step)
    choices = list(parameter.values())
    if parameter.unordered:
        return choices[trial.suggest_categorical(name, range(len(choices)))]
    return choices[trial.suggest_int(name, 0, len(choices) - 1)]


def _told(parameter: Parameter, value: Scalar) -> Scalar:
    """The inverse of ``_suggest``: what Optuna knows a value as."""
    if isinstance(parameter, Choice):
        return int(parameter.to_unit(value) * parameter.n_values)
    return value


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise MissingExtra(
            "Optuna is not installed",
            "TPE-K is its sampler",
            "install it with: pip install imabo-bench",
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


@dataclass(frozen=True)
class TPEK(Method):
    """Optuna's TPE with a fixed number of rounds for each suggestion (see ``TPEPlayer``)."""

    name: str
    repeats: int
    summary: str

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> TPEPlayer:
        """Begin a run; the horizon is not used."""
        del rounds
        return TPEPlayer(problem.space, self.repeats, seed, window=window)


METHODS = tuple(
    TPEK(f"tpe-{k}", k, f"Optuna's TPE, each suggestion served {k} times")
    for k in (1, 10, 50, 70, 100, 200)
)
