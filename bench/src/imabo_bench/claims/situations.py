"""What the default must show in the situations that teams bring, still ones and changing ones.

Instances 0 to 4 of each kind were looked at while the default was made; these claims rest on
others.
"""

from __future__ import annotations

from typing import Final

from imabo_bench.claims.base import DELAYED, Claim, Runs
from imabo_bench.claims.default import DEFAULT, FIVE, REAL, SEEDS, XGBOOST
from imabo_bench.claims.over_time import (
    Covers,
    FewAlarms,
    FewLocked,
    FoundRise,
    Share,
    Traffic,
)
from imabo_bench.claims.paper import IMOSS, LCBENCH
from imabo_bench.claims.ratios import Ratios, Totals
from imabo_bench.sweep import DelaySettings

STILL: Final = "imabo-still"  # the default with changes=False
KINDS: Final = ("few", "prompts", "rare", "wide", "knobs", "cliff", "judge", "beta", "decoy")
INSTANCES: Final = (5, 6, 7)
FRESH: Final = (60, 61, 62, 63)  # chosen before any of them was played
CHANGED: Final = 3000  # the round at which abrupt changes happen
LATE: Final = DelaySettings(feedback_freq=0.5, window_quantile=0.95)
LOST: Final = DelaySettings(feedback_freq=0.2, window_quantile=0.95)
INSTEAD: Final = ("thompson-10", "thompson-50", "ab-test")


def _of(*kinds: str, instances: tuple[int, ...] = INSTANCES) -> tuple[str, ...]:
    return tuple(f"situations/{kind}-{number}" for kind in kinds for number in instances)


def _no_more_regret(metric: str, problems: tuple[str, ...], delayed: str = "") -> Ratios:
    """No more regret than the best of the paper's oracles; ``delayed`` is what names end in."""
    others = tuple(f"{name}{delayed}" for name in IMOSS)
    return Ratios(metric, f"{DEFAULT}{delayed}", others, problems, mean=1.0, each=1.15, errors=2.0)


_BUDGETS: Final = ("regret@1000", "regret")
# Played once, after everything was chosen; a number modulo 3 says how many prompts there are.
MANY: Final = tuple(range(700, 820))
_CHEAP: Final = {
    "few choices": _of("few", instances=MANY),
    **{
        f"{n_prompts} prompts": _of("prompts", instances=MANY[place::3])
        for place, n_prompts in ((2, 20), (0, 60), (1, 200))
    },
}
_MOVING: Final = ("walk", "rhythm")  # always a little
_LATE: Final = _of(*KINDS, instances=INSTANCES[:1])
_SLOW: Final = (*XGBOOST, *LCBENCH)  # what a configuration's feedback takes depends on it
_PRICED: Final = (*FIVE, *_LATE)
_SOON: Final = tuple(CHANGED + after for after in (50, 100, 200, 300, 500))
_QUIET: Final = (*_of("flat"), *_of("rate"))
# All rewards go to two or three arms there, so that chance has the most time to deceive.
_FEWEST: Final = _of("few", instances=(16, 26))
_LONG_SEEDS: Final = 100

