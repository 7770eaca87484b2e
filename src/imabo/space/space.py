"""The search space: which configurations exist, P0, their identity and their unit cube."""

from __future__ import annotations

import keyword
import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from imabo.errors import ImaboError, InvalidSpace
from imabo.space import from_dict, scalars
from imabo.space.base import Floats, Parameter, equal_cells
from imabo.space.conditions import (
    collect,
    matches,
    parents_first,
    requirements_of,
    resolve_conditions,
    resolve_forbid,
)
from imabo.space.counting import Counter, TooEntangled
from imabo.space.html import space_html
from imabo.space.scalars import Config, Scalar, show, value_key
from imabo.space.validation import Plan, canonical_config, check_forbidden, walk

if TYPE_CHECKING:
    import optuna
    from ConfigSpace import ConfigurationSpace

RARE = 0.02  # below this share of P0, exact draws are cheaper than drawing until one is allowed
QUICK_DRAWS = 500
MOST_DRAWS = 100_000  # where exact draws are out of reach


class Space:
    """A search space of named parameters, with conditions and forbidden combinations.

    Args:
        parameters: Name to parameter, for names that are not Python identifiers.
        forbid: Clauses, each a mapping from names to a value or a list of values. A configuration
            is forbidden when it matches one clause: every named parameter is active and has one
            of its listed values.
        **named: The parameters as keyword arguments, in the order of the unit cube.

    Attributes:
        names: The parameters' names in declared order: the coordinates of the unit cube.
        parameters: Read-only mapping of names to parameters.
        forbid: The clauses, each name with a tuple of values.
        is_conditional: Whether some parameter has a ``when``.
        is_unrelated: Whether no two configurations have anything in common that one could learn
            from: it is a single choice without an order.

    Example:
        >>> from imabo.space import Choice, Int, Space
        >>> space = Space(
        ...     model=Choice("small", "large"),
        ...     top_k=Int(1, 10),
        ...     tokens=Int(256, 8192, log=True, when={"model": "large"}),
        ...     forbid=[{"model": "small", "top_k": [9, 10]}],
        ... )
        >>> space.validate({"top_k": 3.0, "model": "small"})
        {'model': 'small', 'top_k': 3}
        >>> space.n_configs
        79378
        >>> space.allows({"model": "small", "top_k": 9})
        False
    """

    names: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    forbid: tuple[dict[str, tuple[Scalar, ...]], ...]
    is_conditional: bool
    is_unrelated: bool

    def __init__(
        self,
        parameters: Mapping[str, Parameter] | None = None,
        /,
        *,
        forbid: Iterable[Mapping[str, Any]] = (),
        **named: Parameter,
    ) -> None:
        resolved = resolve_conditions(collect(parameters, named))
        order = parents_first(resolved)
        self.names = tuple(resolved)
        self.parameters = MappingProxyType(resolved)
        self.forbid = resolve_forbid(resolved, forbid)
        self.is_conditional = any(parameter.when for parameter in resolved.values())
        self.is_unrelated = [p.unordered for p in resolved.values()] == [True]
        self._clauses = tuple(requirements_of(clause) for clause in self.forbid)
        conditions = {name: requirements_of(p.when) for name, p in resolved.items()}
        column = {name: j for j, name in enumerate(self.names)}
        self._plan: Plan = [(column[n], n, resolved[n], conditions[n]) for n in order]
        self._decoders = [(column[n], n, resolved[n].from_unit, conditions[n]) for n in order]
        self._encoders = [(j, n, resolved[n].to_unit) for n, j in column.items()]
        self._reorder = order != self.names
        self._columns = np.array([column[name] for name in order])
        sizes = [p.n_cells for p in resolved.values()]
        self._grid = np.array([j for j, size in enumerate(sizes) if size is not None], dtype=int)
        self._sizes = np.array([float(size) for size in sizes if size is not None])
        self._uneven = [
            (j, p)
            for j, p in enumerate(resolved.values())
            if p.n_cells is None and p.n_values is not None
        ]
        self._counter = Counter(order, resolved, conditions, self._clauses)
        self._lock = threading.Lock()
        self._counted = False
        self._n_configs: int | None = None
        self._exact = True
        self._allowed = 1.0  # P0's mass on what is allowed, as far as it is known
        if self._clauses and self._count() == 0:
            raise InvalidSpace(
                f"the forbid clauses {show(list(self.forbid))} exclude every configuration",
                "nothing is left to try",
                "remove a clause or list fewer values",
            )

    def _count(self) -> int | None:
        with self._lock:
            if not self._counted:
                try:
                    self._n_configs, self._allowed = self._counter.count()
                except TooEntangled:
                    self._exact = False
                self._counted = True
            return self._n_configs

    @property
    def n_configs(self) -> int | None:
        """Exact number of allowed configurations, or None when it is infinite.

        The cost follows how entangled conditions and clauses are, not the number itself. When
        they are so entangled that 20,000 steps do not settle it, the answer is None as well, and
        `sample` can only draw until it meets an allowed configuration (at most 100,000 times).
        """
        return self._count()

    def sample(self, rng: np.random.Generator) -> Config:
        """Draw an allowed configuration from P0, the same one for the same state of ``rng``.

        `validate` returns it unchanged.

        Example:
            >>> from imabo.space import Int, Space
            >>> Space(x=Int(1, 6)).sample(np.random.default_rng(0))
            {'x': 4}
        """
        if not self._clauses:
            return self.decode(rng.random(len(self.names)))
        if self._allowed >= RARE or not self._exact:
            for _ in range(QUICK_DRAWS if self._exact else MOST_DRAWS):
                config = self.decode(rng.random(len(self.names)))
                if not self.is_forbidden(config):
                    return config
        for _ in range(QUICK_DRAWS if self._exact else 0):
            config = self._sample_exactly(rng)
            if not self.is_forbidden(config):
                return config
        raise InvalidSpace(
            f"drawing from P0 met no allowed configuration among {show(self, 200)}",
            "the forbid clauses leave next to nothing",
            "forbid less, or leave the forbidden values out of the parameters",
        )

    def _sample_exactly(self, rng: np.random.Generator) -> Config:
        units = np.empty(len(self.names))
        with self._lock:
            units[self._columns] = self._counter.sample(rng)
        return self.decode(units)

    def validate(self, config: Mapping[str, Any]) -> Config:
        """Return the canonical form of a configuration: plain Python values in declared order.

        It has values of exactly the active parameters, in any order; NumPy scalars are fine. Else
        it is `InvalidConfig`, with the parameter, the value and what is allowed. Unknown names come
        first, then the parameters with parents before children, then the clauses.

        Example:
            >>> from imabo.space import Float, Space
            >>> Space(x=Float(0, 1)).validate({"x": 1})
            {'x': 1.0}
        """
        clean = canonical_config(config, self._plan, self.names)
        check_forbidden(clean, self.forbid, self._clauses)
        return clean

    def allows(self, config: Mapping[str, Any]) -> bool:
        """Say whether `validate` would accept a configuration.

        Example:
            >>> from imabo.space import Float, Space
            >>> Space(x=Float(0, 1)).allows({"x": 2})
            False
        """
        try:
            self.validate(config)
        except ImaboError:
            return False
        return True

    def identity(self, config: Config) -> str:
        """Write a validated configuration as canonical JSON, the same in every space.

        Example:
            >>> from imabo.space import Float, Space
            >>> Space(x=Float(0, 1)).identity({"x": 1.0})
            '{"x":1}'
        """
        return scalars.identity(config)

    def encode(self, config: Config) -> tuple[Floats, NDArray[np.bool_]]:
        """Map a validated configuration to the unit cube.

        Returns units and activity mask in the order of `names`; inactive ones are 0.5 and False.

        Example:
            >>> from imabo.space import Choice, Float, Space
            >>> Space(a=Choice(1, 2), b=Float(0, 4, when={"a": 2})).encode({"a": 1})
            (array([0.25, 0.5 ]), array([ True, False]))
        """
        units = [0.5] * len(self.names)
        mask = [False] * len(self.names)
        for column, name, to_unit in self._encoders:
            if name in config:
                units[column] = to_unit(config[name])
                mask[column] = True
        return np.array(units), np.array(mask)

    def decode(self, units: Floats) -> Config:
        """Map a point of the unit cube, a number for each name, to the configuration there.

        Conditions are applied, so coordinates of inactive parameters do not matter. Forbidden
        combinations are not checked: see `is_forbidden`.

        Example:
            >>> from imabo.space import Choice, Float, Space
            >>> Space(a=Choice(1, 2), b=Float(0, 4, when={"a": 2})).decode(np.array([0.9, 0.5]))
            {'a': 2, 'b': 2.0}
        """
        position = units.tolist()
        config: Config = {}
        for column, name, from_unit, conditions in self._decoders:
            if not conditions or matches(config, conditions):
                config[name] = from_unit(position[column])
        if self._reorder:
            return {name: config[name] for name in self.names if name in config}
        return config

    def is_forbidden(self, config: Config) -> bool:
        """Say whether a configuration matches one of the forbidden combinations."""
        return any(matches(config, clause) for clause in self._clauses)

    def cells(self, units: Floats) -> tuple[Floats, Floats]:
        """Return the lower and upper edges of the cells of points of the unit cube, (n, d) each.

        Both equal ``units`` where a parameter is a continuum.

        Example:
            >>> from imabo.space import Choice, Float, Space
            >>> Space(a=Choice(1, 2), b=Float(0, 4)).cells(np.array([[0.1, 0.3]]))
            (array([[0. , 0.3]]), array([[0.5, 0.3]]))
        """
        units = np.asarray(units, dtype=np.float64)
        lower, upper = units.copy(), units.copy()
        if len(self._grid):
            lower[:, self._grid], upper[:, self._grid] = equal_cells(
                units[:, self._grid], self._sizes
            )
        for column, parameter in self._uneven:
            lower[:, column], upper[:, column] = parameter.cells(units[:, column])
        return lower, upper

    def settle(self, units: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Take points of the unit cube to where their configurations are, many at a time.

        What `decode` and then `encode` do, up to the place within a cell of a log-scaled integer:
        ``units`` and the results, units and activity masks, have the shape (n, d).

        Example:
            >>> from imabo.space import Choice, Float, Space
            >>> space = Space(a=Choice(1, 2), b=Float(0, 4, when={"a": 2}))
            >>> space.settle(np.array([[0.1, 0.3], [0.9, 0.3]]))[0].tolist()
            [[0.25, 0.5], [0.75, 0.3]]
        """
        settled = np.array(units, dtype=np.float64)
        if len(self._grid):
            cells = np.floor(settled[:, self._grid] * self._sizes)
            settled[:, self._grid] = (np.clip(cells, 0, self._sizes - 1) + 0.5) / self._sizes
        for column, parameter in self._uneven:
            settled[:, column] = np.mean(parameter.cells(settled[:, column]), axis=0)
        mask = np.ones(settled.shape, dtype=np.bool_)
        for column, _, parameter, _ in self._plan:
            for parent, values in parameter.when.items():
                mask[:, column] &= self._takes(parent, values, settled, mask)
        return np.where(mask, settled, 0.5), mask

    def _takes(
        self, name: str, values: tuple[Any, ...], settled: Floats, mask: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Say which points have a parameter active, with one of some values."""
        column, parameter = self.names.index(name), self.parameters[name]
        # Places in one cell have the same lower edge, wherever in it they are.
        wanted, _ = parameter.cells(np.array([parameter.to_unit(value) for value in values]))
        edges, _ = parameter.cells(settled[:, column])
        return mask[:, column] & np.isin(edges, wanted)

    def configs(self) -> Iterator[Config]:
        """Yield every allowed configuration of a finite space once, always in the same order.

        If a parameter that can be active is a continuum, it is `InvalidSpace`.

        Example:
            >>> from imabo.space import Choice, Int, Space
            >>> list(Space(a=Choice("x", "y"), b=Int(1, 2, when={"a": "y"})).configs())
            [{'a': 'x'}, {'a': 'y', 'b': 1}, {'a': 'y', 'b': 2}]
        """
        for name, parameter in self.parameters.items():
            if parameter.n_values is None and self.n_configs is None:
                raise InvalidSpace(
                    f"parameter {name!r} is a continuum",
                    "the configurations of this space cannot be listed",
                    "give it a step, or use sample",
                )
        return walk(self._plan, self.names, self._clauses)

    def to_dict(self) -> dict[str, Any]:
        """Return the space as JSON-safe values; `from_dict` reads them back.

        Example:
            >>> from imabo.space import Int, Space
            >>> Space(x=Int(1, 3)).to_dict()["parameters"]
            [{'name': 'x', 'type': 'int', 'low': 1, 'high': 3, 'log': False, 'step': 1, 'when': {}}]
        """
        # A list, so that the order is kept.
        parameters = [{"name": name, **p.to_dict()} for name, p in self.parameters.items()]
        return {"parameters": parameters, "forbid": self._listed_clauses()}

    def _listed_clauses(self) -> list[dict[str, Any]]:
        return [{name: list(values) for name, values in clause.items()} for clause in self.forbid]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Space:
        """Read a space that `to_dict` wrote, perhaps through JSON.

        Malformed input of any shape is `InvalidSpace`, with the place and the reason.

        Example:
            >>> from imabo.space import Int, Space
            >>> Space.from_dict(Space(x=Int(1, 3)).to_dict())
            Space(x=Int(1, 3))
        """
        parameters, forbid = from_dict.convert(data)
        return cls(parameters, forbid=forbid)

    @classmethod
    def from_optuna(
        cls, distributions: Mapping[str, optuna.distributions.BaseDistribution]
    ) -> Space:
        """Build the space that a dict of float, integer or categorical distributions describes.

        Needs ``pip install "imabo[optuna]"``.

        Example:
            >>> from optuna.distributions import IntDistribution
            >>> Space.from_optuna({"depth": IntDistribution(1, 64, log=True)})
            Space(depth=Int(1, 64, log=True))
        """
        from imabo.space.from_optuna import convert

        return cls(convert(distributions))

    @classmethod
    def from_configspace(cls, cs: ConfigurationSpace) -> Space:
        """Build the space that a ConfigSpace object describes.

        Needs ``pip install "imabo[configspace]"``. Uniform floats and integers, categories with
        equal weights, ordinals and constants are read; conditions and forbidden clauses as far as
        they are lists of values joined by "and". Anything else is `InvalidSpace`.

        Example:
            >>> from ConfigSpace import ConfigurationSpace
            >>> Space.from_configspace(ConfigurationSpace({"depth": (1, 64)}))
            Space(depth=Int(1, 64))
        """
        from imabo.space.from_configspace import convert

        parameters, forbid = convert(cs)
        return cls(parameters, forbid=forbid)

    def _identity(self) -> tuple[Hashable, ...]:
        clauses = frozenset(
            frozenset((name, frozenset(map(value_key, values))) for name, values in clause.items())
            for clause in self.forbid
        )
        return (tuple(self.parameters.items()), clauses)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.parameters

    def __repr__(self) -> str:
        # Python folds some non-ASCII identifiers into others, so those are written as strings.
        if all(
            n.isidentifier() and n.isascii() and not keyword.iskeyword(n) and n != "forbid"
            for n in self.names
        ):
            parts = [f"{name}={parameter!r}" for name, parameter in self.parameters.items()]
        else:
            parts = [repr(dict(self.parameters))]
        if self.forbid:
            parts.append(f"forbid={self._listed_clauses()!r}")
        return f"Space({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """For notebooks: a row a parameter."""
        return space_html(self.parameters, self.forbid)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Space.from_dict, (self.to_dict(),))
