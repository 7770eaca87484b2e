"""The paper's claims, one by one: what to run and the comparison that decides each."""

from __future__ import annotations

import itertools
from typing import Final

from imabo_bench.claims.base import DELAYED, Claim, Runs
from imabo_bench.claims.comparisons import About, AtMost, Bounded, Lower, Near
from imabo_bench.problems.tables import INSTANCES
from imabo_bench.sweep import DelaySettings

TREES: Final = ("stosoo", "hoo-t", "stroquool")
IMOSS: Final = ("imoss-random", "imoss-tpe", "imoss-mutate")
TOYS: Final = ("toy/sin1", "toy/garland", "toy/rastrigin", "toy/gaussian")
LCBENCH: Final = ("lcbench/167200", "lcbench/168868", "lcbench/189908")
REFERENCE_P0: Final = tuple(f"{name}:uniform-ints" for name in LCBENCH)
REFERENCE_OPTIMA: Final = (0.8524, 0.9972, 0.9263)  # the p* that the reference measured against
TABLES: Final = tuple(f"{family}/{name}" for family, names in INSTANCES.items() for name in names)
GRIDS: Final = ("rf-grid/credit-g", *TABLES)
TPE_K: Final = tuple(f"tpe-{k}" for k in (1, 10, 50, 70, 100, 200))
BUDGETS: Final = (1000, 3000, 5000, 10_000)
BETAS: Final = {"imoss-random-beta0.3": 0.3, "imoss-random": 0.5, "imoss-random-beta0.7": 0.7}
WIDE: Final = ("toy/gaussian", "kr-vs-kp/svm")  # most arms are far below the rho-quantile
PAPER_DELAY: Final = DelaySettings(feedback_freq=0.2, window_quantile=0.95)


def _reference(
    problems: tuple[str, ...], means: tuple[float, ...], spreads: tuple[float, ...], seeds: int
) -> dict[str, tuple[float, float]]:
    """Means with standard errors from the reference implementation's means and spreads."""
    return {
        problem: (mean, spread / seeds**0.5)
        for problem, mean, spread in zip(problems, means, spreads, strict=True)
    }


