"""TPE-K: Optuna's TPE, each suggestion served K times and told its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from imabo.bench.methods.base import Method
from imabo.bench.methods.instant import InstantPlayer, rng_of
from imabo.bench.problems.base import Problem
from imabo.errors import MissingExtra
from imabo.space import Choice, Config, Float, Int, Space
from imabo.space.base import Parameter
from imabo.space.conditions import matches, parents_first, requirements_of
from imabo.space.scalars import Scalar

if TYPE_CHECKING:
    from optuna import Study, Trial

_TRIES = 100  # suggestions that may be forbidden before one is drawn from P0


class TPEPlayer(InstantPlayer):
    """An Optuna study that is asked every ``repeats`` rounds.

    The sampler is ``TPESampler(seed=seed)`` with every other setting at its default. In Optuna 5
    these are: a joint (multivariate) density for the parameters that every trial has and single
    ones for the conditional rest, 10 random trials first, 24 candidates, the best min(10 %, 25)
    trials as the good group.

    A forbidden suggestion is told as failed, which teaches the sampler nothing, and asked again;
    after ``_TRIES`` of them a draw from P0 is enqueued.
    """

    def __init__(self, space: Space, repeats: int, seed: int) -> None:
        super().__init__(space)
        optuna = _optuna()
        sampler = optuna.samplers.TPESampler(seed=seed % 2**32)
        self.study: Study = optuna.create_study(direction="maximize", sampler=sampler)
        self._failed = optuna.trial.TrialState.FAIL
        self._repeats = repeats
        self._rng = rng_of(seed)
        self._order = parents_first(space.parameters)
        self._configs: dict[int, Config] = {}
        self._trial: Trial | None = None
        self._rewards: list[float] = []
        self._n_trials = 0
        self._n_finished = 0

    def choose(self) -> Config:
        """The current suggestion, or a new one after its K rounds."""
        if self._trial is None:
            self._trial = self._suggestion()
        return self._configs[self._trial.number]

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

    def learn(self, config: Config, reward: float) -> None:
        """Collect K rewards, then tell Optuna their mean."""
        del config
        self._rewards.append(reward)
        if self._trial is not None and len(self._rewards) == self._repeats:
            self.study.tell(self._trial, sum(self._rewards) / self._repeats)
            self._trial, self._rewards = None, []
            self._n_finished += 1

    def recommend(self) -> Config | None:
        """The suggestion with the best mean; before one is finished, the one being served."""
        if self._n_finished:
            return self._configs[self.study.best_trial.number]
        return self._configs[self._trial.number] if self._trial and self._rewards else None

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
            'install it with: pip install "imabo[bench]"',
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
        """Begin a run; neither horizon nor window is used."""
        del rounds, window
        return TPEPlayer(problem.space, self.repeats, seed)


METHODS = tuple(
    TPEK(f"tpe-{k}", k, f"Optuna's TPE, each suggestion served {k} times")
    for k in (1, 10, 50, 70, 100, 200)
)
