"""The commands about one request, as the command line describes them."""

from __future__ import annotations

from typing import Final

from imabo.cli.arguments import STUDY, command, count, flag, reward, takes

_PULL: Final = (
    takes("pull", "its id; with --by-key, your own key of the request", metavar="PULL"),
    flag("--by-key", "PULL is the key that the request was asked with"),
    count("--part", 0, 9999, None, "which pull of the key, where it was asked for several"),
)
PULL: Final = command(
    "pulls:pull",
    "one request: what it was served with, and its reward",
    "Shows a pull by its id, or by the key that you asked with. A key that was asked for "
    "several has as many.",
    "imabo pull support-answers request-17 --by-key",
    *STUDY,
    *_PULL,
)
TELL: Final = command(
    "pulls:tell",
    "report the reward of a request",
    "Reports the reward of a pull by its id, or by the key that you asked with. Again with "
    "the same reward changes nothing; another one is refused. Telling never asks.",
    "imabo tell support-answers request-17 0.8 --by-key",
    *STUDY,
    *_PULL,
    takes(
        "reward",
        "a number in the study's range; true is 1, false is 0",
        type=reward,
        metavar="REWARD",
    ),
    takes(
        "--signal",
        "a signal of the same request, recorded with the reward; may be given several times",
        action="append",
        default=[],
        metavar="NAME=VALUE",
    ),
)
SIGNAL: Final = command(
    "pulls:signal",
    "report a signal of a request, such as its cost",
    "Reports a signal that the study declares, by the id of the pull or by the key that you "
    "asked with; before or after the reward. Again with the same value changes nothing; another "
    "one is refused.",
    "imabo signal support-answers request-17 cost=0.0004 --by-key",
    *STUDY,
    *_PULL,
    takes("signal", "its name and its value", metavar="NAME=VALUE"),
)
FRONTIER: Final = command(
    "budget:frontier",
    "reward against what requests use, and the best mix within the budget",
    "Shows every arm with its mean reward and its mean use of a signal, the one that uses least "
    "first; which of them some budget would have served; what is spent against what is allowed; "
    "the best mix; what a little more reward costs now; and what other budgets would buy.",
    "imabo frontier support-answers --signal cost --at 0.001",
    *STUDY,
    takes("--signal", "by default that of the first budget", default=None, metavar="NAME"),
    takes("--at", "another budget, to know what it would buy", type=float, metavar="AMOUNT"),
)
BUDGET: Final = command(
    "budget:budget",
    "what requests may use, and whether they keep to it",
    "Shows how budgets and limits are kept and what a little more reward costs now. With "
    "NAME=VALUE it sets what the mean of a signal over the requests may be at most, while the "
    "study runs; --limit sets which share of the requests may have a signal above a value. What "
    "is not named stays, none in place of a number takes it away, and an event says so.",
    "imabo budget support-answers cost=0.0006",
    *STUDY,
    takes("budget", "a signal and its budget", metavar="NAME=VALUE", nargs="*"),
    takes(
        "--limit",
        "at most this share of the requests may have the signal above the value; may be repeated",
        action="append",
        default=[],
        nargs=3,
        metavar=("NAME", "ABOVE", "SHARE"),
    ),
    flag("--end", "keep no budget and no limit any more"),
)