PAPER_CLAIMS: Final = (
    Claim(
        "a",
        "IMOSS-TPE has lower average regret than StoSOO, HOO-T and StroquOOL on sin1 and garland; "
        "on rastrigin lower than StroquOOL at comparable simple regret.",
        "sec. toy-xarm-comparison, fig. toy-xarm; T = 10,000, 20 seeds",
        (Runs(TOYS[:3], ("imoss-tpe", *TREES), 10_000, 20),),
        (
            Lower("average", "imoss-tpe", TREES, ("toy/sin1", "toy/garland")),
            Lower("average", "imoss-tpe", ("stroquool",), ("toy/rastrigin",)),
            Lower("simple", "imoss-tpe", ("stroquool",), ("toy/rastrigin",), factor=1.5),
        ),
        "PyXAB's StroquOOL ends its schedule after 792 of 10,000 rounds (the paper's after 6,866); "
        "its average is over the rounds it played.",
    ),
    Claim(
        "b",
        "Hier-MAB-11 leads on sin1 and rastrigin, and falls behind IMOSS-TPE on garland's "
        "recommendation and on the non-separable gaussian at every budget.",
        "sec. toy-xarm-comparison, fig. toy-xarm; T to 10,000, 20 seeds",
        (
            Runs(TOYS, ("imoss-tpe", "hier-mab-11"), 10_000, 20),
            Runs(("toy/sin1", "toy/rastrigin"), TREES, 10_000, 20),
        ),
        (
            Lower("average", "hier-mab-11", ("imoss-tpe", *TREES), ("toy/sin1", "toy/rastrigin")),
            Lower("simple", "hier-mab-11", ("imoss-tpe", *TREES), ("toy/sin1", "toy/rastrigin")),
            Lower("simple", "imoss-tpe", ("hier-mab-11",), ("toy/garland",)),
            *(
                Lower(f"{metric}@{t}", "imoss-tpe", ("hier-mab-11",), ("toy/gaussian",))
                for metric in ("average", "simple")
                for t in BUDGETS
            ),
        ),
    ),
    Claim(
        "c",
        "IMOSS-TPE beats TPE-K for K = 10, 50, 70, 100 and 200 on all four toy functions.",
        "sec. moss-allocation-impact, fig. cumulative-regret-comparison; T = 5,000, sigma 0.7",
        (Runs(TOYS, ("imoss-tpe", *TPE_K[1:]), 5_000, 20),),
        (Lower("regret", "imoss-tpe", TPE_K[1:], TOYS),),
    ),
    Claim(
        "c1",
        "IMOSS-TPE beats TPE-1 on all four toy functions.",
        "as claim c; apart, because Optuna's sampler takes minutes for thousands of trials",
        (Runs(TOYS, ("imoss-tpe", "tpe-1"), 5_000, 20, fewer={"tpe-1": 1}),),
        (Lower("regret", "imoss-tpe", TPE_K[:1], TOYS),),
        "One seed of TPE-1 on each function: a run takes about four minutes.",
    ),
    Claim(
        "d",
        "On the discrete tables every IMOSS variant beats UCB-AIR, and Mutate has the lowest "
        "regret of the paper's oracles.",
        "sec. openml-hpo, fig. openml-hpo-cumulative-regret; T = 5,000, 30 paired runs",
        (Runs(GRIDS, (*IMOSS, "ucb-air"), 5_000, 30),),
        (
            *(Lower("regret", method, ("ucb-air",), GRIDS) for method in IMOSS),
            Lower("regret", "imoss-mutate", ("imoss-random", "imoss-tpe"), GRIDS),
        ),
        "The paper's own grids (hpobench-rf) need HPOBench's files; these tables stand for them.",
    ),
    Claim(
        "e",
        "On kr-vs-kp both IMOSS variants have the lowest cumulative regret on SVM and tie "
        "StroquOOL on LR; all reach near-zero simple regret; HOO-T does not.",
        "sec. continuous-hpo, fig. cumulative-regret-comparison-lr-svm-hpo; T = 10,000, 20 seeds",
        (
            Runs(
                ("kr-vs-kp/lr", "kr-vs-kp/svm"),
                ("imoss-tpe", "imoss-mutate", *TREES, "hier-mab-10"),
                10_000,
                20,
            ),
        ),
        (
            *(
                Lower(metric, method, (*TREES, "hier-mab-10"), ("kr-vs-kp/svm",))
                for metric in ("regret", "average")
                for method in ("imoss-tpe", "imoss-mutate")
            ),
            *(
                Lower("average", method, ("stroquool",), ("kr-vs-kp/lr",), factor=1.25)
                for method in ("imoss-tpe", "imoss-mutate")
            ),
            *(
                AtMost("simple", method, ("kr-vs-kp/lr", "kr-vs-kp/svm"), 0.02)
                for method in ("imoss-tpe", "imoss-mutate", "stroquool", "hier-mab-10")
            ),
            AtMost("simple", "hoo-t", ("kr-vs-kp/lr", "kr-vs-kp/svm"), 0.02, above=True),
        ),
        "PyXAB's StroquOOL ends after 792 of 10,000 rounds, so its sum is over fewer of them. The "
        "regret per round stands beside it; it was added after the first run, and does not decide.",
    ),
    Claim(
        "f",
        "Under delayed and censored feedback on LCBench: naive > delay-aware > no delay in average "
        "regret; about 60 arms against 100; about 33 rewards per arm against 18; delay-aware is "
        "below UCB-AIR with instant feedback.",
        "sec. delayed-feedback-experiment, figs. cumulative-delayed-feedback and active-set; "
        "T = 10,000, 10 seeds",
        (
            Runs(LCBENCH, ("imoss-tpe", "imoss-tpe-blind"), 10_000, 10, PAPER_DELAY),
            Runs(LCBENCH, ("imoss-tpe", "ucb-air"), 10_000, 10),
        ),
        (
            Lower("average", f"imoss-tpe{DELAYED}", (f"imoss-tpe-blind{DELAYED}",), LCBENCH),
            Lower("average", "imoss-tpe", (f"imoss-tpe{DELAYED}",), LCBENCH),
            Lower("average", f"imoss-tpe{DELAYED}", ("ucb-air",), LCBENCH),
            About("n_arms", f"imoss-tpe{DELAYED}", dict.fromkeys(LCBENCH, 60.0)),
            About("n_arms", f"imoss-tpe-blind{DELAYED}", dict.fromkeys(LCBENCH, 100.0)),
            About("rewards_per_arm", f"imoss-tpe{DELAYED}", dict.fromkeys(LCBENCH, 33.0)),
            About("rewards_per_arm", f"imoss-tpe-blind{DELAYED}", dict.fromkeys(LCBENCH, 18.0)),
        ),
        "With the window the text asks for, N~ counts no pull that is older, so it is about the "
        "1,900 rewards, whose root is 43 arms; the paper's 60 arms come out when pending pulls "
        "never expire.",
    ),
    Claim(
        "g",
        "Fidelity: our figures are within two standard errors of the reference implementation's or "
        "below, with its P0 and with ours, and uniform > TPE > Mutate.",
        "tab. oracle-ablation, and 100-seed runs of the reference implementation; T = 5,000",
        (Runs((*REFERENCE_P0, *LCBENCH), IMOSS, 5_000, 100),),
        (
            *(
                Near(
                    method,
                    _reference(REFERENCE_P0, means, spreads, 100),
                    dict(zip(REFERENCE_P0, REFERENCE_OPTIMA, strict=True)),
                    note=f" (paper, 10 seeds: {paper})",
                )
                for method, means, spreads, paper in (
                    ("imoss-random", (1052, 149, 469), (128, 10, 63), "1073, 149, 500"),
                    ("imoss-tpe", (988, 108, 414), (140, 22, 71), "1023, 105, 396"),
                    ("imoss-mutate", (939, 81, 350), (212, 25, 116), "993, 79, 371"),
                )
            ),
            # The 30-seed runs with our P0: their spreads were not recorded, those above stand in.
            *(
                Near(
                    method,
                    _reference(LCBENCH, means, spreads, 30),
                    dict(zip(LCBENCH, REFERENCE_OPTIMA, strict=True)),
                )
                for method, means, spreads in (
                    ("imoss-random", (975, 118, 456), (128, 10, 63)),
                    ("imoss-tpe", (972, 89, 416), (140, 22, 71)),
                    ("imoss-mutate", (831, 62, 308), (212, 25, 116)),
                )
            ),
            *(
                Lower("regret", better, (worse,), (*REFERENCE_P0, *LCBENCH))
                for worse, better in itertools.pairwise(IMOSS)
            ),
        ),
        "TPE ranks arms by half of the index's bonus and Mutate has one kernel a value, which both "
        "lower the regret: docs/decisions/0003-ranking-arms.md.",
    ),
    Claim(
        "h",
        "Off the best arm for the great majority of pulls, most of all under the local oracle, "
        "which loses the least when it happens.",
        "tab. oracle-mechanism; T = 5,000",
        (
            Runs(REFERENCE_P0, IMOSS, 5_000, 100),
            Runs(("rf-grid/credit-g",), IMOSS, 5_000, 30),
        ),
        (
            *(
                About("off_best", method, dict(zip(REFERENCE_P0, figures, strict=True)), 0.15)
                for method, figures in zip(
                    IMOSS, ((0.79, 0.97, 0.88), (0.84, 0.98, 0.90), (0.99, 0.98, 0.98)), strict=True
                )
            ),
            *(
                About("loss_off_best", method, dict(zip(REFERENCE_P0, figures, strict=True)), 0.3)
                for method, figures in zip(
                    IMOSS,
                    ((0.088, 0.027, 0.069), (0.081, 0.019, 0.057), (0.052, 0.013, 0.039)),
                    strict=True,
                )
            ),
            Lower(
                "loss_off_best",
                "imoss-mutate",
                ("imoss-random", "imoss-tpe"),
                (*REFERENCE_P0, "rf-grid/credit-g"),
            ),
        ),
    ),
    Claim(
        "i",
        "Theorem: the rho-regret over t^((1 + beta) / 2) stays bounded.",
        "theorem quantile-regret; T = 200,000, 6 seeds (rf-grid 3), rho = 0.05",
        (
            Runs(WIDE, tuple(BETAS), 200_000, 6),
            Runs(("rf-grid/credit-g",), tuple(BETAS), 200_000, 3),
        ),
        (
            *(
                Bounded("rho_regret", method, WIDE, (1 + beta) / 2)
                for method, beta in BETAS.items()
            ),
            *(
                Bounded(
                    "rho_regret",
                    method,
                    ("rf-grid/credit-g",),
                    (1 + beta) / 2,
                    decides=beta < 0.5,
                )
                for method, beta in BETAS.items()
            ),
        ),
        "Until about Delta^(-2 / (1 - beta)) rounds the arms, t^beta of them, have too few rewards "
        "each for a policy to see a difference Delta, and regret is linear, whatever the bound. "
        "With the median gap to the rho-quantile as Delta that is at most 510 rounds on "
        "toy/gaussian (0.39) and kr-vs-kp/svm (0.47), which is why these were taken; on rf-grid "
        "(0.05) it is 6,000, 200,000 and 700 million, so that only beta = 0.3 decides there.",
    ),
)
