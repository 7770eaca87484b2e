"""What tuning a real question-answering assistant must show (sec. hotpotqa)."""

from __future__ import annotations

from typing import Final

from imabo_bench.claims.base import Claim, Runs
from imabo_bench.claims.default import DEFAULT
from imabo_bench.claims.ratios import Ratios
from imabo_bench.problems.hotpotqa import FAMILY, FIFTHS

ASSISTANT: Final = tuple(f"{FAMILY}/{fifth}" for fifth in FIFTHS)
_OTHERS: Final = ("imoss-mutate", "imoss-tpe", "hier-mab-11", "random")

ASSISTANT_CLAIMS: Final = (
    Claim(
        "o",
        "On the assistant of examples/rag the default has less online average regret than "
        "IMOSS-Mutate, IMOSS-TPE, Hier-MAB-11 and random after 1,000 and after 5,000 questions, at "
        "most 0.75 of random's, and its recommendation loses less than random's on questions that "
        "the stream did not ask.",
        "the default's bar; sec. hotpotqa, fig. hotpotqa-results-5000samples; five splits of the "
        "questions, 4 paired seeds each, T = 5,000",
        (Runs(ASSISTANT, (DEFAULT, *_OTHERS), 5_000, 4),),
        (
            Ratios("average@1000", DEFAULT, _OTHERS, ASSISTANT, mean=1.0),
            Ratios("average", DEFAULT, _OTHERS, ASSISTANT, mean=1.0),
            Ratios("average@1000", DEFAULT, ("random",), ASSISTANT, mean=0.75),
            Ratios("simple@1000", DEFAULT, _OTHERS, ASSISTANT),
            Ratios("unseen@1000", DEFAULT, ("random",), ASSISTANT, mean=1.0),
            Ratios("unseen@1000", DEFAULT, _OTHERS, ASSISTANT),
        ),
        "The model is SmolLM2-135M, whose answers were all made once and are shared by all runs. "
        "Regret is against the best of all 3,040 configurations on the questions of the stream, "
        "which no run knows; the unseen fifth has 20 questions, and its best is known as little.",
    ),
)
