"""PyXAB's algorithms, made reproducible and without their repeated sums, and what they recommend.

They decide exactly as PyXAB's own do. PyXAB recomputes every cell's bound from the list of its
rewards in every round (40 s for HOO-T at 10,000 rounds); here a bound is computed when it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from imabo.errors import InvalidSetting, MissingExtra
from imabo.space.scalars import show

Point = list[float]


def make_stosoo(rounds: int, dim: int, seed: int) -> Any:
    """StoSOO (Valko et al., 2013)."""
    _check_rounds("stosoo", rounds, at_least=2)
    _require_pyxab()
    from PyXAB.algos.StoSOO import StoSOO, StoSOO_node

    class Node(_with_running_sum(StoSOO_node)):  # type: ignore[misc]
        known_at = -1  # visits when the bound was computed

        def compute_b_value(self, n: int, k: float, delta: float) -> None:
            if self.known_at != self.visited_times:
                self.known_at = self.visited_times
                super().compute_b_value(n, k, delta)

    return StoSOO(n=rounds, domain=_box(dim), partition=_seeded_partition(seed, Node))


def stosoo_best(algorithm: Any) -> Point | None:
    """The highest mean at the greatest depth at which a cell has been expanded; ties: the last.

    PyXAB's ``get_last_point`` looks one layer deeper, at cells that may have no reward.
    """
    layers = algorithm.partition.get_node_list()
    expanded = [layer for layer in layers if any(n.get_children() for n in layer)]
    deepest = expanded[-1] if expanded else layers[0]
    return _best_point(reversed([n for n in deepest if n.get_visited_times()]), "get_mean_reward")


def make_hoo(rounds: int, dim: int, seed: int) -> Any:
    """HOO-T (Bubeck et al., 2011), nu = 1 and rho = 0.5."""
    _check_rounds("hoo-t", rounds, at_least=2)
    _require_pyxab()
    from PyXAB.algos.HOO import T_HOO, HOO_node

    class PathHOO(T_HOO):  # type: ignore[misc]
        """A round changes the bounds of the cells on its path and no others."""

        def updateUvalueTree(self) -> None:  # noqa: N802
            for node in self.path:
                node.compute_u_value(nu=self.nu, rho=self.rho, rounds=self.rounds)

        def updateBackwardTree(self) -> None:  # noqa: N802
            for node in reversed(self.path[1:]):
                below = [child.get_b_value() for child in node.get_children() or ()]
                node.update_b_value(min(node.get_u_value(), max(below, default=np.inf)))

    node = _with_running_sum(HOO_node)
    return PathHOO(rounds=rounds, domain=_box(dim), partition=_seeded_partition(seed, node))


def hoo_best(algorithm: Any) -> Point | None:
    """The visited cell with the largest B-value as it was last computed; ties: the first.

    The root is left out: PyXAB never gives it a B-value.
    """
    below_root = algorithm.partition.get_node_list()[1:]
    visited = (n for layer in below_root for n in layer if n.get_visited_times())
    return _best_point(visited, "get_b_value")


def make_stroquool(rounds: int, dim: int, seed: int) -> Any:
    """StroquOOL (Bartlett et al., 2019)."""
    _require_pyxab()
    from PyXAB.algos.StroquOOL import StroquOOL, StroquOOL_node

    # Shorter, and its greatest depth would be 0.
    shortest = next(
        n for n in range(1, 200) if n >= 2 * (StroquOOL.harmonic_series_sum(n) + 1) ** 2
    )
    _check_rounds("stroquool", rounds, at_least=shortest)
    partition = _seeded_partition(seed, StroquOOL_node)
    return StroquOOL(n=rounds, domain=_box(dim), partition=partition)


def stroquool_best(algorithm: Any) -> Point | None:
    """The shortlisted cell with the highest validation mean.

    Before the validation, the visited cell with the highest mean.
    """
    if algorithm.end:
        return list(algorithm.get_last_point())
    nodes = [n for n in algorithm.candidate if n.rewards]
    nodes = nodes or [n for n in algorithm.chosen if n.rewards]
    if not nodes:
        return None
    return list(max(nodes, key=lambda n: sum(n.rewards) / len(n.rewards)).get_cpoint())


def _best_point(nodes: Any, value: str) -> Point | None:
    best = max(nodes, key=lambda node: getattr(node, value)(), default=None)
    return None if best is None else list(best.get_cpoint())


def _box(dim: int) -> list[list[float]]:
    return [[0.0, 1.0] for _ in range(dim)]


def _with_running_sum(node: Any) -> Any:
    class Node(node):  # type: ignore[misc]
        """Keeps the sum of its rewards where PyXAB keeps the list and adds it up again."""

        rewards: list[float]
        visited_times: int

        def update_reward(self, reward: float) -> None:
            self.visited_times += 1
            self.rewards = [sum(self.rewards) + reward]
            self.mean_reward = self.rewards[0] / self.visited_times

    return Node


def _seeded_partition(seed: int, node: Any) -> Callable[..., Any]:
    """PyXAB's binary partition, which halves a random axis, with a random state of its own."""
    from PyXAB.partition.BinaryPartition import BinaryPartition

    class Seeded(BinaryPartition):  # type: ignore[misc]
        state = np.random.RandomState(seed % 2**32).get_state()

        def make_children(self, parent: Any, newlayer: bool = False) -> None:
            # PyXAB draws from NumPy's global state, which is not ours to move.
            outside = np.random.get_state()
            np.random.set_state(self.state)
            try:
                super().make_children(parent, newlayer)
            finally:
                self.state = np.random.get_state()
                np.random.set_state(outside)

    return lambda domain, **_: Seeded(domain=domain, node=node)


def _check_rounds(name: str, rounds: int, *, at_least: int) -> None:
    if rounds < at_least:
        raise InvalidSetting(
            f"{name} was given a horizon of {show(rounds)} rounds",
            "its schedule is computed from the horizon and has no step left",
            f"play at least {at_least} rounds",
        )


def _require_pyxab() -> None:
    try:
        import PyXAB  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "PyXAB is not installed",
            "StoSOO, HOO-T and StroquOOL are its algorithms",
            "install it with: pip install imabo-bench",
        ) from error
