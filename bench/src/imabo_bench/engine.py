"""Speed of the engine, as ratios measured side by side in one run.

Run it with ``make bench-engine``; it needs Optuna. Absolute times depend on the
machine and on what else it does; the ratios are what is claimed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from imabo import Study, oracles, policies
from imabo.arms import ActiveSet, Beliefs, Totals
from imabo.errors import MissingExtra
from imabo.gaussian import Hyperparameters, Process
from imabo.gaussian.surface import Surface
from imabo.oracles.base import Oracle
from imabo.policies.base import Draws
from imabo.stores import MemoryStore, SQLiteStore
from imabo.stores.base import NewPull
from imabo_bench.engine_arms import arms_lines
from imabo_bench.engine_signals import signal_lines
from imabo_bench.timing import SPACE, Line, median_time, new_arms

_EARLY: Final = 10_000  # rounds of a short past
_TRIALS: Final = 1000  # of Optuna's study
_MANY: Final = 1000  # arms of the model's largest table, and of the study that is opened


def grown_study(n_arms: int, rounds: int, policy: policies.Policy) -> Study:
    """A memory study that looks as after ``rounds`` rounds with ``n_arms`` arms.

    Its pulls are written straight to the store, because only the engine's speed is of interest.
    """
    store = MemoryStore()
    study = Study.create("bench", SPACE, policy=policy, store=store, seed=0)
    rng = np.random.default_rng(0)
    arms = new_arms(n_arms, rng)
    seq = store.serve("bench", seq=0, at=1e9, pulls=[], arms=arms)
    means = rng.uniform(0.3, 0.8, n_arms)
    for start in range(0, rounds, 1000):
        chosen = rng.integers(0, n_arms, min(1000, rounds - start))
        pulls = [NewPull(start + i + 1, int(a) + 1, "index") for i, a in enumerate(chosen)]
        seq = store.serve("bench", seq=seq, at=1e9 + start, pulls=pulls)
        for pull in pulls:
            reward = float(rng.random() < means[pull.arm - 1])
            done = store.reward("bench", pull.number, reward, at=1e9 + start)
            seq = done.seq if done else seq
    study.close()
    return Study.open("bench", store=store, policy=policy)


def one_round(study: Study) -> None:
    """A decision and its feedback."""
    study.tell(study.ask().id, 1.0)


class _Known(policies.IMOSS):
    """IMOSS that admits nothing, to time served decisions at a fixed number of arms."""

    def growth(self, arms: ActiveSet) -> None:
        """Never."""
        del arms


def decision_lines(optuna_round: float, repeats: int, past: int) -> list[Line]:
    """Ask + tell against Optuna, against a long past, and KL against MOSS."""
    early = grown_study(100, _EARLY, _Known())
    late = grown_study(100, past, _Known())
    kl = grown_study(100, _EARLY, _Known(index="kl"))
    # Interleaved, so that a slow moment of the machine falls on all of them.
    times: dict[str, list[float]] = {"early": [], "late": [], "kl": []}
    for _ in range(repeats):
        for name, study in (("early", early), ("late", late), ("kl", kl)):
            times[name].append(median_time(lambda s=study: one_round(s), 1, 200))  # type: ignore[misc]
    fast, long, kl_time = (statistics.median(times[name]) for name in ("early", "late", "kl"))
    moss_pass, kl_pass = _index_passes(repeats)
    return [
        Line(
            f"ask + tell vs Optuna's after {_TRIALS:,} trials",
            optuna_round / fast,
            300,
            True,
            f"{fast * 1e6:.0f} us vs {optuna_round * 1e3:.1f} ms",
        ),
        Line(
            f"t = {past:,} vs t = {_EARLY:,}",
            long / fast,
            1.2,
            False,
            f"{long * 1e6:.0f} us vs {fast * 1e6:.0f} us",
        ),
        Line(
            'index="kl" vs "moss", ask + tell',
            kl_time / fast,
            3,
            False,
            f"{kl_time * 1e6:.0f} us vs {fast * 1e6:.0f} us",
        ),
        Line(
            'index="kl" vs "moss", the policy alone',
            kl_pass / moss_pass,
            None,
            False,
            f"{kl_pass * 1e6:.0f} us vs {moss_pass * 1e6:.0f} us",
        ),
    ]


def _index_passes(repeats: int) -> tuple[float, float]:
    arms = _active_set(100)
    passes: list[float] = []
    for index in ("moss", "kl"):
        policy = _Known(index=index)
        passes.append(
            median_time(lambda p=policy: p.decide(arms, Draws(0, 1)), repeats, 200)  # type: ignore[misc]
        )
    return passes[0], passes[1]


def _active_set(n: int) -> ActiveSet:
    rng = np.random.default_rng(1)
    arms = ActiveSet.from_rewards(
        SPACE,
        [
            (new.config, (rng.random(20) < rng.uniform(0.3, 0.8)).tolist())
            for new in new_arms(n, rng)
        ],
    )
    arms.totals = Totals(10_000, 10_000, 0, 5_000.0)
    return arms


def proposal_lines(optuna_suggest: float, repeats: int) -> list[Line]:
    """A proposal against Optuna's TPE suggestion at 100 trials."""
    arms = _active_set(100)
    scores = policies.IMOSS().scores(arms)
    rng = np.random.default_rng(2)
    lines = []
    for name, oracle in (("TPE", oracles.TPE()), ("Mutate", oracles.Mutate())):
        spent = median_time(lambda o=oracle: _propose(o, arms, scores, rng), repeats, 10)  # type: ignore[misc]
        lines.append(
            Line(
                f"a proposal by {name} vs Optuna's suggestion, 100 trials",
                optuna_suggest / spent,
                3,
                True,
                f"{spent * 1e3:.2f} ms vs {optuna_suggest * 1e3:.1f} ms",
            )
        )
    return lines


