"""What a change of the space would do, before it is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from imabo.checks import checked_space
from imabo.engine.changes import states_under
from imabo.insight.arm_table import ArmRow, rows_of
from imabo.insight.snapshot import StudySnapshot
from imabo.space import Space

MOST_LISTED: Final = 50


@dataclass(frozen=True, slots=True)
class SpacePreview:
    """What ``Study.update_space`` would do now.

    Attributes:
        changes: Whether it would do anything at all.
        added: Parameters that the space does not have yet.
        removed: Parameters that it would no longer have.
        changed: Parameters that would have other values or conditions.
        retired: Arms that would be retired, those with the most pulls, at most 50.
        n_retired: How many there are.
        restored: Arms that an earlier change retired and that would come back, at most 50.
        n_restored: How many there are.
        n_active: Arms that would not be retired afterwards.
        retires_best: Whether the recommended arm is among those to retire.
        share_retired: Share of all pulls so far that the arms to retire got.
        n_configs: How many configurations the new space has, None for endless ones.
    """

    changes: bool
    added: list[str]
    removed: list[str]
    changed: list[str]
    retired: list[ArmRow]
    n_retired: int
    restored: list[ArmRow]
    n_restored: int
    n_active: int
    retires_best: bool
    share_retired: float
    n_configs: int | None


def preview_space(snapshot: StudySnapshot, space: Space) -> SpacePreview:
    """The arms that ``update_space`` would retire and bring back, and what changes in the space.

    Args:
        snapshot: From ``insight.read``.
        space: The new space.

    Example:
        >>> from imabo import Choice, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("a", "b")), seed=0)
        >>> _ = study.add_arm({"model": "a"}), study.add_arm({"model": "b"})
        >>> preview = insight.preview_space(insight.read(study), Space(model=Choice("b", "c")))
        >>> [arm.config for arm in preview.retired], preview.changed
        ([{'model': 'a'}], ['model'])
    """
    checked_space(space)
    old, new = snapshot.space.parameters, space.parameters
    is_same = snapshot.space.to_dict() == space.to_dict()
    states = {} if is_same else states_under(space, snapshot.arms.records)
    rows = snapshot.arms.best_by(snapshot.arms.n_pulls, len(snapshot.arms)).tolist()
    ids = snapshot.arms.ids.tolist()
    gone = [row for row in rows if states.get(ids[row], ("",))[0] == "retired"]
    back = [row for row in rows if ids[row] in states and states[ids[row]][0] != "retired"]
    n_active = sum(record.state != "retired" for record in snapshot.arms.records)
    n_pulls = float(snapshot.arms.n_pulls[gone].sum()) if gone else 0.0
    return SpacePreview(
        changes=not is_same,
        added=[name for name in new if name not in old],
        removed=[name for name in old if name not in new],
        changed=[name for name in new if name in old and new[name] != old[name]],
        retired=rows_of(snapshot, gone[:MOST_LISTED]),
        n_retired=len(gone),
        restored=rows_of(snapshot, back[:MOST_LISTED]),
        n_restored=len(back),
        n_active=n_active - len(gone) + len(back),
        retires_best=snapshot.best_arm in {ids[row] for row in gone},
        share_retired=n_pulls / max(snapshot.totals.n_pulls, 1),
        n_configs=space.n_configs,
    )