SITUATION_CLAIMS: Final = (
    Claim(
        "p",
        "In each kind of situation that does not change, the default has no more regret than the "
        "best of the paper's oracles, after 1,000 and after 5,000 requests.",
        "the default's bar; T = 5,000, instances 5 to 7 of each kind, 10 paired seeds",
        (Runs(_of(*KINDS), (DEFAULT, *IMOSS), 5_000, SEEDS),),
        tuple(_no_more_regret(metric, _of(kind)) for kind in KINDS for metric in _BUDGETS),
        "A single instance may be up to 1.15, beyond two standard errors.",
    ),
    Claim(
        "p1",
        "The same with late and lost feedback.",
        "the default's bar; delays of a production log, half of the feedback lost; T = 5,000, "
        "instance 5 of each kind, 10 paired seeds",
        (Runs(_LATE, (DEFAULT, *IMOSS), 5_000, SEEDS, LATE),),
        tuple(_no_more_regret(metric, _LATE, DELAYED) for metric in _BUDGETS),
    ),
    Claim(
        "p2",
        "The same on real problems whose training times delay their feedback, of which four fifths "
        "are lost.",
        "the default's bar; windows of hundreds of rounds; T = 5,000, 10 paired seeds",
        (Runs(_SLOW, (DEFAULT, *IMOSS), 5_000, SEEDS, LOST),),
        tuple(_no_more_regret(metric, _SLOW, DELAYED) for metric in _BUDGETS),
    ),
    Claim(
        "p3",
        "The same as claim p, and as r for a slow walk and a daily rhythm, on instances that "
        "nothing was chosen on and nobody had looked at.",
        "the default's bar; T = 5,000 (walk and rhythm 3,000), instances 60 to 63 of each kind, "
        "10 paired seeds",
        (
            Runs(_of(*KINDS, instances=FRESH), (DEFAULT, *IMOSS), 5_000, SEEDS),
            Runs(_of(*_MOVING, instances=FRESH), (DEFAULT, *IMOSS), 3_000, SEEDS),
        ),
        (
            *(
                _no_more_regret(metric, _of(kind, instances=FRESH))
                for kind in KINDS
                for metric in _BUDGETS
            ),
            *(
                Ratios("regret", DEFAULT, IMOSS, _of(kind, instances=FRESH), mean=1.0)
                for kind in _MOVING
            ),
        ),
        "The seeds are those of claim p; the instances are not.",
    ),
    Claim(
        "p4",
        "The same as claim p over many instances of the kinds whose single runs scatter most, few "
        "choices and unordered prompts.",
        "the default's bar; T = 5,000, instances 700 to 819 of both kinds, one paired seed each",
        (Runs(_of("few", "prompts", instances=MANY), (DEFAULT, *IMOSS), 5_000, 1),),
        tuple(
            Totals(metric, label, DEFAULT, IMOSS, problems, most=1.0)
            for label, problems in _CHEAP.items()
            for metric in _BUDGETS
        ),
        "The sums of all instances are compared, so that those count most where most can be lost.",
    ),
    Claim(
        "q",
        "With few choices or prompts, hardly a run of the default still serves mostly a clearly "
        "worse arm in its last tenth.",
        "the default's bar; T = 20,000, 100 runs",
        (Runs(_of("few", "prompts", instances=(5, 6, 7, 8, 9)), (DEFAULT,), 20_000, SEEDS),),
        (FewLocked(DEFAULT, _of("few", "prompts", instances=(5, 6, 7, 8, 9)), 20_000, 0.02),),
    ),
    Claim(
        "r",
        "The default follows the world: it earns 0.93 of the new optimum 2,000 requests after a "
        "move, leaves a choice that fell within 300, finds one that rose within 1,500, and loses "
        "no more than the paper's oracles to a slow walk and a daily rhythm.",
        "the default's bar; a change after 3,000 requests and 3,000 more (move) or 1,500 (fall, "
        "rise), walk and rhythm for 3,000; instances 5 to 7, 10 paired seeds",
        (
            Runs(_of("move"), (DEFAULT,), 6_000, SEEDS),
            Runs(_of("fall", "rise"), (DEFAULT,), 4_500, SEEDS),
            Runs(_of(*_MOVING), (DEFAULT, *IMOSS), 3_000, SEEDS),
        ),
        (
            Share(DEFAULT, _of("move"), CHANGED + 2_000, CHANGED + 3_000, 0.93),
            Traffic(DEFAULT, _of("fall"), CHANGED + 300, CHANGED + 400, 0.2),
            FoundRise(DEFAULT, _of("rise"), CHANGED, 1_500, 0.9),
            *(Ratios("regret", DEFAULT, IMOSS, _of(kind), mean=1.0) for kind in _MOVING),
        ),
    ),
    Claim(
        "s",
        "The default hardly ever sees a change where there is none, late and lost feedback and a "
        "change in the feedback rate included.",
        "the default's bar; T = 10,000 with and without delays, two and three choices with 100 "
        "seeds, and the runs of claims j, p, p1 and p2",
        (
            Runs(_QUIET, (DEFAULT,), 10_000, SEEDS),
            Runs(_FEWEST, (DEFAULT,), 10_000, _LONG_SEEDS),
            Runs(_of("flat"), (DEFAULT,), 10_000, SEEDS, LATE),
            Runs((*REAL, *_of(*KINDS)), (DEFAULT,), 5_000, SEEDS),
            Runs(_LATE, (DEFAULT,), 5_000, SEEDS, LATE),
            Runs(_SLOW, (DEFAULT,), 5_000, SEEDS, LOST),
        ),
        (
            FewAlarms(DEFAULT, (*_QUIET, *REAL, *_of(*KINDS)), 0.01),
            FewAlarms(DEFAULT, _FEWEST, 0.01),
            FewAlarms(f"{DEFAULT}{DELAYED}", (*_of("flat"), *_LATE, *_SLOW), 0.01),
        ),
    ),
    Claim(
        "t",
        "Where nothing changes, looking for changes costs at most 5 % more regret.",
        "the default's bar; T = 5,000, 10 paired seeds",
        (Runs(_PRICED, (DEFAULT, STILL), 5_000, SEEDS),),
        (Ratios("regret", DEFAULT, (STILL,), _PRICED, mean=1.05),),
        "A method of its own, imabo-still, is the default with changes=False.",
    ),
    Claim(
        "u",
        "In the situations, what users would pick instead has more regret than the default.",
        "the default's bar; T = 5,000, instances 5 to 7 of each kind, 10 paired seeds",
        (Runs(_of(*KINDS), (DEFAULT, *INSTEAD), 5_000, SEEDS),),
        (Ratios("regret", DEFAULT, INSTEAD, _of(*KINDS), mean=1.0),),
    ),
    Claim(
        "u1",
        "The same on the real problems.",
        "the default's bar; T = 5,000, the problems of claim j, 10 paired seeds",
        (Runs(REAL, (DEFAULT, *INSTEAD), 5_000, SEEDS),),
        (Ratios("regret", DEFAULT, INSTEAD, REAL, mean=1.0),),
    ),
    Claim(
        "u2",
        "So has Optuna's TPE with every request a trial.",
        "the default's bar; T = 1,500, one instance of each kind of situation and five real "
        "problems, 5 paired seeds",
        (
            Runs(_PRICED, (DEFAULT,), 5_000, SEEDS),
            Runs(_PRICED, ("tpe-1",), 1_500, 5),
        ),
        (Ratios("regret@1500", DEFAULT, ("tpe-1",), _PRICED, mean=1.0),),
        "Few seeds and requests, because its time grows with their square: six minutes for 5,000.",
    ),
    Claim(
        "v",
        "The interval of the best arm holds the arm's mean of the moment: where nothing changes, "
        "before a change, and again from 1,000 requests after one.",
        "the default's bar; the runs of claims p and r",
        (
            Runs(_of(*KINDS), (DEFAULT,), 5_000, SEEDS),
            Runs(_of("move"), (DEFAULT,), 6_000, SEEDS),
            Runs(_of("fall", "rise"), (DEFAULT,), 4_500, SEEDS),
        ),
        (
            Covers(DEFAULT, _of(*KINDS), (500, 1_000, 5_000), 0.95),
            Covers(DEFAULT, _of("move", "fall", "rise"), (CHANGED - 100,), 0.95),
            Covers(DEFAULT, _of("move", "fall"), _SOON, 0.95, decides=False),
            Covers(DEFAULT, _of("move", "fall", "rise"), (CHANGED + 1_000,), 0.95),
        ),
        "Soon after a change nobody can know of it, and no interval of use covers: those rounds "
        "are shown and decide nothing.",
    ),
)
