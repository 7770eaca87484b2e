"""TabPFN: rank changes of the best arm by a pretrained tabular model (subsec. tabfm)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats, Ints
from imabo.errors import InvalidSetting
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new, fresh_pool
from imabo.oracles.groups import category_counts
from imabo.oracles.local import leaders, switch, try_unseen
from imabo.oracles.tabpfn_network import Network
from imabo.settings import check_count, check_fraction
from imabo.space.base import Parameter
from imabo.space.scalars import show

_DEVICE = re.compile(r"cpu|mps|cuda(:\d+)?")


@dataclass(frozen=True, slots=True)
class TabPFN(Oracle):
    """Let a pretrained tabular model choose among changes of the best arm (IMOSS-TabPFN).

    The arms and their mean rewards are a table that the model TabPFN-3 reads as examples, without
    any training. Of a pool, most of it the best arm with one parameter changed, the candidate with
    the highest quantile of predicted reward is proposed. Use it where a request costs far more than
    a second of computing: it is by far the slowest oracle. Needs ``pip install "imabo[tabpfn]"``
    and weights under a licence of their own; see docs/research/tabpfn.md. Without either, a
    proposal is ``MissingExtra`` or ``MissingData``.

    A parameter that is not active is a missing value of the table. A change that switches
    parameters on gives them the values they have in the best arm that has them. After
    ``update_space``, half of the proposals go to values that no arm has, while there are any.

    Args:
        candidates: Size of the pool, at least 1, before repeats and existing arms are dropped.
        mutations: How many of them are changes of the best arm, at most ``candidates``; the others
            are drawn from P0.
        step: Width of the Gaussian step of a mutated number, as a share of its range (on a log
            scale, of the logarithm's), in (0, 1).
        quantile: Quantile q of the predicted reward that ranks the candidates, in (0, 1).
        estimators: Members of the ensemble, each with its own ordering and preprocessing of the
            columns, at least 1.
        startup: Below this many arms with a reward, draw from P0.
        model_path: File with the weights of the regressor; None takes the file that the package
            ``tabpfn`` keeps after ``prepare(download=True)``.
        device: Where the model runs: ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``.

    Example:
        >>> from imabo import Float, Space
        >>> from imabo.arms import ActiveSet
        >>> few = ActiveSet.from_rewards(Space(x=Float(0, 1)), [({"x": 0.2}, [1.0])])
        >>> TabPFN().propose(few, few.means, np.random.default_rng(0)).origin  # fewer than ten arms
        'baseline'
    """

    candidates: int = 100
    mutations: int = 90
    step: float = 0.1
    quantile: float = 0.975
    estimators: int = 4
    startup: int = 10
    model_path: str | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_count("candidates", self.candidates, least=1)
        check_count("mutations", self.mutations)
        if self.mutations > self.candidates:
            why = f"it is a part of the {self.candidates} candidates"
            fix = "pass fewer mutations or more candidates"
            raise InvalidSetting(f"mutations is {self.mutations}", why, fix)
        check_fraction("step", self.step)
        check_fraction("quantile", self.quantile)
        check_count("estimators", self.estimators, least=1)
        check_count("startup", self.startup)
        if self.model_path is not None and (
            not isinstance(self.model_path, str) or not self.model_path
        ):
            why = "it must be the path of a file, as a text, or None"
            raise InvalidSetting(f"model_path is {show(self.model_path)}", why, "pass str(path)")
        if not isinstance(self.device, str) or not _DEVICE.fullmatch(self.device):
            why, fix = "it must be the name of one device", "pass 'cpu', 'cuda', 'cuda:1' or 'mps'"
            raise InvalidSetting(f"device is {show(self.device)}", why, fix)

    def prepare(self, *, download: bool = False) -> None:
        """Load the weights now, so that a service without them fails when it starts.

        Args:
            download: With ``model_path=None``, have the package ``tabpfn`` fetch the weights of
                TabPFN-3 first, if they are not there yet; it asks you to accept their licence. A
                proposal never downloads anything.
        """
        self._network.load(download=download)

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """The candidate with the highest quantile of predicted reward; never an existing arm."""
        del scores
        if arms.exhausted:
            return Exhausted()
        rewarded = np.flatnonzero(arms.n_rewards > 0)
        if len(rewarded) < max(self.startup, 2):
            return draw_new(arms, rng)
        return try_unseen(arms, rng) or self._highest(arms, rewarded, rng) or draw_new(arms, rng)

    @property
    def _network(self) -> Network:
        return Network(self.model_path, self.device)

    def _highest(
        self, arms: ActiveSet, rewarded: Ints, rng: np.random.Generator
    ) -> Proposal | None:
        pool = self._pool(arms, rng)
        if not pool:
            return None
        units, mask = zip(*(arms.space.encode(made.config) for made in pool), strict=True)
        upper = self._network.quantiles(
            _table(arms, arms.units[rewarded], arms.mask[rewarded]),
            arms.means[rewarded],
            _table(arms, np.array(units), np.array(mask)),
            categorical=np.flatnonzero(category_counts(arms)).tolist(),
            quantile=float(self.quantile),
            estimators=self.estimators,
            seed=int(rng.integers(2**31)),
        )
        return pool[int(upper.argmax())]  # the largest F_x^-1(q) of the pool

    def _pool(self, arms: ActiveSet, rng: np.random.Generator) -> list[Proposal]:
        """The candidates: different from each other and from every arm, and allowed."""
        drawn = list(self._mutations(arms, rng))
        n_baseline = self.candidates - len(drawn)
        drawn += [Proposal(arms.space.sample(rng)) for _ in range(n_baseline)]
        pool: dict[str, Proposal] = {}
        for made in drawn:
            if made.config not in arms and not arms.space.is_forbidden(made.config):
                pool.setdefault(arms.space.identity(made.config), made)
        if pool:
            return list(pool.values())
        # Most of a finite space is used up: rank some of what is left.
        left = fresh_pool(arms, rng)
        return [Proposal(left[i]) for i in rng.permutation(len(left))[: self.candidates]]

    def _mutations(self, arms: ActiveSet, rng: np.random.Generator) -> Iterator[Proposal]:
        """The arm of highest mean with one parameter changed, again and again."""
        parent = next(leaders(arms, rng), None)
        if parent is None:
            return  # every arm that has a reward is retired
        parameters = list(arms.space.parameters.values())
        active = np.flatnonzero(arms.mask[parent])
        free = [int(j) for j in active if parameters[j].n_values != 1]
        for coordinate in rng.choice(free, self.mutations).tolist() if free else ():
            unit = float(arms.units[parent, coordinate])
            changed = self._change(parameters[coordinate], unit, rng)
            config = arms.space.decode(switch(arms, parent, coordinate, changed, rng))
            name = arms.space.names[coordinate]
            yield Proposal(config, parent=int(arms.ids[parent]), mutated=name)

    def _change(self, parameter: Parameter, unit: float, rng: np.random.Generator) -> float:
        """Another category, each equally likely; else a Gaussian step that stays in range."""
        if parameter.unordered and parameter.n_values:
            n = parameter.n_values
            other = (int(unit * n) + int(rng.integers(1, n))) % n
            return (other + 0.5) / n
        return min(max(unit + self.step * float(rng.standard_normal()), 0.0), 1.0)


def _table(arms: ActiveSet, units: Floats, mask: Bools) -> Floats:
    """One row a configuration, one column a parameter, NaN where it is not active.

    Numbers as their place in the range (on a log scale where they have one), which is the scale
    that the steps are made on; unordered choices as the number of the category.
    """
    counts = category_counts(arms)
    return np.where(mask, np.where(counts > 0, np.floor(units * counts), units), np.nan)
