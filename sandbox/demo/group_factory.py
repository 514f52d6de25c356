"""Who plays which fate: the table from behaviours to the actors that make them come true."""

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


def build_group(bootstrap: str, fate: DemoGroup, prefix: str, topics: dict[str, DemoTopic]) -> TrafficGroup:
    """Give the actor that makes a fate come true; `topics` are known by their full names, prefix included."""
    group, topic = prefix + fate.name, prefix + fate.topic
    if fate.behaviour is Behaviour.UNMANAGED:
        return UnmanagedGroup(bootstrap, fate, group, topic, topics[topic].partitions)
    if fate.behaviour is Behaviour.TRANSACTIONAL:
        return TransactionalGroup(bootstrap, fate, group, topic, prefix + "invoices")
    return GROUP_CLASSES[fate.behaviour](bootstrap, fate, group, topic)
