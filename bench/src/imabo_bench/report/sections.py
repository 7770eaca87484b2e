"""One problem's part of the report: its tables, its notes and its figures with their captions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from imabo_bench.report.data import (
    Group,
    Split,
    arm_quantiles,
    curves_of,
    plane_of,
    rewards_per_arm,
    splits_of,
)
from imabo_bench.report.figures import (
    Figure,
    Looks,
    arms_figure,
    cdf_figure,
    curve_figure,
    heat_figure,
    plane_figure,
    split_figure,
)
from imabo_bench.report.landscape import Landscape
from imabo_bench.report.tables import Standing, notes_of, standings_of


@dataclass(frozen=True)
class Drawing:
    """A figure with what is written around it; ``name`` is its id and its file name."""

    name: str
    title: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Section:
    """Everything the page says about one group of runs."""

    anchor: str
    group: Group
    standings: list[Standing]
    splits: list[Split]
    notes: list[str]
    drawings: list[Drawing]


def sections_of(
    groups: Sequence[Group], landscapes: Sequence[Landscape | str], looks: Looks
) -> list[Section]:
    """Prepare a section for each group.

    Args:
        groups: The groups, in the order of the page.
        landscapes: For each group what its problem looks like, or why that is not known.
        looks: How methods are drawn.
    """
    sections = []
    for number, (group, landscape) in enumerate(zip(groups, landscapes, strict=True), 1):
        known = None if isinstance(landscape, str) else landscape
        notes = notes_of(group)
        if isinstance(landscape, str):
            notes.append(f"The landscape figures are left out. {landscape}")
        # The number keeps names apart that look alike once only plain letters are kept.
        anchor = f"{number:02}-{_plain(group.title)}"
        drawings = [*_of_runs(anchor, group, known, looks), *_of_landscape(anchor, known)]
        sections.append(
            Section(anchor, group, standings_of(group), splits_of(group), notes, drawings)
        )
    return sections


def _of_runs(anchor: str, group: Group, landscape: Landscape | None, looks: Looks) -> list[Drawing]:
    drawings = [
        Drawing(
            f"{anchor}-regret",
            "Cumulative regret",
            "Mean over seeds, with a band of one standard deviation. Lower is better.",
            curve_figure(
                curves_of(group, lambda run: run.regret), looks, "cumulative regret (reward)"
            ),
        ),
        Drawing(
            f"{anchor}-plane",
            "Simple against average regret",
            "Large markers: means over seeds, growing with the rounds played; small dots: runs; "
            "ellipses: one standard deviation of the covariance over seeds. Lower left is better.",
            plane_figure(plane_of(group), looks),
        ),
        Drawing(
            f"{anchor}-decomposition",
            "Where the average regret comes from",
            "Solid: the gap between the optimum and the best arm admitted; hatched: the cost of "
            "pulling other arms. Beside it the sum and the second part's share.",
            split_figure(splits_of(group), looks),
        ),
        Drawing(
            f"{anchor}-arms",
            "True means of the admitted arms",
            "Pooled over seeds: 5, 25, 50, 75 and 95 % quantiles, mean dashed. P0 is what "
            "drawing at random would admit. Further right is better.",
            arms_figure(
                arm_quantiles(group),
                looks,
                None if landscape is None else landscape.quantiles,
                group.optimum,
            ),
        ),
    ]
    quality = curves_of(group, lambda run: run.proposal_quality)
    if quality:
        drawings.append(
            Drawing(
                f"{anchor}-proposals",
                "Proposal quality",
                "True mean of what each method would propose, probed on a copy; mean and one "
                "standard deviation over seeds. Higher is better.",
                curve_figure(quality, looks, "true mean of proposals (reward)", group.optimum),
            )
        )
    if any(group.delays):
        drawings.append(
            Drawing(
                f"{anchor}-rewards",
                "Observed rewards per arm",
                "Rewards received so far for each arm; mean and one standard deviation.",
                curve_figure(curves_of(group, rewards_per_arm), looks, "rewards per arm"),
            )
        )
    return drawings


def _of_landscape(anchor: str, landscape: Landscape | None) -> list[Drawing]:
    if landscape is None:
        return []
    drawings = [
        Drawing(
            f"{anchor}-cdf",
            "How means spread under P0",
            "Share of configurations drawn from P0 whose true mean is at most the value; the "
            "dotted line is the quantile that the rho-regret is measured against.",
            cdf_figure(landscape),
        )
    ]
    heat_map = landscape.heat_map
    if heat_map is not None:
        how = (
            "averaged over draws of the others, for the two along which it varies most"
            if heat_map.is_average
            else "the whole space"
        )
        drawings.append(
            Drawing(
                f"{anchor}-map",
                "Mean reward over two parameters",
                f"True mean, {how}.",
                heat_figure(heat_map),
            )
        )
    return drawings


def _plain(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]