def model_lines(repeats: int) -> list[Line]:
    """A proposal of GP against one of TPE, and its search against scikit-learn's."""
    arms, rng = _active_set(100), np.random.default_rng(2)
    scores = policies.IMOSS().scores(arms)
    tpe = median_time(lambda: _propose(oracles.TPE(), arms, scores, rng), repeats, 10)
    searching = median_time(lambda: _propose(oracles.GP(epsilon=0), arms, scores, rng), repeats)
    ours, theirs = _searches(arms, max(3, repeats // 3))
    _remember(arms)
    between = median_time(lambda: _propose(oracles.GP(epsilon=0), arms, scores, rng), repeats)
    # The hyperparameters are searched again with 4 % more arms: every fourth proposal here.
    spent = (searching + 3 * between) / 4
    many = _active_set(_MANY)
    _remember(many)
    large = median_time(lambda: _propose(oracles.GP(epsilon=0), many, many.means, rng), 3)
    return [
        Line(
            "a proposal by GP vs TPE, 100 arms, every 4th searches",
            spent / tpe,
            15,
            False,
            f"{spent * 1e3:.1f} ms vs {tpe * 1e3:.2f} ms",
        ),
        Line(
            "a proposal by GP that searches vs TPE, 100 arms",
            searching / tpe,
            None,
            False,
            f"{searching * 1e3:.1f} ms; {between * 1e3:.1f} ms without",
        ),
        Line(
            f"a proposal by GP, {_MANY:,} arms vs 100",
            large / between,
            None,
            False,
            f"{large * 1e3:.0f} ms vs {between * 1e3:.1f} ms, without a search",
        ),
        Line(
            "scikit-learn's search of hyperparameters vs ours, 100 arms",
            theirs / ours,
            None,
            True,
            f"{theirs * 1e3:.1f} ms vs {ours * 1e3:.1f} ms",
        ),
    ]


def _remember(arms: ActiveSet) -> None:
    """Leave the arms as a proposal leaves them, with beliefs and hyperparameters."""
    made = oracles.GP(epsilon=0).propose(arms, arms.means, np.random.default_rng(0))
    if isinstance(made, oracles.Proposal) and made.beliefs is not None:
        beliefs = made.beliefs
        arms.put_beliefs(Beliefs(beliefs.means[:-1], beliefs.counts[:-1], beliefs.state))


def _searches(arms: ActiveSet, repeats: int) -> tuple[float, float]:
    """Seconds of our search and of scikit-learn's on the same observations, from the same start.

    Theirs has no priors, no one-axis part and no unordered distance, so it has less to do.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern

    process = Surface(arms).process
    points, values, noise = process.points, process.values, process.noise
    start = Hyperparameters.prior(len(arms.space))
    scales = np.exp(np.array(start.scales))

    def theirs() -> None:
        kernel = ConstantKernel(1.0) * Matern(scales, nu=2.5)
        GaussianProcessRegressor(kernel, alpha=noise + 0.02).fit(points.units, values)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        spent = median_time(theirs, repeats)
    return median_time(lambda: Process.search(points, values, noise, start), repeats), spent


def _propose(oracle: Oracle, arms: ActiveSet, scores: np.ndarray, rng: np.random.Generator) -> None:
    oracle.propose(arms, scores, rng)


def open_line(repeats: int, n_pulls: int) -> Line:
    """Opening a SQLite study with many finished pulls against opening an empty one."""
    with tempfile.TemporaryDirectory() as folder:
        urls = {}
        for name, rounds, n_arms in (("empty", 0, 0), ("full", n_pulls, _MANY)):
            path = Path(folder) / f"{name}.db"
            urls[name] = f"sqlite:///{path}"
            _write_pulls(path, rounds, n_arms)
        spent = {name: [] for name in urls}  # type: dict[str, list[float]]
        for _ in range(repeats):
            for name, url in urls.items():
                spent[name].append(median_time(lambda u=url: _reopen(u), 1))  # type: ignore[misc]
    empty, full = (statistics.median(spent[name]) for name in ("empty", "full"))
    return Line(
        f"opening {n_pulls:,} pulls and {_MANY:,} arms vs an empty study",
        full / empty,
        50,
        False,
        f"{full * 1e3:.1f} ms vs {empty * 1e3:.1f} ms",
    )


def _write_pulls(path: Path, rounds: int, n_arms: int) -> None:
    store = SQLiteStore(str(path))
    Study.create("bench", SPACE, store=store, seed=0)
    if n_arms:
        rng = np.random.default_rng(0)
        seq = store.serve("bench", seq=0, at=1e9, pulls=[], arms=new_arms(n_arms, rng))
        chosen = rng.integers(1, n_arms + 1, rounds)
        for start in range(0, rounds, 10_000):
            pulls = [
                NewPull(start + i + 1, int(a), "index")
                for i, a in enumerate(chosen[start : start + 10_000])
            ]
            seq = store.serve("bench", seq=seq, at=1e9 + start, pulls=pulls)
        # Finished in one go: what is measured is opening, not how the rewards came in.
        store.expire("bench", before=2e9, at=2e9)
    store.close()


def _reopen(url: str) -> None:
    Study.open("bench", store=url).close()


def optuna_times(repeats: int) -> tuple[float, float]:
    """(ask + tell after 1,000 trials, suggestion after 100 trials) of Optuna's multivariate TPE."""
    try:
        import optuna
    except ImportError as error:
        raise MissingExtra(
            "Optuna is not installed",
            "this benchmark measures against it",
            "install it with: pip install imabo-bench",
        ) from error
    import warnings

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, optuna.distributions.BaseDistribution] = {
        "model": optuna.distributions.CategoricalDistribution(["small", "medium", "large"]),
        "prompt": optuna.distributions.CategoricalDistribution(
            ["plain", "steps", "examples", "strict"]
        ),
        "reranker": optuna.distributions.CategoricalDistribution([False, True]),
        "effort": optuna.distributions.CategoricalDistribution(["low", "medium", "high"]),
        "temperature": optuna.distributions.FloatDistribution(0.0, 1.0),
        "top_p": optuna.distributions.FloatDistribution(0.1, 1.0),
        "threshold": optuna.distributions.FloatDistribution(1e-4, 1.0, log=True),
        "top_k": optuna.distributions.IntDistribution(1, 20),
        "chunk": optuna.distributions.IntDistribution(64, 2048, log=True),
        "overlap": optuna.distributions.FloatDistribution(0.0, 0.5, step=0.05),
    }

    def grown(trials: int) -> optuna.Study:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # multivariate is marked experimental in some versions
            sampler = optuna.samplers.TPESampler(multivariate=True, seed=0)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        rng = np.random.default_rng(0)
        for _ in range(trials):
            config = SPACE.sample(rng)
            study.add_trial(
                optuna.trial.create_trial(
                    params=config, distributions=distributions, value=float(rng.random())
                )
            )
        return study

    def suggest(study: optuna.Study) -> optuna.trial.Trial:
        trial = study.ask()
        for name, distribution in distributions.items():
            _suggest(trial, name, distribution)
        return trial

    def _suggest(
        trial: optuna.trial.Trial, name: str, of: optuna.distributions.BaseDistribution
    ) -> None:
        if isinstance(of, optuna.distributions.CategoricalDistribution):
            trial.suggest_categorical(name, of.choices)
        elif isinstance(of, optuna.distributions.FloatDistribution):
            trial.suggest_float(name, of.low, of.high, log=of.log, step=of.step)
        elif isinstance(of, optuna.distributions.IntDistribution):
            trial.suggest_int(name, of.low, of.high, log=of.log)

    many, few = grown(_TRIALS), grown(100)
    rounds = median_time(lambda: many.tell(suggest(many), 0.5), repeats)
    # Not told: the study stays at 100 finished trials.
    return rounds, median_time(lambda: suggest(few), repeats)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m imabo_bench.engine", description=__doc__)
    parser.add_argument("--repeats", type=int, default=30, help="samples of each time")
    parser.add_argument("--pulls", type=int, default=1_000_000, help="pulls of the opened study")
    parser.add_argument("--past", type=int, default=1_000_000, help="rounds of the long past")
    parser.add_argument("--arms", type=int, default=3000, help="arms with and without rewards")
    options = parser.parse_args(arguments)
    optuna_round, optuna_suggest = optuna_times(options.repeats)
    lines = decision_lines(optuna_round, options.repeats, options.past)
    lines += arms_lines(options.repeats, options.arms)
    lines += signal_lines(rounds=max(4 * options.repeats, 1))
    lines += proposal_lines(optuna_suggest, options.repeats)
    lines += model_lines(options.repeats)
    lines.append(open_line(max(3, options.repeats // 3), options.pulls))
    print("Speed of the engine: 100 arms, 10 mixed parameters, medians of one run.\n")
    for line in lines:
        print(line)
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
