"""What signals and budgets cost: tells with signals, asks within a budget, and those without."""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from random import Random

from imabo import Limit, Objective, Signal, Study
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo_bench.timing import SPACE, Line

SIGNALS = {"cost": Signal(low=0.0), "latency_s": Signal(low=0.0)}
BUDGET = Objective(budgets={"cost": 1.0})
BOTH = Objective(budgets={"cost": 1.0}, limits=[Limit("latency_s", above=2.0, share=0.05)])
_WARM = 300  # requests before anything is timed
_BATCH = 20  # of one study, before it is the next one's turn
_QUIET = 20  # the quickest twentieth: what other programs do falls on the rest


class _Timed:
    """A study and the seconds of its asks and tells.

    Args:
        store: Where it is.
        has_signals: Whether its tells have two signals, which are then declared.
        objective: What it keeps.
        is_declared: Whether signals are declared although none are told.
    """

    def __init__(
        self,
        store: Store,
        *,
        has_signals: bool = False,
        objective: Objective | None = None,
        is_declared: bool = False,
    ) -> None:
        signals = SIGNALS if has_signals or is_declared else None
        settings = {"signals": signals, "objective": objective}
        self._study = Study.create("bench", SPACE, store=store, seed=0, **settings)  # type: ignore[arg-type]
        self._has_signals, self._rng = has_signals, Random(0)
        self.asks: list[float] = []
        self.tells: list[float] = []
        self.serve(_WARM)
        self.asks.clear()
        self.tells.clear()

    def serve(self, n: int) -> None:
        """So many requests, with their rewards."""
        study, rng = self._study, self._rng
        for _ in range(n):
            signals = {"cost": 2.0 * rng.random(), "latency_s": 2.1 * rng.random()}
            reward = rng.random()
            begin = time.perf_counter()
            pull = study.ask()
            asked = time.perf_counter()
            if self._has_signals:
                study.tell(pull.id, reward, signals=signals)
            else:
                study.tell(pull.id, reward)
            told = time.perf_counter()
            if pull.reason == "index":  # not those that wait for a model
                self.asks.append(asked - begin)
                self.tells.append(told - asked)

    @property
    def ask_s(self) -> float:
        """Seconds of one ask of a known arm."""
        return _quick(self.asks)

    @property
    def tell_s(self) -> float:
        """Seconds of one tell."""
        return _quick(self.tells)


def signal_lines(rounds: int) -> list[Line]:
    """Ratios to a plain study, in memory and on SQLite; all studies take turns in one run."""
    lines = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for where in ("memory", "SQLite"):
            kinds = {
                "plain": {},
                "declared": {"is_declared": True},
                "signals": {"has_signals": True},
                "a budget": {"has_signals": True, "objective": BUDGET},
                "a budget and a limit": {"has_signals": True, "objective": BOTH},
            }  # type: dict[str, dict[str, object]]
            studies = {}
            for kind, settings in kinds.items():
                store: Store = MemoryStore()
                if where == "SQLite":
                    store = SQLiteStore(str(folder / f"{kind}.db"))
                stack.callback(store.close)
                studies[kind] = _Timed(store, **settings)  # type: ignore[arg-type]
            for _ in range(rounds):
                for study in studies.values():
                    study.serve(_BATCH)
            lines += _compared(studies, where)
    return lines


def _compared(studies: dict[str, _Timed], where: str) -> list[Line]:
    plain = studies["plain"]
    declared, signals = studies["declared"], studies["signals"]
    lines = [
        _line(
            f"ask + tell with signals declared and none told, {where}",
            declared.ask_s + declared.tell_s,
            plain.ask_s + plain.tell_s,
            1.02,
        ),
        _line(f"tell with two signals vs without, {where}", signals.tell_s, plain.tell_s, 1.5),
    ]
    for kind in ("a budget", "a budget and a limit"):
        study = studies[kind]
        lines += [
            _line(f"ask with {kind} vs without, {where}", study.ask_s, plain.ask_s, 1.5),
            _line(f"tell with two signals and {kind}, {where}", study.tell_s, plain.tell_s, 1.5),
        ]
    return lines


def _line(claim: str, seconds: float, plain: float, bar: float) -> Line:
    detail = f"{seconds * 1e6:.0f} us vs {plain * 1e6:.0f} us"
    return Line(claim, seconds / plain, bar, False, detail)


def _quick(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=_QUIET)[0]


def main() -> int:
    """Print the lines; 1 when one misses its bar."""
    lines = signal_lines(rounds=20)
    print(*lines, sep="\n")
    return int(not all(line.met for line in lines))


if __name__ == "__main__":
    raise SystemExit(main())
