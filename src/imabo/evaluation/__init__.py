"""Numbers that are true: the lift over a control, a guardrail, serving at random, the best arm.

Pure functions and small values over arrays; nothing here knows a study or a store. The formulas and
what each of them promises are in docs/evaluation.md.
"""

from imabo.evaluation.balance import FeedbackBalance
from imabo.evaluation.guardrail import Guardrail, Verdict
from imabo.evaluation.lift import Lift, LiftEstimate, Mark
from imabo.evaluation.planning import Plan, plan
from imabo.evaluation.sequences import Asymptotic, Bernstein, Betting
from imabo.evaluation.tally import Outcome

__all__ = [
    "Asymptotic",
    "Bernstein",
    "Betting",
    "FeedbackBalance",
    "Guardrail",
    "Lift",
    "LiftEstimate",
    "Mark",
    "Outcome",
    "Plan",
    "Verdict",
    "plan",
]
