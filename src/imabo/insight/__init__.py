"""What a study looks like: read models for people, and the figures drawn from them.

``read`` takes one bounded look at a study; every other function is a pure function of it, so that
the page, the notebook and the report cannot disagree. Nothing here imports Plotly but ``report``
and ``Study.plot``: a figure is a plain dict.

Example:
    >>> from imabo import Float, Space, Study, insight
    >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
    >>> for _ in range(20):
    ...     study.tell(study.ask().id, 0.5)
    >>> snapshot = insight.read(study)
    >>> insight.overview(snapshot).recent_mean
    0.5
    >>> sorted(insight.figure("reward", snapshot))
    ['about', 'data', 'layout', 'name', 'title']
"""

from imabo.insight.arm_table import SORTS, ArmRow, ArmTable, BestArms, arm_table, arms
from imabo.insight.best_arm import BestArm, BestMix, MixPart
from imabo.insight.budgets import Goal, goals
from imabo.insight.drawings import FIGURES, RESEARCH, Caption, caption, figure, figures_of
from imabo.insight.feedback_delays import Feedback, feedback
from imabo.insight.key_figures import Overview, overview, overview_document
from imabo.insight.labelling import labels
from imabo.insight.parameters import (
    Effect,
    Importance,
    Importances,
    ParameterEffects,
    effects,
    importance,
)
from imabo.insight.previews import SpacePreview, preview_space
from imabo.insight.questions import Answer
from imabo.insight.reporting import report
from imabo.insight.snapshot import StudySnapshot, read
from imabo.insight.spending import SpendOverTime, limits, spend
from imabo.insight.structure import Descent, Parallel, descent, parallel
from imabo.insight.timelines import Cost, Growth, RewardOverTime, cost, growth, reward, trend
from imabo.insight.tradeoffs import Bought, Tradeoff, TradeoffArm, tradeoff
from imabo.insight.traffic_shares import Share, Traffic, traffic

Facts = StudySnapshot  # its name before; scripts have it

__all__ = [
    "FIGURES", "RESEARCH", "SORTS", "Answer", "ArmRow", "ArmTable", "BestArm", "BestArms",
    "BestMix", "Bought", "Caption", "Cost", "Descent", "Effect", "Facts", "Feedback", "Goal",
    "Growth", "Importance", "Importances", "MixPart", "Overview", "Parallel",
    "ParameterEffects", "RewardOverTime", "Share", "SpacePreview", "SpendOverTime",
    "StudySnapshot", "Tradeoff", "TradeoffArm", "Traffic", "arm_table", "arms", "caption",
    "cost", "descent", "effects", "feedback", "figure", "figures_of", "goals", "growth",
    "importance", "labels", "limits", "overview", "overview_document", "parallel",
    "preview_space", "read",
    "report", "reward", "spend", "tradeoff", "traffic", "trend",
]  # fmt: skip
