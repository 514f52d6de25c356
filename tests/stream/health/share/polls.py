"""Share groups as stories: the progress of one partition from poll to poll, a minute apart."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from stream.health.inputs import GroupInputs, GroupStage, HealthInputs
from stream.health.share.progress import SharePartitionProgress, ShareProgress
from stream.health.share.rules import SHARE_RULES
from tests.stream.health.columns import group_inputs
from tests.stream.health.panes import Row, pane

SHARE_VERDICTS: Final = [rule.verdict for rule in SHARE_RULES]
MINUTE: Final = 60_000
BEGIN: Final = 1_700_000_000_000
EMPTY: Final = SharePartitionProgress("jobs", 0, 10, 0, 0, 0, None, 0, 0, 0)
"""A partition without waiting records."""


def progress(**fields: Any) -> SharePartitionProgress:
    """Return the progress of partition jobs-0 with these fields."""
    return EMPTY._replace(**fields)


def groups(stage: GroupStage = GroupStage.STABLE, *, since: int = BEGIN, names: Sequence[str] = ("g",)) -> GroupInputs:
    """Return share groups that are in this stage since a time."""
    members = 0 if stage is GroupStage.EMPTY else 2
    columns = {"stage": stage, "since": since, "members": members, "share": True}
    return group_inputs(names, **{name: [value] * len(names) for name, value in columns.items()})


def tick(share_progress: ShareProgress | None, names: Sequence[str] = ("g",)) -> HealthInputs:
    """Return a tick with share groups only, after this poll."""
    none = pane(Row()).inputs.without_columns()
    return dataclasses.replace(none, groups=groups(names=names), group=none.group[:0], share_progress=share_progress)


def poll(minute: float, *rows: SharePartitionProgress, group: str = "g") -> ShareProgress:
    """Return the poll of that minute."""
    return ShareProgress(BEGIN + int(minute * MINUTE), {group: rows})
