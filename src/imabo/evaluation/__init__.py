"""Numbers that are true: the lift over a control, a guardrail, serving at random, the best arm.

Pure functions and small values over arrays; nothing here knows a study or a store. The formulas and
what each of them promises are in docs/evaluation.md.
"""

from imabo.evaluation.at_random import RandomServing, random_serving
from imabo.evaluation.balance import FeedbackBalance
from imabo.evaluation.choosing import Chosen, chosen, level_of_each
from imabo.evaluation.guardrail import Guardrail, Verdict
from imabo.evaluation.lift import Lift, LiftEstimate, Mark
from imabo.evaluation.planning import Plan, half_widths, plan
from imabo.evaluation.sequences import Asymptotic, Bernstein, Betting
from imabo.evaluation.shrinking import Shrunk, shrink
from imabo.evaluation.tally import Outcome

__all__ = [
    "Asymptotic",
    "Bernstein",
    "Betting",
    "Chosen",
    "FeedbackBalance",
    "Guardrail",
    "Lift",
    "LiftEstimate",
    "Mark",
    "Outcome",
    "Plan",
    "RandomServing",
    "Shrunk",
    "Verdict",
    "chosen",
    "half_widths",
    "level_of_each",
    "plan",
    "random_serving",
    "shrink",
]
