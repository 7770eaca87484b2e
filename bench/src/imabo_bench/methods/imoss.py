"""The paper's IMOSS with each of its oracles, and the variants that its experiments compare."""

from __future__ import annotations

from imabo.oracles import TPE, Mutate, Random
from imabo.policies import IMOSS
from imabo_bench.methods.study import StudyMethod

METHODS = (
    StudyMethod("imoss-random", "IMOSS, arms drawn from P0", IMOSS(), Random()),
    StudyMethod("imoss-tpe", "IMOSS, arms proposed by TPE", IMOSS(), TPE()),
    StudyMethod("imoss-mutate", "IMOSS, arms proposed by mutate-KLxPE", IMOSS(), Mutate()),
    StudyMethod(
        "imoss-tpe-blind", "imoss-tpe that ignores pending pulls", IMOSS(delay="blind"), TPE()
    ),
    StudyMethod(
        "imoss-mutate-blind",
        "imoss-mutate that ignores pending pulls",
        IMOSS(delay="blind"),
        Mutate(),
    ),
    StudyMethod(
        "imoss-tpe-index",
        "imoss-tpe that ranks arms by the whole index, as printed",
        IMOSS(),
        TPE(optimism=1.0),
    ),
    StudyMethod(
        "imoss-mutate-index",
        "imoss-mutate that ranks arms by the whole index, as printed",
        IMOSS(),
        Mutate(optimism=1.0),
    ),
    StudyMethod("imoss-random-beta0.3", "imoss-random with beta 0.3", IMOSS(beta=0.3), Random()),
    StudyMethod("imoss-random-beta0.7", "imoss-random with beta 0.7", IMOSS(beta=0.7), Random()),
)
