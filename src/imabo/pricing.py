"""Prices of what requests use up, and what arms are worth at those prices.

Labels are those of docs/algorithm.md. Costs are in budgets: 1 is what a request may use on average.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats
from imabo.spending import LEAST_BANK, LONG, Spending

_REPAID_IN: Final = 400.0  # requests over which what was overspent is saved again
_SWEEPS: Final = 3  # over the prices of several budgets, each given the others
_STEPS: Final = 64  # of the search for one price; it ends by itself after a few
_SAME: Final = 1e-12  # values closer than that are one
_PROHIBITIVE: Final = 1e3  # price, in spreads of the values, of what nothing can keep
_NUDGE: Final = 1e-6  # part of the spread by which the bank decides between equals
_FREE: Final = 500  # requests at first, in which dear arms are tried whatever they may use
_HIGHEST: Final = 1.04  # budgets that a long run of requests may come to with one dear one more
_USUAL: Final = 5.0  # budgets that a request may always use: they are soon saved again
_TRIED: Final = 2.0  # how many times what a request may use must be there to try an arm again
_LEFT: Final = 0.5 * LEAST_BANK  # a bank from which on budget is left over ...
_GIVEN_UP: Final = 0.005  # ... and the reward that may be given up to use it


def priced(arms: ActiveSet, scores: Floats) -> Floats:
    """The scores of all rows less what they use, where the study has an objective; else as is.

    Rows that are out of reach now have none; see ``in_reach``.
    """
    spending = arms.spending
    if spending is None or not arms.n_servable:
        return scores
    banks, costs = _banks(arms, spending), spending.costs(len(arms))
    rows = _in_reach(arms, spending, banks)
    charges = _charges_of(arms, scores, costs, banks, rows)
    # A product of matrices takes longer than it should where one of them is a number.
    net = scores - (charges.item(0) * costs[0] if len(costs) == 1 else charges @ costs)
    if rows is not None:
        net = np.where(rows, net, -np.inf)
    if min(banks.tolist()) > _LEFT or arms.reward_range is None:
        return net
    return _used_up(arms, net, costs, banks)


def in_reach(arms: ActiveSet) -> Bools:
    """The rows that may be served now, eq. (reach): budgets hold even if one uses a lot.

    A dear arm waits until so much less than the budget was used lately that what one of its
    requests may well use is there. Where nothing else is left, all may be served.
    """
    spending = arms.spending
    if spending is None:
        return arms.servable
    rows = _in_reach(arms, spending, _banks(arms, spending))
    return arms.servable if rows is None else rows


def is_worth_a_try(arms: ActiveSet, scores: Floats) -> Bools:
    """Which rows would be served now if they gave the highest reward there is."""
    spending = arms.spending
    if spending is None or arms.reward_range is None or not arms.n_servable:
        return np.ones(len(arms), dtype=np.bool_)
    costs, banks = spending.costs(len(arms)), _banks(arms, spending)
    rows = in_reach(arms)
    charges = _charges_of(arms, scores, costs, banks, rows) @ costs
    fits = ((costs <= 1.0) | (banks[:, None] <= 0.0)).all(axis=0)
    near = _in_reach(arms, spending, banks, _TRIED)  # what is served little is known little
    if near is not None:
        fits &= near
    return np.asarray(fits & (1.0 - charges >= (scores - charges)[rows].max()))


def charges_now(arms: ActiveSet, scores: Floats) -> Floats:
    """What one budget's worth of each signal costs in score now, the bank's word included.

    At the right price two arms of a mix are worth the same. The bank decides between them: while
    there is something left, the one that uses more.
    """
    spending = arms.spending
    if spending is None or not arms.n_servable:
        return np.zeros(0 if spending is None else len(spending.constraints))
    banks, costs = _banks(arms, spending), spending.costs(len(arms))
    return _charges_of(arms, scores, costs, banks, _in_reach(arms, spending, banks))


def _banks(arms: ActiveSet, spending: Spending) -> Floats:
    if not arms.totals.n_pending:
        return spending.banks
    return spending.banks_ahead(arms.n_pulls, arms.n_pending)


def _charges_of(
    arms: ActiveSet, scores: Floats, costs: Floats, banks: Floats, rows: Bools | None
) -> Floats:
    """``charges_now``: what is not served, and what is out of reach, sets no price."""
    if rows is None and arms.n_servable < len(arms):
        rows = arms.servable
    if rows is None:
        return _charges(scores, costs, banks)
    return _charges(scores[rows], costs[:, rows], banks)


def _in_reach(
    arms: ActiveSet, spending: Spending, banks: Floats, times: float = 1.0
) -> Bools | None:
    """``in_reach`` of so many requests at once; None where that is all that can be served."""
    if arms.totals.n_pulls < _FREE:
        return None
    rows, most = None, spending.most(len(arms))
    now = zip(spending.lately.tolist(), banks.tolist(), spending.banks.tolist(), strict=True)
    for place, (lately, ahead, bank) in enumerate(now):
        # What is out counts as the banks have it.
        room = max((_HIGHEST - lately) * LONG - (ahead - bank), _USUAL) / times
        if np.maximum.reduce(most[place]) > room:  # as it hardly ever is
            rows = (arms.servable if rows is None else rows) & (most[place] <= room)
    return rows if rows is not None and rows.any() else None


def _used_up(arms: ActiveSet, net: Floats, costs: Floats, banks: Floats) -> Floats:
    """What is left over of a budget goes to the best arm that uses more; eq. (left over).

    If that is hardly worse than the leading one, which does not use it up. No limit is used up.
    """
    best = np.where(arms.servable, net, -np.inf)
    lead = int(best.argmax())
    for place, bank in enumerate(banks.tolist()):
        if bank > _LEFT or costs[place, lead] > 1.0:
            continue
        if arms.spending is None or arms.spending.constraints[place].above is not None:
            continue
        # Another budget must have it, too.
        others = ((costs <= 1.0) | (banks[:, None] <= 0.0)).all(axis=0)
        near = others & (costs[place] > 1.0) & (best >= best[lead] - _GIVEN_UP)
        if near.any():
            net = net.copy()
            net[int(np.where(near, best, -np.inf).argmax())] = best[lead] + _GIVEN_UP
            return net
    return net


def allowances(banks: Floats) -> Floats:
    """What a request may use now, by what was overspent; eq. (allowance)."""
    # There are few, and plain numbers take less than arrays of them.
    return np.array([_allowance(bank) for bank in banks.tolist()])


def _allowance(bank: float) -> float:
    return max(1.0 - max(bank, 0.0) / _REPAID_IN, 0.0)


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
    spread = _spread(values)
    if not isfinite(spread):
        values = _finite(values)
        spread = _spread(values)
    nudge = _NUDGE * max(spread, _SAME)
    if len(costs) == 1:
        bank = banks.item(0)
        price, _ = _price(values, costs[0], _allowance(bank))
        return np.array([price + nudge if bank > 0.0 else price - nudge])
    found = prices(values, costs, allowances(banks))
    for place, bank in enumerate(banks.tolist()):
        found[place] += nudge if bank > 0.0 else -nudge
    return found


def _price(values: Floats, costs: Floats, allowed: float) -> tuple[float, tuple[int, int] | None]:
    """The slope, at what is allowed, of the upper hull of the arms in the plane (cost, value).

    Also the two arms, the cheaper one first, that are worth the same at that price.
    """
    dear = int(values.argmax())
    use, value = costs.item(dear), values.item(dear)
    if use <= allowed:
        return 0.0, None
    equal = np.flatnonzero(values == value)
    if len(equal) > 1:
        dear = int(equal[costs[equal].argmin()])
        use = costs.item(dear)
        if use <= allowed:
            return 0.0, None
    fits = costs <= allowed
    cheap = int(np.where(fits, values, -np.inf).argmax())
    if not fits.item(cheap):  # none does
        return _PROHIBITIVE * max(_spread(values), 1.0), None
    least, worth = costs.item(cheap), values.item(cheap)
    slope = 0.0
    for _ in range(_STEPS):
        slope = (value - worth) / (use - least)
        net = values - slope * costs
        best = int(net.argmax())
        if net.item(best) <= net.item(cheap) + _SAME:
            break
        if fits.item(best):
            cheap, least, worth = best, costs.item(best), values.item(best)
        else:
            dear, use, value = best, costs.item(best), values.item(best)
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


def _finite(values: Floats) -> Floats:
    """Values that a price can be made of: what must be served first counts as the best known."""
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    return np.clip(values, low, high)


def _spread(values: Floats) -> float:
    # As max() and min() do it, in half of the time; of plain numbers, as inf - inf is no warning.
    if not len(values):
        return 0.0
    return float(np.maximum.reduce(values)) - float(np.minimum.reduce(values))
