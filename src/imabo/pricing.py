"""Prices of what requests use up, and what arms are worth at those prices.

Labels are those of docs/algorithm.md. Costs are in budgets: 1 is what a request may use on average.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats

_REPAID_IN: Final = 400.0  # requests over which what was overspent is saved again
_SWEEPS: Final = 3  # over the prices of several budgets, each given the others
_STEPS: Final = 64  # of the search for one price; it ends by itself after a few
_SAME: Final = 1e-12  # values closer than that are one
_PROHIBITIVE: Final = 1e3  # price, in spreads of the values, of what nothing can keep
_NUDGE: Final = 1e-6  # part of the spread by which the bank decides between equals


def priced(arms: ActiveSet, scores: Floats) -> Floats:
    """The scores of all rows less what they use, where the study has an objective; else as is."""
    if arms.spending is None or not arms.n_servable:
        return scores
    return scores - charges_now(arms, scores) @ arms.spending.costs(len(arms))


def is_worth_a_try(arms: ActiveSet, scores: Floats) -> Bools:
    """Which rows would be served now if they gave the highest reward there is."""
    spending = arms.spending
    if spending is None or arms.reward_range is None or not arms.n_servable:
        return np.ones(len(arms), dtype=np.bool_)
    costs = spending.costs(len(arms))
    banks = spending.banks_ahead(arms.n_pulls, arms.n_pending)
    charges = charges_now(arms, scores) @ costs
    fits = ((costs <= 1.0) | (banks[:, None] <= 0.0)).all(axis=0)
    return np.asarray(fits & (1.0 - charges >= (scores - charges)[arms.servable].max()))


def charges_now(arms: ActiveSet, scores: Floats) -> Floats:
    """What one budget's worth of each signal costs in score now, the bank's word included.

    At the right price two arms of a mix are worth the same. The bank decides between them: while
    there is something left, the one that uses more.
    """
    spending, rows = arms.spending, arms.servable  # what is not served sets no price
    if spending is None or not arms.n_servable:
        return np.zeros(0 if spending is None else len(spending.constraints))
    banks, costs = spending.banks_ahead(arms.n_pulls, arms.n_pending), spending.costs(len(arms))
    if arms.n_servable == len(arms):
        return _charges(scores, costs, banks)
    return _charges(scores[rows], costs[:, rows], banks)


def allowances(banks: Floats) -> Floats:
    """What a request may use now, by what was overspent; eq. (allowance)."""
    # There are few, and plain numbers take less than arrays of them.
    return np.array([max(1.0 - max(bank, 0.0) / _REPAID_IN, 0.0) for bank in banks.tolist()])


def prices(values: Floats, costs: Floats, allowed: Floats) -> Floats:
    """What one budget's worth of each signal costs in reward; eq. (price).

    The dual prices of the best mix of arms: maximise the mean value while the mean costs stay
    allowed. Where no arm alone keeps several signals, each is found given the others, a few times
    over; else they are exact.

    Args:
        values: Of each arm.
        costs: One row a signal, one column an arm.
        allowed: Of each signal.

    Example:
        >>> values, costs = np.array([0.8, 0.9, 1.0]), np.array([[0.5, 1.5, 4.5]])
        >>> [round(price, 3) for price in prices(values, costs, np.ones(1)).tolist()]
        [0.1]
        >>> prices(values, costs, np.array([9.0])).tolist()  # enough for the best
        [0.0]
    """
    found = np.zeros(len(costs))
    if len(costs) == 1:
        found[0], _ = _price(values, costs[0], float(allowed[0]))
        return found
    if _is_one_enough(found, values, costs, allowed):
        return found
    exact = _duals(values, costs, allowed)
    if exact is not None:
        return exact
    for _ in range(_SWEEPS):
        before, first = found.tolist(), list[float]()
        for place in range(len(costs)):
            found[place] = 0.0
            found[place], tied = _price(values - found @ costs, costs[place], allowed[place])
            if tied is not None:
                _slide(found, place, costs[:, tied[1]] - costs[:, tied[0]], values, costs, allowed)
            first = first or found.tolist()
        # Another sweep would come to the same: from where this one began, or after its first step,
        # which would again see the others as they are.
        after = found.tolist()
        if after == before or (after == first and after[1:] == before[1:]):
            break
    return found


def _is_one_enough(found: Floats, values: Floats, costs: Floats, allowed: Floats) -> bool:
    """Whether the price of one signal is all that is needed, as it mostly is; puts it there.

    Then the mix that it makes keeps the other signals as well, so that it is the best there is.
    """
    over = (costs[:, int(values.argmax())] - allowed).tolist()
    place = over.index(max(over))
    if over[place] <= 0.0:
        return True
    price, tied = _price(values, costs[place], float(allowed[place]))
    if tied is None:
        return False
    cheap, dear = costs[:, tied[0]], costs[:, tied[1]]
    share = (allowed[place] - cheap[place]) / (dear[place] - cheap[place])
    mixed = (cheap + share * (dear - cheap) - allowed).tolist()
    mixed[place] = 0.0  # as it is by the share, but for rounding
    if max(mixed) > 0.0:
        return False
    found[place] = price
    return True


def _duals(values: Floats, costs: Floats, allowed: Floats) -> Floats | None:
    """The prices of several signals by the simplex method; None where no arm keeps them all.

    It goes from mix to mix, beginning with the best arm that keeps all; few steps are needed.
    """
    m, n = costs.shape
    fits = (costs <= allowed[:, None]).all(axis=0)
    if not fits.any():
        return None
    columns = np.zeros((m + 1, n + m))  # those of the arms, then of what is left of each signal
    columns[:m, :n], columns[m, :n] = costs, 1.0
    columns[:m, n:] = np.eye(m)
    worth, right = np.append(values, np.zeros(m)), np.append(allowed, 1.0)
    basis = [int(np.where(fits, values, -np.inf).argmax()), *range(n, n + m)]
    duals = np.zeros(m + 1)
    for _ in range(_STEPS):
        square = columns[:, basis]
        duals = np.linalg.solve(square.T, worth[basis])
        gains = worth - duals @ columns
        enters = int(gains.argmax())
        if gains[enters] <= _SAME:
            break
        way, have = np.linalg.solve(square, np.array([columns[:, enters], right]).T).T
        far = np.divide(have, way, out=np.full(m + 1, np.inf), where=way > _SAME)
        leaves = int(far.argmin())
        if not np.isfinite(far[leaves]):
            break
        basis[leaves] = enters
    return np.maximum(duals[:m], 0.0)


def _charges(values: Floats, costs: Floats, banks: Floats) -> Floats:
    """The prices, with what the banks add or take off; eq. (net)."""
    found, least = prices(values, costs, allowances(banks)), max(_spread(values), _SAME)
    for place, bank in enumerate(banks.tolist()):
        found[place] += _NUDGE * (1.0 if bank > 0.0 else -1.0) * least
    return found


def _price(values: Floats, costs: Floats, allowed: float) -> tuple[float, tuple[int, int] | None]:
    """The slope, at what is allowed, of the upper hull of the arms in the plane (cost, value).

    Also the two arms, the cheaper one first, that are worth the same at that price.
    """
    dear = int(values.argmax())
    if costs[dear] > allowed:
        equal = np.flatnonzero(values == values[dear])
        if len(equal) > 1:
            dear = int(equal[costs[equal].argmin()])
    if costs[dear] <= allowed:
        return 0.0, None
    fits = costs <= allowed
    cheap = int(np.where(fits, values, -np.inf).argmax())
    if not fits[cheap]:  # none does
        return _PROHIBITIVE * max(_spread(values), 1.0), None
    slope = 0.0
    for _ in range(_STEPS):
        slope = float((values[dear] - values[cheap]) / (costs[dear] - costs[cheap]))
        net = values - slope * costs
        best = int(net.argmax())
        if net[best] <= net[cheap] + _SAME:
            break
        if fits[best]:
            cheap = best
        else:
            dear = best
    return max(slope, 0.0), (cheap, dear)


def _slide(
    found: Floats, place: int, apart: Floats, values: Floats, costs: Floats, allowed: Floats
) -> None:
    """Move a price and each other one together, such that two arms stay worth the same.

    Where they do, no single price can be bettered although two together can.
    """
    for other in range(len(found)):
        if other == place:
            continue
        way = np.zeros(len(found))
        way[place], way[other] = -apart[other], apart[place]
        # How far along until one of the two is 0, either way.
        low = max([-found[k] / way[k] for k in (place, other) if way[k] > 0.0], default=0.0)
        high = min([-found[k] / way[k] for k in (place, other) if way[k] < 0.0], default=np.inf)
        start = found + low * way
        step, _ = _price(values - start @ costs, way @ costs, float(way @ allowed))
        found[:] = np.maximum(start + min(step, high - low) * way, 0.0)


def _spread(values: Floats) -> float:
    # As max() and min() do it, in half of the time.
    return float(np.maximum.reduce(values) - np.minimum.reduce(values)) if len(values) else 0.0
