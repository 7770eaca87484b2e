"""Golden trajectories: the first decisions of fixed seeds, written to ``golden.json``.

A change of decisions must be deliberate: it breaks the replay of logs that were written before it.
After such a change, write the file again with ``python -m tests.study.golden``, look at its diff,
and say in CHANGELOG.md why the decisions changed.
"""

from __future__ import annotations

import json
import math
from collections import deque
from pathlib import Path
from typing import Any

from imabo import Choice, Float, Int, Pull, Space, Study, oracles, policies
from imabo.testing.study.base import ManualClock

PATH = Path(__file__).with_name("golden.json")
DECISIONS = 150
SEED = 20240229

RUNS: dict[str, tuple[policies.Policy, oracles.Oracle]] = {
    "IMOSS-Random": (policies.IMOSS(), oracles.Random()),
    "IMOSS-TPE": (policies.IMOSS(), oracles.TPE()),
    "IMOSS-Mutate": (policies.IMOSS(), oracles.Mutate()),
    "IMOSS(kl)-Mutate": (policies.IMOSS(index="kl"), oracles.Mutate()),
    "UCBAIR-Random": (policies.UCBAIR(), oracles.Random()),
    "QRM2-Random": (policies.QRM2(), oracles.Random()),
}


def space() -> Space:
    return Space(
        model=Choice("small", "large", "huge"),
        temperature=Float(0.0, 1.0),
        rate=Float(1e-4, 1.0, log=True),
        top_k=Int(1, 10),
        tokens=Int(256, 8192, log=True, when={"model": ["large", "huge"]}),
        think=Choice(False, True, when={"model": "huge"}),
        depth=Int(1, 4, when={"think": True}),
        forbid=[{"model": "small", "top_k": [9, 10]}],
    )


def reward(pull: Pull) -> float:
    """Smooth in the configuration, so that rounding cannot change a run, with a little noise."""
    config: dict[str, Any] = pull.config
    good: float = {"small": 0.2, "large": 0.5, "huge": 0.4}[config["model"]]
    good += 0.2 * (1.0 - abs(config["temperature"] - 0.3))
    good += 0.1 * math.exp(-abs(math.log10(config["rate"]) + 2.0))
    good += 0.005 * config["top_k"] + 0.05 * config.get("depth", 0) / 4
    noise = (number_of(pull) * 0.6180339887) % 1.0
    return 0.9 * good + 0.1 * noise


def number_of(pull: Pull) -> int:
    return int(pull.id.rpartition("-")[2])


def run(policy: policies.Policy, oracle: oracles.Oracle) -> dict[str, Any]:
    """Serve with feedback at once, two rounds late (every third) or never (every seventh)."""
    clock = ManualClock()
    study = Study.create(
        "golden", space(), policy=policy, oracle=oracle, seed=SEED, window_s=30.0, clock=clock
    )
    pulls: list[Pull] = []
    late: deque[Pull] = deque()
    for number in range(1, DECISIONS + 1):
        clock.now += 1.0
        pulls.append(study.ask())
        if late and number_of(late[0]) <= number - 2:
            told = late.popleft()
            study.tell(told.id, reward(told))
        if number % 3 == 0:
            late.append(pulls[-1])
        elif number % 7:
            study.tell(pulls[-1].id, reward(pulls[-1]))
    return {
        "served": [pull.arm for pull in pulls],
        "reasons": "".join(pull.reason[0] for pull in pulls),  # w(armup), e(xpand), i(ndex)
        "arms": [arm.config for arm in study.arms()],
    }


def main() -> None:
    rows = [f"{json.dumps(name)}: {_compact(run(*parts))}" for name, parts in RUNS.items()]
    PATH.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"wrote {PATH}")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


if __name__ == "__main__":
    main()
