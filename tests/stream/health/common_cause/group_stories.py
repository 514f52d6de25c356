"""Groups for stories: each group with what it shares, when it became unhealthy, and when it last committed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

import numpy as np

from stream.health.common_cause.shared import Dimension, SharedValues, unique_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

SECOND: Final = 1_000
NOON: Final = 1_700_000_000_000
"""The start of the stories; the times of groups are in seconds after it."""


@dataclasses.dataclass(frozen=True)
class Group:
    """A group; by default it works on a topic of its own, and last committed 90 s after noon."""

    coordinator: str = "1"
    partition: str = ""
    topic: str = ""
    leader: str = "1"
    host: str = ""
    unhealthy: float | None = None
    worked: float | None = 90.0


FIELDS: Final = {
    Dimension.COORDINATOR: "coordinator",
    Dimension.OFFSETS_PARTITION: "partition",
    Dimension.TOPIC: "topic",
    Dimension.LEADER: "leader",
    Dimension.CLIENT_HOST: "host",
}
"""The field of a group by dimension."""


def shared(groups: Sequence[Group]) -> list[SharedValues]:
    """Return what these groups share; an empty value is one that no other group has."""
    number = np.arange(len(groups), dtype=np.int64)
    since = np.array([-1 if each.unhealthy is None else NOON + each.unhealthy * SECOND for each in groups], np.int64)
    worked = [
        -1 if each.unhealthy is not None or each.worked is None else NOON + each.worked * SECOND for each in groups
    ]
    found = []
    for dimension, field in FIELDS.items():
        values = [getattr(each, field) or f"own {group}" for group, each in enumerate(groups)]
        names = sorted(set(values))
        value = np.array([names.index(each) for each in values], np.int64)
        found.append(unique_pairs(dimension, names, number, value, since, np.array(worked, np.int64)))
    return found
