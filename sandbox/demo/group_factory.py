"""Builds the running group for a row of `DEMO_GROUPS`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.demo.behaviours import (
    DrainedGroup,
    RewoundGroup,
    RollingGroup,
    SlowGroup,
    StalledGroup,
    StoppedGroup,
    TrafficGroup,
    UnmanagedGroup,
)
from sandbox.demo.groups import Behaviour, DemoGroup, DemoTopic
from sandbox.demo.transactional import TransactionalGroup

if TYPE_CHECKING:
    from collections.abc import Callable

GROUP_CLASSES: Final[dict[Behaviour, Callable[[str, DemoGroup, str, str], TrafficGroup]]] = {
    Behaviour.STEADY: TrafficGroup,
    Behaviour.SLOW: SlowGroup,
    Behaviour.STOPPED: StoppedGroup,
    Behaviour.STALLED: StalledGroup,
    Behaviour.REWOUND: RewoundGroup,
    Behaviour.DRAINED: DrainedGroup,
    Behaviour.ROLLING: RollingGroup,
}


def build_group(bootstrap: str, row: DemoGroup, prefix: str, topics: dict[str, DemoTopic]) -> TrafficGroup:
    """Return the group that behaves as the row says; `topics` are by full name, prefix included."""
    group, topic = prefix + row.name, prefix + row.topic
    if row.behaviour is Behaviour.UNMANAGED:
        return UnmanagedGroup(bootstrap, row, group, topic, topics[topic].partitions)
    if row.behaviour is Behaviour.TRANSACTIONAL:
        return TransactionalGroup(bootstrap, row, group, topic, prefix + "invoices")
    return GROUP_CLASSES[row.behaviour](bootstrap, row, group, topic)
